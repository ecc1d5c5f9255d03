//! One line of a baseline: a case, and what is known about it.

use serde::{Deserialize, Serialize};
use sortie_stats::Counts;
use sortie_syntax::closed_enum;

use super::date::Date;
use crate::text::write_escaped;

/// What is known about a case with one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineLine {
    /// The id of the case.
    pub case: String,
    /// What tells the case from one of the same name: a hash of the document or evaluator.
    pub digest: String,
    /// What was attacked: see [`attacked`](super::attacked).
    pub target: String,
    /// The attempts that were decided.
    pub counts: Counts,
    /// The attempts that were not.
    pub undecided: u32,
    /// What somebody made of it.
    pub status: LineStatus,
    /// The day on which the case first came into the baseline.
    pub first_seen: Date,
}

/// What somebody made of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineStatus {
    /// `open`: exploited, and nobody has accepted that. A run in which it is exploited again fails.
    Open,
    /// `accepted`: exploited, and somebody gave a reason to live with it.
    Accepted(Acceptance),
    /// `fixed`: the agent resists. When it is exploited, that is a regression.
    Fixed,
}

/// Why an exploited case is accepted, and how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// The reason, in the words of whoever accepts it.
    pub reason: String,
    /// The last day on which it is accepted; `None` where there is none.
    pub expires: Option<Date>,
}

closed_enum! {
    /// The words for a [`LineStatus`].
    StatusWord {
        /// Exploited, and not accepted.
        Open = "open",
        /// Exploited, and accepted.
        Accepted = "accepted",
        /// Not exploited.
        Fixed = "fixed",
    }
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineProblem {
    /// The first line does not say that this is a baseline.
    #[error("a baseline begins with `{{\"baseline\":1}}`")]
    NoHeader,
    /// It is of a version that is not known here.
    #[error("version {0} of baselines is not known: this program writes and reads version {known}", known = super::VERSION)]
    Version(u64),
    /// It is longer than any line should be.
    #[error("the line is longer than {} bytes", super::MAX_LINE)]
    TooLong,
    /// It is not text.
    #[error("the line is not UTF-8")]
    NotText,
    /// `git merge` left its marks.
    #[error("`git merge` left a conflict here: keep one of the two lines")]
    Conflict,
    /// It is not a JSON object with the fields of a line.
    #[error("column {column}: {message}")]
    Json {
        /// The column, from one.
        column: usize,
        /// Why.
        message: String,
    },
    /// The case and target have a line already.
    #[error("line {first} is about the same case `{case}` and target `{target}`: keep one of the two lines")]
    Duplicate {
        /// The case.
        case: String,
        /// The target.
        target: String,
        /// The other line, from one.
        first: usize,
    },
    /// It is about no case.
    #[error("`case` and `digest` must not be empty")]
    NoCase,
    /// More hits than attempts.
    #[error("`hits` is {hits}, and `n` only {n}")]
    TooManyHits {
        /// Attempts in which the agent gave in.
        hits: u32,
        /// Attempts that were decided.
        n: u32,
    },
    /// Nothing was decided.
    #[error("`n` is 0: an undecided case has no line")]
    NoAttempts,
    /// Accepted without a reason.
    #[error("`accepted` needs a `reason`")]
    NoReason,
    /// A reason or a last day where nothing is accepted.
    #[error("`{field}` belongs to `accepted`, and the status is `{status}`")]
    NotAccepted {
        /// `reason` or `expires`.
        field: &'static str,
        /// The status.
        status: StatusWord,
    },
    /// Open or accepted, and not exploited.
    #[error("the status is `{0}`, and the case has no hits: write `fixed`")]
    NotExploited(StatusWord),
}

/// A line as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLine {
    case: String,
    digest: String,
    target: String,
    hits: u32,
    n: u32,
    undecided: u32,
    status: StatusWord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<Date>,
    first_seen: Date,
}

impl LineStatus {
    /// The word for it.
    pub fn word(&self) -> StatusWord {
        match self {
            Self::Open => StatusWord::Open,
            Self::Accepted(_) => StatusWord::Accepted,
            Self::Fixed => StatusWord::Fixed,
        }
    }

    /// Why it is accepted, where it is.
    pub fn acceptance(&self) -> Option<&Acceptance> {
        match self {
            Self::Accepted(acceptance) => Some(acceptance),
            Self::Open | Self::Fixed => None,
        }
    }
}

impl BaselineLine {
    /// Reads a line.
    pub(super) fn parse(text: &str) -> Result<Self, LineProblem> {
        let written: WrittenLine = serde_json::from_str(text).map_err(|error| LineProblem::json(&error))?;
        let WrittenLine { case, digest, target, hits, n, undecided, status, reason, expires, first_seen } =
            written;
        if hits > n {
            return Err(LineProblem::TooManyHits { hits, n });
        }
        let status = match (status, reason, expires) {
            (StatusWord::Accepted, reason, expires) => {
                LineStatus::Accepted(Acceptance { reason: reason.unwrap_or_default(), expires })
            }
            (status, Some(_), _) => return Err(LineProblem::NotAccepted { field: "reason", status }),
            (status, None, Some(_)) => return Err(LineProblem::NotAccepted { field: "expires", status }),
            (StatusWord::Open, None, None) => LineStatus::Open,
            (StatusWord::Fixed, None, None) => LineStatus::Fixed,
        };
        let line = Self { case, digest, target, counts: Counts::new(hits, n), undecided, status, first_seen };
        line.check()?;
        Ok(line)
    }

    /// What is wrong with it, where something is.
    pub(super) fn check(&self) -> Result<(), LineProblem> {
        if self.case.is_empty() || self.digest.is_empty() {
            return Err(LineProblem::NoCase);
        }
        if self.counts.n() == 0 {
            return Err(LineProblem::NoAttempts);
        }
        match &self.status {
            LineStatus::Accepted(acceptance) if acceptance.reason.trim().is_empty() => {
                Err(LineProblem::NoReason)
            }
            LineStatus::Open | LineStatus::Accepted(_) if self.counts.hits == 0 => {
                Err(LineProblem::NotExploited(self.status.word()))
            }
            _ => Ok(()),
        }
    }

    /// The line, without the end of it. Whatever a terminal or a review would not show is escaped.
    pub(super) fn text(&self) -> String {
        let acceptance = self.status.acceptance();
        let written = WrittenLine {
            case: self.case.clone(),
            digest: self.digest.clone(),
            target: self.target.clone(),
            hits: self.counts.hits,
            n: self.counts.n(),
            undecided: self.undecided,
            status: self.status.word(),
            reason: acceptance.map(|acceptance| acceptance.reason.clone()),
            expires: acceptance.and_then(|acceptance| acceptance.expires),
            first_seen: self.first_seen,
        };
        let mut text = Vec::new();
        // Texts and numbers, written to memory: nothing can fail, and all of it is text.
        let _ = serde_json::to_string(&written).map(|json| write_escaped(&mut text, &json));
        String::from_utf8(text).unwrap_or_default()
    }
}

impl LineProblem {
    fn json(error: &serde_json::Error) -> Self {
        // There is one line, and its number is not the number in the file.
        let text = error.to_string();
        let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
        Self::Json { column: error.column(), message: message.to_owned() }
    }
}
