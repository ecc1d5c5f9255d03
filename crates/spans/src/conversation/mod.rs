//! One conversation out of spans, runs, observations or log events, which come in any order and say everything many times.
//!
//! A model call repeats the whole history; a call of a tool stands in the answer of a model, in the history of the next one, in a
//! span that ran it, and in a span of the MCP client below that. What is said is kept once ([`Turn`]s by their hash), ordered by
//! time when the conversation is complete, and put together by the ids of calls.

mod account;
mod emission;
mod parts;
mod story;
mod wires;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sortie_trace::Direction::{self, Response};
use sortie_trace::foreign::{Lack, MessageClass};

use crate::messages::{HIDDEN, Role, Turn};
use parts::{differ, hash_part, size_of_part, size_of_run};
use sortie_recording::format::Format;
use sortie_recording::input::InputLimits;
use sortie_recording::loss::{RecordingLoss, count};
use sortie_recording::session::{End, RecordedSession, SessionBuilder};

/// Where and when something was said.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
    /// The line, from one; zero for none.
    pub(crate) line: u64,
    /// The span, run or observation.
    pub(crate) item: Arc<str>,
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
    /// The setting that records its result, where that is another one.
    pub(crate) result_setting: Option<&'static str>,
    /// In which words the program refused to make the call.
    pub(crate) refused: Option<String>,
    /// Whether a log event says so, and not a span.
    pub(crate) is_log: bool,
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
    Tools { server: Option<String>, tools: Arc<RawValue> },
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
    tool_lists: HashMap<u64, Arc<RawValue>>,
    last_list: Option<u64>,
    last_tools: Option<(Option<String>, Arc<RawValue>)>,
    events: Vec<Event>,
    runs: Vec<ToolRun>,
    /// The server of each tool, as somebody declared it.
    declared: HashMap<String, String>,
    /// Calls that were refused, by their id, and in which words.
    refused: HashMap<String, String>,
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

impl Conversation {
    /// About how much it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there is nothing in it that says anything about messages: a list of tools alone is not a conversation.
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

    /// A call of this id was refused, in these words.
    pub(crate) fn refused(&mut self, call: String, words: String) {
        self.bytes += call.len() + words.len() + 64;
        self.refused.insert(call, words);
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
            Arc::from(tools.to_owned())
        });
        let tools = Arc::clone(kept);
        // The same list again says nothing new; one that came back after another does.
        if self.last_tools.as_ref().is_some_and(|(whose, last)| *whose == server && Arc::ptr_eq(last, &tools))
        {
            return;
        }
        self.last_tools = Some((server.clone(), Arc::clone(&tools)));
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

    /// Keeps turns once, and gives their hashes. What the program's author says is not a part of a conversation.
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
        self.refused.extend(other.refused);
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
        self.join_logs();
        self.join_wires();
        let story = self.tell();
        self.assign_servers(&story);
        self.account(&story);
        let mut session = SessionBuilder::new(format, id, file, limits);
        session.take_notes(&self.notes);
        for (key, value) in &self.about {
            session.about(key, value.clone());
        }
        for (protocol, surface, direction) in &self.shows {
            session.shows(protocol, surface, *direction);
        }
        emission::emit(&story, &self.runs, &self.declared, &mut session);
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
}
