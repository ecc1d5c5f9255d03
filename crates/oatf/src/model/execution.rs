//! How an attack is played: actors, phases, triggers, extractors.

use indexmap::IndexMap;
use serde_json::Value;
use sortie_syntax::ExactNumbers;

use super::{
    AdvanceReason, Extensions, ExtractorSource, ExtractorType, LogLevel, MatchPredicate, OperandError,
    predicate_from_value,
};

/// The execution profile, in one of three forms: `state`, `phases` or `actors`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Execution {
    /// Attacker posture (`mcp_server`).
    pub mode: Option<String>,
    /// State of the single-phase form.
    pub state: Option<Value>,
    /// Phases of the multi-phase form.
    pub phases: Option<Vec<Phase>>,
    /// Actors of the multi-actor form; always present after normalisation.
    pub actors: Option<Vec<Actor>>,
    /// Its `x-` fields.
    pub extensions: Extensions,
    /// Numbers in `state` that [`Value`] cannot print as written.
    pub state_numbers: ExactNumbers,
}

/// An endpoint of the attack, with a posture and phases of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Actor {
    /// Unique name.
    pub name: String,
    /// Attacker posture.
    pub mode: String,
    /// What it does, in order.
    pub phases: Vec<Phase>,
    /// Its `x-` fields.
    pub extensions: Extensions,
}

/// A stage of an actor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phase {
    /// Label; `phase-N` when absent.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Attacker posture, where it is not inherited.
    pub mode: Option<String>,
    /// What the actor serves or sends; the previous phase's when absent.
    pub state: Option<Value>,
    /// Values captured from messages.
    pub extractors: Option<Vec<Extractor>>,
    /// Actions on entry.
    pub on_enter: Option<Vec<Action>>,
    /// What ends the phase; absent on a terminal phase.
    pub trigger: Option<Trigger>,
    /// Its `x-` fields.
    pub extensions: Extensions,
    /// Numbers in `state` that [`Value`] cannot print as written.
    pub state_numbers: ExactNumbers,
}

impl Phase {
    /// The mode of this phase: its own, or that of the actor it belongs to.
    ///
    /// ```
    /// # use sortie_oatf::model::{Actor, Phase};
    /// let actor = Actor { mode: "mcp_server".into(), ..Actor::default() };
    /// assert_eq!(Phase::default().resolved_mode(&actor), "mcp_server");
    /// ```
    pub fn resolved_mode<'a>(&'a self, actor: &'a Actor) -> &'a str {
        self.mode.as_deref().unwrap_or(&actor.mode)
    }
}

/// What ends a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trigger {
    /// The event to wait for.
    pub event: Option<String>,
    /// How many of them; one when absent.
    pub count: Option<i64>,
    /// What must hold for an event to count.
    pub r#match: Option<MatchPredicate>,
    /// When the phase ends regardless, as a duration from its start.
    pub after: Option<String>,
}

/// Captures a value from a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Extractor {
    /// Variable name.
    pub name: String,
    /// Which message of an exchange it reads.
    pub source: ExtractorSource,
    /// How it selects.
    pub r#type: ExtractorType,
    /// What it selects.
    pub selector: String,
}

/// What a reader begins with. All of it is there in a valid document.
impl Default for Extractor {
    fn default() -> Self {
        let (source, r#type) = (ExtractorSource::Request, ExtractorType::JsonPath);
        Self { name: String::new(), source, r#type, selector: String::new() }
    }
}

/// An event that an actor observed.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtocolEvent {
    /// Its type (`tools/call`).
    pub event_type: String,
    /// Its content, which predicates look at.
    pub content: Value,
}

/// Whether a phase advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerResult {
    /// It does.
    Advanced {
        /// Why.
        reason: AdvanceReason,
    },
    /// It stays.
    NotAdvanced,
}

/// What a trigger remembers between events; fresh for every phase entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TriggerState {
    /// Events that matched so far.
    pub event_count: u64,
}

/// An entry of a response list (`responses`, `task_responses`, …).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponseEntry {
    /// When it applies; absent on the fallback.
    pub when: Option<MatchPredicate>,
    /// What is answered, put on the wire untouched.
    pub content: Option<Value>,
    /// Reserved by the specification.
    pub synthesize: Option<SynthesizeBlock>,
    /// Fields that a binding defines beside these (`messages`, `action`), in source order.
    pub fields: serde_json::Map<String, Value>,
}

impl ResponseEntry {
    /// Reads an entry from pass-through state.
    pub fn from_value(value: &Value) -> Result<Self, OperandError> {
        let error = |key: &str, expected| OperandError { key: key.to_owned(), expected };
        let fields = value.as_object().ok_or_else(|| error("response entry", "a mapping"))?;
        let mut entry = Self::default();
        for (key, value) in fields {
            match (key.as_str(), value) {
                ("when" | "synthesize" | "content", Value::Null) => {}
                ("when", Value::Object(when)) => entry.when = Some(predicate_from_value(when)?),
                ("when", _) => return Err(error("when", "a mapping of paths to conditions")),
                ("content", content) => entry.content = Some(content.clone()),
                ("synthesize", block) => {
                    let prompt = block.get("prompt").and_then(Value::as_str).map(str::to_owned);
                    entry.synthesize = Some(SynthesizeBlock { prompt });
                }
                _ => {
                    entry.fields.insert(key.clone(), value.clone());
                }
            }
        }
        Ok(entry)
    }
}

/// Reserved by the specification for generated content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SynthesizeBlock {
    /// What to generate.
    pub prompt: Option<String>,
}

/// An entry action.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// What it does.
    pub kind: ActionKind,
    /// Its `x-` fields.
    pub extensions: Extensions,
    /// Numbers in it that [`Value`] cannot print as written, by pointers from the action (`/send/params/price`).
    pub numbers: ExactNumbers,
}

/// What an entry action does.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionKind {
    /// Sends a protocol message.
    Send(SendAction),
    /// Writes a log line.
    Log(LogAction),
    /// Something a binding defines: one key (V-041) and its value.
    Other(IndexMap<String, Value>),
}

impl ActionKind {
    /// The keys that say what the action does, in source order: one, in a valid document.
    pub fn keys(&self) -> Vec<&str> {
        match self {
            Self::Send(_) => vec!["send"],
            Self::Log(_) => vec!["log"],
            Self::Other(actions) => actions.keys().map(String::as_str).collect(),
        }
    }
}

/// The `send` action.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SendAction {
    /// The protocol method.
    pub method: String,
    /// Its parameters, put on the wire untouched.
    pub params: Option<Value>,
}

/// The `log` action.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogAction {
    /// The text; templates are filled.
    pub message: String,
    /// How loud.
    pub level: Option<LogLevel>,
}
