//! One conversation of a recording, as messages that would have been on the wire.
//!
//! | in the recording | in the trace |
//! |---|---|
//! | what the user asks | AG-UI `run_agent_input` |
//! | what the agent tells its user | AG-UI `text_message_content` and `text_message_end`, so that `_text` and `agent: answer` see it |
//! | a call of a tool of an MCP server | MCP `tools/call`, of the actor that is called like the server |
//! | a call of a function of the program's own | the same under the protocol `local` |
//! | a call of another agent | A2A `message/send` |
//! | the list of tools, where it was recorded | `tools/list` |

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sortie_protocol::Kind;
use sortie_trace::foreign::{Lack, MessageClass, RecordingInfo, SourcePlace};
use sortie_trace::time::{format_time, parse_time};
use sortie_trace::{Content, Direction, Header, Message, Record, Sender, TraceOrigin, TracedDocument};

use crate::fields::Fields;
use crate::format::Format;
use crate::input::InputLimits;
use crate::loss::{RecordingLoss, count};

/// The actor of what the user asks and is told.
const USER: &str = "user";
/// The protocol of functions of the program's own, and their actor.
const LOCAL: &str = "local";

/// A tool that an agent may call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CalledTool {
    /// A tool of an MCP server.
    Mcp {
        /// The server, as the agent's configuration calls it.
        server: String,
        /// The tool, as the server calls it.
        name: String,
    },
    /// A function of the program's own.
    Local(String),
    /// A skill of another agent, over A2A.
    Agent {
        /// The agent.
        agent: String,
        /// The skill, which no message of A2A names: it stands beside the message, as the recording has it.
        skill: String,
    },
}

impl CalledTool {
    /// The tool that `mcp__SERVER__TOOL` stands for; any other name is that of a function.
    ///
    /// ```
    /// use sortie_recording::session::CalledTool;
    ///
    /// let tool = CalledTool::Mcp { server: "mail".into(), name: "send__now".into() };
    /// assert_eq!(CalledTool::named("mcp__mail__send__now"), tool);
    /// assert_eq!(CalledTool::named("Read"), CalledTool::Local("Read".into()));
    /// ```
    pub fn named(name: &str) -> Self {
        match name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            Some((server, name)) if !server.is_empty() && !name.is_empty() => {
                Self::Mcp { server: server.to_owned(), name: name.to_owned() }
            }
            _ => Self::Local(name.to_owned()),
        }
    }

    fn wire(&self) -> Wire<'_> {
        match self {
            Self::Mcp { server, .. } => Wire { actor: server, mode: "mcp_server", protocol: "mcp" },
            Self::Local(_) => Wire { actor: LOCAL, mode: LOCAL, protocol: LOCAL },
            Self::Agent { agent, .. } => Wire { actor: agent, mode: "a2a_server", protocol: "a2a" },
        }
    }
}

struct Wire<'w> {
    actor: &'w str,
    mode: &'static str,
    protocol: &'static str,
}

/// How a recording ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The agent was done.
    Done,
    /// Nobody knows what came after, for this reason: a clause.
    Cut(String),
    /// The agent failed, in these words.
    Failed(String),
}

/// One conversation of a recording.
#[derive(Debug)]
pub struct RecordedSession {
    /// The session, conversation or sample, as its file calls it.
    pub id: String,
    /// The format.
    pub format: &'static str,
    /// The file.
    pub file: String,
    /// What the source says about itself: `model`, `program`, `version`, `verdict`.
    pub about: Map<String, Value>,
    /// The document that was played, where the source says so.
    pub document: Option<TracedDocument>,
    /// Files that were read with it, and are no sessions of their own.
    pub companions: Vec<PathBuf>,
    /// What was lost.
    pub loss: RecordingLoss,
    shows: Vec<MessageClass>,
    failed: Option<String>,
    started: String,
    messages: Vec<Message>,
}

impl RecordedSession {
    /// The header of its trace. `written_by` is the program that writes it.
    pub fn header(&self, written_by: &str) -> Header {
        let recorded = RecordingInfo {
            format: self.format.to_owned(),
            session: self.id.clone(),
            about: self.about.clone(),
            shows: self.shows.clone(),
            lacks: self.loss.file_lacks.clone(),
            cut: self.loss.cut.clone(),
            failed: self.failed.clone(),
        };
        Header {
            origin: TraceOrigin::Foreign,
            time: self.started.clone(),
            document: self.document.clone(),
            recorded: Some(Box::new(recorded)),
            ..Header::run(written_by, UNIX_EPOCH)
        }
    }

    /// Its messages, in order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Its messages as records, in order.
    pub fn into_records(self) -> impl Iterator<Item = Record> {
        self.messages.into_iter().map(|message| Record::Message(Box::new(message)))
    }
}

/// A call that has no result yet.
#[derive(Debug)]
struct WaitingCall {
    tool: CalledTool,
    /// Its position among the messages.
    message: usize,
}

/// How much is kept of the words of a refusal, in characters.
const REFUSAL: usize = 1000;

/// Puts a session together, in the order of the recording.
///
/// ```
/// use sortie_recording::format::Format;
/// use sortie_recording::input::InputLimits;
/// use sortie_recording::session::{End, SessionBuilder, CalledTool};
///
/// static FORMAT: Format = Format {
///     name: "mine",
///     about: "my own sessions",
///     shows: &[],
///     gaps: &[],
///     recognizes: |_| false,
///     read: |_, _, _| Ok(()),
/// };
/// let mut session = SessionBuilder::new(&FORMAT, "s1", "s1.jsonl", InputLimits::default());
/// session.line(1).time("2026-11-15T10:00:00Z").prompt("Read my mail.");
/// let arguments = serde_json::from_str("{}").unwrap();
/// session.line(2).call("c1", &CalledTool::named("mcp__mail__read"), arguments);
/// session.line(3).result_text("c1", "Hello.", false);
/// session.line(4).answer("Somebody says hello.");
/// let session = session.finish(End::Done);
/// // The answer is two messages: its text, and its end.
/// assert_eq!(session.messages().len(), 5);
/// assert_eq!(session.messages()[1].source.as_ref().unwrap().to_string(), "s1.jsonl:2");
/// ```
#[derive(Debug)]
pub struct SessionBuilder {
    session: RecordedSession,
    limits: InputLimits,
    bytes: usize,
    place: SourcePlace,
    time: Option<SystemTime>,
    first: Option<SystemTime>,
    /// Calls that wait for their result.
    calls: HashMap<String, WaitingCall>,
    answers: u64,
    phase: String,
}

impl SessionBuilder {
    /// A session of a file in which nothing was said yet.
    pub fn new(format: &Format, id: impl Into<String>, file: &str, limits: InputLimits) -> Self {
        let session = RecordedSession {
            id: id.into(),
            format: format.name,
            file: file.to_owned(),
            about: Map::new(),
            document: None,
            companions: Vec::new(),
            loss: RecordingLoss { format_cannot: format.gaps.to_vec(), ..RecordingLoss::default() },
            shows: format.shows(),
            failed: None,
            started: String::new(),
            messages: Vec::new(),
        };
        let place = SourcePlace { file: file.to_owned(), line: None, item: None };
        Self {
            session,
            limits,
            bytes: 0,
            place,
            time: None,
            first: None,
            calls: HashMap::new(),
            answers: 0,
            phase: String::new(),
        }
    }

    /// What follows is from this line.
    pub fn line(&mut self, line: u64) -> &mut Self {
        self.place.line = Some(line);
        self
    }

    /// What follows is from this span, member or pointer.
    pub fn item(&mut self, item: impl Into<String>) -> &mut Self {
        self.place.item = Some(item.into());
        self
    }

    /// What follows is from a line, and needs no name.
    pub fn no_item(&mut self) -> &mut Self {
        self.place.item = None;
        self
    }

    /// Where what follows is from.
    pub fn place(&self) -> &SourcePlace {
        &self.place
    }

    /// What follows is from this file.
    pub fn file(&mut self, file: &str) -> &mut Self {
        self.place = SourcePlace { file: file.to_owned(), line: None, item: None };
        self
    }

    /// A file besides its own was read for it.
    pub fn companion(&mut self, path: &Path) -> &mut Self {
        self.session.companions.push(path.to_owned());
        self
    }

    /// What follows was said at this time, as RFC 3339. What is none is counted, and changes nothing.
    pub fn time(&mut self, time: &str) -> &mut Self {
        match parse_time(time) {
            Some(time) => self.at(time),
            None => self.odd("a time that is none"),
        }
    }

    /// What follows was said at this time.
    pub fn at(&mut self, time: SystemTime) -> &mut Self {
        self.first.get_or_insert(time);
        self.time = Some(time);
        self
    }

    /// What follows was said in this phase of an actor, where the recording knows phases.
    pub fn phase(&mut self, phase: &str) -> &mut Self {
        phase.clone_into(&mut self.phase);
        self
    }

    /// Bounds, for what is read besides the file.
    pub fn limits(&self) -> InputLimits {
        self.limits
    }

    /// How much its messages take, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many messages it has.
    pub fn len(&self) -> usize {
        self.session.messages.len()
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.session.messages.is_empty()
    }

    /// Something that the source says about itself, the first time it says it.
    pub fn about(&mut self, key: &str, value: impl Into<Value>) -> &mut Self {
        let value = value.into();
        if !value.is_null() && self.session.about.len() < 64 {
            self.session.about.entry(key).or_insert(value);
        }
        self
    }

    /// The document that was played.
    pub fn document(&mut self, document: TracedDocument) -> &mut Self {
        self.session.document = Some(document);
        self
    }

    /// Something odd, in a few words that do not depend on content.
    pub fn odd(&mut self, what: &str) -> &mut Self {
        count(&mut self.session.loss.oddities, what);
        self
    }

    /// Something that says nothing about messages, and is passed over.
    pub fn pass(&mut self, what: &str) -> &mut Self {
        count(&mut self.session.loss.passed_over, what);
        self
    }

    /// Something that nobody knows.
    pub fn unknown(&mut self, what: &str) -> &mut Self {
        count(&mut self.session.loss.unknown, what);
        self
    }

    /// What was noted before there was a session: oddities, names that were passed over or are unknown, and what is missing.
    pub fn take_notes(&mut self, notes: &RecordingLoss) -> &mut Self {
        let loss = &mut self.session.loss;
        for (table, noted) in [
            (&mut loss.oddities, &notes.oddities),
            (&mut loss.passed_over, &notes.passed_over),
            (&mut loss.unknown, &notes.unknown),
        ] {
            for (name, times) in noted {
                *table.entry(name.clone()).or_default() += times;
            }
        }
        for lack in &notes.file_lacks {
            if loss.file_lacks.len() < 64 && !loss.file_lacks.contains(lack) {
                loss.file_lacks.push(lack.clone());
            }
        }
        self
    }

    /// Something that is known to have happened, and is not in the file.
    pub fn inferred(&mut self, what: &str) -> &mut Self {
        let inferred = &mut self.session.loss.inferred;
        if inferred.len() < 64 && !inferred.iter().any(|known| known == what) {
            inferred.push(what.to_owned());
        }
        self
    }

    /// Accounts for what is left of an object: names that say nothing about messages are passed over, others are unknown.
    pub fn leave(&mut self, within: &str, left: &Fields<'_>, known: &[&str]) -> &mut Self {
        for name in left.left() {
            let full = format!("{within}.{name}");
            if known.contains(&name) {
                self.pass(&full)
            } else {
                self.unknown(&full)
            };
        }
        self
    }

    /// Messages of this kind that the format shows, and this recording lacks. `why` is a clause.
    pub fn lack(
        &mut self,
        protocol: &str,
        surface: &str,
        direction: Direction,
        why: &str,
        setting: Option<&str>,
    ) -> &mut Self {
        let class = MessageClass { protocol: protocol.to_owned(), surface: surface.to_owned(), direction };
        let lack = Lack { class, why: why.to_owned(), setting: setting.map(ToOwned::to_owned) };
        let lacks = &mut self.session.loss.file_lacks;
        if lacks.len() < 64 && !lacks.contains(&lack) {
            lacks.push(lack);
        }
        self
    }

    /// What the recording shows besides what its format always does.
    pub fn shows(&mut self, protocol: &str, surface: &str, direction: Direction) -> &mut Self {
        let class = MessageClass { protocol: protocol.to_owned(), surface: surface.to_owned(), direction };
        if !self.session.shows.contains(&class) {
            self.session.shows.push(class);
        }
        self
    }

    /// The user asks something.
    pub fn prompt(&mut self, text: &str) -> &mut Self {
        let content = format!(r#"{{"messages":[{{"role":"user","content":{}}}]}}"#, quoted(text));
        self.ag_ui("run_agent_input", Direction::Request, Sender::Actor, &content)
    }

    /// The agent tells its user something. An empty text says nothing.
    pub fn answer(&mut self, text: &str) -> &mut Self {
        if text.is_empty() {
            return self;
        }
        self.answers += 1;
        let id = format!("answer-{}", self.answers);
        let delta =
            format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"{id}","delta":{}}}"#, quoted(text));
        self.ag_ui("text_message_content", Direction::Response, Sender::Agent, &delta);
        let end = format!(r#"{{"type":"TEXT_MESSAGE_END","messageId":"{id}"}}"#);
        self.ag_ui("text_message_end", Direction::Response, Sender::Agent, &end)
    }

    /// The agent calls a tool, with arguments as they were written.
    pub fn call(&mut self, id: &str, tool: &CalledTool, arguments: &RawValue) -> &mut Self {
        let id_json = Value::from(id);
        let content = match tool {
            CalledTool::Agent { skill, .. } => {
                let text = text_in(arguments);
                let message =
                    json!({"role": "user", "kind": "message", "parts": [{"kind": "text", "text": text}]});
                let (skill, arguments) = (Value::from(skill.as_str()), arguments.get());
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id_json},"method":"message/send","params":{{"message":{message},"name":{skill},"arguments":{arguments}}}}}"#
                )
            }
            CalledTool::Mcp { name, .. } | CalledTool::Local(name) => {
                let name = Value::from(name.as_str());
                let arguments = arguments.get();
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id_json},"method":"tools/call","params":{{"name":{name},"arguments":{arguments}}}}}"#
                )
            }
        };
        let message = self.len();
        self.rpc(tool, surface_of(tool), Kind::Request, Sender::Agent, id_json, &content);
        // A call that the session has no room for is not waited for: there is no end to them either.
        let waiting = WaitingCall { tool: tool.clone(), message };
        if self.len() > message && self.calls.insert(id.to_owned(), waiting).is_some() {
            self.odd("two calls with one id");
        }
        self
    }

    /// The program refused to make a call, in these words: it never reached its server, and has no result.
    pub fn refuse(&mut self, call: &str, words: &str) -> &mut Self {
        let Some(waiting) = self.calls.remove(call) else { return self.odd("a refusal of no call") };
        if let Some(message) = self.session.messages.get_mut(waiting.message) {
            let words: String = words.chars().take(REFUSAL).collect();
            self.bytes += words.len();
            message.refused = Some(words);
        }
        self
    }

    /// A tool answers with a text.
    pub fn result_text(&mut self, call: &str, text: &str, is_error: bool) -> &mut Self {
        self.result_quoted(call, &quoted(text), is_error)
    }

    /// A tool answers with a text that is a JSON string.
    fn result_quoted(&mut self, call: &str, text: &str, is_error: bool) -> &mut Self {
        self.result_blocks(call, &format!(r#"[{{"type":"text","text":{text}}}]"#), is_error)
    }

    /// A tool answers with a value: a text, the blocks of MCP, a result of MCP, or anything else, which stands as a text.
    pub fn result(&mut self, call: &str, value: &RawValue, is_error: bool) -> &mut Self {
        let json = value.get();
        if json.starts_with('"') {
            // Without an escape there is one way to write it.
            if memchr::memchr(b'\\', json.as_bytes()).is_none() {
                return self.result_quoted(call, json, is_error);
            }
            if let Ok(text) = serde_json::from_str::<String>(json) {
                return self.result_text(call, &text, is_error);
            }
        }
        let are_blocks = |raw: &RawValue| {
            let items: Option<Vec<Fields<'_>>> = serde_json::from_str(raw.get()).ok();
            items.is_some_and(|items| items.iter().all(|item| item.peek("type").is_some()))
        };
        if are_blocks(value) {
            return self.result_blocks(call, json, is_error);
        }
        let content = Fields::of(json).and_then(|fields| fields.peek("content"));
        if content.is_some_and(are_blocks) {
            return self.answer_call(call, json);
        }
        self.result_text(call, json, is_error)
    }

    fn result_blocks(&mut self, call: &str, blocks: &str, is_error: bool) -> &mut Self {
        let error = if is_error { r#","isError":true"# } else { "" };
        self.answer_call(call, &format!(r#"{{"content":{blocks}{error}}}"#))
    }

    fn answer_call(&mut self, call: &str, result: &str) -> &mut Self {
        let Some(WaitingCall { tool, .. }) = self.calls.remove(call) else {
            return self.odd("a result of no call");
        };
        let id = Value::from(call);
        let result = match &tool {
            CalledTool::Agent { .. } => {
                let texts = texts_of(result);
                let parts: Vec<_> = texts.iter().map(|text| json!({"kind": "text", "text": text})).collect();
                Cow::Owned(json!({"kind": "message", "role": "agent", "parts": parts}).to_string())
            }
            _ => Cow::Borrowed(result),
        };
        let content = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let surface = surface_of(&tool);
        self.rpc(&tool, surface, Kind::Response, Sender::Actor, id, &content)
    }

    /// Whether a call of this id waits for its result.
    pub fn waits_for(&self, call: &str) -> bool {
        self.calls.contains_key(call)
    }

    /// How many calls wait for their result.
    pub fn waiting(&self) -> usize {
        self.calls.len()
    }

    /// The list of tools of a server, or of the program itself, that the model was shown: a JSON list.
    pub fn tools(&mut self, server: Option<&str>, tools: &RawValue) -> &mut Self {
        let tool = match server {
            Some(server) => CalledTool::Mcp { server: server.to_owned(), name: String::new() },
            None => CalledTool::Local(String::new()),
        };
        let content = format!(r#"{{"jsonrpc":"2.0","id":"tools","result":{{"tools":{}}}}}"#, tools.get());
        self.rpc(&tool, "tools/list", Kind::Response, Sender::Actor, Value::from("tools"), &content)
    }

    fn ag_ui(&mut self, surface: &str, direction: Direction, sender: Sender, content: &str) -> &mut Self {
        let kind = if direction == Direction::Request { Kind::Request } else { Kind::Event };
        self.wire(Message {
            actor: USER.to_owned(),
            mode: "ag_ui_client".to_owned(),
            protocol: "ag_ui".to_owned(),
            surfaces: vec![surface.to_owned()],
            direction,
            kind,
            sender,
            content: Content::from_wire(content.as_bytes()),
            ..blank()
        })
    }

    fn rpc(
        &mut self,
        tool: &CalledTool,
        surface: &str,
        kind: Kind,
        sender: Sender,
        id: Value,
        content: &str,
    ) -> &mut Self {
        let Wire { actor, mode, protocol } = tool.wire();
        // JSON that was laid out over lines says the same in one: within a string, a line break is escaped.
        let content = if memchr::memchr2(b'\n', b'\r', content.as_bytes()).is_some() {
            Cow::Owned(content.replace(['\n', '\r'], ""))
        } else {
            Cow::Borrowed(content)
        };
        self.wire(Message {
            actor: actor.to_owned(),
            mode: mode.to_owned(),
            protocol: protocol.to_owned(),
            surfaces: vec![surface.to_owned()],
            direction: kind.into(),
            kind,
            id: Some(id),
            connection: actor.to_owned(),
            sender,
            content: Content::from_wire(content.as_bytes()),
            ..blank()
        })
    }

    /// A message as it was on the wire; its position, its time and its place are filled in.
    pub fn wire(&mut self, mut message: Message) -> &mut Self {
        // Names are as hostile as content: an actor, an id or a place may be longer than what was said.
        let names =
            [&message.actor, &message.connection, &message.phase].map(String::len).iter().sum::<usize>()
                + message.surfaces.iter().map(String::len).sum::<usize>()
                + message.id.as_ref().and_then(Value::as_str).map_or(0, str::len)
                + self.place.item.as_ref().map_or(0, String::len);
        let size = message.content.text().len() + names;
        if self.bytes.saturating_add(size) > self.limits.session {
            let limit = self.limits.session;
            let cut = format!("its messages take more than the {limit} bytes that are kept of a session");
            self.session.loss.cut.get_or_insert(cut);
            return self;
        }
        self.bytes += size + 256;
        message.seq = self.session.messages.len() as u64 + 1;
        message.time = format_time(self.time.unwrap_or(UNIX_EPOCH));
        if message.phase.is_empty() {
            message.phase.clone_from(&self.phase);
        }
        message.source = Some(Box::new(self.place.clone()));
        self.session.messages.push(message);
        self
    }

    /// The whole of it.
    pub fn finish(mut self, end: End) -> RecordedSession {
        for _ in 0..self.calls.len() {
            self.odd("a call without a result");
        }
        if self.first.is_none() {
            self.odd("no time anywhere");
        }
        match end {
            End::Done => {}
            End::Cut(why) => _ = self.session.loss.cut.get_or_insert(why),
            End::Failed(words) => self.session.failed = Some(words),
        }
        self.session.started = format_time(self.first.unwrap_or(UNIX_EPOCH));
        self.session
    }
}

/// A message of which nothing is known.
pub fn blank() -> Message {
    Message {
        seq: 0,
        time: String::new(),
        actor: String::new(),
        mode: String::new(),
        phase: String::new(),
        protocol: String::new(),
        surfaces: Vec::new(),
        direction: Direction::Request,
        kind: Kind::Request,
        id: None,
        connection: String::new(),
        sender: Sender::Agent,
        source: None,
        refused: None,
        wrapped: None,
        content: Content::from_wire(b"{}"),
    }
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    // A text is always JSON.
    serde_json::to_string(text).unwrap_or_default()
}

fn surface_of(tool: &CalledTool) -> &'static str {
    match tool {
        CalledTool::Agent { .. } => "message/send",
        _ => "tools/call",
    }
}

/// What an agent is asked: the one text among the arguments, else all of them.
fn text_in(arguments: &RawValue) -> String {
    let fields = Fields::of(arguments.get());
    let message = fields.and_then(|mut fields| fields.text("message").or_else(|| fields.text("text")));
    message.unwrap_or_else(|| arguments.get().to_owned())
}

/// The texts of a result of MCP.
fn texts_of(result: &str) -> Vec<String> {
    let blocks = Fields::of(result).and_then(|mut fields| fields.get::<Vec<Value>>("content"));
    let texts = blocks.into_iter().flatten();
    texts.filter_map(|block| Some(block.get("text")?.as_str()?.to_owned())).collect()
}
