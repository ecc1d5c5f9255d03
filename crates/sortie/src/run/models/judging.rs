//! The judge of a run's cases.

use std::sync::Arc;

use sortie_detect::{Calibration, Judged, Reason, Trust, Vote};
use sortie_engine::cases::{BoxFuture, BudgetExhausted, CaseJudge, PatternCase};
use sortie_evaluators::CatalogueEntry;
use sortie_judge::{Judge, Labelled, Model, Rubric, calibrate, injections};
use sortie_trace::Transcript;

use crate::failure::Failure;

/// A judge that judges only by evaluators whose fixtures it gets right.
#[derive(Clone)]
pub(super) struct RubricJudge {
    judge: Judge,
    measured: Arc<Measured>,
}

#[derive(Default)]
struct Measured {
    calibration: Option<Calibration>,
    /// Why it was not measured further: it does not answer.
    silent: Option<Reason>,
}

impl RubricJudge {
    pub(super) fn new(judge: Judge) -> Self {
        Self { judge, measured: Arc::default() }
    }

    pub(super) fn model(&self) -> &Model {
        self.judge.model()
    }

    pub(super) fn calibration(&self) -> Option<&Calibration> {
        self.measured.calibration.as_ref()
    }

    /// Measures it. One that does not answer the first question is not asked the others: each would take as long.
    pub(super) async fn calibrate(
        &mut self,
        entries: &[&CatalogueEntry],
        jobs: usize,
    ) -> Result<(), Failure> {
        let mut labelled = Vec::new();
        for entry in entries {
            let Some(fixtures) = &entry.fixtures else { continue };
            let own = Labelled::of(&entry.evaluator, fixtures).map_err(|error| {
                Failure::new(format!("the fixtures of `{}` cannot be judged: {error}", entry.evaluator.id))
            })?;
            labelled.extend(own);
        }
        labelled.extend(injections().iter().map(sortie_judge::Injection::labelled));
        let rest = labelled.split_off(labelled.len().min(1));
        let mut calibration = calibrate(&self.judge, labelled, 1).await;
        let silent = calibration.measured.first().and_then(|first| match &first.judged {
            Judged::Error { reason: reason @ Reason::Model(_), .. } => Some(reason.clone()),
            _ => None,
        });
        if silent.is_none() {
            let others = calibrate(&self.judge, rest, jobs).await;
            let provenance = calibration.provenance;
            calibration.measured.extend(others.measured);
            calibration = Calibration::new(calibration.measured, provenance);
        }
        self.measured = Arc::new(Measured { calibration: Some(calibration), silent });
        Ok(())
    }

    /// Why it must not judge by an evaluator.
    fn distrust(&self, evaluator: &str) -> Option<Reason> {
        if let Some(silent) = &self.measured.silent {
            return Some(silent.clone());
        }
        match self.measured.calibration.as_ref()?.trust(evaluator) {
            Trust::Lost(reason) => Some(reason),
            Trust::Earned | Trust::Unknown => None,
        }
    }

    async fn say(&self, case: &PatternCase, transcript: &Transcript) -> Result<Judged, BudgetExhausted> {
        // Before trust: what was not measured for want of a budget says nothing about the judge.
        if let Some(refused) = self.judge.model().budget().exhausted() {
            return Err(BudgetExhausted(refused.to_string()));
        }
        if let Some(reason) = self.distrust(&case.rubric.evaluator.id) {
            return Ok(Judged::Error { reason, votes: Vec::new() });
        }
        let purpose = format!("judge {}", case.id);
        let judged = self.judge.judge(&rubric(case), transcript, &purpose).await;
        match refusal(&judged) {
            Some(refused) => Err(BudgetExhausted(refused)),
            None => Ok(judged),
        }
    }
}

/// What a case is judged by.
pub(super) fn rubric(case: &PatternCase) -> Rubric {
    let mut rubric = Rubric::new(&case.rubric.evaluator, None);
    rubric.hints.extend(case.judge_hint.clone());
    rubric
}

/// What the budget refused, where that is why there is no verdict.
fn refusal(judged: &Judged) -> Option<String> {
    let Judged::Error { reason, votes } = judged else { return None };
    let reasons = votes.iter().filter_map(|vote| match vote {
        Vote::Error { reason } => Some(reason),
        Vote::Ruling(_) => None,
    });
    std::iter::once(reason).chain(reasons).find_map(|reason| match reason {
        Reason::Budget(refused) => Some(refused.clone()),
        _ => None,
    })
}

impl CaseJudge for RubricJudge {
    fn judge<'j>(
        &'j self,
        case: &'j PatternCase,
        transcript: &'j Transcript,
    ) -> BoxFuture<'j, Result<Judged, BudgetExhausted>> {
        Box::pin(self.say(case, transcript))
    }
}
