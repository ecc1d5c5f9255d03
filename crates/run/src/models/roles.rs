//! The judge and the attacker of a run's cases.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sortie_detect::{Calibration, Judged, Reason, Trust, Vote};
use sortie_engine::cases::{AttackError, BoxFuture, BudgetExhausted, CaseAttacker, CaseJudge, PatternCase};
use sortie_engine::targets::Offer;
use sortie_evaluators::{CatalogueEntry, Values};
use sortie_judge::{
    Attacker, AttackerError, Judge, Labelled, Model, ModelError, Offers, Rubric, Situation, calibrate,
    injections,
};
use sortie_probe::UnsolvedTool;
use sortie_trace::Transcript;

use crate::SetupError;

/// A judge that judges only by evaluators whose fixtures it gets right.
#[derive(Clone)]
pub(super) struct RubricJudge {
    judge: Judge,
    /// The same judge, whose calls are not counted against the budget.
    calibrated: Judge,
    measured: Arc<Measured>,
}

#[derive(Default)]
struct Measured {
    calibration: Option<Calibration>,
    /// Why it was not measured further: it does not answer.
    silent: Option<Reason>,
}

impl RubricJudge {
    /// `calibrated` is the same judge, under the budget for measuring it.
    pub(super) fn new(judge: Judge, calibrated: Judge) -> Self {
        Self { judge, calibrated, measured: Arc::default() }
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
    ) -> Result<(), SetupError> {
        let mut labelled = Vec::new();
        for entry in entries {
            let Some(fixtures) = &entry.fixtures else { continue };
            let own = Labelled::of(&entry.evaluator, fixtures).map_err(|error| {
                SetupError::usage(format!(
                    "the fixtures of `{}` cannot be judged: {error}",
                    entry.evaluator.id
                ))
            })?;
            labelled.extend(own);
        }
        labelled.extend(injections().iter().map(sortie_judge::Injection::labelled));
        let rest = labelled.split_off(labelled.len().min(1));
        let mut calibration = calibrate(&self.calibrated, labelled, 1).await;
        let silent = calibration.measured.first().and_then(|first| match &first.judged {
            Judged::Error { reason: reason @ Reason::Model(_), .. } => Some(reason.clone()),
            _ => None,
        });
        if silent.is_none() {
            let others = calibrate(&self.calibrated, rest, jobs).await;
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
}

/// What a case is judged by.
fn rubric(case: &PatternCase) -> Rubric {
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
        Box::pin(async move {
            // Before trust: what was not measured for want of a budget says nothing about the judge.
            if let Some(refused) = self.judge.model().budget().exhausted() {
                return Err(BudgetExhausted(refused.to_string()));
            }
            if let Some(reason) = self.distrust(&case.rubric.evaluator.id) {
                return Ok(Judged::Error { reason, votes: Vec::new() });
            }
            let purpose = format!("judge {}", case.id);
            let judge = self.judge.for_attempt(case.attempt.unwrap_or(1));
            let judged = judge.judge(&rubric(case), transcript, &purpose).await;
            refusal(&judged).map_or(Ok(judged), |refused| Err(BudgetExhausted(refused)))
        })
    }
}

/// An attacker that fills placeholders and goes on with conversations.
pub(super) struct WritingAttacker(pub(super) Attacker);

/// What a target offers, as an attacker is told.
fn offers(offer: &Offer) -> Offers {
    let about = match (&offer.server, &offer.card) {
        (server, None) if server.is_empty() => Value::Null,
        (server, None) => json!(server),
        (_, Some(card)) => card.clone(),
    };
    Offers { tools: offer.raw_tools(), about }
}

/// What an attacker is told about a case.
fn situation<'c>(case: &'c PatternCase, rubric: &'c Rubric, offers: &'c Offers) -> Situation<'c> {
    Situation { rubric, pattern: &case.pattern, template: &case.template, offers }
}

fn attack_error(error: AttackerError) -> AttackError {
    match error {
        AttackerError::Model(ModelError::Budget(error)) => BudgetExhausted(error.to_string()).into(),
        error => AttackError::Failed(error.to_string()),
    }
}

impl CaseAttacker for WritingAttacker {
    fn fill<'a>(
        &'a self,
        case: &'a PatternCase,
        offer: &'a Offer,
        names: &'a [String],
    ) -> BoxFuture<'a, Result<Values, AttackError>> {
        Box::pin(async move {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let (rubric, offers, purpose) = (rubric(case), offers(offer), format!("fill {}", case.id));
            let attacker = self.0.for_attempt(case.attempt.unwrap_or(1));
            let filled = attacker.fill(situation(case, &rubric, &offers), &names, &purpose).await;
            filled.map_err(attack_error)
        })
    }

    fn suggest_call<'a>(
        &'a self,
        unsolved: &'a UnsolvedTool,
    ) -> BoxFuture<'a, Result<Map<String, Value>, AttackError>> {
        Box::pin(async move {
            let purpose = format!("call {}", unsolved.tool["name"].as_str().unwrap_or_default());
            self.0.suggest_call(&unsolved.tool, &unsolved.tried, &purpose).await.map_err(attack_error)
        })
    }

    fn next<'a>(
        &'a self,
        case: &'a PatternCase,
        offer: &'a Offer,
        so_far: &'a Transcript,
    ) -> BoxFuture<'a, Result<Option<String>, AttackError>> {
        Box::pin(async move {
            let (rubric, offers) = (rubric(case), offers(offer));
            let purpose = format!("attack {}, turn {}", case.id, so_far.turns().len() / 2 + 1);
            let attacker = self.0.for_attempt(case.attempt.unwrap_or(1));
            let message = attacker.follow_up(situation(case, &rubric, &offers), so_far, &purpose).await;
            message.map(Some).map_err(attack_error)
        })
    }
}
