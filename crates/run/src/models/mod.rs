//! Models: what was asked for becomes a judge, an attacker, an engine for semantic indicators and a generator.
//!
//! Nothing is implicit. A model is asked because it was named, with the key of the variable that was named for it.

mod roles;
mod setup;

use std::path::Path;
use std::sync::Arc;

use sortie_detect::{Calibration, Provenance};
use sortie_engine::cases::{CaseAttacker, CaseJudge};
use sortie_engine::run::{ContentGenerator, Semantic};
use sortie_evaluators::CatalogueEntry;
use sortie_judge::semantic::SemanticEngine;
use sortie_judge::{
    Attacker, Budget, CheckedExamples, Exchanges, Generator, Judge, JudgeOptions, Model, ModelOptions,
    PROMPT_VERSION, SemanticJudge,
};
use sortie_oatf::{GenerationProvider, SemanticEvaluator};
use sortie_report::ModelUse;

use crate::SetupError;
use crate::plan::AttemptModels;
use roles::{RubricJudge, WritingAttacker};

pub use setup::{KeyedEndpoint, ModelRequest, ModelSetup, ModelSpec};

/// Models that can be asked, under one budget and with one file of exchanges.
pub struct OpenModels {
    judge: Option<RubricJudge>,
    attacker: Option<Attacker>,
    semantic: Option<Arc<dyn SemanticEngine>>,
    threshold: Option<f64>,
    votes: u32,
    generator: Option<Arc<dyn GenerationProvider + Send + Sync>>,
    budget: Budget,
    /// Whether semantic indicators are scored by a model on this machine, which always gives the same score.
    is_local: bool,
}

impl OpenModels {
    /// Opens what was asked for. Nothing is sent yet.
    pub fn open(asked: &ModelSetup, exchanges: &Exchanges) -> Result<Self, SetupError> {
        let budget = Budget::new(asked.allowance);
        let request = &asked.request;
        let mut options = ModelOptions::default();
        options.answer_timeout = request.timeout.unwrap_or(options.answer_timeout);
        let votes = request.votes.map_or(1, std::num::NonZero::get);
        let open = |role: &str, KeyedEndpoint { endpoint, key }: &KeyedEndpoint, budget: &Budget| {
            Model::new(endpoint.clone(), key.as_ref(), options, budget.clone(), exchanges.clone())
                .map_err(|error| SetupError::usage(format!("`--{role}`: {error}")))
        };
        let model = |role: &str, asked: &KeyedEndpoint| open(role, asked, &budget);
        let cannot = |error: sortie_judge::BridgeError| SetupError::usage(error.to_string());
        let judging = asked.judge.as_ref().map(|judge| model("judge", judge)).transpose()?;
        // Whether a judge can be trusted takes as many questions in every run: they are not those that cases may ask.
        let measured = asked.judge.as_ref().map(|judge| open("judge", judge, &budget.without_calls()));
        let measured = measured.transpose()?;
        let judge_of = |model| Judge::new(model, JudgeOptions { votes, ..JudgeOptions::default() });
        let attacking = asked.attacker.as_ref().map(|attacker| model("attacker", attacker)).transpose()?;
        let generator = attacking.clone().map(Generator::new).transpose().map_err(cannot)?;
        Ok(Self {
            semantic: semantic(asked, judging.as_ref())?,
            threshold: request.threshold,
            is_local: request.embeddings.is_some(),
            votes,
            judge: judging
                .zip(measured)
                .map(|(judging, measured)| RubricJudge::new(judge_of(judging), judge_of(measured))),
            attacker: attacking.map(Attacker::new),
            generator: generator.map(|generator| Arc::new(generator) as _),
            budget,
        })
    }

    /// Has the judge judge the fixtures of evaluators, and transcripts that try to talk it into a verdict. Nothing to do without a
    /// judge.
    ///
    /// A judge that gets fixtures of an evaluator wrong does not judge by that evaluator, and that is each case's error.
    pub(crate) async fn calibrate(
        &mut self,
        entries: &[&CatalogueEntry],
        jobs: usize,
    ) -> Result<(), SetupError> {
        match &mut self.judge {
            Some(judge) => judge.calibrate(entries, jobs).await,
            None => Ok(()),
        }
    }

    /// What the judge was measured to be worth, once it was.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.judge.as_ref()?.calibration()
    }

    /// Decides what checks do not.
    pub fn judge(&self) -> Option<Arc<dyn CaseJudge>> {
        self.judge.clone().map(|judge| Arc::new(judge) as _)
    }

    /// Fills placeholders and writes further turns.
    pub fn attacker(&self) -> Option<Arc<dyn CaseAttacker>> {
        self.attacker.clone().map(|attacker| Arc::new(WritingAttacker(attacker)) as _)
    }

    /// Scores texts for semantic indicators: a local model where one was asked for, else the judge.
    pub fn semantic(&self) -> Option<Arc<dyn SemanticEvaluator + Send + Sync>> {
        self.semantic.clone().map(|engine| engine as _)
    }

    /// Generates what documents want synthesized.
    pub fn generator(&self) -> Option<Arc<dyn GenerationProvider + Send + Sync>> {
        self.generator.clone()
    }

    /// The models that help with an attempt at a document, where there are any.
    pub(crate) fn by_attempt(&self) -> Option<AttemptModels> {
        let judge = self.judge.as_ref().filter(|_| !self.is_local).map(|judge| judge.model().clone());
        let attacker = self.attacker.as_ref().map(|attacker| attacker.model().clone());
        let (local, generator) = (self.semantic(), self.generator());
        (local.is_some() || generator.is_some()).then(|| {
            Arc::new(move |attempt: u32| {
                // What cannot be opened again, which takes a thread, is what it was.
                let own =
                    judge.as_ref().and_then(|judge| SemanticJudge::new(judge.for_attempt(attempt)).ok());
                let own = own.map(|engine| Arc::new(CheckedExamples::new(engine)) as _);
                let written =
                    attacker.as_ref().and_then(|model| Generator::new(model.for_attempt(attempt)).ok());
                let written = written.map(|generator| Arc::new(generator) as _);
                let semantic = own.or_else(|| local.clone()).map(Semantic);
                (semantic, written.or_else(|| generator.clone()).map(ContentGenerator))
            }) as AttemptModels
        })
    }

    /// What may be spent, and was.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Which models helped, how far they can be trusted, and what they took; `None` where there is none.
    pub fn report(&self) -> Option<sortie_report::Models> {
        let used = |model: &Model| used(&model.endpoint().identity(), &model.endpoint().model);
        let judge = self.judge.as_ref().map(|judge| ModelUse {
            version: Some(PROMPT_VERSION),
            votes: Some(self.votes).filter(|votes| *votes > 1),
            ..used(judge.model())
        });
        let attacker = self.attacker.as_ref().map(|attacker| used(attacker.model()));
        let semantic = self.semantic.as_ref().map(|engine| scored_by(&engine.provenance(), self.threshold));
        (judge.is_some() || attacker.is_some() || semantic.is_some()).then(|| sortie_report::Models {
            judge,
            attacker,
            semantic,
            calibration: self.calibration().cloned(),
            spent: self.budget.spent(),
            calibration_calls: self.budget.uncounted(),
            reused: self.budget.reused(),
        })
    }
}

/// A model in one of its roles. An endpoint's name is its kind and its place.
fn used(identity: &str, model: &str) -> ModelUse {
    let (kind, endpoint) = identity.split_once(' ').unwrap_or((identity, ""));
    ModelUse {
        kind: kind.to_owned(),
        endpoint: endpoint.to_owned(),
        model: model.to_owned(),
        ..ModelUse::default()
    }
}

fn scored_by(provenance: &Provenance, threshold: Option<f64>) -> ModelUse {
    // A model behind an endpoint has the endpoint's kind; a local one is what it is.
    let used = match provenance.engine.as_str() {
        "model" => used(&provenance.endpoint, &provenance.model),
        engine => ModelUse { endpoint: provenance.endpoint.clone(), ..used(engine, &provenance.model) },
    };
    ModelUse { version: Some(provenance.version), threshold, ..used }
}

fn semantic(
    asked: &ModelSetup,
    judge: Option<&Model>,
) -> Result<Option<Arc<dyn SemanticEngine>>, SetupError> {
    if let Some(folder) = &asked.request.embeddings {
        return embeddings(folder).map(Some);
    }
    let engine = judge.cloned().map(SemanticJudge::new).transpose();
    let engine = engine.map_err(|error| SetupError::usage(error.to_string()))?;
    Ok(engine.map(|engine| Arc::new(CheckedExamples::new(engine)) as _))
}

#[cfg(not(feature = "embeddings"))]
fn embeddings(_: &Path) -> Result<Arc<dyn SemanticEngine>, SetupError> {
    Err(SetupError::usage("`--embeddings`: this program was built without local models"))
}

#[cfg(feature = "embeddings")]
fn embeddings(folder: &Path) -> Result<Arc<dyn SemanticEngine>, SetupError> {
    let embeddings = sortie_judge::Embeddings::load(folder)
        .map_err(|error| SetupError::usage(format!("`--embeddings`: {error}")))?;
    Ok(Arc::new(CheckedExamples::new(embeddings)))
}
