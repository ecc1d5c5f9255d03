//! Models that can be asked.

use std::sync::Arc;

use sortie_engine::cases;
use sortie_evaluators::Entry;
use sortie_judge::{
    Attacker, Budget, Calibration, CheckedExamples, Exchanges, Generator, Judge, Model, SemanticEngine,
    SemanticJudge,
};
use sortie_oatf::GenerationProvider;

use super::asked::{Asked, AskedModels};
use super::attacking::WritingAttacker;
use super::judging::RubricJudge;
use crate::failure::Failure;

/// Models that can be asked, under one budget and with one file of exchanges.
pub(crate) struct Models {
    judge: Option<RubricJudge>,
    attacker: Option<Attacker>,
    semantic: Option<Arc<dyn SemanticEngine>>,
    generator: Option<Arc<dyn GenerationProvider + Send + Sync>>,
    budget: Budget,
}

impl Models {
    /// Opens what was asked for. Nothing is sent yet.
    pub(crate) fn open(asked: &AskedModels, exchanges: &Exchanges) -> Result<Self, Failure> {
        let budget = Budget::new(asked.allowance);
        let model = |role: &str, found: &Asked| {
            let Asked { endpoint, key } = found;
            Model::new(endpoint.clone(), key.as_ref(), asked.model_options, budget.clone(), exchanges.clone())
                .map_err(|error| Failure::new(format!("`--{role}`: {error}")))
        };
        let cannot = |error: sortie_judge::BridgeError| Failure::new(error.to_string());
        let judging = asked.judge.as_ref().map(|judge| model("judge", judge)).transpose()?;
        let attacking = asked.attacker.as_ref().map(|attacker| model("attacker", attacker)).transpose()?;
        let generator = attacking.clone().map(Generator::new).transpose().map_err(cannot)?;
        Ok(Self {
            semantic: semantic(asked, judging.as_ref())?,
            judge: judging.map(|model| RubricJudge::new(Judge::new(model, asked.judge_options))),
            attacker: attacking.map(Attacker::new),
            generator: generator.map(|generator| Arc::new(generator) as _),
            budget,
        })
    }

    /// Has the judge judge the fixtures of evaluators, and transcripts that try to talk it into a verdict. Nothing to do without a
    /// judge.
    ///
    /// A judge that gets fixtures of an evaluator wrong does not judge by that evaluator, and that is each case's error.
    pub(crate) async fn calibrate(&mut self, entries: &[&Entry], jobs: usize) -> Result<(), Failure> {
        match &mut self.judge {
            Some(judge) => judge.calibrate(entries, jobs).await,
            None => Ok(()),
        }
    }

    /// What the judge was measured to be worth, once it was.
    pub(crate) fn calibration(&self) -> Option<&Calibration> {
        self.judge.as_ref()?.calibration()
    }

    /// Decides what checks do not.
    pub(crate) fn judge(&self) -> Option<Arc<dyn cases::Judge>> {
        self.judge.clone().map(|judge| Arc::new(judge) as _)
    }

    /// Fills placeholders and writes further turns.
    pub(crate) fn attacker(&self) -> Option<Arc<dyn cases::Attacker>> {
        self.attacker.clone().map(|attacker| Arc::new(WritingAttacker::new(attacker)) as _)
    }

    /// Scores texts for semantic indicators: a local model where one was asked for, else the judge.
    pub(crate) fn semantic(&self) -> Option<Arc<dyn SemanticEngine>> {
        self.semantic.clone()
    }

    /// Generates what documents want synthesized.
    pub(crate) fn generator(&self) -> Option<Arc<dyn GenerationProvider + Send + Sync>> {
        self.generator.clone()
    }

    /// What may be spent, and was.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }
}

#[cfg(not(feature = "embeddings"))]
fn semantic(_: &AskedModels, judge: Option<&Model>) -> Result<Option<Arc<dyn SemanticEngine>>, Failure> {
    by_judge(judge)
}

#[cfg(feature = "embeddings")]
fn semantic(asked: &AskedModels, judge: Option<&Model>) -> Result<Option<Arc<dyn SemanticEngine>>, Failure> {
    let Some(folder) = &asked.embeddings else { return by_judge(judge) };
    let embeddings = sortie_judge::Embeddings::load(folder)
        .map_err(|error| Failure::new(format!("`--embeddings`: {error}")))?;
    Ok(Some(Arc::new(CheckedExamples::new(embeddings))))
}

fn by_judge(judge: Option<&Model>) -> Result<Option<Arc<dyn SemanticEngine>>, Failure> {
    let engine = judge.cloned().map(SemanticJudge::new).transpose();
    let engine = engine.map_err(|error| Failure::new(error.to_string()))?;
    Ok(engine.map(|engine| Arc::new(CheckedExamples::new(engine)) as _))
}
