//! How far a judge can be trusted: what it made of transcripts whose verdict is known.

use serde::{Deserialize, Serialize};
use sortie_evaluators::Says;

use crate::accuracy::Accuracy;
use crate::judged::{Judged, Provenance, Reason, Vote};

/// The evaluator that transcripts which talk to their judge belong to in a calibration.
pub const INJECTIONS: &str = "judge-injections";

/// What a judge made of transcripts whose verdict is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// How many of those that gave in it says so of. A judgement that failed is one it missed; a question that was not asked is
    /// none.
    pub sensitivity: Accuracy,
    /// How many of those that resisted it says so of.
    pub specificity: Accuracy,
    /// How many of those that talk to it it judges by what they did. Counted in neither of the others.
    pub injections: Accuracy,
    /// Each transcript, in the order they were given.
    pub measured: Vec<Measured>,
    /// Who was measured.
    pub provenance: Provenance,
}

/// What a judge made of one transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The evaluator it belongs to.
    pub evaluator: String,
    /// What people call it.
    pub case: String,
    /// What must be said about it.
    pub expect: Says,
    /// What the judge says.
    pub judged: Judged,
}

/// Whether a judge may judge by an evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It gets all of its fixtures right.
    Earned,
    /// It does not. Whatever it says about a case of it is an error, with this reason.
    Lost(Reason),
    /// There are no fixtures to tell, or not all of them were asked about.
    Unknown,
}

impl Measured {
    /// Whether the judge was asked. Where the budget has no room, nobody knows what it would say.
    pub fn was_asked(&self) -> bool {
        let Judged::Error { reason, votes } = &self.judged else { return true };
        let reasons = votes.iter().filter_map(|vote| match vote {
            Vote::Error { reason } => Some(reason),
            Vote::Ruling(_) => None,
        });
        !std::iter::once(reason).chain(reasons).any(|reason| matches!(reason, Reason::Budget(_)))
    }

    /// Whether the judge was asked, and is wrong.
    pub fn is_wrong(&self) -> bool {
        self.was_asked() && !self.is_right()
    }

    /// Whether the judge is right.
    pub fn is_right(&self) -> bool {
        self.judged.verdict() == Some(self.expect)
    }
}

impl Calibration {
    /// Counts what was measured.
    pub fn new(measured: Vec<Measured>, provenance: Provenance) -> Self {
        let rate = |counts: &dyn Fn(&Measured) -> bool| {
            let (mut right, mut of) = (0, 0);
            for one in measured.iter().filter(|one| one.was_asked() && counts(one)) {
                of += 1;
                right += u32::from(one.is_right());
            }
            Accuracy::new(right, of)
        };
        let injected = |one: &Measured| one.evaluator == INJECTIONS;
        let (sensitivity, specificity) = (
            rate(&|one| !injected(one) && one.expect == Says::Fail),
            rate(&|one| !injected(one) && one.expect == Says::Pass),
        );
        let injections = rate(&injected);
        let provenance = measured
            .iter()
            .find_map(|one| one.judged.opinion().map(|opinion| opinion.provenance.clone()))
            .unwrap_or(provenance);
        Self { sensitivity, specificity, injections, measured, provenance }
    }

    /// Whether the judge may judge by an evaluator.
    ///
    /// ```
    /// use sortie_detect::{Calibration, Judged, Measured, Provenance, Reason, Trust};
    /// use sortie_evaluators::Says;
    ///
    /// let measured = Measured {
    ///     evaluator: "leakage".to_owned(),
    ///     case: "fail_case[0]".to_owned(),
    ///     expect: Says::Fail,
    ///     judged: Judged::Error { reason: Reason::Uncalibrated("it gave no answer".to_owned()), votes: vec![] },
    /// };
    /// let [engine, endpoint, model] = ["model", "http://127.0.0.1:8080/v1", "small"].map(str::to_owned);
    /// let calibration = Calibration::new(vec![measured], Provenance { engine, endpoint, model, version: 1 });
    /// assert!(matches!(calibration.trust("leakage"), Trust::Lost(_)));
    /// assert_eq!(calibration.trust("excessive-agency"), Trust::Unknown);
    /// ```
    pub fn trust(&self, evaluator: &str) -> Trust {
        let own = || self.measured.iter().filter(|one| one.evaluator == evaluator);
        let wrong: Vec<_> = own()
            .filter(|one| one.is_wrong())
            .map(|one| match &one.judged {
                Judged::Error { reason, .. } => format!("{}: {reason}", one.case),
                judged => format!("{} is judged {}", one.case, judged.verdict().map_or("", Says::as_str)),
            })
            .collect();
        if !wrong.is_empty() {
            return Trust::Lost(Reason::Uncalibrated(wrong.join("; ")));
        }
        let all_asked = own().next().is_some() && own().all(Measured::was_asked);
        if all_asked { Trust::Earned } else { Trust::Unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(evaluator: &str, reason: Reason) -> Measured {
        let judged = Judged::Error { reason, votes: Vec::new() };
        Measured {
            evaluator: evaluator.to_owned(),
            case: "fail_case[0]".to_owned(),
            expect: Says::Fail,
            judged,
        }
    }

    #[test]
    fn a_question_that_was_not_asked_is_no_wrong_answer() {
        let [engine, endpoint, model] = ["model", "http://127.0.0.1:8080/v1", "small"].map(str::to_owned);
        let provenance = Provenance { engine, endpoint, model, version: 1 };
        let budget = || Reason::Budget("the budget is used up".to_owned());
        let malformed = Reason::Malformed("no JSON".to_owned());
        let all = vec![
            measured("leakage", budget()),
            measured("agency", malformed.clone()),
            measured("agency", budget()),
            measured(INJECTIONS, malformed),
            measured(INJECTIONS, budget()),
        ];
        let calibration = Calibration::new(all, provenance);
        assert_eq!((calibration.sensitivity.right, calibration.sensitivity.of), (0, 1));
        assert_eq!((calibration.injections.right, calibration.injections.of), (0, 1));
        assert_eq!(calibration.trust("leakage"), Trust::Unknown);
        assert!(matches!(calibration.trust("agency"), Trust::Lost(_)));
    }
}
