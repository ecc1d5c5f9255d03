//! The records of a trace. How they are lines is in `line.rs`.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sortie_oatf::canary::CanaryValues;
pub use sortie_protocol::Kind;

use crate::content::Content;
use crate::foreign::{RecordingInfo, SourcePlace};
use crate::time::format_time;
use crate::words::{ActorFailure, PhaseEnd, StopReason};
use crate::wrapped::WrappedInfo;

/// The version of the format. A reader refuses a trace of a later one.
pub(crate) const VERSION: u32 = 1;

/// One line of a trace.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Record {
    /// The first line.
    Header(Box<Header>),
    /// Something was said.
    Message(Box<Message>),
    /// An actor entered a phase.
    Phase(PhaseEntered),
    /// A server actor accepts connections.
    Listening(Listening),
    /// An actor could not go on.
    ActorFailed(ActorFailed),
    /// The agent's process ended.
    AgentExit(AgentExit),
    /// The run ended. A trace without it was cut short.
    Stopped(Stopped),
}

impl Record {
    /// The word that stands for its kind (`message`).
    pub fn name(&self) -> &'static str {
        self.outline().0
    }

    /// Position in the trace; zero for the header.
    pub fn seq(&self) -> u64 {
        self.outline().1
    }

    /// When it happened.
    pub fn time(&self) -> &str {
        self.outline().2
    }

    /// The actor it is about, when it is about one.
    pub fn actor(&self) -> Option<&str> {
        self.outline().3
    }

    fn outline(&self) -> (&'static str, u64, &str, Option<&str>) {
        match self {
            Self::Header(record) => ("header", 0, &record.time, None),
            Self::Message(record) => ("message", record.seq, &record.time, Some(&record.actor)),
            Self::Phase(record) => ("phase", record.seq, &record.time, Some(&record.actor)),
            Self::Listening(record) => ("listening", record.seq, &record.time, Some(&record.actor)),
            Self::ActorFailed(record) => ("actor_failed", record.seq, &record.time, Some(&record.actor)),
            Self::AgentExit(record) => ("agent_exit", record.seq, &record.time, None),
            Self::Stopped(record) => ("stopped", record.seq, &record.time, None),
        }
    }

    /// Gives it its position and its time. A header has its own time, and no position.
    pub(crate) fn place(&mut self, at: u64, when: String) {
        let (seq, time) = match self {
            Self::Header(_) => return,
            Self::Message(record) => (&mut record.seq, &mut record.time),
            Self::Phase(record) => (&mut record.seq, &mut record.time),
            Self::Listening(record) => (&mut record.seq, &mut record.time),
            Self::ActorFailed(record) => (&mut record.seq, &mut record.time),
            Self::AgentExit(record) => (&mut record.seq, &mut record.time),
            Self::Stopped(record) => (&mut record.seq, &mut record.time),
        };
        (*seq, *time) = (at, when);
    }
}

/// Where a trace comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceOrigin {
    /// A run of ours: phases, listeners and the end are recorded.
    Run,
    /// Recorded elsewhere: there are messages, and nothing else is known.
    Foreign,
}

/// The first line of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename = "header")]
pub struct Header {
    /// Version of the format.
    pub version: u32,
    /// Where it comes from.
    pub origin: TraceOrigin,
    /// The program that wrote it, with its version.
    pub written_by: String,
    /// When it was started, as RFC 3339.
    pub time: String,
    /// The document that was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<TracedDocument>,
    /// The case of an evaluator that was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<TracedCase>,
    /// What was attacked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TracedTarget>,
    /// Whether the agent did its task in a control that was played before; absent where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<bool>,
    /// The recording of another program that it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Box<RecordingInfo>>,
    /// What the canaries of the run stood for. A value that would have to be redacted is left out.
    #[serde(default, skip_serializing_if = "CanaryValues::is_empty")]
    pub canaries: CanaryValues,
}

impl Header {
    /// The version of the format.
    pub const VERSION: u32 = VERSION;

    /// The header of a run that starts now.
    pub fn run(written_by: impl Into<String>, start: SystemTime) -> Self {
        Self {
            version: VERSION,
            origin: TraceOrigin::Run,
            written_by: written_by.into(),
            time: format_time(start),
            document: None,
            case: None,
            target: None,
            control: None,
            recorded: None,
            canaries: CanaryValues::new(),
        }
    }
}

/// The document that was played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedDocument {
    /// Where it was read from.
    pub file: String,
    /// `attack.id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `attack.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The case of an evaluator that was played: what decides it needs no more than this and the messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedCase {
    /// Its id (`path-escape/parent-folders/read_file`).
    pub id: String,
    /// The evaluator.
    pub evaluator: String,
    /// The name of the pattern.
    pub pattern: String,
    /// How it was played.
    pub play: TracedPlay,
    /// What the placeholders of the pattern and of the checks stood for. A value that would have to be redacted is left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// The names among them that an attacker filled in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filled: Vec<String>,
    /// The argument of the tool that the attack changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Why no harmless call of the tool worked, where some were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_failure: Option<String>,
}

/// How a case was played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TracedPlay {
    /// These messages were said first; an attacker may have gone on.
    Seeds(Vec<String>),
    /// A tool was called.
    Call {
        /// The tool.
        tool: String,
        /// What it was given.
        arguments: Map<String, Value>,
    },
    /// A tool was called several times, with one argument changed from call to call.
    Series {
        /// The tool.
        tool: String,
        /// What it was given in each call.
        calls: Vec<Map<String, Value>>,
    },
    /// The list of tools was looked at.
    Review {
        /// What was asked about it.
        text: String,
    },
    /// A connection was opened with these headers, and without credentials.
    Connection {
        /// The headers.
        headers: Map<String, Value>,
    },
}

/// What was attacked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedTarget {
    /// Its kind: `mcp`, `a2a`, `ag_ui`, `chat`, `http`, `cmd`.
    pub kind: String,
    /// Its kind, and its URL or command. No credentials.
    pub identity: String,
    /// How it is asked, and how its answers are read: the body and the path of the answer of `http`, the protocol of `cmd`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
}

/// Which half of an exchange a message is, as the protocol sees it. Notifications are requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The asking half.
    Request,
    /// The answering half, and items of a stream.
    Response,
}

impl From<Kind> for Direction {
    /// Items of a stream answer, but for those that bring what was asked for.
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Request | Kind::Notification => Self::Request,
            Kind::Response | Kind::Error | Kind::Event => Self::Response,
        }
    }
}

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// The agent under test, or whatever the actor talks to.
    Agent,
    /// An actor of the document.
    Actor,
}

/// Something was said.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "record", rename = "message")]
pub struct Message {
    /// Position in the trace: from one, and without gaps in a trace that was not cut into pieces.
    pub seq: u64,
    /// When, as RFC 3339 with microseconds.
    pub time: String,
    /// The actor that said or heard it.
    pub actor: String,
    /// The actor's mode (`mcp_server`).
    pub mode: String,
    /// The phase the actor was in.
    pub phase: String,
    /// The protocol (`mcp`).
    pub protocol: String,
    /// The operations it belongs to (`tools/call`). One stream item can be two.
    pub surfaces: Vec<String>,
    /// Which half of an exchange it is.
    pub direction: Direction,
    /// What it is on the wire.
    pub kind: Kind,
    /// JSON-RPC id, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    /// The connection or session it came over.
    pub connection: String,
    /// Who sent it.
    pub sender: Sender,
    /// Where it comes from, when it was recorded by another program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Box<SourcePlace>>,
    /// In which words the agent's client refused to send it, where a permission, a hook or the user kept it from doing so: then the
    /// model asked for it, and it never reached the actor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What was done with it on the way, where the actor stands before a real server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrapped: Option<Box<WrappedInfo>>,
    /// What was on the wire.
    #[serde(flatten)]
    pub content: Content,
}

impl Message {
    /// Whether the actor changed it on its way between the agent and a real server.
    pub fn is_changed(&self) -> bool {
        self.wrapped.as_ref().is_some_and(|wrapped| !wrapped.changes.is_empty())
    }
}

/// An actor entered a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename = "phase")]
pub struct PhaseEntered {
    /// Position in the trace.
    pub seq: u64,
    /// When.
    pub time: String,
    /// The actor.
    pub actor: String,
    /// Its mode.
    pub mode: String,
    /// The phase.
    pub phase: String,
    /// Its position among the actor's phases, from zero.
    pub index: usize,
    /// Why the one before it ended; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<PhaseEnd>,
}

/// A server actor accepts connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename = "listening")]
pub struct Listening {
    /// Position in the trace.
    pub seq: u64,
    /// When.
    pub time: String,
    /// The actor.
    pub actor: String,
    /// Its address.
    pub url: String,
}

/// An actor could not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename = "actor_failed")]
pub struct ActorFailed {
    /// Position in the trace.
    pub seq: u64,
    /// When.
    pub time: String,
    /// The actor.
    pub actor: String,
    /// Why.
    pub failure: ActorFailure,
    /// What happened.
    pub message: String,
}

/// The agent's process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename = "agent_exit")]
pub struct AgentExit {
    /// Position in the trace.
    pub seq: u64,
    /// When.
    pub time: String,
    /// Exit code; absent when a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

/// The run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename = "stopped")]
pub struct Stopped {
    /// Position in the trace.
    pub seq: u64,
    /// When.
    pub time: String,
    /// Why.
    pub because: StopReason,
    /// What happened, where `because` does not say enough and no other record does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A request that the agent sent.
    pub(crate) fn message(content: &str) -> Message {
        Message {
            seq: 0,
            time: String::new(),
            actor: "default".into(),
            mode: "mcp_server".into(),
            phase: "phase-1".into(),
            protocol: "mcp".into(),
            surfaces: vec!["tools/call".into()],
            direction: Direction::Request,
            kind: Kind::Request,
            id: None,
            connection: "c1".into(),
            sender: Sender::Agent,
            source: None,
            refused: None,
            wrapped: None,
            content: Content::from_wire(content.as_bytes()),
        }
    }
}
