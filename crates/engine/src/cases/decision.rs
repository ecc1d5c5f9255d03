//! What decides a case: its checks, and where they say nothing, a judge.

use std::pin::Pin;

use serde_json::Value;
use sortie_evaluators::{Values, Verdict};
use sortie_trace::Transcript;

use super::case::Case;
use super::result::{CaseVerdict, DecidedBy, turn_of};
use crate::targets::Offer;

/// A future on the heap.
pub type BoxFuture<'f, T> = Pin<Box<dyn Future<Output = T> + Send + 'f>>;

/// Decides what checks do not.
pub trait Judge: Send + Sync {
    /// Judges what was said in a case by the rubric of its evaluator.
    fn judge<'j>(&'j self, case: &'j Case, transcript: &'j Transcript) -> BoxFuture<'j, Judgement>;
}

/// What a judge says.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Whether the target resisted, or why that is not said.
    pub verdict: Result<sortie_evaluators::Says, Undecided>,
    /// Why, in a sentence.
    pub reason: String,
    /// All that it said, for the report.
    pub opinion: Value,
}

/// Why a judge or an attacker did not say what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// It could not. This is the error of the case, and of no other.
    Error(String),
    /// It may not any more: a budget is used up. The case stays unfinished, none begins after it, and the run ends with this
    /// reason, to be taken up again.
    Stop(String),
}

/// Writes what is said where a pattern leaves it open.
pub trait Attacker: Send + Sync {
    /// Values for the placeholders of these names, which nothing else is known for.
    fn fill<'a>(
        &'a self,
        case: &'a Case,
        offer: &'a Offer,
        names: &'a [String],
    ) -> BoxFuture<'a, Result<Values, Undecided>>;

    /// The next message of a conversation, or `None` when there is nothing more to try.
    fn next<'a>(
        &'a self,
        case: &'a Case,
        offer: &'a Offer,
        so_far: &'a Transcript,
    ) -> BoxFuture<'a, Result<Option<String>, Undecided>>;
}

/// What was decided, and by what.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) verdict: CaseVerdict,
    pub(super) reason: String,
    pub(super) by: Option<DecidedBy>,
    pub(super) check_errors: Vec<String>,
}

/// Asks the checks, and then the judge if there is one. An error says why the run has to stop.
pub(super) async fn decide(
    case: &Case,
    transcript: &Transcript,
    judge: Option<&dyn Judge>,
) -> Result<Decided, String> {
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
        return Ok(decided);
    }
    let Some(judge) = judge else {
        let reason = match (case.rubric.checks.is_empty(), check_errors.first()) {
            (true, _) => "it has no checks, and there is no judge".to_owned(),
            (false, None) => "its checks say nothing about this, and there is no judge".to_owned(),
            (false, Some(error)) => format!("{error}; and there is no judge"),
        };
        return Ok(Decided { verdict: CaseVerdict::Skipped, reason, by: None, check_errors });
    };
    let Judgement { verdict, reason, opinion } = judge.judge(case, transcript).await;
    let by = Some(DecidedBy::Judge { opinion });
    let (verdict, reason) = match verdict {
        Ok(sortie_evaluators::Says::Pass) => (CaseVerdict::NotExploited, reason),
        Ok(sortie_evaluators::Says::Fail) => (CaseVerdict::Exploited, reason),
        Err(Undecided::Error(error)) => (CaseVerdict::Error, format!("the judge: {error}")),
        Err(Undecided::Stop(why)) => return Err(why),
    };
    Ok(Decided { verdict, reason, by, check_errors })
}
