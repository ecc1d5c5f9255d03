//! Rollouts of codex: `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl`, and `.jsonl.zst` once they are old.
//!
//! A line is `{"timestamp", "type", "payload"}`. What the model said and was told are `response_item`s; what codex did are
//! `event_msg`s, which tell most of it again. A call is a `function_call` whose arguments are JSON in a text; which MCP server
//! it went to, what was sent and what came back are in the event that follows (`item_completed` of an `McpToolCall`, formerly
//! `mcp_tool_call_begin` and `mcp_tool_call_end`). So a call waits until its event or its output is read.

mod events;
mod names;
mod results;

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

use serde_json::value::RawValue;
use sortie_trace::Direction;

use names::{CONTEXT, ITEM, META};
use results::{raw, shown_of};
use sortie_recording::fields::{Fields, unquoted};
use sortie_recording::format::{Format, Head, ImportError, Sink};
use sortie_recording::input::Input;
use sortie_recording::loss::Gap;
use sortie_recording::session::{CalledTool, End, SessionBuilder};

pub(crate) static FORMAT: Format = Format {
    name: "codex",
    about: "rollouts of codex: `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-*.jsonl`, `.zst` too",
    shows: &[
        ("mcp", "tools/call", Direction::Request),
        ("mcp", "tools/call", Direction::Response),
        ("local", "tools/call", Direction::Request),
        ("local", "tools/call", Direction::Response),
        ("ag_ui", "run_agent_input", Direction::Request),
        ("ag_ui", "text_message_content", Direction::Response),
        ("ag_ui", "text_message_end", Direction::Response),
    ],
    gaps: &[
        Gap {
            what: "lists and descriptions of tools",
            means: "the recording does not show which descriptions the model saw, so an injection in one may or may not have reached it",
        },
        Gap {
            what: "what servers ask during a call",
            means: "sampling, elicitation, progress and log messages are not recorded, nor what the agent answers",
        },
        Gap {
            what: "instructions, resources and prompts of servers",
            means: "they are only there as far as the model used a tool of its own to read them, as a `local` call",
        },
    ],
    recognizes,
    read,
};

fn recognizes(head: &Head<'_>) -> bool {
    let kinds = ["session_meta", "response_item", "event_msg", "turn_context"];
    head.has_line_with(&["timestamp", "type", "payload"]) && kinds.iter().any(|kind| head.says(&[kind]))
}

fn read(format: &Format, mut input: Input<'_>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let head = input.head()?;
    let head = input.as_head(&head);
    let stem = head.name.strip_suffix(".jsonl").unwrap_or(head.name).to_owned();
    let first = head.lines().find_map(Fields::of);
    let id = first.and_then(|mut line| line.object("payload")?.text("id")).unwrap_or(stem);
    let mut session = SessionBuilder::new(format, id, input.name, input.limits);
    session.about("program", "codex");
    let mut reader = Reader::default();
    let mut lines = input.lines();
    let mut cut = None;
    while let Some((number, line)) = lines.next_line()? {
        let Some(mut fields) = Fields::of(line) else {
            if lines.was_cut() {
                cut = Some("the file ends in the middle of a line".to_owned());
                break;
            }
            return Err(lines.invalid("it is not a JSON object"));
        };
        reader.at = At { line: number, time: fields.text("timestamp") };
        reader.line(&mut session, fields);
        reader.flush(&mut session, false);
    }
    if reader.known == 0 {
        return Ok(());
    }
    let end = reader.end(&mut session, cut);
    sink(session.finish(end).into())
}

/// Where something stands, and when it was said.
#[derive(Clone, Debug, Default)]
struct At {
    line: u64,
    time: Option<String>,
}

/// What is to become messages, once it is known what came before.
#[derive(Debug)]
enum Item {
    Prompt(String),
    Answer(String),
    Call(Box<Call>),
    Result { call: String, value: Box<RawValue>, is_error: bool },
    Refusal { call: String, words: String },
}

/// What an event says came of a call to an MCP server.
enum CallEnd {
    Result {
        value: Box<RawValue>,
        is_error: bool,
    },
    /// codex refused to make it, in these words.
    Refused(String),
}

#[derive(Debug)]
struct Call {
    id: String,
    name: String,
    namespace: Option<String>,
    arguments: Box<RawValue>,
    /// The server and the tool, where an event says them.
    mcp: Option<(String, String)>,
    /// Nothing more is to come that would say so.
    is_clear: bool,
}

/// What an event says came back from a call, to be compared with what the model was shown.
struct Heard {
    texts: Vec<String>,
    /// It stands for the result.
    is_result: bool,
}

#[derive(Default)]
struct Reader {
    at: At,
    queue: VecDeque<(At, Item)>,
    /// What the queue takes, in bytes.
    waiting: usize,
    /// Lines whose type is known.
    known: u64,
    /// Every call there was.
    calls: HashSet<String>,
    heard: HashMap<String, Heard>,
    /// Calls of its own tools that were declined, of which the model has not been told.
    refused: HashSet<String>,
    hasher: RandomState,
    /// What events and items say that the user was told, hashed.
    events: HashSet<u64>,
    items: HashSet<u64>,
    metas: u64,
    /// It is what a subagent did: nobody in it is the user.
    is_side: bool,
    said: u64,
    turn: Turn,
    last_is_answer: bool,
}

#[derive(Default)]
enum Turn {
    /// No event says anything about turns.
    #[default]
    Unknown,
    Started,
    Complete,
    Aborted(String),
    Failed(String),
}

impl Reader {
    fn line(&mut self, session: &mut SessionBuilder, mut line: Fields<'_>) {
        let kind = line.text("type").unwrap_or_default();
        let Some(mut payload) = line.object("payload") else {
            session.unknown("a line without a payload");
            return;
        };
        self.known += 1;
        match kind.as_str() {
            "session_meta" => self.meta(session, &mut payload),
            "response_item" => self.item(session, payload),
            "event_msg" => self.event(session, payload),
            "turn_context" => {
                session.about("model", payload.text("model"));
                session.leave("turn_context", &payload, CONTEXT);
            }
            "compacted" => {
                session.odd("a compacted history: the model goes on with a summary");
                if self.said == 0 {
                    lacks_all(session, "what came before a compaction is not in this file");
                }
                session.pass("line compacted");
            }
            "inter_agent_communication" => {
                lacks_calls(session, "what another agent did is in a rollout of its own");
                session.pass("line inter_agent_communication");
            }
            "world_state" | "token_usage_record" | "security_risk_score" | "ghost_snapshot" => {
                session.pass(&format!("line {kind}"));
            }
            _ => {
                self.known -= 1;
                session.unknown(&format!("line {kind}"));
            }
        }
        session.leave("line", &line, &["ordinal", "metadata"]);
    }

    fn meta(&mut self, session: &mut SessionBuilder, payload: &mut Fields<'_>) {
        self.metas += 1;
        if self.metas > 1 {
            session.odd("the beginning of another session, which this one goes on with");
        }
        session.about("version", payload.text("cli_version"));
        session.about("provider", payload.text("model_provider"));
        session.about("originator", payload.text("originator"));
        if payload.text("source").is_none() && payload.take("source").is_some() {
            self.is_side = true;
            session.about("side_chain", true);
            let why = "it is what a subagent did: another rollout has what the user asked and was told";
            lacks_talk(session, why);
        }
        session.leave("session_meta", payload, META);
    }

    fn push(&mut self, item: Item, size: usize) {
        self.waiting = self.waiting.saturating_add(size);
        self.queue.push_back((self.at.clone(), item));
    }

    fn item(&mut self, session: &mut SessionBuilder, mut payload: Fields<'_>) {
        let kind = payload.text("type").unwrap_or_default();
        match kind.as_str() {
            "message" => self.message(session, payload),
            "function_call" | "custom_tool_call" => {
                let call = Call {
                    id: payload.text("call_id").unwrap_or_default(),
                    name: payload.text("name").unwrap_or_default(),
                    namespace: payload.text("namespace"),
                    arguments: match kind.as_str() {
                        "function_call" => payload.take("arguments").map(unquoted),
                        // Free text, which stands as the one argument.
                        _ => payload
                            .take("input")
                            .and_then(|input| raw(&format!(r#"{{"input":{}}}"#, input.get()))),
                    }
                    .unwrap_or_else(|| RawValue::NULL.to_owned()),
                    mcp: None,
                    is_clear: false,
                };
                session.leave(&kind, &payload, ITEM);
                if call.name.ends_with("spawn_agent") {
                    lacks_calls(session, "what another agent did is in a rollout of its own");
                }
                self.call(session, call);
            }
            "local_shell_call" => {
                let id = payload.text("call_id").or_else(|| payload.text("id")).unwrap_or_default();
                let arguments = payload.take("action").unwrap_or(RawValue::NULL).to_owned();
                session.leave(&kind, &payload, ITEM);
                let name = "local_shell".to_owned();
                self.call(session, Call { id, name, namespace: None, arguments, mcp: None, is_clear: true });
            }
            "web_search_call" => {
                let id = payload.text("id").unwrap_or_else(|| format!("web-search-{}", self.at.line));
                let arguments = payload.take("action").unwrap_or(RawValue::NULL).to_owned();
                session.leave(&kind, &payload, ITEM);
                session.lack(
                    "local",
                    "tools/call",
                    Direction::Response,
                    "what a search found is not recorded",
                    None,
                );
                let name = "web_search".to_owned();
                self.call(session, Call { id, name, namespace: None, arguments, mcp: None, is_clear: true });
            }
            "function_call_output" | "custom_tool_call_output" => {
                let id = payload.text("call_id").unwrap_or_default();
                let output = payload.take("output").unwrap_or(RawValue::NULL);
                session.leave(&kind, &payload, ITEM);
                self.output(session, &id, output);
            }
            "reasoning" => _ = session.pass("reasoning"),
            "ghost_snapshot"
            | "compaction"
            | "compaction_summary"
            | "tool_search_call"
            | "tool_search_output"
            | "image_generation_call" => _ = session.pass(&format!("item {kind}")),
            _ => _ = session.unknown(&format!("item {kind}")),
        }
    }

    fn message(&mut self, session: &mut SessionBuilder, mut payload: Fields<'_>) {
        let role = payload.text("role").unwrap_or_default();
        // Whose words they are: the user's, or the program's in the user's name.
        let is_user = payload.take("internal_chat_message_metadata_passthrough").and_then(is_from_user);
        let blocks = payload.items("content").unwrap_or_default();
        session.leave("message", &payload, ITEM);
        let mut texts = Vec::new();
        for block in blocks {
            let Some(mut block) = Fields::of(block.get()) else {
                session.unknown("a block that is not an object");
                continue;
            };
            let kind = block.text("type").unwrap_or_default();
            match kind.as_str() {
                "input_text" | "output_text" | "text" => {
                    texts.extend(block.text("text"));
                    session.leave(&kind, &block, &["annotations", "logprobs"]);
                }
                "input_image" => _ = session.odd("an image that the user shows"),
                "refusal" => texts.extend(block.text("refusal")),
                _ => _ = session.unknown(&format!("block {kind}")),
            }
        }
        match role.as_str() {
            "assistant" => {
                for text in texts.into_iter().filter(|text| !text.is_empty()) {
                    self.items.insert(self.hasher.hash_one(&text));
                    self.said += 1;
                    self.last_is_answer = true;
                    if self.is_side {
                        session.pass("what a subagent tells its agent");
                        continue;
                    }
                    let size = text.len();
                    self.push(Item::Answer(text), size);
                }
            }
            "user" => {
                let text = texts.join("\n");
                if !self.is_side && is_user.unwrap_or_else(|| !is_of_program(&text)) {
                    self.said += 1;
                    self.last_is_answer = false;
                    let size = text.len();
                    self.push(Item::Prompt(text), size);
                } else {
                    session.pass("what the program tells its model in the user's name");
                }
            }
            "developer" | "system" => _ = session.pass("instructions"),
            _ => _ = session.unknown(&format!("role {role}")),
        }
    }

    fn call(&mut self, session: &mut SessionBuilder, call: Call) {
        self.said += 1;
        self.last_is_answer = false;
        if !self.calls.insert(call.id.clone()) {
            session.odd("two calls with one id");
        }
        let size = call.arguments.get().len();
        self.push(Item::Call(Box::new(call)), size);
    }

    /// The call of an id that waits to be clear.
    fn waiting_call(&mut self, id: &str) -> Option<&mut Call> {
        self.queue.iter_mut().rev().find_map(|(_, item)| match item {
            Item::Call(call) if call.id == id => Some(&mut **call),
            _ => None,
        })
    }

    /// What the model was shown of a result.
    fn output(&mut self, session: &mut SessionBuilder, id: &str, output: &RawValue) {
        self.said += 1;
        self.last_is_answer = false;
        let is_mcp = match self.waiting_call(id) {
            Some(call) => {
                call.is_clear = true;
                matches!(call.tool().0, CalledTool::Mcp { .. })
            }
            None => false,
        };
        if self.refused.remove(id) {
            session.pass("what the model was told of a call that was declined");
            return;
        }
        let shown = shown_of(output, is_mcp);
        if let Some(heard) = self.heard.remove(id) {
            let text = shown.text();
            // Before what a command printed, codex says how it ended.
            let text = text.split_once("\nOutput:\n").map_or(text.as_str(), |(_, printed)| printed);
            if text.trim() != heard.texts.join("\n").trim() {
                session.odd("a result of which the model was shown something else");
            }
            if heard.is_result {
                return;
            }
        }
        if !self.calls.contains(id) {
            session.odd("a result of no call");
            return;
        }
        let value = shown.into_value();
        let size = value.get().len();
        self.push(Item::Result { call: id.to_owned(), value, is_error: false }, size);
    }

    /// Makes messages of what is clear, or of all there is.
    fn flush(&mut self, session: &mut SessionBuilder, all: bool) {
        let all = all || self.waiting > session.limits().session;
        while let Some((_, item)) = self.queue.front() {
            if !all && matches!(item, Item::Call(call) if !call.is_clear) {
                return;
            }
            let Some((at, item)) = self.queue.pop_front() else { return };
            session.line(at.line);
            if let Some(time) = &at.time {
                session.time(time);
            }
            match item {
                Item::Prompt(text) => _ = session.prompt(&text),
                Item::Answer(text) => _ = session.answer(&text),
                Item::Call(call) => {
                    let (tool, oddity) = call.tool();
                    session.call(&call.id, &tool, &call.arguments);
                    if let Some(oddity) = oddity {
                        session.odd(oddity);
                    }
                }
                Item::Result { call, value, is_error } => _ = session.result(&call, &value, is_error),
                Item::Refusal { call, words } => _ = session.refuse(&call, &words),
            }
        }
        self.waiting = 0;
    }

    fn end(&mut self, session: &mut SessionBuilder, cut: Option<String>) -> End {
        self.flush(session, true);
        for _ in self.heard.values().filter(|heard| heard.is_result) {
            session.odd("a result that the model was not shown");
        }
        if self.events.difference(&self.items).next().is_some() {
            session.odd("an answer that stands only among the events");
            let why = "an answer to the user stands only among the events, which are not whole";
            session.lack("ag_ui", "text_message_content", Direction::Response, why, None);
            session.lack("ag_ui", "text_message_end", Direction::Response, why, None);
        }
        if let Some(why) = cut {
            return End::Cut(why);
        }
        match std::mem::take(&mut self.turn) {
            Turn::Complete => End::Done,
            Turn::Unknown if self.last_is_answer => End::Done,
            Turn::Failed(words) => End::Failed(words),
            Turn::Aborted(reason) => End::Cut(format!("the turn was aborted: {reason}")),
            Turn::Started | Turn::Unknown => End::Cut("it has no `task_complete`".to_owned()),
        }
    }
}

impl Call {
    /// What is called, and what is odd about how that is known.
    fn tool(&self) -> (CalledTool, Option<&'static str>) {
        if let Some((server, tool)) = &self.mcp {
            return (CalledTool::Mcp { server: server.clone(), name: tool.clone() }, None);
        }
        let server = self.namespace.as_deref().and_then(|space| space.strip_prefix("mcp__"));
        if let Some(server) = server {
            let tool =
                CalledTool::Mcp { server: server.trim_end_matches('_').to_owned(), name: self.name.clone() };
            return (tool, Some("an MCP call without an event: its names are those the model uses"));
        }
        let tool = CalledTool::named(&self.name);
        match tool {
            CalledTool::Mcp { .. } => {
                (tool, Some("an MCP call without an event: its names are those the model uses"))
            }
            _ if self.name.contains("__") => {
                (tool, Some("a call that may be of an MCP server, taken as `local`"))
            }
            _ => (tool, None),
        }
    }
}

/// Whether the words of a message are the user's, where its metadata say so.
fn is_from_user(metadata: &RawValue) -> Option<bool> {
    let mut metadata = Fields::of(metadata.get())?;
    let items = metadata.items("content_item_metadata")?;
    let mut whose = items.into_iter().filter_map(|item| {
        let mut provenance = Fields::of(item.get())?.object("provenance")?;
        provenance.text("type")
    });
    Some(whose.any(|whose| whose == "user"))
}

/// Whether a text in the user's place is the program's, where nothing else says so.
fn is_of_program(text: &str) -> bool {
    [
        "<environment_context>",
        "<user_instructions>",
        "<INSTRUCTIONS>",
        "# AGENTS.md instructions",
        "<turn_aborted>",
        "<skill>",
        "<subagent_notification>",
        "<user_shell_command>",
    ]
    .iter()
    .any(|start| text.trim_start().starts_with(start))
}

fn lacks_calls(session: &mut SessionBuilder, why: &str) {
    for protocol in ["mcp", "local"] {
        session.lack(protocol, "tools/call", Direction::Request, why, None);
        session.lack(protocol, "tools/call", Direction::Response, why, None);
    }
}

fn lacks_talk(session: &mut SessionBuilder, why: &str) {
    session.lack("ag_ui", "run_agent_input", Direction::Request, why, None);
    session.lack("ag_ui", "text_message_content", Direction::Response, why, None);
    session.lack("ag_ui", "text_message_end", Direction::Response, why, None);
}

fn lacks_all(session: &mut SessionBuilder, why: &str) {
    lacks_calls(session, why);
    lacks_talk(session, why);
}
