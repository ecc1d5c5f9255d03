//! Sessions of gemini-cli: `~/.gemini/tmp/PROJECT/chats/session-TIME-ID.jsonl`, formerly one JSON document, `.json`.
//!
//! The file is a log: a line with a `type` is a message, and one whose `id` is known stands for the same message, now with its
//! calls and their results; `$set` changes what is known of the session, its whole history too; `$rewindTo` takes turns back.
//! A log tells what happened, so nothing that was done is taken back here. The results of calls stand twice: in the call, and
//! as a message of type `user`.
//!
//! A tool of an MCP server is `mcp_SERVER_TOOL`, which cannot be split for sure; its `displayName`, `TOOL (SERVER MCP Server)`,
//! says which it is.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use serde_json::Value;
use serde_json::value::RawValue;
use sortie_trace::Direction;

use sortie_recording::fields::Fields;
use sortie_recording::format::{Format, Head, ImportError, Sink};
use sortie_recording::input::{DeclaredServer, Input};
use sortie_recording::loss::Gap;
use sortie_recording::session::{CalledTool, End, SessionBuilder};

pub(crate) static FORMAT: Format = Format {
    name: "gemini-cli",
    about: "sessions of gemini-cli: `~/.gemini/tmp/PROJECT/chats/session-*.jsonl`",
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
            what: "calls that did not come back",
            means: "a call is recorded together with its result, so that one during which the program died is missing",
        },
        Gap {
            what: "results other than text",
            means: "`structuredContent` and the order of blocks are not recorded",
        },
        Gap {
            what: "what servers ask during a call",
            means: "sampling, elicitation, progress and log messages are not recorded, nor what the agent answers",
        },
        Gap {
            what: "errors of the model's API",
            means: "a session that failed is one without a last answer",
        },
    ],
    recognizes,
    read,
};

fn recognizes(head: &Head<'_>) -> bool {
    head.says(&["\"sessionId\"", "\"projectHash\"", "\"startTime\""])
        && head.bytes.trim_ascii_start().starts_with(b"{")
}

fn read(format: &Format, mut input: Input<'_>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let head = input.head()?;
    let head = input.as_head(&head);
    let stem = head.name.rsplit_once('.').map_or(head.name, |(stem, _)| stem).to_owned();
    let first = head.lines().next().and_then(Fields::of);
    let is_log = first.as_ref().is_some_and(|first| first.peek("messages").is_none());
    let id = first.and_then(|mut first| first.text("sessionId"));
    let servers = input.servers;
    let mut reader = Reader { servers, ..Reader::default() };
    if !is_log {
        return read_whole(format, input, reader, &stem, sink);
    }
    let mut session = SessionBuilder::new(format, id.unwrap_or(stem), input.name, input.limits);
    session.about("program", "gemini-cli");
    let mut lines = input.lines();
    let mut cut = None;
    while let Some((number, line)) = lines.next_line()? {
        let Some(fields) = Fields::of(line) else {
            if lines.was_cut() {
                cut = Some("the file ends in the middle of a line".to_owned());
                break;
            }
            return Err(lines.invalid("it is not a JSON object"));
        };
        session.line(number);
        reader.record(&mut session, fields);
    }
    if !reader.is_session {
        return Ok(());
    }
    sink(session.finish(reader.end(cut)).into())
}

/// A session as one JSON document, as older versions write it.
fn read_whole(
    format: &Format,
    input: Input<'_>,
    mut reader: Reader<'_>,
    stem: &str,
    sink: &mut Sink<'_>,
) -> Result<(), ImportError> {
    let (name, limits) = (input.name, input.limits);
    let text = input.whole_text()?;
    let Some(mut whole) = Fields::of(&text) else {
        let message = "it is not a JSON object".to_owned();
        return Err(ImportError::Invalid { file: name.to_owned(), line: 0, message });
    };
    let id = whole.text("sessionId").unwrap_or_else(|| stem.to_owned());
    let mut session = SessionBuilder::new(format, id, name, limits);
    session.about("program", "gemini-cli");
    let messages = whole.items("messages");
    reader.metadata(&mut session, &mut whole);
    for (index, message) in messages.unwrap_or_default().into_iter().enumerate() {
        session.item(format!("/messages/{index}"));
        match Fields::of(message.get()) {
            Some(message) => reader.message(&mut session, message, false),
            None => _ = session.unknown("a message that is not an object"),
        }
    }
    sink(session.finish(reader.end(None)).into())
}

#[derive(Default)]
struct Reader<'s> {
    servers: &'s [DeclaredServer],
    is_session: bool,
    /// It is what a subagent did: nobody in it is the user.
    is_side: bool,
    /// What was said in each message so far.
    messages: HashMap<String, String>,
    /// Each call, and what its result hashes to.
    calls: HashMap<String, Option<u64>>,
    hasher: RandomState,
    last: Last,
}

#[derive(Default)]
enum Last {
    #[default]
    Nothing,
    Asked,
    Called,
    Answered,
    Failed(String),
}

impl Reader<'_> {
    fn record(&mut self, session: &mut SessionBuilder, mut record: Fields<'_>) {
        if let Some(set) = record.take("$set") {
            let Some(mut set) = Fields::of(set.get()) else {
                session.unknown("a `$set` that is not an object");
                return;
            };
            if let Some(history) = set.items("messages") {
                self.history(session, history);
            }
            self.metadata(session, &mut set);
            session.leave("record", &record, &[]);
        } else if record.take("$rewindTo").is_some() {
            session.odd("turns that were taken back");
            session.leave("record", &record, &[]);
        } else if record.peek("type").is_some() {
            self.message(session, record, false);
        } else if record.peek("projectHash").is_some() {
            self.metadata(session, &mut record);
        } else {
            session.unknown("a record of no kind");
        }
    }

    fn metadata(&mut self, session: &mut SessionBuilder, set: &mut Fields<'_>) {
        if set.peek("projectHash").is_some() {
            self.is_session = true;
        }
        if let Some(time) = set.text("startTime") {
            session.time(&time);
        }
        if set.text("kind").is_some_and(|kind| kind == "subagent") {
            self.is_side = true;
            session.about("side_chain", true);
            let why =
                "it is what a subagent did: the file of the session has what the user asked and was told";
            session.lack("ag_ui", "run_agent_input", Direction::Request, why, None);
            session.lack("ag_ui", "text_message_content", Direction::Response, why, None);
            session.lack("ag_ui", "text_message_end", Direction::Response, why, None);
        }
        session.leave("session", set, METADATA);
    }

    /// The whole history, which is set: as it begins, and when it is shortened.
    fn history(&mut self, session: &mut SessionBuilder, history: Vec<&RawValue>) {
        if !self.messages.is_empty() {
            session.odd("a history that was replaced: the model goes on with another");
        }
        for message in history {
            match Fields::of(message.get()) {
                Some(message) => self.message(session, message, true),
                None => _ = session.unknown("a message that is not an object"),
            }
        }
    }

    /// A message, or the same once more with what came of it. What is only in a history was not said by anybody now, but its
    /// calls were made.
    fn message(&mut self, session: &mut SessionBuilder, mut message: Fields<'_>, is_history: bool) {
        let kind = message.text("type").unwrap_or_default();
        let id = message.text("id").unwrap_or_default();
        if let Some(time) = message.text("timestamp") {
            session.time(&time);
        }
        let content = message.take("content");
        let (text, responses) = content.map(|content| parts_of(session, content)).unwrap_or_default();
        let calls = message.items("toolCalls").unwrap_or_default();
        if let Some(model) = message.text("model") {
            session.about("model", model);
        }
        session.leave("message", &message, MESSAGE);
        let known = self.messages.insert(id, text.clone());
        let rest = match &known {
            Some(known) if known == &text => "",
            Some(known) => text.strip_prefix(known.as_str()).unwrap_or_else(|| {
                session.odd("a message that was rewritten");
                &text
            }),
            None => &text,
        };
        match kind.as_str() {
            "user" => {
                for response in &responses {
                    self.response(session, response);
                }
                if !responses.is_empty() {
                    self.last = Last::Asked;
                    if !text.is_empty() {
                        session.pass("text beside a result");
                    }
                } else if is_history
                    || text.starts_with("<session_context>")
                    || text.starts_with("<state_snapshot>")
                {
                    session.pass("what the program tells its model in the user's name");
                } else if !rest.is_empty() {
                    self.last = Last::Asked;
                    session.prompt(rest);
                }
            }
            "gemini" => {
                if is_history {
                    session.pass("an answer within a history");
                } else {
                    if self.is_side && !rest.is_empty() {
                        session.pass("what a subagent tells its agent");
                    } else {
                        session.answer(rest);
                    }
                    if !rest.is_empty() {
                        self.last = Last::Answered;
                    }
                }
                for call in calls {
                    self.call(session, call);
                }
            }
            "error" => {
                self.last = Last::Failed(text);
                session.pass("message error");
            }
            "info" | "warning" => _ = session.pass(&format!("message {kind}")),
            _ => _ = session.unknown(&format!("message {kind}")),
        }
    }

    fn call(&mut self, session: &mut SessionBuilder, call: &RawValue) {
        let Some(mut call) = Fields::of(call.get()) else {
            session.unknown("a call that is not an object");
            return;
        };
        let (Some(id), Some(name)) = (call.text("id"), call.text("name")) else {
            session.unknown("a call without an id and a name");
            return;
        };
        let tool = self.tool(session, &name, call.text("displayName").as_deref());
        let arguments = call.take("args").unwrap_or(RawValue::NULL);
        let status = call.text("status").unwrap_or_default();
        let results = call.items("result").unwrap_or_default();
        if call.text("agentId").is_some() {
            let why = "what a subagent did is in a file of its own";
            for protocol in ["mcp", "local"] {
                session.lack(protocol, "tools/call", Direction::Request, why, None);
                session.lack(protocol, "tools/call", Direction::Response, why, None);
            }
        }
        if let Some(time) = call.text("timestamp") {
            session.time(&time);
        }
        session.leave("toolCall", &call, CALL);
        self.last = Last::Called;
        if !self.calls.contains_key(&id) {
            self.calls.insert(id.clone(), None);
            session.call(&id, &tool, arguments);
        }
        if results.is_empty() {
            return;
        }
        let mut response = None;
        for part in results {
            let inner = Fields::of(part.get()).and_then(|mut part| part.object("functionResponse"));
            let found = inner.and_then(|mut inner| {
                if inner.text("id").is_some_and(|other| other != id) {
                    session.odd("a result with the id of another call");
                }
                inner.take("response")
            });
            match (found, &response) {
                (Some(found), None) => response = Some(found),
                _ => _ = session.odd("a part of a result that is not text"),
            }
        }
        let Some(response) = response else {
            session.unknown("a result without a response");
            return;
        };
        let hash = self.hasher.hash_one(response.get());
        match self.calls.insert(id.clone(), Some(hash)) {
            Some(Some(known)) if known == hash => {}
            Some(Some(_)) => _ = session.odd("a result that its records tell in two ways"),
            _ => match refusal(response).filter(|_| status != "success") {
                Some(words) => _ = session.refuse(&id, &words),
                None => answer(session, &id, &tool, response, status != "success"),
            },
        }
    }

    /// A result as the model was shown it, which the call has too.
    fn response(&mut self, session: &mut SessionBuilder, response: &RawValue) {
        let Some(mut fields) = Fields::of(response.get()) else { return };
        let id = fields.text("id").unwrap_or_default();
        let Some(value) = fields.take("response") else {
            session.unknown("a result without a response");
            return;
        };
        let hash = self.hasher.hash_one(value.get());
        match self.calls.get_mut(&id) {
            Some(Some(known)) if *known == hash => _ = session.pass("a result that its call has too"),
            Some(Some(_)) => _ = session.odd("a result that its records tell in two ways"),
            Some(none) => {
                *none = Some(hash);
                answer(session, &id, &CalledTool::Local(String::new()), value, false);
            }
            None => _ = session.odd("a result of no call"),
        }
    }

    /// Whose a tool is: its display name says so, or whoever named the servers.
    fn tool(&self, session: &mut SessionBuilder, name: &str, display: Option<&str>) -> CalledTool {
        let Some(rest) = name.strip_prefix("mcp_") else { return CalledTool::Local(name.to_owned()) };
        let said = display.and_then(|display| display.strip_suffix(" MCP Server)")?.rsplit_once(" ("));
        if let Some((tool, server)) = said {
            let whole = plain(&format!("{server}_{tool}"));
            let cut = |text: &str| text.chars().take(26).collect::<String>();
            if plain(rest) != whole && name != whole && cut(&plain(rest)) != cut(&whole) {
                session.odd("a tool whose name and display name differ");
            }
            return CalledTool::Mcp { server: server.to_owned(), name: tool.to_owned() };
        }
        let mut named = self.servers.iter().filter_map(|server| {
            let tool = plain(rest).strip_prefix(&format!("{}_", plain(&server.name)))?.to_owned();
            Some((&server.name, tool))
        });
        if let Some((server, name)) = named.next() {
            return CalledTool::Mcp { server: server.clone(), name };
        }
        session.odd("a tool of an MCP server that nothing names, taken as `local`");
        let why = "it does not say which server the tools are of";
        for direction in [Direction::Request, Direction::Response] {
            session.lack("mcp", "tools/call", direction, why, Some("the names of the agent's MCP servers"));
        }
        CalledTool::Local(name.to_owned())
    }

    fn end(self, cut: Option<String>) -> End {
        match (cut, self.last) {
            (Some(why), _) => End::Cut(why),
            (None, Last::Failed(words)) => End::Failed(words),
            (None, Last::Answered) => End::Done,
            (None, Last::Nothing | Last::Asked | Last::Called) => {
                End::Cut("the agent's last answer is missing".to_owned())
            }
        }
    }
}

/// Characters that a name may have; others stand as `_`.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// The text of content, and the results of calls in it.
fn parts_of<'c>(session: &mut SessionBuilder, content: &'c RawValue) -> (String, Vec<&'c RawValue>) {
    if let Ok(text) = serde_json::from_str::<String>(content.get()) {
        return (text, Vec::new());
    }
    let parts: Vec<&RawValue> = match serde_json::from_str(content.get()) {
        Ok(parts) => parts,
        Err(_) => vec![content],
    };
    let (mut text, mut responses) = (String::new(), Vec::new());
    for part in parts {
        let Some(mut part) = Fields::of(part.get()) else {
            match serde_json::from_str::<String>(part.get()) {
                Ok(words) => text.push_str(&words),
                Err(_) => _ = session.unknown("a part that is not an object"),
            }
            continue;
        };
        if part.get::<bool>("thought") == Some(true) {
            session.pass("thought");
            continue;
        }
        text.push_str(&part.text("text").unwrap_or_default());
        responses.extend(part.take("functionResponse"));
        session.leave("part", &part, &["functionCall", "thoughtSignature"]);
    }
    (text, responses)
}

/// In which words gemini-cli says that it did not make a call. What a server says of an error stands within other words there; a
/// call that was cancelled while it was made may have reached its server.
fn refusal(response: &RawValue) -> Option<String> {
    let error = Fields::of(response.get())?.text("error")?;
    let is_refusal = ["Tool execution denied by policy.", "[Operation Cancelled] User denied execution."]
        .iter()
        .any(|start| error.starts_with(start));
    is_refusal.then_some(error)
}

/// The result of a call. That of an MCP server is wrapped: as something not to be trusted, or in the words of an error.
fn answer(session: &mut SessionBuilder, id: &str, tool: &CalledTool, response: &RawValue, is_error: bool) {
    let Some(mut fields) = Fields::of(response.get()) else {
        session.result(id, response, is_error);
        return;
    };
    if let Some(output) = fields.text("output") {
        let inner = output
            .strip_prefix("<untrusted_context>\n")
            .and_then(|text| text.strip_suffix("\n</untrusted_context>"));
        if inner.is_some() {
            session.pass("what is put around a result");
        }
        let text = inner.map(|text| text.replace("&lt;/untrusted_context&gt;", "</untrusted_context>"));
        session.result_text(id, &text.unwrap_or(output), is_error);
    } else if let Some(error) = fields.text("error") {
        let wire = matches!(tool, CalledTool::Mcp { .. }).then(|| wire_error(&error)).flatten();
        match wire {
            Some(result) => {
                session.pass("what is put around a result");
                session.result(id, &result, true);
            }
            None => _ = session.result_text(id, &error, true),
        }
    } else {
        session.result_text(id, response.get(), is_error);
        return;
    }
    session.leave("response", &fields, &[]);
}

/// The result of an MCP server within `… with response: [{"functionResponse": {"response": RESULT}}]`.
fn wire_error(error: &str) -> Option<Box<RawValue>> {
    let (_, parts) = error.split_once(" with response: ")?;
    let parts: Vec<Value> = serde_json::from_str(parts).ok()?;
    let response = &parts.first()?["functionResponse"]["response"];
    let result = if response["content"].is_array() { response } else { &response["error"] };
    result["content"].is_array().then(|| serde_json::from_str(&result.to_string()).ok())?
}

/// Members of a session that say nothing about messages.
const METADATA: &[&str] =
    &["directories", "lastUpdated", "memoryScratchpad", "projectHash", "sessionId", "summary"];

/// Members of messages that say nothing about what was said.
const MESSAGE: &[&str] = &["displayContent", "thoughts", "tokens"];

/// Members of calls that say nothing about messages.
const CALL: &[&str] = &["description", "renderOutputAsMarkdown", "resultDisplay"];
