//! Runs of `ThoughtJack`, another runner of OATF documents: `SCENARIO_runN.trace.jsonl`, with its verdict beside it.
//!
//! A line is `{"seq", "timestamp", "actor", "phase", "direction", "method", "content"}`. In its context mode nothing is on a wire:
//! agents are tools of a model, so that a message to an A2A agent is a `tools/call` of an actor that served its card, and the
//! lists of tools are in a prompt that is not recorded. Results are wrapped twice.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;
use sortie_protocol::Kind;
use sortie_trace::{Content, Direction, Message, Sender, TracedDocument};

use sortie_recording::fields::Fields;
use sortie_recording::format::{Format, Head, ImportError, Sink};
use sortie_recording::input::Input;
use sortie_recording::loss::Gap;
use sortie_recording::session::{CalledTool, End, SessionBuilder, blank};

pub(crate) static FORMAT: Format = Format {
    name: "thoughtjack",
    about: "runs of ThoughtJack: `*.trace.jsonl`, and its verdicts beside them",
    shows: &[
        ("mcp", "tools/call", Direction::Request),
        ("mcp", "tools/call", Direction::Response),
        ("mcp", "sampling/createMessage", Direction::Request),
        ("mcp", "sampling/createMessage", Direction::Response),
        ("a2a", "message/send", Direction::Request),
        ("a2a", "message/send", Direction::Response),
        ("a2a", "agent_card/get", Direction::Response),
        ("ag_ui", "run_agent_input", Direction::Request),
        ("ag_ui", "text_message_content", Direction::Response),
        ("ag_ui", "text_message_end", Direction::Response),
        ("ag_ui", "tool_call_start", Direction::Response),
        ("ag_ui", "tool_call_end", Direction::Response),
        ("ag_ui", "run_finished", Direction::Response),
    ],
    gaps: &[Gap {
        what: "lists of tools, resources and prompts",
        means: "they are part of a prompt that is not recorded, so it is unknown which descriptions the model saw",
    }],
    recognizes,
    read,
};

fn recognizes(head: &Head<'_>) -> bool {
    head.has_line_with(&["seq", "actor", "phase", "direction", "method", "content"])
        && (head.says(&["\"outgoing\""]) || head.says(&["\"incoming\""]))
}

fn read(format: &Format, input: Input<'_>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let mut lines = input.lines();
    let stem = lines.name().rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = stem.strip_suffix(".trace.jsonl").unwrap_or(stem).to_owned();
    let mut session = SessionBuilder::new(format, stem.as_str(), lines.name(), lines.limits());
    let mut reader = Reader::default();
    while let Some((number, line)) = lines.next_line()? {
        let Some(mut fields) = Fields::of(line) else {
            if lines.was_cut() {
                session.odd("a last line that is cut off");
                break;
            }
            return Err(lines.invalid("it is not a JSON object"));
        };
        session.line(number);
        if let Some(why) = reader.line(&mut session, &mut fields) {
            return Err(lines.invalid(why));
        }
    }
    let end = beside(lines.path(), &mut session).unwrap_or_else(|| reader.end());
    session.inferred("the tools, agents and resources of each actor were shown to the model");
    sink(session.finish(end).into())
}

#[derive(Default)]
struct Reader {
    /// Actors that served an agent card.
    agents: HashSet<String>,
    calls: u64,
    /// The call of each actor that waits for its result, oldest first.
    waiting: Vec<(String, String)>,
    asked: u64,
    finished: u64,
}

impl Reader {
    /// Reads a line; says what is wrong with it.
    fn line(&mut self, session: &mut SessionBuilder, fields: &mut Fields<'_>) -> Option<&'static str> {
        let (Some(actor), Some(phase), Some(method), Some(direction)) =
            (fields.text("actor"), fields.text("phase"), fields.text("method"), fields.text("direction"))
        else {
            return Some("it lacks `actor`, `phase`, `method` or `direction`");
        };
        let Some(content) = fields.take("content") else { return Some("it has no `content`") };
        let incoming = match direction.as_str() {
            "incoming" => true,
            "outgoing" => false,
            _ => return Some("its `direction` is neither `incoming` nor `outgoing`"),
        };
        if let Some(time) = fields.text("timestamp") {
            session.time(&time);
        }
        session.leave("line", fields, &["seq"]);
        self.said(session, &actor, &phase, &method, incoming, content);
        None
    }

    fn said(
        &mut self,
        session: &mut SessionBuilder,
        actor: &str,
        phase: &str,
        method: &str,
        incoming: bool,
        content: &RawValue,
    ) {
        let is_agent = self.agents.contains(actor);
        match (method, incoming) {
            ("agent_card_read", true) => {
                self.agents.insert(actor.to_owned());
                let wire = Said {
                    protocol: "a2a",
                    mode: "a2a_server",
                    surface: "agent_card/get",
                    kind: Kind::Response,
                };
                wire.put(session, actor, phase, Sender::Actor, content.get());
            }
            ("tools/call", true) => {
                self.calls += 1;
                let id = format!("call-{}", self.calls);
                self.waiting.push((actor.to_owned(), id.clone()));
                let Some(mut call) = Fields::of(content.get()) else {
                    session.unknown("a call that is not an object");
                    return;
                };
                let name = call.text("name").unwrap_or_default();
                let arguments = call.take("arguments").map(ToOwned::to_owned);
                session.leave("tools/call", &call, &[]);
                let arguments = arguments.unwrap_or_else(empty);
                let tool = if is_agent {
                    CalledTool::Agent { agent: actor.to_owned(), skill: name }
                } else {
                    CalledTool::Mcp { server: actor.to_owned(), name }
                };
                session.phase(phase).call(&id, &tool, &arguments);
            }
            ("tools/call", false) => {
                let Some(at) = self.waiting.iter().position(|(whose, _)| whose == actor) else {
                    session.odd("a result of no call");
                    return;
                };
                let (_, id) = self.waiting.remove(at);
                // `{"content": {"content": […]}}`
                let inner = Fields::of(content.get()).and_then(|mut outer| outer.take("content"));
                let inner = inner.filter(|inner| inner.get().starts_with('{'));
                session.phase(phase).result(&id, inner.unwrap_or(content), false);
            }
            ("tools/list", true) => {
                // What the model is shown from here on, after a phase changed it.
                session.phase(phase).tools(Some(actor), content);
                session.shows("mcp", "tools/list", Direction::Response);
            }
            ("sampling/createMessage", _) => {
                let kind = if incoming { Kind::Response } else { Kind::Request };
                let wire =
                    Said { protocol: "mcp", mode: "mcp_server", surface: "sampling/createMessage", kind };
                let sender = if incoming { Sender::Agent } else { Sender::Actor };
                wire.put(session, actor, phase, sender, content.get());
            }
            ("run_agent_input", false) => {
                self.asked += 1;
                let wire =
                    Said { protocol: "ag_ui", mode: "ag_ui_client", surface: method, kind: Kind::Request };
                wire.put(session, actor, phase, Sender::Actor, content.get());
            }
            (
                "run_started"
                | "run_finished"
                | "run_error"
                | "text_message_start"
                | "text_message_content"
                | "text_message_end"
                | "tool_call_start"
                | "tool_call_args"
                | "tool_call_end"
                | "tool_call_result",
                true,
            ) => {
                self.finished += u64::from(matches!(method, "run_finished" | "run_error"));
                let wire =
                    Said { protocol: "ag_ui", mode: "ag_ui_client", surface: method, kind: Kind::Event };
                wire.put(session, actor, phase, Sender::Agent, content.get());
            }
            _ => {
                let way = if incoming { "incoming" } else { "outgoing" };
                session.unknown(&format!("{way} {method}"));
            }
        }
    }

    fn end(&self) -> End {
        if self.finished < self.asked || self.asked == 0 {
            return End::Cut("it has no `run_finished` for what the user asked".to_owned());
        }
        End::Done
    }
}

struct Said<'s> {
    protocol: &'static str,
    mode: &'static str,
    surface: &'s str,
    kind: Kind,
}

impl Said<'_> {
    fn put(self, session: &mut SessionBuilder, actor: &str, phase: &str, sender: Sender, content: &str) {
        session.wire(Message {
            actor: actor.to_owned(),
            mode: self.mode.to_owned(),
            phase: phase.to_owned(),
            protocol: self.protocol.to_owned(),
            surfaces: vec![self.surface.to_owned()],
            direction: self.kind.into(),
            kind: self.kind,
            connection: actor.to_owned(),
            sender,
            content: Content::from_wire(content.as_bytes()),
            ..blank()
        });
    }
}

/// How much is read of the verdict beside a trace.
const VERDICT: u64 = 4 * 1024 * 1024;

/// What `SCENARIO_runN.json` says: the document, the verdict, the model; and a failure, which ends it.
fn beside(trace: Option<&Path>, session: &mut SessionBuilder) -> Option<End> {
    let path = trace?.to_str()?.strip_suffix(".trace.jsonl").map(|stem| format!("{stem}.json"))?;
    let mut text = String::new();
    let file = File::open(&path).ok()?;
    file.take(VERDICT).read_to_string(&mut text).ok()?;
    let report: Value = serde_json::from_str(&text).ok()?;
    let word = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let attack = &report["attack"];
    if attack.is_object() {
        let file = format!("{}.yaml", attack["id"].as_str().unwrap_or("document"));
        session.document(TracedDocument { file, id: word(&attack["id"]), name: word(&attack["name"]) });
    }
    session.about("verdict", report["verdict"]["result"].clone());
    session.about("program", report["verdict"]["source"].clone());
    session.about("model", report["execution_summary"]["context_model"].clone());
    if let Some(error) = report["error"].as_str() {
        return Some(End::Failed(error.to_owned()));
    }
    let mut actors = report["execution_summary"]["actors"].as_array().into_iter().flatten();
    let failed = actors.find_map(|actor| actor["error"].as_str());
    failed.map(|words| End::Failed(words.to_owned()))
}

fn empty() -> Box<RawValue> {
    RawValue::NULL.to_owned()
}
