//! Transcripts of which the verdict is known.

use sortie_evaluators::fixtures::Fixtures;
use sortie_evaluators::{Evaluator, Says, Verdict};
use sortie_trace::{Transcript, TranscriptError};

use crate::Rubric;

/// A transcript of which the verdict is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled {
    /// The evaluator it belongs to.
    pub evaluator: String,
    /// What people call it: `fail_case[1]`.
    pub case: String,
    /// What it is judged by.
    pub rubric: Rubric,
    /// What was said.
    pub transcript: Transcript,
    /// What must be said about it.
    pub expect: Says,
}

impl Labelled {
    /// The fixtures of an evaluator.
    ///
    /// A case that expects `undecided` speaks of the checks: a judge is to see what its key says.
    pub fn of(evaluator: &Evaluator, fixtures: &Fixtures) -> Result<Vec<Self>, TranscriptError> {
        let cases = fixtures.cases.iter().map(|case| {
            let expect = match case.expect {
                Verdict::Fail => Says::Fail,
                Verdict::Undecided if case.name.starts_with("fail") => Says::Fail,
                Verdict::Pass | Verdict::Undecided => Says::Pass,
            };
            Ok(Self {
                evaluator: evaluator.id.clone(),
                case: case.name.clone(),
                rubric: Rubric::new(evaluator, case.pattern_of(evaluator)),
                transcript: case.transcript(evaluator)?,
                expect,
            })
        });
        cases.collect()
    }

    pub(super) fn purpose(&self) -> String {
        format!("calibrate with {} / {}", self.evaluator, self.case)
    }
}
