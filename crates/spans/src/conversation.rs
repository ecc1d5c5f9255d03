//! One conversation out of spans, runs, observations or log events, which come in any order and say everything many times.
//!
//! A model call repeats the whole history; a call of a tool stands in the answer of a model, in the history of the next one, in a
//! span that ran it, and in a span of the MCP client below that. What is said is kept once ([`Turn`]s by their hash), ordered by
//! time when the conversation is complete, and put together by the ids of calls.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sortie_trace::Direction::{self, Request, Response};
use sortie_trace::foreign::{Lack, MessageClass};

use crate::messages::{HIDDEN, Part, Role, Turn};
use sortie_recording::format::Format;
use sortie_recording::input::InputLimits;
use sortie_recording::loss::{RecordingLoss, count};
use sortie_recording::session::{CalledTool, End, RecordedSession, SessionBuilder};

/// Where and when something was said.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
    /// The line, from one; zero for none.
    pub(crate) line: u64,
    /// The span, run or observation.
    pub(crate) item: Rc<str>,
}

impl Place {
    pub(crate) fn at(&self, time: u64) -> Self {
        Self { time, ..self.clone() }
    }
}

/// What a span says of a call of a tool.
#[derive(Debug, Default)]
pub(crate) struct ToolRun {
    pub(crate) span: u64,
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    /// The MCP server, where the span says that it is one; empty for one without a name.
    pub(crate) server: Option<String>,
    pub(crate) arguments: Option<Box<RawValue>>,
    pub(crate) result: Option<Box<RawValue>>,
    pub(crate) is_error: bool,
    /// The setting that records what it lacks.
    pub(crate) setting: &'static str,
    /// Whether a result is never recorded here, but elsewhere in the conversation.
    pub(crate) result_elsewhere: bool,
    /// Where it begins; `None` only while it is made.
    pub(crate) place: Option<Place>,
    pub(crate) end: u64,
}

/// What a span says of a call of a model.
#[derive(Debug)]
pub(crate) struct ModelCall {
    pub(crate) has_input: bool,
    pub(crate) has_output: bool,
    /// How it failed.
    pub(crate) failure: Option<String>,
    pub(crate) end: u64,
    pub(crate) setting: &'static str,
}

/// What the log events of a coding agent say of its answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgentLog {
    pub(crate) has_answers: bool,
    /// The setting that records them; empty for none.
    pub(crate) setting: &'static str,
}

/// Where the messages of a model call are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// In attributes of its span.
    Span,
    /// In one event with all of them.
    Details,
    /// In an event for each of them.
    Messages,
    /// In the events of the oldest conventions.
    Content,
}

#[derive(Debug)]
enum Said {
    /// What a model was shown.
    Input { span: u64, turns: Vec<u64> },
    /// What a model said, or what an agent gave, which repeats it.
    Output { span: u64, turns: Vec<u64>, by_model: bool },
    /// The tools that a model was shown.
    Tools { server: Option<String>, tools: Rc<RawValue> },
}

#[derive(Debug)]
struct Event {
    place: Place,
    said: Said,
}

/// What is known of a conversation so far.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    hasher: RandomState,
    turns: HashMap<u64, Turn>,
    tool_lists: HashMap<u64, Rc<RawValue>>,
    last_list: Option<u64>,
    last_tools: Option<(Option<String>, Rc<RawValue>)>,
    events: Vec<Event>,
    runs: Vec<ToolRun>,
    /// Spans of MCP clients and servers, below what ran the tool.
    wires: Vec<ToolRun>,
    parents: HashMap<u64, u64>,
    /// Spans whose parent is in this process, and has to be in the recording.
    local_parents: HashSet<u64>,
    models: Vec<ModelCall>,
    model_of: HashMap<u64, usize>,
    /// Where the messages of a span come from: the first source counts.
    sources: HashMap<(u64, bool), Source>,
    /// The history of a span that comes message by message.
    pending: Vec<(u64, Place, Vec<Turn>)>,
    pending_of: HashMap<u64, usize>,
    /// How the last request to a model ended, where log events say so.
    last_word: Option<(u64, Option<String>)>,
    /// What is odd, passed over, unknown and missing.
    pub(crate) notes: RecordingLoss,
    pub(crate) about: Map<String, Value>,
    /// Classes of messages that it shows besides those that its format always does.
    shows: Vec<(&'static str, &'static str, Direction)>,
    /// What the log events of a coding agent say, where it is of one.
    pub(crate) agent_log: Option<AgentLog>,
    /// The history of the last model call as it was written, and its turns.
    history: Option<(String, Vec<u64>)>,
    bytes: usize,
}

/// What an agent tells its user.
pub(crate) const ANSWERS: [(&str, &str, Direction); 2] =
    [("ag_ui", "text_message_content", Response), ("ag_ui", "text_message_end", Response)];
/// How many threads of messages are told apart in one conversation.
const THREADS: usize = 64;
/// How many calls of one name are compared with one that was run.
const WINDOW: usize = 64;
/// How far up the parents of a span are looked for.
const ANCESTORS: usize = 32;

impl Conversation {
    /// About how much it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there is nothing in it that says anything about messages: a list of tools alone is no conversation.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.iter().all(|event| matches!(event.said, Said::Tools { .. }))
            && self.runs.is_empty()
            && self.wires.is_empty()
            && self.models.is_empty()
            && self.pending.is_empty()
            && self.notes.file_lacks.is_empty()
    }

    /// A span, whatever it is.
    pub(crate) fn span(&mut self, span: u64, parent: Option<u64>, parent_is_remote: bool) {
        self.bytes += 64;
        self.parents.insert(span, parent.unwrap_or(0));
        if let Some(parent) = parent
            && !parent_is_remote
        {
            self.local_parents.insert(parent);
        }
    }

    pub(crate) fn about(&mut self, key: &str, value: impl Into<Value>) {
        if self.about.len() < 32 && !self.about.contains_key(key) {
            self.about.insert(key.to_owned(), value.into());
        }
    }

    pub(crate) fn odd(&mut self, what: &str) {
        count(&mut self.notes.oddities, what);
    }

    pub(crate) fn lack(&mut self, class: (&str, &str, Direction), why: &str, setting: &str) {
        let (protocol, surface, direction) = class;
        let class = MessageClass { protocol: protocol.to_owned(), surface: surface.to_owned(), direction };
        let lack =
            Lack { class, why: why.to_owned(), setting: (!setting.is_empty()).then(|| setting.to_owned()) };
        let lacks = &mut self.notes.file_lacks;
        if lacks.len() < 64 && !lacks.contains(&lack) {
            lacks.push(lack);
        }
    }

    pub(crate) fn shows(&mut self, protocol: &'static str, surface: &'static str, direction: Direction) {
        if !self.shows.contains(&(protocol, surface, direction)) {
            self.shows.push((protocol, surface, direction));
        }
    }

    /// A call of a model. What several records say of one span is put together.
    pub(crate) fn model(&mut self, span: u64, call: ModelCall) {
        if span != 0
            && let Some(known) = self.model_of.get(&span).map(|at| &mut self.models[*at])
        {
            known.has_input |= call.has_input;
            known.has_output |= call.has_output;
            known.end = known.end.max(call.end);
            known.failure = known.failure.take().or(call.failure);
            return;
        }
        self.bytes += 96;
        self.model_of.insert(span, self.models.len());
        self.models.push(call);
    }

    /// Whether messages of a span are taken from there: not, when another source has them already.
    pub(crate) fn takes(&mut self, span: u64, source: Source, is_output: bool) -> bool {
        span == 0 || *self.sources.entry((span, is_output)).or_insert(source) == source
    }

    /// A request to a model ended: in these words, when it failed.
    pub(crate) fn model_ended(&mut self, time: u64, failure: Option<String>) {
        if self.last_word.as_ref().is_none_or(|(last, _)| *last <= time) {
            self.last_word = Some((time, failure));
        }
    }

    /// How many texts are there of which the content was not recorded.
    pub(crate) fn hidden(&self) -> u64 {
        self.notes.oddities.get(HIDDEN).copied().unwrap_or(0)
    }

    /// When it begins.
    pub(crate) fn begins(&self) -> u64 {
        let events = self.events.iter().map(|event| event.place.time);
        let runs =
            self.runs.iter().chain(&self.wires).filter_map(|run| run.place.as_ref()).map(|place| place.time);
        let pending = self.pending.iter().map(|(_, place, _)| place.time);
        events.chain(runs).chain(pending).min().unwrap_or(0)
    }

    /// A message of a history that comes message by message.
    pub(crate) fn input_message(&mut self, span: u64, place: Place, turns: Vec<Turn>) {
        if span == 0 {
            return self.output(span, place, turns, false);
        }
        self.bytes += turns.iter().flat_map(|turn| &turn.parts).map(size_of_part).sum::<usize>();
        let at = *self.pending_of.entry(span).or_insert(self.pending.len());
        match self.pending.get_mut(at) {
            Some((_, _, known)) => known.extend(turns),
            None => self.pending.push((span, place, turns)),
        }
    }

    pub(crate) fn run(&mut self, run: ToolRun) {
        self.bytes += size_of_run(&run);
        self.runs.push(run);
    }

    pub(crate) fn wire(&mut self, run: ToolRun) {
        self.bytes += size_of_run(&run);
        self.wires.push(run);
    }

    pub(crate) fn input(&mut self, span: u64, place: Place, turns: Vec<Turn>) {
        let turns = self.keep(turns);
        self.push(place, Said::Input { span, turns });
    }

    pub(crate) fn output(&mut self, span: u64, place: Place, turns: Vec<Turn>, by_model: bool) {
        let turns = self.keep(turns);
        self.push(place, Said::Output { span, turns, by_model });
    }

    /// The history of a model call as it was written: a JSON text of a list, in a JSON value that ends with it. What it begins with
    /// was mostly there before, and is not parsed again: guarded by the example `speed`.
    pub(crate) fn history(
        &mut self,
        span: u64,
        place: Place,
        written: &str,
        parse: impl Fn(&str, &mut RecordingLoss) -> Option<Vec<Turn>>,
        unescape: impl Fn(&str) -> Option<String>,
    ) -> bool {
        const END: &str = "]\"}";
        let before = self.history.take();
        let known = before.and_then(|(text, turns)| {
            let kept = text.strip_suffix(END)?;
            let rest = written.strip_prefix(kept)?;
            Some((
                rest.strip_prefix(',').or_else(|| rest.strip_prefix("]\"}").map(|_| END))?,
                turns,
                rest.len(),
            ))
        });
        let turns = match known {
            Some((_, turns, rest)) if rest == END.len() => Some(turns),
            Some((rest, mut turns, _)) => unescape(rest).and_then(|text| {
                let new = parse(&format!("[{text}"), &mut self.notes)?;
                turns.extend(self.keep(new));
                Some(turns)
            }),
            None => None,
        };
        let whole = |notes: &mut RecordingLoss| parse(&unescape(written)?, notes);
        let turns = if let Some(turns) = turns {
            turns
        } else if let Some(turns) = whole(&mut self.notes) {
            self.keep(turns)
        } else {
            return false;
        };
        if written.ends_with(END) {
            self.bytes = self.bytes.max(written.len());
            self.history = Some((written.to_owned(), turns.clone()));
        }
        self.push(place, Said::Input { span, turns });
        true
    }

    /// Whether a list of tools is written in another way than the last one.
    pub(crate) fn is_new_list(&mut self, written: &str) -> bool {
        let hash = self.hasher.hash_one(written);
        self.last_list.replace(hash) != Some(hash)
    }

    pub(crate) fn tools(&mut self, place: Place, server: Option<String>, tools: &RawValue) {
        let key = self.hasher.hash_one((&server, tools.get()));
        let size = tools.get().len();
        let bytes = &mut self.bytes;
        let kept = self.tool_lists.entry(key).or_insert_with(|| {
            *bytes += size;
            Rc::from(tools.to_owned())
        });
        let tools = Rc::clone(kept);
        // The same list again says nothing new; one that came back after another does.
        if self.last_tools.as_ref().is_some_and(|(whose, last)| *whose == server && Rc::ptr_eq(last, &tools))
        {
            return;
        }
        self.last_tools = Some((server.clone(), Rc::clone(&tools)));
        self.push(place, Said::Tools { server, tools });
    }

    fn push(&mut self, place: Place, said: Said) {
        self.bytes += 128
            + match &said {
                Said::Input { turns, .. } | Said::Output { turns, .. } => turns.len() * 8,
                Said::Tools { .. } => 0,
            };
        self.events.push(Event { place, said });
    }

    /// Keeps turns once, and gives their hashes. What the program's author says is no part of a conversation.
    fn keep(&mut self, turns: Vec<Turn>) -> Vec<u64> {
        let mut hashes = Vec::with_capacity(turns.len());
        for turn in turns {
            if turn.role == Role::System {
                count(&mut self.notes.passed_over, "system instructions");
                continue;
            }
            if turn.parts.is_empty() {
                continue;
            }
            let mut hasher = self.hasher.build_hasher();
            for part in &turn.parts {
                hash_part(&self.hasher, turn.role, part).hash(&mut hasher);
            }
            let hash = hasher.finish();
            if let Some(known) = self.turns.get(&hash) {
                // What is repeated with the same id, and says something else, was cut off or changed in one of them.
                if known.parts.iter().zip(&turn.parts).any(|(a, b)| differ(a, b)) {
                    count(
                        &mut self.notes.oddities,
                        "a call or a result that is not the same where it is repeated",
                    );
                }
            } else {
                self.bytes += turn.parts.iter().map(size_of_part).sum::<usize>() + 64;
                self.turns.insert(hash, turn);
            }
            hashes.push(hash);
        }
        hashes
    }

    /// Takes over what is known of another one that turned out to be the same.
    pub(crate) fn merge(&mut self, mut other: Self) {
        let mut hashes = HashMap::new();
        for (hash, turn) in other.turns.drain() {
            if let Some(&kept) = self.keep(vec![turn]).first() {
                hashes.insert(hash, kept);
            }
        }
        let renamed = |turns: Vec<u64>| turns.iter().filter_map(|hash| hashes.get(hash).copied()).collect();
        for Event { place, said } in other.events {
            match said {
                Said::Tools { server, tools } => self.tools(place, server, &tools),
                Said::Input { span, turns } => self.push(place, Said::Input { span, turns: renamed(turns) }),
                Said::Output { span, turns, by_model } => {
                    self.push(place, Said::Output { span, turns: renamed(turns), by_model });
                }
            }
        }
        self.runs.extend(other.runs);
        self.wires.extend(other.wires);
        self.parents.extend(other.parents);
        self.local_parents.extend(other.local_parents);
        let spans: HashMap<usize, u64> = other.model_of.into_iter().map(|(span, at)| (at, span)).collect();
        for (at, call) in other.models.into_iter().enumerate() {
            self.model(spans.get(&at).copied().unwrap_or(0), call);
        }
        for (span, place, turns) in other.pending {
            self.input_message(span, place, turns);
        }
        self.sources.extend(other.sources);
        if let Some((time, failure)) = other.last_word {
            self.model_ended(time, failure);
        }
        for (table, more) in [
            (&mut self.notes.oddities, other.notes.oddities),
            (&mut self.notes.passed_over, other.notes.passed_over),
            (&mut self.notes.unknown, other.notes.unknown),
        ] {
            for (name, times) in more {
                *table.entry(name).or_default() += times;
            }
        }
        self.notes.file_lacks.extend(other.notes.file_lacks);
        for (key, value) in other.about {
            self.about.entry(key).or_insert(value);
        }
        for (protocol, surface, direction) in other.shows {
            self.shows(protocol, surface, direction);
        }
        self.agent_log = self.agent_log.or(other.agent_log);
        self.bytes += other.bytes;
    }

    /// The whole of it as a session. `cut` says why its end, or its beginning, is missing.
    pub(crate) fn finish(
        mut self,
        format: &Format,
        id: &str,
        file: &str,
        limits: InputLimits,
        cut: Option<String>,
    ) -> RecordedSession {
        for (span, place, turns) in std::mem::take(&mut self.pending) {
            self.input(span, place, turns);
        }
        self.events.sort_by_key(|event| event.place.time);
        self.join_wires();
        let story = self.tell();
        self.account(&story);
        let mut session = SessionBuilder::new(format, id, file, limits);
        session.take_notes(&self.notes);
        for (key, value) in &self.about {
            session.about(key, value.clone());
        }
        for (protocol, surface, direction) in &self.shows {
            session.shows(protocol, surface, *direction);
        }
        emit(&story, &self.runs, &mut session);
        let missing = self.local_parents.iter().filter(|parent| !self.parents.contains_key(parent)).count();
        for call in std::mem::take(&mut self.models) {
            self.model_ended(call.end, call.failure);
        }
        let end = match (self.last_word.take().and_then(|(_, failure)| failure), cut) {
            (Some(words), _) => End::Failed(words),
            (None, Some(why)) => End::Cut(why),
            (None, None) if missing > 0 => End::Cut(format!(
                "{missing} of its spans never came, though others are within {}: not all of it was recorded",
                if missing == 1 { "it" } else { "them" }
            )),
            (None, None) => End::Done,
        };
        session.finish(end)
    }

    /// Puts what the MCP client says of a call to what ran the tool. What nobody ran is a call of its own.
    fn join_wires(&mut self) {
        if self.wires.is_empty() {
            return;
        }
        self.shows("mcp", "tools/call", Request);
        self.shows("mcp", "tools/call", Response);
        let mut wires = std::mem::take(&mut self.wires);
        wires.sort_by_key(|wire| wire.place.as_ref().map_or(0, |place| place.time));
        let runs: HashMap<u64, usize> =
            self.runs.iter().enumerate().map(|(at, run)| (run.span, at)).collect();
        let spans: HashMap<u64, usize> = wires.iter().enumerate().map(|(at, wire)| (wire.span, at)).collect();
        // The outermost first: what is within them only adds to them.
        let mut standing: HashMap<usize, usize> = HashMap::new();
        for (at, wire) in wires.into_iter().enumerate() {
            let mut above = None;
            let mut span = wire.span;
            for _ in 0..ANCESTORS {
                match self.parents.get(&span) {
                    Some(&parent) if parent != 0 && parent != span => span = parent,
                    _ => break,
                }
                if let Some(&run) = runs.get(&span) {
                    above = Some(run);
                    break;
                }
                if let Some(run) = spans.get(&span).and_then(|outer| standing.get(outer)) {
                    above = Some(*run);
                    break;
                }
            }
            let run = if let Some(run) = above {
                let run_at = &mut self.runs[run];
                if wire.name.is_empty() {
                    // The SDK's own span below the client's does not say which tool it is.
                } else if run_at.server.is_none() || !run_at.name.ends_with(&wire.name) {
                    run_at.name.clone_from(&wire.name);
                }
                let unnamed = run_at.server.as_ref().is_none_or(String::is_empty);
                if unnamed {
                    run_at.server = wire.server.or_else(|| Some(String::new()));
                }
                run_at.arguments = run_at.arguments.take().or(wire.arguments);
                run_at.result = run_at.result.take().or(wire.result);
                run_at.is_error |= wire.is_error;
                run
            } else {
                self.runs
                    .push(ToolRun { server: wire.server.clone().or_else(|| Some(String::new())), ..wire });
                self.runs.len() - 1
            };
            standing.insert(at, run);
        }
        // A tool that was called over MCP once is one of MCP, even where the span of its client is not there.
        let mut known: HashMap<&str, &str> = HashMap::new();
        for run in &self.runs {
            if let Some(server) = &run.server {
                known.insert(&run.name, server);
            }
        }
        let known: HashMap<String, String> =
            known.into_iter().map(|(name, server)| (name.to_owned(), server.to_owned())).collect();
        for at in 0..self.runs.len() {
            let run = &mut self.runs[at];
            if run.server.is_none()
                && !run.is_error
                && let Some(server) = known.get(&run.name)
            {
                run.server = Some(server.clone());
                self.odd("a call of an MCP tool without the span of its client");
            }
        }
    }
}

/// A call that a model asks for.
#[derive(Debug)]
struct Asked {
    id: Option<String>,
    name: String,
    arguments: Option<Box<RawValue>>,
    place: Place,
    /// Whether a model said so, and not only a history.
    by_model: bool,
    run: Option<usize>,
    result: Option<Answered>,
}

#[derive(Debug)]
struct Answered {
    place: Place,
    value: Option<Box<RawValue>>,
    is_error: bool,
}

/// What happened, in no order yet.
#[derive(Debug, Default)]
struct Story {
    texts: Vec<(Place, Role, String)>,
    tools: Vec<(Place, Option<String>, Rc<RawValue>)>,
    asked: Vec<Asked>,
    /// Where the calls of an id are among those that were asked for.
    by_id: HashMap<String, Vec<usize>>,
    /// The first call of each name that may still wait for its result, where results have no ids.
    first_open: HashMap<String, usize>,
    /// Calls that were run, and that no model asked for.
    unasked: Vec<usize>,
}

impl Story {
    /// The oldest call that waits for its result, of a name or of any.
    fn first_waiting(&mut self, name: Option<&str>) -> Option<usize> {
        let from = self.first_open.entry(name.unwrap_or_default().to_owned()).or_default();
        let is_it = |asked: &Asked| asked.result.is_none() && name.is_none_or(|name| asked.name == name);
        let found = self.asked.get(*from..)?.iter().position(is_it).map(|at| at + *from);
        *from = found.unwrap_or(*from);
        found
    }
}

impl Conversation {
    fn tell(&mut self) -> Story {
        let mut story = Story::default();
        let mut teller = Teller::default();
        // What agents give repeats what models said: it is looked at last, and counts where it does not.
        let (events, repeated): (Vec<_>, Vec<_>) = std::mem::take(&mut self.events)
            .into_iter()
            .partition(|event| !matches!(event.said, Said::Output { by_model: false, .. }));
        for Event { place, said } in events.into_iter().chain(repeated) {
            match said {
                Said::Tools { server, tools } => story.tools.push((place, server, tools)),
                Said::Input { span, turns } => {
                    let (from, is_certain) = teller.follow(span, &turns);
                    if !is_certain && from < turns.len() && from > 0 {
                        self.odd("a history that is not the one before, and more");
                    }
                    for hash in &turns[from..] {
                        self.tell_turn(&mut story, &mut teller, *hash, &place, false, is_certain);
                    }
                }
                Said::Output { span, turns, by_model } => {
                    for hash in turns {
                        self.tell_turn(&mut story, &mut teller, hash, &place, by_model, by_model);
                        if by_model {
                            teller.append(span, hash);
                        }
                    }
                }
            }
        }
        self.match_runs(&mut story);
        story
    }

    /// `is_new` says that it was said here, and does not repeat what was.
    fn tell_turn(
        &mut self,
        story: &mut Story,
        teller: &mut Teller,
        hash: u64,
        place: &Place,
        by_model: bool,
        is_new: bool,
    ) {
        let Some(turn) = self.turns.get(&hash) else { return };
        for part in &turn.parts {
            let key = hash_part(&self.hasher, turn.role, part);
            let is_first = teller.said.insert(key);
            match part {
                Part::Text(text) => {
                    let repeats = match turn.role {
                        Role::Assistant => !by_model && !is_first,
                        _ => !is_new && !is_first,
                    };
                    if !repeats {
                        story.texts.push((place.clone(), turn.role, text.clone()));
                    }
                }
                Part::Call { id, name, arguments } => {
                    let known = id.as_ref().and_then(|id| story.by_id.get(id)?.last().copied());
                    match known {
                        Some(at) if !by_model || !story.asked[at].by_model => {
                            story.asked[at].by_model |= by_model;
                        }
                        None if id.is_none() && !is_new && !is_first => {}
                        _ => {
                            if let Some(id) = id {
                                story.by_id.entry(id.clone()).or_default().push(story.asked.len());
                            }
                            story.asked.push(Asked {
                                id: id.clone(),
                                name: name.clone(),
                                arguments: arguments.clone(),
                                place: place.clone(),
                                by_model,
                                run: None,
                                result: None,
                            });
                        }
                    }
                }
                Part::Result { id, name, value, is_error } => {
                    let found = match (id, name) {
                        (Some(id), _) => story.by_id.get(id).and_then(|known| known.last().copied()),
                        (None, name) => story.first_waiting(name.as_deref()),
                    };
                    let Some(asked) = found.and_then(|at| story.asked.get_mut(at)) else {
                        if is_first {
                            count(&mut self.notes.oddities, "a result of no call");
                        }
                        continue;
                    };
                    if asked.result.is_none() {
                        asked.result = Some(Answered {
                            place: place.clone(),
                            value: value.clone(),
                            is_error: *is_error,
                        });
                    }
                }
            }
        }
    }

    /// Finds what ran each call: by its id, else by its name and arguments, the oldest first.
    fn match_runs(&mut self, story: &mut Story) {
        let time = |run: &ToolRun| run.place.as_ref().map_or(0, |place| place.time);
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by_key(|at| time(&self.runs[*at]));
        let mut left = Vec::new();
        let mut next: HashMap<&str, usize> = HashMap::new();
        for at in order {
            let by_id = self.runs[at].id.as_deref().and_then(|id| {
                let asked = story.by_id.get(id)?;
                let next = next.entry(id).or_default();
                *next += 1;
                asked.get(*next - 1).copied()
            });
            match by_id {
                Some(asked) => story.asked[asked].run = Some(at),
                None => left.push(at),
            }
        }
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, asked) in story.asked.iter().enumerate().filter(|(_, asked)| asked.run.is_none()) {
            by_name.entry(asked.name.clone()).or_default().push(at);
        }
        for at in left {
            let run = &self.runs[at];
            let candidates = by_name.get_mut(&run.name);
            let found = candidates.and_then(|candidates| {
                let fits = |asked: &Asked| {
                    asked.place.time <= time(run)
                        && (run.id.is_none() || asked.id.is_none())
                        && match (&asked.arguments, &run.arguments) {
                            (Some(a), Some(b)) => same_json(a, b),
                            _ => true,
                        }
                };
                let place = candidates.iter().take(WINDOW).position(|asked| fits(&story.asked[*asked]))?;
                Some(candidates.remove(place))
            });
            match found {
                Some(asked) => story.asked[asked].run = Some(at),
                None => story.unasked.push(at),
            }
        }
        if !self.runs.is_empty() && !self.models.is_empty() {
            for _ in 0..story.unasked.len().min(1000) {
                self.odd("a call that no model asked for");
            }
        }
    }

    /// Says what is missing.
    fn account(&mut self, story: &Story) {
        let mut missing: HashMap<(&str, Direction, &'static str), u64> = HashMap::new();
        let protocol = |run: &ToolRun| if run.server.is_some() { "mcp" } else { "local" };
        let asked_of: HashMap<usize, &Asked> =
            story.asked.iter().filter_map(|asked| Some((asked.run?, asked))).collect();
        let mut unlike = 0;
        for (at, run) in self.runs.iter().enumerate() {
            let asked = asked_of.get(&at);
            let shown = asked.and_then(|asked| asked.result.as_ref()?.value.as_ref());
            if let (Some(given), Some(shown)) = (&run.result, shown)
                && given.get() != shown.get()
                && words_of(given) != words_of(shown)
            {
                unlike += 1;
            }
            if run.arguments.is_none() && asked.is_none_or(|asked| asked.arguments.is_none()) {
                *missing.entry((protocol(run), Request, run.setting)).or_default() += 1;
            }
            let in_history =
                asked.and_then(|asked| asked.result.as_ref()).is_some_and(|result| result.value.is_some());
            if run.result.is_none() && !run.is_error && !in_history && !run.result_elsewhere {
                *missing.entry((protocol(run), Response, run.setting)).or_default() += 1;
            }
        }
        for _ in 0..unlike.min(1000) {
            self.odd("a result that is not what the model was shown of it");
        }
        if self.runs.iter().any(|run| run.server.as_ref().is_some_and(String::is_empty)) {
            self.odd("an MCP server without a name");
        }
        let mut unrun = 0;
        for asked in &story.asked {
            if asked.run.is_none() && asked.result.is_none() && !self.runs.is_empty() {
                unrun += 1;
            } else if asked.arguments.is_none() && asked.run.is_none() {
                let setting = self.models.first().map_or("", |call| call.setting);
                *missing.entry(("local", Request, setting)).or_default() += 1;
            }
        }
        let mut missing: Vec<_> = missing.into_iter().collect();
        missing
            .sort_by_key(|((protocol, direction, setting), _)| (*protocol, *direction == Response, *setting));
        for ((protocol, direction, setting), times) in missing {
            let what = if direction == Request { "arguments" } else { "results" };
            let why =
                format!("the {what} of {times} call{} were not recorded", if times == 1 { "" } else { "s" });
            self.lack((protocol, "tools/call", direction), &why, setting);
        }
        if unrun > 0 {
            let why = format!(
                "{unrun} of the calls that a model asked for have neither a span that ran them nor a result"
            );
            for protocol in ["local", "mcp"] {
                if protocol == "local" || self.runs.iter().any(|run| run.server.is_some()) {
                    self.lack((protocol, "tools/call", Request), &why, "");
                }
            }
        }
        match self.agent_log {
            Some(log) if self.models.is_empty() => {
                if !log.has_answers {
                    for class in ANSWERS {
                        self.lack(class, "what the agent answers is not in its log events", log.setting);
                    }
                }
            }
            _ => self.account_models(),
        }
    }

    fn account_models(&mut self) {
        let all = self.models.len();
        let setting = self.models.first().map_or("", |call| call.setting);
        // A model call that failed said nothing.
        let silent = self.models.iter().filter(|call| !call.has_output && call.failure.is_none()).count();
        let blind = self.models.iter().filter(|call| !call.has_input).count();
        if all == 0 {
            let why = "no call of a model was recorded";
            for class in ANSWERS {
                self.lack(class, why, "");
            }
            self.lack(("ag_ui", "run_agent_input", Request), why, "");
            if self.runs.iter().all(|run| run.server.is_some()) {
                self.lack(("local", "tools/call", Request), "only calls of MCP tools were recorded", "");
                self.lack(("local", "tools/call", Response), "only calls of MCP tools were recorded", "");
            }
            return;
        }
        if silent > 0 {
            let why = format!("what the model said was not recorded for {silent} of {all} calls of it");
            for class in ANSWERS {
                self.lack(class, &why, setting);
            }
            if self.runs.is_empty() {
                self.lack(("local", "tools/call", Request), &why, setting);
            }
        }
        if blind > 0 {
            let why = format!("what the model was shown was not recorded for {blind} of {all} calls of it");
            self.lack(("ag_ui", "run_agent_input", Request), &why, setting);
            if self.runs.is_empty() {
                self.lack(("local", "tools/call", Response), &why, setting);
            }
        }
    }
}

/// Which messages were said, in threads: an agent and those that it asks have a history each.
#[derive(Debug, Default)]
struct Teller {
    threads: Vec<Vec<u64>>,
    /// The thread that a span went on with.
    of_span: HashMap<u64, usize>,
    said: HashSet<u64>,
}

impl Teller {
    /// Finds the thread that a history goes on with: where it goes on, and whether it is that thread, and more.
    fn follow(&mut self, span: u64, turns: &[u64]) -> (usize, bool) {
        let common = |thread: &Vec<u64>| thread.iter().zip(turns).take_while(|(a, b)| a == b).count();
        let best = self.threads.iter().enumerate().map(|(at, thread)| (common(thread), at)).max();
        match best {
            Some((shared, at)) if shared > 0 => {
                let is_extension = shared == self.threads[at].len();
                self.threads[at] = turns.to_vec();
                self.of_span.insert(span, at);
                (shared, is_extension)
            }
            _ => {
                if self.threads.len() == THREADS {
                    self.threads.remove(0);
                    self.of_span.clear();
                }
                self.threads.push(turns.to_vec());
                self.of_span.insert(span, self.threads.len() - 1);
                (0, self.threads.len() == 1)
            }
        }
    }

    fn append(&mut self, span: u64, hash: u64) {
        if let Some(thread) = self.of_span.get(&span).and_then(|at| self.threads.get_mut(*at)) {
            thread.push(hash);
        }
    }
}

enum Emission<'s> {
    Text(Role, &'s str),
    Tools(Option<&'s str>, &'s RawValue),
    Call { id: String, tool: CalledTool, arguments: Option<&'s RawValue> },
    Result { id: String, value: Option<&'s RawValue>, is_error: bool },
}

/// Hands over what happened, in the order of time.
fn emit(story: &Story, runs: &[ToolRun], session: &mut SessionBuilder) {
    let mut all: Vec<(u64, u8, &Place, Emission<'_>)> = Vec::new();
    let mut used: HashMap<String, u64> = HashMap::new();
    let mut unique = |id: &str| {
        let times = used.entry(id.to_owned()).or_default();
        *times += 1;
        if *times == 1 { id.to_owned() } else { format!("{id}#{times}") }
    };
    for (place, role, text) in &story.texts {
        all.push((place.time, 0, place, Emission::Text(*role, text)));
    }
    for (place, server, tools) in &story.tools {
        all.push((place.time, 1, place, Emission::Tools(server.as_deref(), tools)));
    }
    // A tool that was run over MCP once is one of MCP.
    let known: HashMap<&str, &str> =
        runs.iter().filter_map(|run| Some((run.name.as_str(), run.server.as_deref()?))).collect();
    for (calls, asked) in story.asked.iter().enumerate() {
        let id = asked.id.clone().unwrap_or_else(|| format!("call-{}", calls + 1));
        let Some(run) = asked.run.map(|at| &runs[at]) else {
            if asked.result.is_none() && !runs.is_empty() {
                session.odd("a call that a model asked for, and nobody ran");
                continue;
            }
            if !runs.is_empty() {
                session.odd("a call that has a result, and no span that ran it");
            }
            let id = unique(&id);
            let tool = match known.get(asked.name.as_str()) {
                Some(server) => mcp_tool(server, &asked.name),
                None => CalledTool::named(&asked.name),
            };
            all.push((
                asked.place.time,
                2,
                &asked.place,
                Emission::Call { id: id.clone(), tool, arguments: asked.arguments.as_deref() },
            ));
            if let Some(result) = &asked.result {
                let Answered { place, value, is_error } = result;
                all.push((
                    place.time,
                    3,
                    place,
                    Emission::Result { id, value: value.as_deref(), is_error: *is_error },
                ));
            }
            continue;
        };
        let id = unique(&id);
        put_run(&mut all, run, id, asked.arguments.as_deref(), asked.result.as_ref());
    }
    for at in &story.unasked {
        let run = &runs[*at];
        let item = run.place.as_ref().map_or("", |place| &*place.item);
        let id = unique(run.id.as_deref().unwrap_or(item));
        put_run(&mut all, run, id, None, None);
    }
    all.sort_by_key(|(time, rank, ..)| (*time, *rank));
    for (time, _, place, emission) in all {
        session.at(UNIX_EPOCH + Duration::from_nanos(time));
        if place.line > 0 {
            session.line(place.line);
        }
        session.item(&*place.item);
        match emission {
            Emission::Text(Role::Assistant, text) => session.answer(text),
            Emission::Text(_, text) => session.prompt(text),
            Emission::Tools(server, tools) => {
                session.shows(if server.is_some() { "mcp" } else { "local" }, "tools/list", Response);
                session.tools(server, tools)
            }
            Emission::Call { id, tool, arguments } => {
                session.call(&id, &tool, arguments.unwrap_or(RawValue::NULL))
            }
            Emission::Result { id, value: Some(value), is_error } => session.result(&id, value, is_error),
            // It came back, with nothing that was recorded.
            Emission::Result { id, value: None, is_error } => session.result_text(&id, "", is_error),
        };
    }
}

fn put_run<'s>(
    all: &mut Vec<(u64, u8, &'s Place, Emission<'s>)>,
    run: &'s ToolRun,
    id: String,
    asked: Option<&'s RawValue>,
    answered: Option<&'s Answered>,
) {
    let Some(place) = &run.place else { return };
    let tool = match &run.server {
        Some(server) => mcp_tool(server, &run.name),
        None => CalledTool::named(&run.name),
    };
    let arguments = run.arguments.as_deref().or(asked);
    all.push((place.time, 2, place, Emission::Call { id: id.clone(), tool, arguments }));
    let result = match (&run.result, answered) {
        (Some(value), _) => Some((run.end.max(place.time), place, Some(&**value), run.is_error)),
        (None, Some(Answered { place, value: Some(value), is_error })) => {
            Some((place.time, place, Some(&**value), *is_error || run.is_error))
        }
        (None, _) if run.is_error => Some((run.end.max(place.time), place, None, true)),
        _ => None,
    };
    if let Some((time, place, value, is_error)) = result {
        all.push((time, 3, place, Emission::Result { id, value, is_error }));
    }
}

/// A tool of a server, which may have no name.
fn mcp_tool(server: &str, name: &str) -> CalledTool {
    let server = if server.is_empty() { "mcp" } else { server };
    CalledTool::Mcp { server: server.to_owned(), name: name.to_owned() }
}

/// What makes a part the same, wherever it is repeated.
fn hash_part(hasher: &RandomState, role: Role, part: &Part) -> u64 {
    match part {
        Part::Text(text) => hasher.hash_one((0u8, role, text.trim())),
        Part::Call { id: Some(id), name, .. } => hasher.hash_one((1u8, id, name)),
        Part::Call { id: None, name, arguments } => {
            hasher.hash_one((2u8, name, arguments.as_ref().map(|arguments| arguments.get())))
        }
        Part::Result { id: Some(id), .. } => hasher.hash_one((3u8, id)),
        Part::Result { id: None, name, value, .. } => {
            hasher.hash_one((4u8, name, value.as_ref().map(|value| value.get())))
        }
    }
}

fn differ(a: &Part, b: &Part) -> bool {
    let unlike = |a: &Option<Box<RawValue>>, b: &Option<Box<RawValue>>| match (a, b) {
        (Some(a), Some(b)) => !same_json(a, b),
        _ => a.is_some() != b.is_some(),
    };
    match (a, b) {
        (Part::Call { arguments: a, .. }, Part::Call { arguments: b, .. }) => unlike(a, b),
        (Part::Result { value: Some(a), .. }, Part::Result { value: Some(b), .. }) => {
            a.get() != b.get() && words_of(a) != words_of(b)
        }
        _ => false,
    }
}

/// The words of a result, without what they stand in.
fn words_of(value: &RawValue) -> String {
    fn words(value: &Value, depth: usize) -> String {
        match value {
            Value::String(text) if depth < 4 && text.starts_with(['[', '{', '"']) => {
                serde_json::from_str(text).map_or_else(|_| text.clone(), |inner| words(&inner, depth + 1))
            }
            Value::String(text) => text.clone(),
            Value::Array(items) if !items.is_empty() && items.iter().all(|item| item["text"].is_string()) => {
                items.iter().filter_map(|item| item["text"].as_str()).collect::<Vec<_>>().join("\n")
            }
            Value::Object(object) if depth < 4 && object.contains_key("content") => {
                words(&object["content"], depth + 1)
            }
            other => other.to_string(),
        }
    }
    serde_json::from_str(value.get()).map_or_else(|_| value.get().to_owned(), |value| words(&value, 0))
}

fn size_of_part(part: &Part) -> usize {
    64 + match part {
        Part::Text(text) => text.len(),
        Part::Call { arguments, .. } => arguments.as_ref().map_or(0, |raw| raw.get().len()),
        Part::Result { value, .. } => value.as_ref().map_or(0, |raw| raw.get().len()),
    }
}

fn size_of_run(run: &ToolRun) -> usize {
    let raw = |raw: &Option<Box<RawValue>>| raw.as_ref().map_or(0, |raw| raw.get().len());
    256 + raw(&run.arguments) + raw(&run.result)
}

fn same_json(a: &RawValue, b: &RawValue) -> bool {
    let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).ok();
    a.get() == b.get() || value(a) == value(b)
}
