//! Conversations in the form of the chat API of `OpenAI`: what most programs keep, if they keep anything.
//!
//! A file is a list of messages, an object with `messages`, or JSON Lines of either, or of messages. Programs that log each
//! request repeat the conversation in each: what a line repeats of a conversation before it is one conversation, and is said
//! once. See `docs/formats/openai-chat.md`.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;
use serde_json::value::RawValue;
use sortie_trace::Direction;

use sortie_recording::fields::{Fields, list, unquoted};
use sortie_recording::format::{Format, Head, ImportError, Sink};
use sortie_recording::input::{Input, InputLimits};
use sortie_recording::loss::Gap;
use sortie_recording::session::{CalledTool, End, SessionBuilder};
use sortie_recording::tool_list::ToolList;

pub(crate) static FORMAT: Format = Format {
    name: "openai-chat",
    about: "conversations as in OpenAI's chat API: JSON, or JSON Lines",
    shows: &[
        ("local", "tools/call", Direction::Request),
        ("local", "tools/call", Direction::Response),
        ("ag_ui", "run_agent_input", Direction::Request),
        ("ag_ui", "text_message_content", Direction::Response),
        ("ag_ui", "text_message_end", Direction::Response),
    ],
    gaps: &[
        Gap {
            what: "which server a tool comes from",
            means: "a call is one of a function, hence under `local`, unless its name is `mcp__SERVER__TOOL`",
        },
        Gap {
            what: "whether a call failed",
            means: "a result is a text: an error of a tool looks like any other answer",
        },
    ],
    recognizes,
    read,
};

fn recognizes(head: &Head<'_>) -> bool {
    let start = head.bytes.trim_ascii_start();
    let is_json = start.starts_with(b"{") || start.starts_with(b"[");
    let roles = ["user", "assistant", "system", "developer", "tool"];
    let has_role = roles.iter().any(|role| {
        let compact = format!("\"role\":\"{role}\"");
        head.says(&[&compact]) || head.says(&[&compact.replace(':', ": ")])
    });
    is_json && has_role && head.says(&["\"content\""])
}

fn read(format: &Format, mut input: Input<'_>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let (name, limits) = (input.name, input.limits);
    let head = input.head()?;
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&head);
    let first = head.trim_ascii_start().split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_whole = first.ends_with(b"\n") && serde_json::from_slice::<&RawValue>(first.trim_ascii()).is_err();
    let mut open = OpenConversations { format, file: name, limits, open: Vec::new(), count: 0 };
    if is_whole {
        let text = input.whole_text()?;
        let invalid =
            |message: &str| ImportError::Invalid { file: name.to_owned(), line: 0, message: message.into() };
        let raw: &RawValue =
            serde_json::from_str(&text).map_err(|_| invalid("it is not JSON, or cut off"))?;
        match list(raw) {
            Some(items) if !items.iter().all(|item| is_message(item)) => {
                for (index, item) in items.into_iter().enumerate() {
                    let place = Place { line: None, prefix: format!("/{index}"), messages: "" };
                    open.value(item, &place, sink)?.map_err(invalid)?;
                }
            }
            _ => {
                let place = Place { line: None, prefix: String::new(), messages: "" };
                open.value(raw, &place, sink)?.map_err(invalid)?;
            }
        }
        return open.finish(sink, None);
    }
    let mut lines = input.lines();
    let mut cut = None;
    while let Some((number, line)) = lines.next_line()? {
        let Ok(raw) = serde_json::from_str::<&RawValue>(line) else {
            if lines.was_cut() && number > 1 {
                cut = Some("the file ends in the middle of a line");
                break;
            }
            return Err(lines.invalid("it is not JSON"));
        };
        let place = Place { line: Some(number), prefix: String::new(), messages: "" };
        let read = open.value(raw, &place, sink)?;
        read.map_err(|why| lines.invalid(why))?;
    }
    open.finish(sink, cut)
}

fn is_message(raw: &RawValue) -> bool {
    Fields::of(raw.get()).is_some_and(|fields| fields.peek("role").is_some())
}

/// Where a conversation is in the file.
struct Place {
    line: Option<u64>,
    /// The value in it, as a JSON pointer.
    prefix: String,
    /// Its messages in that.
    messages: &'static str,
}

/// How many conversations may be interleaved.
const OPEN: usize = 64;

/// The conversations that may go on.
struct OpenConversations<'f> {
    format: &'f Format,
    file: &'f str,
    limits: InputLimits,
    open: Vec<Conversation>,
    count: u64,
}

impl OpenConversations<'_> {
    /// A line, or an item: a list of messages, an object that has one, or a message.
    fn value(
        &mut self,
        raw: &RawValue,
        place: &Place,
        sink: &mut Sink<'_>,
    ) -> Result<Result<(), &'static str>, ImportError> {
        if let Some(messages) = list(raw) {
            self.conversation(&messages, Fields::default(), place, sink)?;
            return Ok(Ok(()));
        }
        let Some(mut fields) = Fields::of(raw.get()) else {
            return Ok(Err("it is neither a list nor an object"));
        };
        if fields.peek("role").is_some() && fields.peek("messages").is_none() {
            self.message(raw, place);
            return Ok(Ok(()));
        }
        // Proxies keep the request and the response, batches the body.
        for key in ["request", "body"] {
            let inner = fields.peek(key).and_then(|raw| Fields::of(raw.get()));
            if fields.peek("messages").is_none()
                && let Some(inner) = inner.filter(|inner| inner.peek("messages").is_some())
            {
                fields.take(key);
                fields.append(inner);
            }
        }
        let inner = fields.peek("response").and_then(|raw| Fields::of(raw.get()));
        if let Some(mut inner) = inner {
            fields.take("response");
            if let Some(body) = inner.object("body") {
                inner.append(body);
            }
            fields.append(inner);
        }
        let Some(messages) = fields.items("messages") else {
            return Ok(Err("it has neither `messages` nor `role`"));
        };
        let place = Place { messages: "/messages", prefix: place.prefix.clone(), ..*place };
        self.conversation(&messages, fields, &place, sink)?;
        Ok(Ok(()))
    }

    /// One message of a conversation that is a line each.
    fn message(&mut self, raw: &RawValue, place: &Place) {
        if self.open.is_empty() {
            let conversation = self.begin(None);
            self.open.push(conversation);
        }
        let Some(conversation) = self.open.last_mut() else { return };
        conversation.place(place, None);
        conversation.message(raw);
    }

    fn begin(&mut self, id: Option<String>) -> Conversation {
        self.count += 1;
        let stem = self.file.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = stem.split('.').next().unwrap_or_default();
        let named = id.clone().unwrap_or_else(|| format!("{stem}-{}", self.count));
        let named: String = named.chars().take(200).collect();
        Conversation {
            session: SessionBuilder::new(self.format, named, self.file, self.limits),
            id,
            keys: Vec::new(),
            base: 0,
            seen: HashMap::new(),
            is_again: false,
            seen_bytes: 0,
            waiting: Vec::new(),
            calls: 0,
            tools: None,
            last: Last::Nobody,
        }
    }

    fn conversation(
        &mut self,
        messages: &[&RawValue],
        mut fields: Fields<'_>,
        place: &Place,
        sink: &mut Sink<'_>,
    ) -> Result<(), ImportError> {
        let keys: Vec<u64> = messages.iter().map(|message| key_of(message)).collect();
        let id = ["conversation_id", "session_id", "thread_id"];
        let id = id.into_iter().find_map(|key| fields.get::<Option<String>>(key).flatten());
        let found = match &id {
            Some(id) => self.open.iter().position(|open| open.id.as_ref() == Some(id)),
            None => self.continued(&keys, messages),
        };
        let mut conversation = match found {
            Some(at) => self.open.remove(at),
            None => self.begin(id),
        };
        conversation.add(messages, keys, &mut fields, place);
        self.open.push(conversation);
        // The one that was silent the longest ends first.
        while self.open.len() > OPEN
            || self.open.iter().map(Conversation::size).sum::<usize>() > self.limits.sessions
        {
            let oldest = self.open.remove(0);
            sink(oldest.finish(None).into())?;
        }
        Ok(())
    }

    /// The conversation that these messages repeat and go on with.
    fn continued(&self, keys: &[u64], messages: &[&RawValue]) -> Option<usize> {
        let repeated = |open: &Conversation| {
            let same = open.keys.iter().zip(keys).take_while(|(one, other)| one == other).count();
            (same >= open.base && open.base > 0 && keys.len() > open.base).then_some(same)
        };
        let open = self.open.iter().enumerate().filter(|(_, open)| open.id.is_none());
        let best = open.clone().filter_map(|(at, open)| Some((repeated(open)?, at))).max();
        if let Some((_, at)) = best {
            return Some(at);
        }
        // A history that was shortened still has calls that were made before.
        let ids: Vec<String> = messages.iter().flat_map(|message| call_ids(message)).collect();
        let mut latest_first = open.rev();
        latest_first.find(|(_, open)| ids.iter().any(|id| open.seen.contains_key(id))).map(|(at, _)| at)
    }

    fn finish(self, sink: &mut Sink<'_>, cut: Option<&str>) -> Result<(), ImportError> {
        for conversation in self.open {
            sink(conversation.finish(cut).into())?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nobody,
    Answer,
    Other,
}

struct Conversation {
    session: SessionBuilder,
    id: Option<String>,
    /// What its messages so far are known by, the answer to the last request included.
    keys: Vec<u64>,
    /// How many of them were in the last request.
    base: usize,
    /// The calls that became messages, and what they were.
    seen: HashMap<String, u64>,
    /// Whether what is read was, or may have been, said in a request before.
    is_again: bool,
    seen_bytes: usize,
    /// The calls of old programs, which have names in place of ids: name and id.
    waiting: Vec<(String, String)>,
    calls: u64,
    tools: Option<u64>,
    last: Last,
}

impl Conversation {
    fn size(&self) -> usize {
        self.session.bytes() + self.keys.len() * 16 + self.seen_bytes
    }

    fn place(&mut self, place: &Place, item: Option<String>) {
        if let Some(line) = place.line {
            self.session.line(line);
        }
        if let Some(item) = item {
            self.session.item(format!("{}{item}", place.prefix));
        }
    }

    fn add(&mut self, messages: &[&RawValue], mut keys: Vec<u64>, fields: &mut Fields<'_>, place: &Place) {
        self.about(fields);
        for key in ["tools", "functions"] {
            self.place(place, Some(format!("/{key}")));
            if let Some(tools) = fields.take(key).filter(|tools| tools.get() != "null") {
                self.tools(tools);
            }
        }
        self.is_again = self.base > 0;
        let same = self.keys.iter().zip(&keys).take_while(|(one, other)| one == other).count();
        if self.base > 0 && same == self.base && self.keys.len() > same {
            self.session.odd("an answer that the next request has otherwise");
        }
        let mut known: HashMap<u64, u64> = HashMap::new();
        if same < self.base {
            self.session.odd("a history that is not the one before");
            for key in &self.keys {
                *known.entry(*key).or_default() += 1;
            }
        }
        for (index, message) in messages.iter().enumerate().skip(same) {
            if let Some(times) = known.get_mut(&keys[index]).filter(|times| **times > 0) {
                *times -= 1;
                continue;
            }
            self.place(place, Some(format!("{}/{index}", place.messages)));
            self.message(message);
        }
        self.base = keys.len();
        for (index, choice) in fields.items("choices").unwrap_or_default().into_iter().enumerate() {
            let Some(mut choice) = Fields::of(choice.get()) else { continue };
            if index > 0 {
                self.session.odd("more than one choice of the model");
                break;
            }
            if choice.text("finish_reason").as_deref() == Some("length") {
                self.session.odd("an answer that is cut at a limit");
            }
            if let Some(message) = choice.take("message") {
                self.place(place, Some("/choices/0/message".to_owned()));
                keys.push(key_of(message));
                self.message(message);
            }
            self.session.leave(
                "choice",
                &choice,
                &["index", "finish_reason", "logprobs", "content_filter_results"],
            );
        }
        self.keys = keys;
        self.session.leave("conversation", fields, CONVERSATION);
    }

    fn about(&mut self, fields: &mut Fields<'_>) {
        if let Some(model) = fields.get::<Option<String>>("model").flatten() {
            self.session.about("model", model.chars().take(200).collect::<String>());
        }
        if let Some(created) = fields.get::<Option<u64>>("created").flatten() {
            match UNIX_EPOCH.checked_add(Duration::from_secs(created)).filter(|_| created < 1 << 37) {
                Some(time) => self.session.at(time),
                None => self.session.odd("a time that is none"),
            };
        }
        for key in ["timestamp", "created_at", "time"] {
            if let Some(time) = fields.text(key) {
                self.session.time(&time);
            }
        }
    }

    fn tools(&mut self, raw: &RawValue) {
        let hash = hash_of(&raw.get());
        if self.tools == Some(hash) {
            return;
        }
        self.tools = Some(hash);
        let mut tools = ToolList::default();
        for tool in list(raw).unwrap_or_default() {
            let Some(mut outer) = Fields::of(tool.get()) else {
                self.session.unknown("a tool that is not an object");
                continue;
            };
            let kind = outer.text("type");
            let mut inner = match outer.object("function").or_else(|| outer.object("custom")) {
                Some(inner) => {
                    self.session.leave("tool", &outer, &[]);
                    inner
                }
                None => outer,
            };
            let Some(name) = inner.text("name") else {
                self.session.unknown(&format!("tool of type {}", kind.as_deref().unwrap_or("none")));
                continue;
            };
            let schema = inner.take("parameters").or_else(|| inner.take("input_schema"));
            if !tools.add(&name, inner.take("description"), schema) {
                self.session.odd("tools of more servers than are kept");
            }
            self.session.leave("function", &inner, &["strict", "format"]);
        }
        tools.put(&mut self.session);
    }

    fn message(&mut self, raw: &RawValue) {
        let Some(mut fields) = Fields::of(raw.get()) else {
            self.session.unknown("a message that is not an object");
            return;
        };
        let role = fields.text("role").unwrap_or_default();
        if let Some(time) = fields.text("timestamp") {
            self.session.time(&time);
        }
        match role.as_str() {
            "system" | "developer" => {
                fields.take("content");
                self.session.pass("message of the system");
            }
            "user" => {
                let text = self.text(fields.take("content"));
                self.session.prompt(&text);
                self.last = Last::Other;
            }
            "assistant" => self.assistant(&mut fields),
            "tool" => {
                let id = fields.text("tool_call_id").unwrap_or_default();
                self.result(&id, &mut fields);
            }
            "function" => {
                let name = fields.text("name").unwrap_or_default();
                let at = self.waiting.iter().position(|(waiting, _)| *waiting == name);
                let id = at.map(|at| self.waiting.remove(at).1).unwrap_or_default();
                self.result(&id, &mut fields);
            }
            other => _ = self.session.unknown(&format!("message of `{other}`")),
        }
        self.session.leave("message", &fields, MESSAGE);
    }

    fn result(&mut self, id: &str, fields: &mut Fields<'_>) {
        self.last = Last::Other;
        if let Some(content) = fields.take("content").filter(|content| content.get() != "null") {
            self.session.result(id, content, false);
        } else {
            self.session.odd("a result without content");
        }
    }

    fn assistant(&mut self, fields: &mut Fields<'_>) {
        let mut text = self.text(fields.take("content"));
        if let Some(refusal) = fields.get::<Option<String>>("refusal").flatten() {
            text.push_str(&refusal);
        }
        let calls = fields.take("tool_calls").filter(|calls| calls.get() != "null");
        let calls = calls.map_or_else(|| Some(Vec::new()), list);
        if calls.is_none() {
            self.session.unknown("calls that are no list");
        }
        let calls = calls.unwrap_or_default();
        if !calls.is_empty() && calls.iter().all(|call| self.is_repeated(call)) {
            return;
        }
        self.session.answer(&text);
        let legacy = fields.object("function_call");
        self.last = if calls.is_empty() && legacy.is_none() { Last::Answer } else { Last::Other };
        for call in calls {
            self.call(call);
        }
        if let Some(mut call) = legacy {
            self.calls += 1;
            let id = format!("function-{}", self.calls);
            let name = call.text("name").unwrap_or_default();
            self.waiting.push((name.clone(), id.clone()));
            self.put_call(&id, &name, &mut call);
        }
    }

    /// Whether a call was made in a request before. Ids alone do not tell: some programs begin anew with each turn.
    fn is_repeated(&self, raw: &RawValue) -> bool {
        let id = Fields::of(raw.get()).and_then(|mut call| call.text("id"));
        self.is_again && id.is_some_and(|id| self.seen.get(&id) == Some(&call_hash(raw)))
    }

    fn call(&mut self, raw: &RawValue) {
        let Some(mut call) = Fields::of(raw.get()) else {
            self.session.unknown("a call that is not an object");
            return;
        };
        self.calls += 1;
        let id = call.text("id").filter(|id| !id.is_empty()).unwrap_or_else(|| {
            self.session.odd("a call without an id");
            format!("call-{}", self.calls)
        });
        if self.is_repeated(raw) {
            return;
        }
        self.seen_bytes += id.len() + 64;
        self.seen.insert(id.clone(), call_hash(raw));
        let inner = call.object("function").or_else(|| call.object("custom"));
        self.session.leave("call", &call, &["type", "index"]);
        let Some(mut inner) = inner else {
            self.session.unknown("a call of no function");
            return;
        };
        let name = inner.text("name").unwrap_or_default();
        self.put_call(&id, &name, &mut inner);
    }

    fn put_call(&mut self, id: &str, name: &str, fields: &mut Fields<'_>) {
        let arguments = fields.take("arguments").or_else(|| fields.take("input"));
        if arguments.is_none() {
            self.session.odd("a call without arguments");
        }
        let arguments = arguments.map_or_else(|| RawValue::NULL.to_owned(), unquoted);
        if arguments.get().starts_with('"') {
            self.session.odd("arguments that are no JSON");
        }
        self.session.leave("function call", fields, &[]);
        let tool = CalledTool::named(name);
        if matches!(tool, CalledTool::Mcp { .. }) {
            self.session.shows("mcp", "tools/call", Direction::Request);
            self.session.shows("mcp", "tools/call", Direction::Response);
        }
        self.session.call(id, &tool, &arguments);
    }

    /// The text of a content: a text, or parts.
    fn text(&mut self, content: Option<&RawValue>) -> String {
        let Some(content) = content.filter(|content| content.get() != "null") else { return String::new() };
        if let Ok(text) = serde_json::from_str::<String>(content.get()) {
            return text;
        }
        let parts = list(content);
        if parts.is_none() {
            self.session.unknown("a content that is neither a text nor a list");
        }
        let mut texts = Vec::new();
        for part in parts.unwrap_or_default() {
            let Some(mut part) = Fields::of(part.get()) else {
                self.session.unknown("a part that is not an object");
                continue;
            };
            match part.text("type").as_deref() {
                Some("text" | "input_text" | "output_text") => texts.extend(part.text("text")),
                Some("refusal") => texts.extend(part.text("refusal")),
                Some(kind @ ("image_url" | "input_audio" | "file" | "image" | "thinking" | "reasoning")) => {
                    self.session.pass(&format!("part {kind}"));
                    continue;
                }
                other => {
                    self.session.unknown(&format!("part {}", other.unwrap_or("without a type")));
                    continue;
                }
            }
            self.session.leave("part", &part, &["annotations", "cache_control"]);
        }
        texts.join("\n")
    }

    fn finish(mut self, cut: Option<&str>) -> sortie_recording::session::RecordedSession {
        let missing = self.session.waiting();
        if missing > 0 {
            let why = format!("{missing} calls have no result in the file");
            for protocol in ["local", "mcp"] {
                self.session.lack(protocol, "tools/call", Direction::Response, &why, None);
            }
        }
        let end = match (cut, self.last) {
            (Some(cut), _) => End::Cut(cut.to_owned()),
            (None, Last::Answer) => End::Done,
            (None, Last::Nobody) => End::Cut("it has no messages".to_owned()),
            (None, Last::Other) => End::Cut("its last message is not an answer of the agent".to_owned()),
        };
        self.session.finish(end)
    }
}

/// What a message is known by when it is repeated: programs add members, and write numbers and spaces anew.
fn key_of(raw: &RawValue) -> u64 {
    let Some(mut fields) = Fields::of(raw.get()) else { return hash_of(&raw.get()) };
    let content = fields.take("content");
    let text = content.map(|raw| {
        let value = serde_json::from_str::<Value>(raw.get());
        value.map_or_else(
            |_| raw.get().to_owned(),
            |value| value.as_str().map_or_else(|| value.to_string(), Into::into),
        )
    });
    // An answer that is only calls has an empty content, none, or null.
    let text = text.filter(|text| !text.is_empty() && text != "null");
    let legacy = fields.object("function_call").and_then(|mut call| {
        let arguments = call.take("arguments").map(|raw| raw.get().to_owned());
        Some((call.text("name")?, arguments))
    });
    hash_of(&(fields.text("role"), text, call_ids(raw), fields.text("tool_call_id"), legacy))
}

fn call_ids(raw: &RawValue) -> Vec<String> {
    let calls = Fields::of(raw.get()).and_then(|mut fields| fields.items("tool_calls")).unwrap_or_default();
    calls.into_iter().filter_map(|call| Fields::of(call.get())?.text("id")).collect()
}

/// What a call is known by: its name and its arguments.
fn call_hash(raw: &RawValue) -> u64 {
    let inner =
        Fields::of(raw.get()).and_then(|mut call| call.object("function").or_else(|| call.object("custom")));
    let mut inner = inner.unwrap_or_default();
    let arguments = inner.take("arguments").or_else(|| inner.take("input")).map(|raw| raw.get().to_owned());
    hash_of(&(inner.text("name"), arguments))
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What of a request and a response says nothing about messages.
const CONVERSATION: &[&str] = &[
    "id",
    "object",
    "usage",
    "system_fingerprint",
    "service_tier",
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "stream",
    "stream_options",
    "stop",
    "n",
    "seed",
    "user",
    "tool_choice",
    "function_call",
    "parallel_tool_calls",
    "response_format",
    "presence_penalty",
    "frequency_penalty",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "metadata",
    "store",
    "reasoning_effort",
    "custom_id",
    "method",
    "url",
    "status_code",
    "request_id",
    "weight",
    "title",
    "source",
    "prediction",
    "modalities",
];

const MESSAGE: &[&str] = &[
    "id",
    "name",
    "annotations",
    "audio",
    "reasoning_content",
    "reasoning",
    "weight",
    "function_call",
    "refusal",
    "tool_calls",
    "provider_specific_fields",
    "timestamp",
];
