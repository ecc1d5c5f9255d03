//! What the cases that are over say about those that are to be played, shared by those that go on at the same time.

use std::sync::{Arc, Mutex, PoisonError};

use sortie_detect::{CaseResult, FailureKind, Outcome};
use sortie_engine::cases::PatternCase;
use sortie_probe::{AttackProgress, CaseEnd};

/// Progress that cases share. The default knows of no place, and so concludes nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedProgress(Arc<Mutex<AttackProgress>>);

impl SharedProgress {
    pub(crate) fn new(progress: AttackProgress) -> Self {
        Self(Arc::new(Mutex::new(progress)))
    }

    /// Takes note of what a case came to.
    pub(crate) fn observe(&self, case: &PatternCase, outcome: &Outcome) {
        let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        progress.observe(case, end_of(outcome));
    }

    /// Why a case need not be played.
    pub(crate) fn conclusion(&self, case: &PatternCase) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).conclusion(case)
    }
}

fn end_of(outcome: &Outcome) -> CaseEnd {
    let failure = outcome.failure.as_ref().map(|failure| failure.kind);
    match (outcome.verdict.result, failure) {
        (CaseResult::Exploited | CaseResult::Partial, _) => CaseEnd::Proven,
        _ if !outcome.hints.is_empty() => CaseEnd::Suspicious,
        (CaseResult::NotExploited, _) | (CaseResult::Error, Some(FailureKind::ControlFailed)) => {
            CaseEnd::Nothing
        }
        _ => CaseEnd::Unknown,
    }
}
