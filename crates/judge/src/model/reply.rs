//! What came back, as it is recorded, and what it means.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::dialect::{self, Said};
use super::{Completion, ModelError};
use crate::EndpointKind;
use crate::exchanges::ExchangeOutcome;
use sortie_detect::Spent;

/// How much of a complaint is shown.
const COMPLAINT: usize = 300;

/// What came back after the last attempt. This is what the cache holds, and all that an answer is made of: a replay reads
/// it as the live run did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    pub(super) attempts: u32,
    /// What the attempts before the last one took.
    #[serde(default)]
    pub(super) earlier: Spent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    /// The seconds that the endpoint wants to be left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_after: Option<u64>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) body: Value,
    /// Why there is no whole answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lost: Option<Lost>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Lost {
    TimedOut,
    Unreachable(String),
    Broken(String),
    TooLarge(usize),
}

impl Reply {
    /// Nothing yet, after so many attempts.
    pub(super) fn new(attempts: u32) -> Self {
        let (status, retry_after, lost) = (None, None, None);
        Self { attempts, earlier: Spent::default(), status, retry_after, body: Value::Null, lost }
    }

    pub(super) fn is_success(&self) -> bool {
        self.lost.is_none() && self.status.is_some_and(|status| (200..300).contains(&status))
    }

    pub(super) fn into_outcome(self) -> ExchangeOutcome {
        let success = self.is_success();
        // Strings and numbers only.
        let reply = serde_json::to_value(self).unwrap_or_else(|_| json!({"attempts": 0}));
        if success { ExchangeOutcome::Answer(reply) } else { ExchangeOutcome::Failure(reply) }
    }

    pub(super) fn from_outcome(outcome: ExchangeOutcome) -> Result<Self, ModelError> {
        let (ExchangeOutcome::Answer(reply) | ExchangeOutcome::Failure(reply)) = outcome;
        serde_json::from_value(reply)
            .map_err(|error| ModelError::Malformed(format!("the recorded exchange is none: {error}")))
    }

    /// What it means.
    pub(super) fn completion(&self, kind: EndpointKind, live: bool) -> Result<Completion, ModelError> {
        let attempts = self.attempts;
        match &self.lost {
            Some(Lost::TimedOut) => return Err(ModelError::TimedOut { attempts }),
            Some(Lost::Unreachable(message)) => return Err(ModelError::Unreachable(message.clone())),
            Some(Lost::Broken(message)) => return Err(ModelError::Malformed(message.clone())),
            Some(Lost::TooLarge(bound)) => return Err(ModelError::TooLarge(*bound)),
            None => {}
        }
        let status = self.status.unwrap_or_default();
        match status {
            200..=299 => {}
            300..=399 => return Err(ModelError::Redirected(status)),
            401 | 403 => return Err(ModelError::Auth { status, message: self.complaint() }),
            429 => return Err(ModelError::RateLimited { attempts, retry_after: self.retry_after }),
            408 => return Err(ModelError::TimedOut { attempts }),
            500..=599 => return Err(ModelError::Server { status, attempts, message: self.complaint() }),
            _ => return Err(ModelError::Rejected { status, message: self.complaint() }),
        }
        match dialect::said(kind, &self.body) {
            Said::Words { text, cut, model } => {
                let usage = dialect::usage(kind, &self.body);
                Ok(Completion { text, cut, model, usage, attempts, live })
            }
            Said::Declined(why) => Err(ModelError::Declined(shortened(&why))),
            Said::Nothing(_) if self.body.is_string() => {
                Err(ModelError::Malformed(format!("no JSON, but `{}`", self.complaint())))
            }
            Said::Nothing(why) => Err(ModelError::Malformed(why.to_owned())),
        }
    }

    fn complaint(&self) -> String {
        let words = dialect::complaint(&self.body).or_else(|| self.body.as_str().map(str::to_owned));
        shortened(&words.unwrap_or_else(|| "it says nothing about why".to_owned()))
    }
}

/// The beginning of what an endpoint says, on one line.
fn shortened(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = line.chars().filter(|letter| !letter.is_control()).take(COMPLAINT).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    if shown.is_empty() { "an empty body".to_owned() } else { shown }
}
