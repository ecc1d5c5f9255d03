//! What `tee` sees of the pipe between a client and an MCP server: JSON-RPC, a line each.
//!
//! | line | direction |
//! |---|---|
//! | `{"jsonrpc": …}`, or a batch of them | from methods and ids |
//! | `> {…}`, `--> {…}`, `client: {…}`, with anything short before | from the mark; a request that only clients make says which is which |
//! | `{"direction": "…", "message": {…}}` | from the word, in the same way |
//!
//! The two directions in two files are read together: `NAME.stdin.jsonl` has `NAME.stdout.jsonl` beside it. A line that is no
//! message is counted. See `docs/formats/mcp-stdio.md`.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;
use serde_json::value::RawValue;
use sortie_protocol::{Envelope, Kind, id_key};
use sortie_trace::{Content, Direction, Message, Sender};

use sortie_recording::fields::{Fields, list};
use sortie_recording::format::{Format, Head, ImportError, Shown, Sink};
use sortie_recording::input::{Input, InputLimits, InputLines};
use sortie_recording::loss::Gap;
use sortie_recording::session::{End, SessionBuilder, blank};

pub(crate) static FORMAT: Format = Format {
    name: "mcp-stdio",
    about: "the pipe of an MCP server, recorded with `tee`: JSON-RPC lines, both directions",
    shows: SHOWS,
    gaps: &[
        Gap {
            what: "what the user asked and was told",
            means: "only what the client and this server said is on the pipe",
        },
        Gap {
            what: "other servers, and functions of the program's own",
            means: "what the agent did elsewhere is not on this pipe",
        },
    ],
    recognizes,
    read,
};

const fn both(surface: &'static str) -> [Shown; 2] {
    [("mcp", surface, Direction::Request), ("mcp", surface, Direction::Response)]
}

const SHOWS: &[Shown] = [
    both("initialize"),
    both("server/discover"),
    both("tools/list"),
    both("tools/call"),
    both("resources/list"),
    both("resources/templates/list"),
    both("resources/read"),
    both("resources/subscribe"),
    both("prompts/list"),
    both("prompts/get"),
    both("completion/complete"),
    both("logging/setLevel"),
    both("sampling/createMessage"),
    both("elicitation/create"),
    both("roots/list"),
    both("ping"),
]
.as_flattened();

/// What only clients ask for or say.
const CLIENT: &[&str] = &[
    "initialize",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
    "notifications/initialized",
    "notifications/roots/list_changed",
];

/// What only servers ask for or say.
const SERVER: &[&str] = &[
    "sampling/createMessage",
    "elicitation/create",
    "roots/list",
    "notifications/message",
    "notifications/tools/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/prompts/list_changed",
    "notifications/elicitation/complete",
];

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// One of the two marks of a pair; which of them the client has, the messages say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Out,
    In,
}

fn recognizes(head: &Head<'_>) -> bool {
    let is_message = |json: &str| {
        let envelope = Envelope::read(json).ok();
        envelope.is_some_and(|envelope| envelope.jsonrpc.is_some_and(|version| version.get() == "\"2.0\""))
    };
    head.lines().take(20).filter_map(split).any(|(_, raw)| {
        let said = Fields::of(raw.get()).and_then(|mut fields| {
            fields.peek("direction").or_else(|| fields.peek("dir"))?;
            body(&mut fields).map(Cow::into_owned)
        });
        let raw = said.as_deref().unwrap_or(raw);
        list(raw).map_or_else(
            || is_message(raw.get()),
            |items| items.first().is_some_and(|item| is_message(item.get())),
        )
    })
}

/// How much may stand before the JSON of a line, in bytes, and how often it may look like its beginning.
const BEFORE: usize = 160;
const TRIES: usize = 8;

/// A line in what stands before its JSON, and its JSON.
fn split(line: &str) -> Option<(&str, &RawValue)> {
    let starts =
        line.char_indices().take_while(|(at, _)| *at <= BEFORE).filter(|(_, char)| matches!(char, '{' | '['));
    starts.take(TRIES).find_map(|(at, _)| {
        // A time in brackets is not a batch.
        let (before, json) = line.split_at(at);
        let raw = serde_json::from_str::<&RawValue>(json).ok()?;
        Some((before, raw))
    })
}

/// The time among what stands before a message.
fn time_before(before: &str) -> Option<std::time::SystemTime> {
    let mut words =
        before.split(|char: char| char.is_whitespace() || matches!(char, '[' | ']' | '(' | ')' | '|'));
    words.find_map(sortie_trace::time::parse_time)
}

fn mark_of(before: &str) -> Option<Mark> {
    let words = before
        .split(|char: char| char.is_whitespace() || matches!(char, '[' | ']' | '|' | ':' | ',' | '(' | ')'));
    words.filter(|word| !word.is_empty()).find_map(word_mark)
}

fn word_mark(word: &str) -> Option<Mark> {
    let word = word.to_ascii_lowercase();
    match word.as_str() {
        ">" | ">>" | ">>>" | "->" | "-->" | "=>" | "==>" | "→" | "client" | "c2s" | "c>s" | "c->s"
        | "client->server" | "client→server" | "client_to_server" | "client-to-server" | "out"
        | "outgoing" | "outbound" | "send" | "sent" | "tx" | "stdin" | "request" | "to_server" => {
            Some(Mark::Out)
        }
        "<" | "<<" | "<<<" | "<-" | "<--" | "<=" | "<==" | "←" | "server" | "s2c" | "s>c" | "s->c"
        | "server->client" | "server→client" | "server_to_client" | "server-to-client" | "in"
        | "incoming" | "inbound" | "recv" | "receive" | "received" | "rx" | "stdout" | "response"
        | "to_client" | "from_server" => Some(Mark::In),
        _ => None,
    }
}

/// What a line with a direction holds: a message, or the text of one.
fn body<'j>(fields: &mut Fields<'j>) -> Option<Cow<'j, RawValue>> {
    for key in ["message", "data", "payload", "raw", "content", "line", "msg", "body"] {
        let Some(raw) = fields.take(key) else { continue };
        if !raw.get().starts_with('"') {
            return Some(Cow::Borrowed(raw));
        }
        let text: String = serde_json::from_str(raw.get()).ok()?;
        return serde_json::from_str::<Box<RawValue>>(&text).ok().map(Cow::Owned);
    }
    None
}

/// The names by which files of the two directions are told apart: the client's first.
const PAIRS: &[(&str, &str)] = &[
    ("stdin", "stdout"),
    ("in", "out"),
    ("client", "server"),
    ("c2s", "s2c"),
    ("requests", "responses"),
    ("request", "response"),
    ("sent", "received"),
    ("to-server", "from-server"),
    ("to_server", "from_server"),
];

/// Whose direction a file of one holds, what the pair is called, and the file of the other.
fn pair(name: &str) -> Option<(Side, String, String)> {
    let is_word = |char: char| char.is_alphanumeric();
    for (client, server) in PAIRS {
        for (side, here, there) in [(Side::Client, client, server), (Side::Server, server, client)] {
            let Some(at) = name.rfind(here) else { continue };
            let (before, after) = (&name[..at], &name[at + here.len()..]);
            if before.ends_with(is_word) || after.starts_with(is_word) {
                continue;
            }
            let stem = before.trim_end_matches(['.', '-', '_']).to_owned();
            return Some((side, stem, format!("{before}{there}{after}")));
        }
    }
    None
}

fn read(format: &Format, input: Input<'_>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let (name, limits) = (input.name, input.limits);
    let base = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let pair = pair(base);
    let beside = pair.as_ref().and_then(|(_, _, other)| beside(input.path, other));
    let stem = match &pair {
        Some((_, stem, _)) if beside.is_some() && !stem.is_empty() => stem.as_str(),
        _ => base.split('.').next().unwrap_or(base),
    };
    let actor: String = stem.chars().take(100).collect();
    let mut sessions = Sessions { format, file: name, actor, limits, number: 0, pipe: None };
    match (pair, beside) {
        (Some((Side::Server, _, other)), Some(_)) => {
            return Err(ImportError::Invalid {
                file: name.to_owned(),
                line: 0,
                message: format!("it is one direction of a pipe, and is read together with `{other}`"),
            });
        }
        (Some((Side::Client, _, other)), Some(path)) => {
            let other = name.strip_suffix(base).map_or(other.clone(), |folder| format!("{folder}{other}"));
            let server = Input::file(&path, &other, limits)?;
            two_files(&mut sessions, input.lines(), server.lines(), sink)?;
        }
        (pair, _) => {
            let mut lines = input.lines();
            let mut reader = LineReader::default();
            while let Some((number, line)) = lines.next_line()? {
                for said in reader.line(number, line) {
                    sessions.said(&said, sink)?;
                }
            }
            if sessions.number > 0 && lines.was_cut() && reader.last_was_noise {
                sessions.cut("the file ends in the middle of a line");
            }
            if let Some((side, ..)) = pair {
                sessions.one_side(side);
            }
            sessions.noise(&reader);
        }
    }
    sessions.finish(sink)
}

fn beside(path: Option<&Path>, other: &str) -> Option<PathBuf> {
    let path = path?.parent()?.join(other);
    path.is_file().then_some(path)
}

/// A message of a line.
struct Said {
    line: u64,
    /// Which of a batch.
    index: Option<usize>,
    mark: Option<Mark>,
    /// Known from the file it is in.
    side: Option<Side>,
    time: Option<std::time::SystemTime>,
    file: Option<String>,
    json: Box<RawValue>,
}

/// Reads lines: JSON-RPC, with or without a mark.
#[derive(Default)]
struct LineReader {
    noise: u64,
    last_was_noise: bool,
    unknown: Vec<String>,
}

impl LineReader {
    fn line(&mut self, number: u64, line: &str) -> Vec<Said> {
        self.last_was_noise = true;
        let Some((before, raw)) = split(line) else {
            self.noise += 1;
            return Vec::new();
        };
        let (mark, time) = (mark_of(before), time_before(before));
        let mut said = Said {
            line: number,
            index: None,
            mark,
            side: None,
            time,
            file: None,
            json: RawValue::NULL.to_owned(),
        };
        let mut message = Cow::Borrowed(raw);
        if let Some(mut fields) = Fields::of(raw.get())
            && fields.peek("jsonrpc").is_none()
            && let Some(direction) = fields.text("direction").or_else(|| fields.text("dir"))
        {
            said.mark = word_mark(&direction);
            if said.mark.is_none() {
                self.unknown.push(format!("direction {}", direction.chars().take(40).collect::<String>()));
                self.unknown.truncate(20);
            }
            for key in ["timestamp", "ts", "time"] {
                said.time = said.time.or_else(|| fields.take(key).and_then(time_of));
            }
            let Some(body) = body(&mut fields) else {
                self.noise += 1;
                return Vec::new();
            };
            message = Cow::Owned(body.into_owned());
            for name in fields.left().filter(|name| !WRAPPER.contains(name)) {
                self.unknown.push(format!("line.{name}"));
            }
            self.unknown.truncate(20);
        }
        let items = list(&message);
        let batch = items.is_some();
        let mut all = Vec::new();
        for (index, item) in items.unwrap_or_else(|| vec![&*message]).into_iter().enumerate() {
            let envelope = Envelope::read(item.get()).unwrap_or_default();
            if envelope.method.is_none() && envelope.result.is_none() && envelope.error.is_none() {
                self.noise += 1;
                continue;
            }
            all.push(Said { index: batch.then_some(index), file: None, json: item.to_owned(), ..said });
        }
        self.last_was_noise = all.is_empty();
        all
    }
}

const WRAPPER: &[&str] =
    &["server", "session", "session_id", "seq", "pid", "level", "id", "transport", "type", "length"];

/// A time: RFC 3339, or seconds or milliseconds since 1970.
fn time_of(raw: &RawValue) -> Option<std::time::SystemTime> {
    if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
        return sortie_trace::time::parse_time(&text);
    }
    let number: f64 = serde_json::from_str(raw.get()).ok()?;
    let seconds = if number > 1e11 { number / 1000.0 } else { number };
    // Until the year 9999.
    (0.0..=253_402_300_799.0).contains(&seconds).then(|| UNIX_EPOCH + Duration::from_secs_f64(seconds))
}

/// Reads the two directions of a pipe from two files. Nothing says in which order lines of the two were written, but that an
/// answer comes after what it answers: so what the server says is put behind the request it answers.
fn two_files(
    sessions: &mut Sessions<'_>,
    client: InputLines<'_>,
    server: InputLines<'_>,
    sink: &mut Sink<'_>,
) -> Result<(), ImportError> {
    let mut queue = ServerQueue::new(all_of(server, Side::Server, sessions)?);
    let mut asked = HashSet::new();
    let mut awaited: Option<String> = None;
    for said in all_of(client, Side::Client, sessions)? {
        // The client answers: what it answers was said before.
        if let Some(id) = answers(&said)
            && queue.asked.contains(&id)
        {
            while let Some(next) = queue.pop() {
                let is_it = asks(&next).as_ref() == Some(&id);
                sessions.said(&next, sink)?;
                if is_it {
                    break;
                }
            }
        }
        let id = asks(&said);
        sessions.said(&said, sink)?;
        if let Some(id) = id {
            asked.insert(id.clone());
            awaited = queue.answered.contains(&id).then_some(id);
        }
        while awaited.is_some()
            && let Some(next) = queue.queue.front()
        {
            let (answers, is_request) = (answers(next), asks(next).is_some());
            if answers.as_ref().is_some_and(|answered| !asked.contains(answered)) {
                break;
            }
            let Some(next) = queue.pop() else { break };
            sessions.said(&next, sink)?;
            if answers == awaited {
                awaited = None;
            }
            // What the server asks for, the client answers in the meantime.
            if is_request {
                break;
            }
        }
    }
    while let Some(said) = queue.pop() {
        sessions.said(&said, sink)?;
    }
    sessions.pipe_of().inferred("the order of messages between the two files");
    Ok(())
}

/// What a server says, in its order, and what of it is still to come.
struct ServerQueue {
    queue: VecDeque<Said>,
    asked: HashSet<String>,
    answered: HashSet<String>,
}

impl ServerQueue {
    fn new(said: Vec<Said>) -> Self {
        let asked = said.iter().filter_map(asks).collect();
        let answered = said.iter().filter_map(answers).collect();
        Self { queue: VecDeque::from(said), asked, answered }
    }

    fn pop(&mut self) -> Option<Said> {
        let said = self.queue.pop_front()?;
        if let Some(id) = asks(&said) {
            self.asked.remove(&id);
        }
        Some(said)
    }
}

/// All messages of a file, which is held: there is no other way to put two into one order.
fn all_of(
    mut lines: InputLines<'_>,
    side: Side,
    sessions: &mut Sessions<'_>,
) -> Result<Vec<Said>, ImportError> {
    let mut reader = LineReader::default();
    let mut all = Vec::new();
    let (name, limit) = (lines.name(), lines.limits().whole);
    let mut size = 0;
    while let Some((number, line)) = lines.next_line()? {
        size += line.len() + 128;
        if size > limit {
            return Err(ImportError::TooLarge {
                file: name.to_owned(),
                what: "two files of one pipe have to be held as a whole, and it is too large for that"
                    .to_owned(),
                limit: limit as u64,
            });
        }
        all.extend(reader.line(number, line).into_iter().map(|said| Said {
            side: Some(side),
            file: Some(name.to_owned()),
            ..said
        }));
    }
    sessions.noise(&reader);
    Ok(all)
}

fn asks(said: &Said) -> Option<String> {
    let envelope = Envelope::read(said.json.get()).ok()?;
    envelope.method?;
    Some(id_key(envelope.id?.get()))
}

fn answers(said: &Said) -> Option<String> {
    let envelope = Envelope::read(said.json.get()).ok()?;
    envelope.method.is_none().then_some(())?;
    Some(id_key(envelope.id?.get()))
}

/// The sessions of a file: one for each time that a client begins anew.
struct Sessions<'f> {
    format: &'f Format,
    file: &'f str,
    actor: String,
    limits: InputLimits,
    number: u64,
    pipe: Option<Pipe>,
}

impl Sessions<'_> {
    fn pipe_of(&mut self) -> &mut SessionBuilder {
        let Self { format, file, actor, limits, number, pipe } = self;
        let pipe = pipe.get_or_insert_with(|| {
            let id = if *number > 1 { format!("{actor}-{number}") } else { actor.clone() };
            Pipe::new(SessionBuilder::new(format, id, file, *limits), actor)
        });
        &mut pipe.session
    }

    fn said(&mut self, said: &Said, sink: &mut Sink<'_>) -> Result<(), ImportError> {
        let begins = method_of(&said.json).as_deref() == Some("initialize");
        let is_old = self.pipe.as_ref().is_some_and(|pipe| pipe.has_begun || !pipe.session.is_empty());
        if begins
            && is_old
            && let Some(pipe) = self.pipe.take()
        {
            sink(pipe.finish().into())?;
            self.number += 1;
        }
        self.number = self.number.max(1);
        self.pipe_of();
        if let Some(pipe) = &mut self.pipe {
            pipe.has_begun |= begins;
            pipe.said(said);
        }
        Ok(())
    }

    /// Lines that are no messages: whatever else was written to the pipe, or to what was teed.
    fn noise(&mut self, reader: &LineReader) {
        if reader.noise == 0 && reader.unknown.is_empty() {
            return;
        }
        if self.pipe.is_none() && self.number == 0 && reader.noise > 0 {
            // With no message at all, it is not a recording.
            return;
        }
        let session = self.pipe_of();
        for _ in 0..reader.noise.min(1_000_000) {
            session.odd("a line that is not a message");
        }
        for name in &reader.unknown {
            session.unknown(name);
        }
    }

    fn cut(&mut self, why: &str) {
        if let Some(pipe) = &mut self.pipe {
            pipe.cut = Some(why.to_owned());
        }
    }

    /// A file of one direction, without that of the other.
    fn one_side(&mut self, side: Side) {
        if let Some(pipe) =
            self.pipe.as_mut().filter(|pipe| pipe.sides.len() < 2 && !pipe.sides.contains(&side.other()))
        {
            let missing = side.other();
            pipe.lacks_side(missing);
        }
    }

    fn finish(mut self, sink: &mut Sink<'_>) -> Result<(), ImportError> {
        match self.pipe.take() {
            Some(pipe) if !pipe.session.is_empty() => sink(pipe.finish().into()),
            _ => Ok(()),
        }
    }
}

fn method_of(raw: &RawValue) -> Option<String> {
    serde_json::from_str(Envelope::read(raw.get()).ok()?.method?.get()).ok()
}

/// How many requests may wait for their answers.
const WAITING: usize = 50_000;

/// One connection of a client to the server.
struct Pipe {
    session: SessionBuilder,
    actor: String,
    has_begun: bool,
    /// Requests that wait for their answer, by who asked.
    waiting: [HashMap<String, String>; 2],
    /// The mark of the client, once it is known.
    client_mark: Option<Mark>,
    sides: Vec<Side>,
    cut: Option<String>,
}

impl Pipe {
    fn new(session: SessionBuilder, actor: &str) -> Self {
        Self {
            session,
            actor: actor.to_owned(),
            has_begun: false,
            waiting: [HashMap::new(), HashMap::new()],
            client_mark: None,
            sides: Vec::new(),
            cut: None,
        }
    }

    fn said(&mut self, said: &Said) {
        let Ok(envelope) = Envelope::read(said.json.get()) else { return };
        if let Some(file) = &said.file {
            self.session.file(file);
        }
        self.session.line(said.line);
        if let Some(index) = said.index {
            self.session.item(format!("/{index}"));
        } else {
            self.session.no_item();
        }
        if let Some(time) = said.time {
            self.session.at(time);
        }
        if envelope.jsonrpc.is_none() {
            self.session.odd("a message without `jsonrpc`");
        }
        let method: Option<String> =
            envelope.method.and_then(|method| serde_json::from_str(method.get()).ok());
        let id = envelope.id.filter(|id| id.get() != "null");
        let key = id.map(|id| id_key(id.get()));
        let side = self.side(said, method.as_deref(), key.as_deref());
        if !self.sides.contains(&side) {
            self.sides.push(side);
        }
        let (kind, surface) = match (&method, &key) {
            (Some(method), Some(key)) => {
                let waiting = &mut self.waiting[side as usize];
                if waiting.len() >= WAITING {
                    self.session.odd("more requests without an answer than are remembered");
                } else if waiting.insert(key.clone(), method.clone()).is_some() {
                    self.session.odd("two requests with one id");
                }
                (Kind::Request, method.clone())
            }
            (Some(method), None) => (Kind::Notification, method.clone()),
            (None, key) => {
                let asked = key.as_ref().and_then(|key| self.waiting[side.other() as usize].remove(key));
                let Some(asked) = asked else {
                    self.session.odd("an answer to no request");
                    return;
                };
                if side == Side::Server && asked == "initialize" {
                    self.server_info(envelope.result);
                }
                (if envelope.error.is_some() { Kind::Error } else { Kind::Response }, asked)
            }
        };
        self.session.wire(Message {
            actor: self.actor.clone(),
            mode: "mcp_server".to_owned(),
            protocol: "mcp".to_owned(),
            surfaces: vec![surface],
            direction: kind.into(),
            kind,
            id: id.and_then(|id| serde_json::from_str::<Value>(id.get()).ok()),
            connection: self.actor.clone(),
            sender: if side == Side::Client { Sender::Agent } else { Sender::Actor },
            content: Content::from_wire(said.json.get().as_bytes()),
            ..blank()
        });
    }

    /// Who says it.
    fn side(&mut self, said: &Said, method: Option<&str>, id: Option<&str>) -> Side {
        let by_method = method.and_then(|method| {
            let client = CLIENT.contains(&method).then_some(Side::Client);
            client.or_else(|| SERVER.contains(&method).then_some(Side::Server))
        });
        if let Some(side) = said.side {
            if by_method.is_some_and(|by_method| by_method != side) {
                self.session.odd("a message in the direction of the other side");
            }
            return side;
        }
        if let Some(mark) = said.mark {
            if let Some(by_method) = by_method {
                let of_client =
                    if (by_method == Side::Client) == (mark == Mark::Out) { Mark::Out } else { Mark::In };
                if *self.client_mark.get_or_insert(of_client) != of_client {
                    self.session.odd("a message in the direction of the other side");
                }
            }
            let client = self.client_mark.unwrap_or(Mark::Out);
            return if mark == client { Side::Client } else { Side::Server };
        }
        self.session
            .inferred("the sender of each message: from methods and ids, because the log does not record it");
        if let Some(side) = by_method {
            return side;
        }
        let waits = |side: Side| id.is_some_and(|id| self.waiting[side as usize].contains_key(id));
        match (method.is_some(), waits(Side::Client), waits(Side::Server)) {
            (false, true, true) => {
                self.session.odd("an answer that two requests wait for");
                // Servers ask while a call is under way: what they ask for is answered first.
                Side::Client
            }
            (false, false, true) => Side::Client,
            (false, ..) => Side::Server,
            (true, ..) => {
                self.session.odd("a method of either side");
                Side::Client
            }
        }
    }

    fn server_info(&mut self, result: Option<&RawValue>) {
        let Some(mut result) = result.and_then(|result| Fields::of(result.get())) else { return };
        let mut info = result.object("serverInfo").unwrap_or_default();
        let short = |text: String| text.chars().take(200).collect::<String>();
        if let Some(name) = info.text("name") {
            self.session.about("program", short(name));
        }
        if let Some(version) = info.text("version") {
            self.session.about("version", short(version));
        }
        if let Some(version) = result.text("protocolVersion") {
            self.session.about("protocol_version", short(version));
        }
    }

    fn lacks_side(&mut self, side: Side) {
        let why = match side {
            Side::Client => "the file holds what the server says only",
            Side::Server => "the file holds what the client says only",
        };
        let asked_by_server = ["sampling/createMessage", "elicitation/create", "roots/list"];
        for (protocol, surface, direction) in SHOWS {
            let is_servers = asked_by_server.contains(surface) == (*direction == Direction::Request);
            if is_servers == (side == Side::Server) {
                self.session.lack(
                    protocol,
                    surface,
                    *direction,
                    why,
                    Some("tee both directions of the pipe"),
                );
            }
        }
    }

    fn finish(mut self) -> sortie_recording::session::RecordedSession {
        let open: usize = self.waiting.iter().map(HashMap::len).sum();
        for _ in 0..open.min(1_000_000) {
            self.session.odd("a request without an answer");
        }
        let end = match self.cut {
            Some(why) => End::Cut(why),
            None if open > 0 => End::Cut(format!("{open} requests have no answer")),
            None => End::Done,
        };
        self.session.finish(end)
    }
}
