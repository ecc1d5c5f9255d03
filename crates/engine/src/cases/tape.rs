//! What was said between us and a target, kept so that a run can be repeated without the target.
//!
//! An exchange is one turn: what we say or call, and what came of it. It holds the records that the turn wrote into the
//! trace, which are redacted, and the turn or the error that was made of them. The first turn of a case holds what opening the
//! conversation took.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sortie_trace::Turn;
use sortie_trace::{Record, Redactor};

use super::deciding::Later;
use super::run::Options;
use crate::targets::{Log, Offer, Target, TargetError};

/// What is asked of a target: the same in every run that asks for the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The target: its kind, and its URL or command. No credentials.
    pub target: String,
    /// What for, in words: `path-escape/parent-folders/read_file, turn 1`.
    pub purpose: String,
    /// What tells it from all others: how the target is asked, the case, the turn, what is said or called.
    pub request: Value,
}

/// Keeps the exchanges with a target.
///
/// What is kept is redacted, and holds no credentials. A tape that replays is all there is: nothing is opened, no process is
/// started. A tape that does not is written, and never asked.
pub trait Tape: Send + Sync {
    /// Whether it replays.
    fn replays(&self) -> bool;

    /// What is kept of an exchange; of several that ask for the same, the last. An error names what is missing.
    fn recall<'t>(&'t self, asked: &'t Asked) -> Later<'t, Result<Value, String>>;

    /// Keeps an exchange. Once this returns it is on disk.
    fn keep<'t>(&'t self, asked: &'t Asked, exchange: Value) -> Later<'t, Result<(), String>>;
}

/// Looks at what a target offers, or in a replay at what it offered.
pub async fn discover(target: &Target, options: &Options) -> Result<Offer, TargetError> {
    let live = async {
        let log = Arc::new(Log::nowhere(target.kind(), options.redactor.clone()));
        target.discover(&log, &options.settings).await
    };
    let Some(tape) = &options.tape else { return live.await };
    let request = json!({"as": target.manner(), "asks": "what it offers"});
    let asked = asked(target, "what the target offers", &request, &options.redactor);
    if tape.replays() {
        let told: Discovered = recall(tape.as_ref(), &asked).await?;
        return match told {
            Discovered::Offer(told) => {
                Offer::from_json(&told).ok_or_else(|| damaged(&asked, "it is not what a target offers"))
            }
            Discovered::Error(error) => Err(error),
        };
    }
    let discovered = live.await;
    let told = match &discovered {
        Ok(offer) => Discovered::Offer(offer.to_json()),
        Err(error) => Discovered::Error(error.clone()),
    };
    keep(tape.as_ref(), &asked, &redacted(&options.redactor, &told)?).await?;
    discovered
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Discovered {
    Offer(Value),
    Error(TargetError),
}

/// What we say.
#[derive(Clone, Copy, Debug)]
pub(super) enum Said<'s> {
    /// A message.
    Text(&'s str),
    /// A call of a tool.
    Call { tool: &'s str, arguments: &'s Map<String, Value> },
}

impl Said<'_> {
    /// The turn that it is.
    pub(super) fn turn(self) -> Turn {
        match self {
            Self::Text(text) => Turn::attacker(text),
            Self::Call { tool, arguments } => Turn::calling(tool, arguments.clone()),
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Heard {
    /// An answer.
    Turn(Turn),
    /// None.
    Error(TargetError),
    /// None, and it was not said either: the conversation did not begin.
    NotOpened(TargetError),
}

#[derive(Serialize, Deserialize)]
struct Exchange {
    /// The records, each as a text: as content it would forget how it was written.
    records: Vec<String>,
    heard: Value,
}

/// The key of a turn of a case.
pub(super) fn asked_in_case(
    target: &Target,
    case: &str,
    turn: usize,
    said: Said<'_>,
    redactor: &Redactor,
) -> Asked {
    let mut request = json!({"as": target.manner(), "case": case, "turn": turn});
    match said {
        Said::Text(text) => request["says"] = json!(text),
        Said::Call { tool, arguments } => request["calls"] = json!({"tool": tool, "arguments": arguments}),
    }
    asked(target, &format!("{case}, turn {turn}"), &request, redactor)
}

/// Keeps a turn, with the records that it wrote.
pub(super) async fn keep_turn(
    tape: &dyn Tape,
    asked: &Asked,
    records: Vec<String>,
    heard: &Heard,
    redactor: &Redactor,
) -> Result<(), TargetError> {
    // Records are redacted as they are written.
    let exchange = Exchange { records, heard: redacted(redactor, heard)? };
    keep(tape, asked, &exchange).await
}

/// A turn that was kept, and the records that it wrote.
pub(super) async fn recall_turn(tape: &dyn Tape, asked: &Asked) -> Result<(Vec<Record>, Heard), TargetError> {
    let Exchange { records, heard } = recall(tape, asked).await?;
    let records = records.iter().map(|record| record.parse()).collect::<Result<_, _>>();
    let damaged = |error: serde_json::Error| damaged(asked, &error.to_string());
    Ok((records.map_err(damaged)?, serde_json::from_value(heard).map_err(damaged)?))
}

fn asked(target: &Target, purpose: &str, request: &Value, redactor: &Redactor) -> Asked {
    let text = redactor.json(&request.to_string()).into_owned();
    Asked {
        target: redactor.text(&target.identity()).into_owned(),
        purpose: redactor.text(purpose).into_owned(),
        // What is redacted stays JSON; should it not, nothing of it is to be shown.
        request: serde_json::from_str(&text).unwrap_or_default(),
    }
}

async fn keep(tape: &dyn Tape, asked: &Asked, exchange: &impl Serialize) -> Result<(), TargetError> {
    let exchange = serde_json::to_value(exchange).map_err(|error| TargetError::NotKept(error.to_string()))?;
    tape.keep(asked, exchange).await.map_err(TargetError::NotKept)
}

async fn recall<T: for<'de> Deserialize<'de>>(tape: &dyn Tape, asked: &Asked) -> Result<T, TargetError> {
    let exchange = tape.recall(asked).await.map_err(TargetError::NotRecorded)?;
    serde_json::from_value(exchange).map_err(|error| damaged(asked, &error.to_string()))
}

fn damaged(asked: &Asked, why: &str) -> TargetError {
    TargetError::NotRecorded(format!(
        "what is recorded for {}, asking {}, is not what was: {why}",
        asked.purpose, asked.target
    ))
}

fn redacted(redactor: &Redactor, value: &impl Serialize) -> Result<Value, TargetError> {
    let text = serde_json::to_string(value).map_err(|error| TargetError::NotKept(error.to_string()))?;
    serde_json::from_str(&redactor.json(&text)).map_err(|error| TargetError::NotKept(error.to_string()))
}
