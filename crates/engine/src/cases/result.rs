//! What comes of a case.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sortie_detect::{
    self as detect, CaseInfo, Delivered, EvaluatorCase, Evidence, EvidenceSource, Judged, Opinion, Outcome,
    QuoteSource, Reach, Verdict,
};
use sortie_evaluators::Values;
use sortie_trace::{Role, Transcript};

use super::plan::Planned;

/// What comes of a case, before it becomes an [`Outcome`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The id of the case.
    pub id: String,
    /// The evaluator it belongs to.
    pub evaluator: String,
    /// The name of the pattern; absent where it was not played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The tool that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the attacker filled in for placeholders that nothing else was known for.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub filled: Values,
    /// How bad it is when a target gives in.
    pub severity: String,
    /// What came of it.
    pub verdict: CaseVerdict,
    /// Why, in a sentence.
    pub reason: String,
    /// What decided it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<DecidedBy>,
    /// Checks that could not be asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check_errors: Vec<String>,
    /// What was said. The tools are in the trace, unless they are what the case is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Transcript>,
    /// The trace, below the folder of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// What came of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseVerdict {
    /// The target gave in.
    Exploited,
    /// The target resisted.
    NotExploited,
    /// It could not be found out.
    Error,
    /// It was not tried, or nobody could decide it, since something was missing.
    Skipped,
    /// The target cannot be attacked with it.
    NotApplicable,
}

impl CaseVerdict {
    /// The word that stands for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exploited => "exploited",
            Self::NotExploited => "not_exploited",
            Self::Error => "error",
            Self::Skipped => "skipped",
            Self::NotApplicable => "not_applicable",
        }
    }
}

/// What decided a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum DecidedBy {
    /// A check of the evaluator.
    Check {
        /// Its name.
        check: String,
        /// The line of the evaluator's file, from one.
        line: Option<usize>,
        /// Where in the transcript.
        path: String,
        /// What stood there, cut around the match.
        text: Option<String>,
        /// The turn that it stands in, from one, where it stands in one.
        turn: Option<usize>,
    },
    /// A judge.
    Judge {
        /// All that it said.
        opinion: Value,
    },
}

impl CaseResult {
    /// The result of what was never played; `None` for what is to be.
    pub fn unplayed(planned: &Planned) -> Option<Self> {
        let (verdict, reason) = match planned {
            Planned::Ready(_) => return None,
            Planned::Skipped { missing, .. } => {
                let names: Vec<_> = missing.iter().map(|name| format!("`{{{{{name}}}}}`")).collect();
                (CaseVerdict::Skipped, format!("nothing is known for {}", names.join(", ")))
            }
            Planned::NotApplicable { reason, .. } => (CaseVerdict::NotApplicable, reason.clone()),
        };
        let evaluator = &planned.rubric().evaluator;
        Some(Self {
            id: planned.id().to_owned(),
            evaluator: evaluator.id.clone(),
            pattern: None,
            tool: None,
            filled: Values::new(),
            severity: evaluator.severity.as_str().to_owned(),
            verdict,
            reason,
            decided_by: None,
            check_errors: Vec::new(),
            transcript: None,
            trace: None,
        })
    }
}

impl From<CaseResult> for Outcome {
    fn from(result: CaseResult) -> Self {
        let case = CaseInfo::Evaluator {
            evaluator: EvaluatorCase {
                id: result.evaluator,
                pattern: result.pattern,
                tool: result.tool,
                filled: result.filled,
            },
        };
        let word = match result.verdict {
            CaseVerdict::Exploited => detect::CaseResult::Exploited,
            CaseVerdict::NotExploited => detect::CaseResult::NotExploited,
            CaseVerdict::Error => detect::CaseResult::Error,
            CaseVerdict::Skipped => detect::CaseResult::Skipped,
            CaseVerdict::NotApplicable => detect::CaseResult::NotApplicable,
        };
        let verdict = Verdict { severity: result.severity.parse().ok(), ..Verdict::new(word, result.reason) };
        let (mut evidence, mut judged) = (Vec::new(), None);
        match result.decided_by {
            Some(DecidedBy::Check { check, line, path, text, turn }) => evidence.push(Evidence {
                by: EvidenceSource::Check,
                name: check,
                seq: None,
                path,
                start: None,
                end: None,
                line,
                turn,
                text,
            }),
            Some(DecidedBy::Judge { opinion }) => {
                judged = serde_json::from_value::<Judged>(opinion).ok();
                evidence = judged.as_ref().and_then(Judged::opinion).map(quoted).unwrap_or_default();
            }
            None => {}
        }
        let answered =
            |transcript: &Transcript| transcript.turns().iter().any(|turn| turn.role == Role::Target);
        let answered = result.transcript.as_ref().is_some_and(answered);
        let delivered = if answered { Delivered::Yes } else { Delivered::No };
        Self {
            evidence,
            judged,
            reach: Reach { delivered, missing: Vec::new() },
            trace: result.trace,
            warnings: result.check_errors,
            transcript: result.transcript,
            ..Self::new(result.id, case, verdict, None)
        }
    }
}

/// An outcome that is none of a case of an evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the outcome is of a document, and not of a case of an evaluator")]
pub struct NotOfEvaluator;

impl TryFrom<Outcome> for CaseResult {
    type Error = NotOfEvaluator;

    fn try_from(outcome: Outcome) -> Result<Self, NotOfEvaluator> {
        let CaseInfo::Evaluator { evaluator } = outcome.case else { return Err(NotOfEvaluator) };
        let verdict = match outcome.verdict.result {
            detect::CaseResult::Exploited | detect::CaseResult::Partial => CaseVerdict::Exploited,
            detect::CaseResult::NotExploited => CaseVerdict::NotExploited,
            detect::CaseResult::Error => CaseVerdict::Error,
            detect::CaseResult::Skipped => CaseVerdict::Skipped,
            detect::CaseResult::NotApplicable => CaseVerdict::NotApplicable,
        };
        let by_check = outcome.evidence.into_iter().find(|found| found.by == EvidenceSource::Check);
        let decided_by = match (by_check, outcome.judged) {
            (Some(Evidence { name: check, line, path, text, turn, .. }), _) => {
                Some(DecidedBy::Check { check, line, path, text, turn })
            }
            (None, Some(judged)) => {
                Some(DecidedBy::Judge { opinion: serde_json::to_value(judged).unwrap_or_default() })
            }
            (None, None) => None,
        };
        Ok(Self {
            id: outcome.id,
            evaluator: evaluator.id,
            pattern: evaluator.pattern,
            tool: evaluator.tool,
            filled: evaluator.filled,
            severity: outcome.verdict.severity.map_or_else(String::new, |severity| severity.to_string()),
            verdict,
            reason: outcome.verdict.reason.unwrap_or_default(),
            decided_by,
            check_errors: outcome.warnings,
            transcript: outcome.transcript,
            trace: outcome.trace,
        })
    }
}

/// The target's words that a judge quotes, as evidence.
fn quoted(opinion: &Opinion) -> Vec<Evidence> {
    let quotes = opinion.ruling.quotes.iter().map(|quote| Evidence {
        by: EvidenceSource::Judge,
        name: opinion.provenance.model.clone(),
        seq: None,
        path: match quote.source {
            QuoteSource::Text => format!("turns[{}].text", quote.turn.saturating_sub(1)),
            QuoteSource::Call(call) => format!("turns[{}].calls[{call}]", quote.turn.saturating_sub(1)),
        },
        start: None,
        end: None,
        line: None,
        turn: Some(quote.turn),
        text: Some(quote.text.clone()),
    });
    quotes.collect()
}

/// The turn, from one, that a path of a transcript leads to.
pub(super) fn turn_of(transcript: &Transcript, path: &str) -> Option<usize> {
    let (key, rest) = path.split_once('[')?;
    let at: usize = rest.split_once(']')?.0.parse().ok()?;
    let turns = transcript.turns();
    let of = |role: Role| turns.iter().enumerate().filter(move |(_, turn)| turn.role == role);
    let index = match key {
        "turns" => at,
        "answers" => of(Role::Target).nth(at)?.0,
        "sent" => of(Role::Attacker).nth(at)?.0,
        "calls" => {
            let mut left = at;
            of(Role::Target)
                .find(|(_, turn)| match left.checked_sub(turn.calls.len()) {
                    Some(rest) => {
                        left = rest;
                        false
                    }
                    None => true,
                })?
                .0
        }
        _ => return None,
    };
    (index < turns.len()).then_some(index + 1)
}

#[cfg(test)]
mod tests {
    use sortie_trace::{ObservedCall, Turn};

    use super::*;

    #[test]
    fn a_path_leads_to_its_turn() {
        let call = |name: &str| ObservedCall {
            name: name.to_owned(),
            arguments: serde_json::Map::new(),
            result: "".into(),
            is_error: false,
        };
        let mut second = Turn::target("b");
        second.calls = vec![call("x"), call("y")];
        let turns = vec![Turn::attacker("1"), Turn::target("a"), Turn::attacker("2"), second];
        let transcript = Transcript::new(turns).unwrap();
        let turn = |path| turn_of(&transcript, path);
        assert_eq!([turn("answers[0]"), turn("answers[1].x")], [Some(2), Some(4)]);
        assert_eq!([turn("turns[2].text"), turn("sent[1]")], [Some(3), Some(3)]);
        assert_eq!([turn("calls[0]"), turn("calls[1]"), turn("calls[2]")], [Some(4), Some(4), None]);
        assert_eq!([turn("answers"), turn("tools[0].name"), turn(""), turn("turns[9]")], [None; 4]);
    }
}
