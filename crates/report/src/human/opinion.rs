//! What a judge said, read back from the report. It is data by then: what is not there is not shown.

use serde::Deserialize;
use serde_json::Value;

/// What a judge said.
#[derive(Debug, Default)]
pub(super) struct Opinion {
    pub(super) ruling: Option<Ruling>,
    /// Which model, as it names itself.
    pub(super) model: Option<String>,
    /// Each vote in a few words.
    pub(super) votes: Vec<String>,
    agree: u64,
}

/// The answer that decided.
#[derive(Debug, Deserialize)]
pub(super) struct Ruling {
    verdict: String,
    pub(super) confidence: f64,
    pub(super) reasoning: String,
    pub(super) quotes: Vec<Quote>,
    pub(super) turn: usize,
    #[serde(default)]
    pub(super) asked_again: bool,
}

/// The target's words.
#[derive(Debug, Deserialize)]
#[serde(from = "Written")]
pub(super) struct Quote {
    pub(super) text: String,
    pub(super) turn: usize,
    /// Where in the turn: it says, or it calls.
    pub(super) place: String,
}

#[derive(Deserialize)]
struct Written {
    text: String,
    turn: usize,
    #[serde(default)]
    source: Value,
}

impl From<Written> for Quote {
    fn from(Written { text, turn, source }: Written) -> Self {
        let place = match source.get("call").and_then(Value::as_u64) {
            Some(call) => format!("in call {}:", call + 1),
            None => "says:".to_owned(),
        };
        Self { text, turn, place }
    }
}

impl Opinion {
    pub(super) fn of(opinion: &Value) -> Self {
        let text = |path: &str| opinion.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let votes = opinion.get("votes").and_then(Value::as_array).into_iter().flatten();
        Self {
            ruling: opinion.get("ruling").and_then(|ruling| Ruling::deserialize(ruling).ok()),
            model: text("/provenance/model"),
            votes: votes.map(vote).collect(),
            agree: opinion.get("agree").and_then(Value::as_u64).unwrap_or(0),
        }
    }

    /// Whether a vote was for something else, or failed.
    pub(super) fn is_disputed(&self) -> bool {
        self.votes.len() as u64 > self.agree
    }
}

fn vote(vote: &Value) -> String {
    match Ruling::deserialize(vote) {
        Ok(Ruling { verdict, confidence, turn, .. }) => {
            format!("{verdict}, {confidence:.2} sure, by turn {turn}")
        }
        Err(_) => format!("no verdict: {}", reason(vote.get("reason").unwrap_or(vote))),
    }
}

/// A reason, whose detail is a text or an object of numbers.
fn reason(reason: &Value) -> String {
    let kind = reason.get("kind").and_then(Value::as_str).unwrap_or("error");
    match reason.get("detail") {
        Some(Value::String(detail)) => format!("{kind}: {detail}"),
        Some(detail) => format!("{kind}: {detail}"),
        None => kind.to_owned(),
    }
}
