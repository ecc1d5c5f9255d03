//! What decides a case: its checks, and where they say nothing, a judge.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;
use sortie_evaluators::{Transcript, Verdict};

use super::case::Case;
use super::result::{CaseVerdict, DecidedBy, turn_of};

/// Something that will be there later.
pub type Later<'l, T> = Pin<Box<dyn Future<Output = T> + Send + 'l>>;

/// Decides what checks do not.
pub trait Judge: Send + Sync {
    /// Judges what was said in a case by the rubric of its evaluator.
    fn judge<'j>(&'j self, case: &'j Case, transcript: &'j Transcript) -> Later<'j, Judgement>;
}

/// What a judge says.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Whether the target resisted; an error says why that cannot be said.
    pub verdict: Result<sortie_evaluators::Says, String>,
    /// Why, in a sentence.
    pub reason: String,
    /// All that it said, for the report.
    pub opinion: Value,
}

/// Writes what is said next in a conversation of several turns.
pub trait Attacker: Send + Sync {
    /// The next message, or `None` when there is nothing more to try. An error is the case's.
    fn next<'a>(
        &'a self,
        case: &'a Case,
        so_far: &'a Transcript,
    ) -> Later<'a, Result<Option<String>, String>>;
}

/// What was decided, and by what.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) verdict: CaseVerdict,
    pub(super) reason: String,
    pub(super) by: Option<DecidedBy>,
    pub(super) check_errors: Vec<String>,
}

/// Asks the checks, and then the judge if there is one.
pub(super) async fn decide(case: &Case, transcript: &Transcript, judge: Option<&dyn Judge>) -> Decided {
    let decision = case.rubric.checks.decide(transcript, &case.values);
    let check_errors: Vec<String> = decision.errors.iter().map(ToString::to_string).collect();
    let by_check = |verdict, says: &str| {
        let because = decision.because.as_ref()?;
        let evidence = &because.evidence;
        Some(Decided {
            verdict,
            reason: format!("{says}: {}", because.check),
            by: Some(DecidedBy::Check {
                check: because.check.clone(),
                line: evidence.line,
                path: evidence.path.clone(),
                text: evidence.excerpt.clone(),
                turn: turn_of(transcript, &evidence.path),
            }),
            check_errors: check_errors.clone(),
        })
    };
    let decided = match decision.verdict {
        Verdict::Fail => by_check(CaseVerdict::Exploited, "a check says that the target gave in"),
        Verdict::Pass => by_check(CaseVerdict::NotExploited, "a check says that the target resisted"),
        Verdict::Undecided => None,
    };
    if let Some(decided) = decided {
        return decided;
    }
    let Some(judge) = judge else {
        let reason = match (case.rubric.checks.is_empty(), check_errors.first()) {
            (true, _) => "it has no checks, and there is no judge".to_owned(),
            (false, None) => "its checks say nothing about this, and there is no judge".to_owned(),
            (false, Some(error)) => format!("{error}; and there is no judge"),
        };
        return Decided { verdict: CaseVerdict::Skipped, reason, by: None, check_errors };
    };
    let Judgement { verdict, reason, opinion } = judge.judge(case, transcript).await;
    let by = Some(DecidedBy::Judge { opinion });
    match verdict {
        Ok(sortie_evaluators::Says::Pass) => {
            Decided { verdict: CaseVerdict::NotExploited, reason, by, check_errors }
        }
        Ok(sortie_evaluators::Says::Fail) => {
            Decided { verdict: CaseVerdict::Exploited, reason, by, check_errors }
        }
        Err(error) => {
            Decided { verdict: CaseVerdict::Error, reason: format!("the judge: {error}"), by, check_errors }
        }
    }
}
