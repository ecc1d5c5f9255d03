//! Whether an agent works, as far as its own answers say so.
//!
//! An agent whose model is down answers too: with an error, with a task that failed, with a run that ended without a word. It
//! does nothing that it was told, and has resisted nothing.

use serde_json::Value;

use sortie_bindings::LOCAL;
use sortie_oatf::model::Mode;

use crate::agent_answer;
use crate::record::{Kind, Message, Sender};

/// JSON-RPC errors that say something about the agent and not about what it was asked: it does not know its own protocol, or
/// something went wrong inside. All others may be refusals, which only a control tells from an agent that refuses everything.
const BROKEN: [i64; 3] = [-32700, -32603, -32601];

/// What an agent says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFault {
    /// The actor that it said so to.
    pub actor: String,
    /// The record that says so.
    pub seq: u64,
    /// The agent's own words, or what there is in place of them.
    pub words: String,
    /// Whether it is only that nothing was said. Where not everything was recorded, that says nothing.
    pub is_silence: bool,
}

/// Watches what agents answer to the client actors that drive them, and remembers the last word of each.
///
/// ```
/// use sortie_trace::health::Health;
/// use sortie_trace::{Record, Trace};
///
/// let lines = concat!(
///     r#"{"record":"header","version":1,"origin":"run","written_by":"me","time":"2026-11-15T21:50:07.000000Z"}"#, "\n",
///     r#"{"record":"message","seq":1,"time":"2026-11-15T21:50:07.000000Z","actor":"user","mode":"ag_ui_client","#,
///     r#""phase":"ask","protocol":"ag_ui","surfaces":["run_error"],"direction":"response","kind":"event","#,
///     r#""connection":"run-1","sender":"agent","content":{"type":"RUN_ERROR","message":"model unreachable"}}"#, "\n",
/// );
/// let (_, records) = Trace::open(lines.as_bytes()).unwrap();
/// let mut health = Health::default();
/// for record in records {
///     if let Record::Message(message) = record.unwrap() {
///         health.observe(&message);
///     }
/// }
/// assert_eq!(health.fault().unwrap().words, "model unreachable");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Health {
    actors: Vec<Actor>,
    acted: Option<u64>,
    declined: Option<u64>,
    /// The last list or the like that a server answered with.
    listed: Option<u64>,
    /// Whether a server was asked to do more than list.
    asked_to_act: bool,
    said: Option<u64>,
}

/// Requests that an agent makes because its model wants to, and not because its client always does.
const ACTS: [&str; 6] =
    ["tools/call", "resources/read", "prompts/get", "message/send", "message/stream", "completion/complete"];

/// Requests of a server that a model answers, or the person in front of it.
const ASKED: [&str; 2] = ["sampling/createMessage", "elicitation/create"];

#[derive(Clone, Debug, Default)]
struct Actor {
    name: String,
    fault: Option<AgentFault>,
    /// Whether the agent has said or done something in the run or task that goes on.
    spoke: bool,
    /// Whether it streams a text whose end nobody has seen.
    open_text: bool,
}

/// What one message says.
enum Sign {
    Works,
    /// It will not, and does not say that it cannot.
    Declines,
    Fails(String),
    /// A text begins or ends, which an empty one does too.
    Frame,
    RunBegins,
    RunEnds,
}

impl Health {
    /// Takes note of a message.
    pub fn observe(&mut self, message: &Message) {
        let is_mcp_client = message.protocol == "mcp" && Mode::of(&message.mode).is_client();
        let is_act = message.surfaces.first().is_some_and(|surface| DONE.contains(&surface.as_str()));
        if message.sender != Sender::Agent {
            self.asked_to_act |= is_mcp_client && is_act && message.kind == Kind::Request;
            return;
        }
        if is_mcp_client && !is_act && message.kind == Kind::Response && !is_handshake(message) {
            self.listed = Some(message.seq);
        }
        if agent_answer::is_one(message) {
            self.said = Some(message.seq);
            return;
        }
        if Mode::of(&message.mode).is_server() || message.protocol == LOCAL {
            let is =
                |known: &[&str]| message.surfaces.iter().any(|surface| known.contains(&surface.as_str()));
            let acts = match message.kind {
                Kind::Request => is(&ACTS),
                Kind::Response => is(&ASKED),
                _ => false,
            };
            self.acted = acts.then_some(message.seq).or(self.acted);
            return;
        }
        if let Some(sign) = sign(message) {
            self.take(message, sign);
        }
    }

    /// Takes note of an answer that somebody else has read, and of what it says is wrong.
    pub(crate) fn answered(&mut self, message: &Message, wrong: Option<String>) {
        self.take(message, wrong.map_or(Sign::Works, Sign::Fails));
    }

    fn take(&mut self, message: &Message, sign: Sign) {
        let at = self.actors.iter().position(|actor| actor.name == message.actor).unwrap_or_else(|| {
            self.actors.push(Actor { name: message.actor.clone(), ..Actor::default() });
            self.actors.len() - 1
        });
        let actor = &mut self.actors[at];
        match message.surfaces.first().map(String::as_str) {
            Some("text_message_start" | "text_message_content") => actor.open_text = true,
            Some("text_message_end" | "run_started" | "messages_snapshot") => actor.open_text = false,
            _ => {}
        }
        let fails = |words: String, is_silence| {
            Some(AgentFault { actor: message.actor.clone(), seq: message.seq, words, is_silence })
        };
        match sign {
            Sign::Works => {
                (actor.fault, actor.spoke) = (None, true);
                self.acted = Some(message.seq);
            }
            Sign::Declines => {
                (actor.fault, actor.spoke) = (None, true);
                self.declined = Some(message.seq);
            }
            Sign::Fails(words) => actor.fault = fails(words, false),
            Sign::RunBegins => actor.spoke = false,
            Sign::RunEnds if !actor.spoke => {
                actor.fault = fails("it ended without a word".to_owned(), true);
            }
            // Nobody looks at a text before it is whole.
            Sign::RunEnds if actor.open_text => {
                actor.fault = fails(
                    "it ended in the middle of a text: there is no `TEXT_MESSAGE_END`".to_owned(),
                    false,
                );
            }
            Sign::Frame | Sign::RunEnds => {}
        }
    }

    /// The last record that only an agent which works sends: a call, an answer. Lists are fetched, and sessions opened, by clients
    /// whose model is down.
    pub fn acted(&self) -> Option<u64> {
        self.acted
    }

    /// The last record with which it turned something down, by the means of its protocol. An agent that turns everything down says
    /// the same, so this is a sign of life only where a control shows that it works.
    pub fn declined(&self) -> Option<u64> {
        self.declined
    }

    /// The last record with which a server listed what it has, where it was never asked for more: then that is all there is to do.
    pub fn listed(&self) -> Option<u64> {
        self.listed.filter(|_| !self.asked_to_act)
    }

    /// The record of what the agent said in the end, where it is a process of ours and said anything.
    pub fn said(&self) -> Option<u64> {
        self.said
    }

    /// The first agent whose last word is that it does not work.
    pub fn fault(&self) -> Option<&AgentFault> {
        self.actors.iter().find_map(|actor| actor.fault.as_ref())
    }
}

fn sign(message: &Message) -> Option<Sign> {
    let surface = message.surfaces.first().map(String::as_str).unwrap_or_default();
    match (message.protocol.as_str(), surface) {
        ("ag_ui", "run_started") => Some(Sign::RunBegins),
        ("ag_ui", "run_finished") => Some(Sign::RunEnds),
        ("ag_ui", "run_error") => {
            let words =
                message.document_json()["message"].as_str().unwrap_or("a run ended with an error").to_owned();
            Some(Sign::Fails(words))
        }
        ("ag_ui", surface) => {
            let acts = [
                "text_message_",
                "tool_call_",
                "state_",
                "messages_snapshot",
                "activity_",
                "subagent_finished",
            ];
            acts.iter().any(|act| surface.starts_with(act)).then(|| {
                let frames = ["text_message_start", "text_message_end"].contains(&surface);
                if frames { Sign::Frame } else { Sign::Works }
            })
        }
        ("a2a", "message/send" | "message/stream" | "tasks/get" | "task/status" | "task/artifact") => {
            a2a(message)
        }
        // Whatever a server does when it is asked to shows that it works, but for what says that it does not, or nothing.
        ("mcp", surface) if DONE.contains(&surface) => match message.kind {
            Kind::Response => (!is_empty(&message.document_json()["result"])).then_some(Sign::Works),
            Kind::Error => {
                let code = message.document_json()["error"]["code"].as_i64();
                (!code.is_some_and(|code| BROKEN.contains(&code))).then_some(Sign::Works)
            }
            _ => None,
        },
        _ => None,
    }
}

/// What a server does, and does not only list.
const DONE: [&str; 6] = [
    "tools/call",
    "resources/read",
    "prompts/get",
    "completion/complete",
    "elicitation/create",
    "sampling/createMessage",
];

/// Whether a message is about getting to know each other.
fn is_handshake(message: &Message) -> bool {
    let known = ["initialize", "server/discover", "ping", "logging/setLevel"];
    message.surfaces.iter().all(|surface| known.contains(&surface.as_str()))
}

/// Whether a result has a place for content, and nothing in it.
fn is_empty(result: &Value) -> bool {
    let mut places = ["content", "contents", "messages"].iter().filter_map(|key| result[*key].as_array());
    let structured = result.get("structuredContent").is_some_and(|content| !content.is_null());
    !structured && places.any(|items| items.iter().all(is_blank))
}

/// Whether an item of content is a text without letters.
fn is_blank(item: &Value) -> bool {
    item["text"].as_str().is_some_and(|text| text.trim().is_empty())
}

/// Whether a task or an update of one brings anything: an artifact, or words of the agent.
fn brings_something(said: &Value) -> bool {
    let full = |holder: &Value| holder["parts"].as_array().is_some_and(|parts| !parts.iter().all(is_blank));
    let list = |key: &str| said[key].as_array().into_iter().flatten();
    list("artifacts").chain([&said["artifact"], &said["status"]["message"]]).any(full)
        || list("history").any(|message| message["role"] == "agent" && full(message))
}

fn a2a(message: &Message) -> Option<Sign> {
    let whole = message.document_json();
    if let Some(error) = whole.get("error").filter(|error| !error.is_null()) {
        let broken = error["code"].as_i64().is_some_and(|code| BROKEN.contains(&code));
        let words = error["message"].as_str().unwrap_or("an error without a word").to_owned();
        return Some(if broken { Sign::Fails(words) } else { Sign::Declines });
    }
    if message.kind == Kind::Error {
        return None;
    }
    // An event of a stream may stand for itself, outside of a JSON-RPC answer.
    let said = whole.get("result").unwrap_or(&whole);
    match (said["kind"].as_str(), said["status"]["state"].as_str()) {
        (_, Some(state @ ("failed" | "canceled" | "auth-required" | "unknown"))) => {
            let parts = said["status"]["message"]["parts"].as_array().into_iter().flatten();
            let words: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
            let words = if words.is_empty() { String::new() } else { format!(": {}", words.join(" ")) };
            Some(Sign::Fails(format!("its task is `{state}`{words}")))
        }
        (Some("artifact-update"), _) => brings_something(said).then_some(Sign::Works),
        (_, Some("input-required")) => Some(Sign::Works),
        (_, Some("rejected")) => Some(Sign::Declines),
        (_, Some("completed")) if brings_something(said) => Some(Sign::Works),
        (Some("status-update"), Some("completed")) => Some(Sign::RunEnds),
        (_, Some("completed")) => {
            Some(Sign::Fails("its task is `completed`, and nothing came of it".to_owned()))
        }
        (_, Some(_)) if brings_something(said) => Some(Sign::Works),
        (Some("task"), Some("submitted" | "working")) => Some(Sign::RunBegins),
        (Some("message"), _) if said["parts"].as_array().is_none_or(|parts| parts.iter().all(is_blank)) => {
            Some(Sign::Fails("its message has nothing in it".to_owned()))
        }
        (Some("message"), _) => Some(Sign::Works),
        _ => None,
    }
}
