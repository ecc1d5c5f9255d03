//! One sample in one epoch: its events, or its conversation, as messages.

mod calls;
mod events;
mod names;

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::SystemTime;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sortie_trace::Direction;

use super::attachments::Attachments;
use names::{MESSAGE, NESTED, SAMPLE};
use sortie_recording::fields::{Fields, list};
use sortie_recording::input::InputLimits;
use sortie_recording::session::{End, RecordedSession, SessionBuilder};

/// A list that may be in several entries.
#[derive(Debug)]
pub(super) struct Sequence<'j> {
    /// The place of each piece, and the index of its first item.
    pieces: Vec<(String, usize)>,
    items: Vec<&'j RawValue>,
    /// Whether the pieces do not follow each other: some are not there.
    has_holes: bool,
}

impl<'j> Sequence<'j> {
    pub(super) const fn new() -> Self {
        Self { pieces: Vec::new(), items: Vec::new(), has_holes: false }
    }

    fn whole(place: String, items: Vec<&'j RawValue>) -> Self {
        Self { pieces: vec![(place, 0)], items, has_holes: false }
    }

    /// The next piece, whose entry says with which item it starts.
    pub(super) fn piece(&mut self, place: String, start: u64, items: Vec<&'j RawValue>) {
        self.has_holes |= start != self.items.len() as u64;
        self.pieces.push((place, self.items.len()));
        self.items.extend(items);
    }

    fn place(&self, index: usize) -> String {
        let piece = self.pieces.iter().rev().find(|(_, start)| *start <= index);
        let (place, start) = piece.map_or(("", 0), |(place, start)| (place, *start));
        let place: String = place.chars().take(300).collect();
        format!("{place}/{}", index - start)
    }
}

/// A sample.
#[derive(Debug)]
pub(super) struct Sample<'j> {
    fields: Fields<'j>,
    messages: Sequence<'j>,
    /// Messages that events refer to.
    pool: Vec<&'j RawValue>,
    events: Sequence<'j>,
    attachments: HashMap<String, &'j RawValue>,
    has_metadata: bool,
    has_refs_outside: bool,
    pub(super) is_there_twice: bool,
}

impl<'j> Sample<'j> {
    /// A sample that is one object.
    pub(super) fn monolith(mut fields: Fields<'j>, place: &str) -> Self {
        let messages = fields.items("messages").unwrap_or_default();
        let events = fields.items("events").unwrap_or_default();
        let mut data = fields.object("events_data").unwrap_or_default();
        let pool = data.items("messages").unwrap_or_default();
        let attachments = fields.object("attachments").unwrap_or_default();
        Self {
            fields,
            messages: Sequence::whole(format!("{place}/messages"), messages),
            pool,
            events: Sequence::whole(format!("{place}/events"), events),
            attachments: attachments.into_members().collect(),
            has_metadata: false,
            has_refs_outside: false,
            is_there_twice: false,
        }
    }

    /// A sample that is a shell and sequences: messages, events, attachments.
    pub(super) fn chunked(
        mut fields: Fields<'j>,
        place: &str,
        has_metadata: bool,
        [pool, events, attachments]: [Sequence<'j>; 3],
    ) -> Self {
        let refs = fields.get::<Vec<(u64, u64)>>("message_refs").unwrap_or_default();
        let (indices, has_refs_outside) = ranges(&refs, pool.items.len(), pool.items.len().max(1) * 2);
        let messages = indices.into_iter().map(|index| pool.items[index]).collect();
        let numbered = attachments.items.iter().enumerate();
        let has_holes = pool.has_holes || attachments.has_holes;
        Self {
            fields,
            messages: Sequence {
                has_holes,
                ..Sequence::whole(format!("{place}/sample.json#/message_refs"), messages)
            },
            attachments: numbered.map(|(index, raw)| (index.to_string(), *raw)).collect(),
            pool: pool.items,
            events,
            has_metadata,
            has_refs_outside,
            is_there_twice: false,
        }
    }

    /// What it is called: `ID_epoch_N`, as its entry would be.
    pub(super) fn id(&self) -> String {
        let id = self.fields.peek("id").map_or("", |raw| raw.get());
        let id = serde_json::from_str::<String>(id).unwrap_or_else(|_| id.to_owned());
        let id: String = id.chars().take(200).collect();
        let epoch = self.fields.peek("epoch").map_or("1", |raw| raw.get());
        format!("{id}_epoch_{}", epoch.chars().take(20).collect::<String>())
    }

    /// Its messages.
    pub(super) fn read(self, session: SessionBuilder, limits: InputLimits) -> RecordedSession {
        let Self { mut fields, messages, pool, events, attachments, has_metadata, has_refs_outside, .. } =
            self;
        let attachments =
            attachments.into_iter().filter(|(_, raw)| raw.get().starts_with('"')).collect::<HashMap<_, _>>();
        let mut reader = Reader {
            session,
            attachments: Attachments::new(attachments, limits.session),
            executed: HashSet::new(),
            seen: HashSet::new(),
            asked: HashMap::new(),
            results: HashMap::new(),
            prefilled: HashSet::new(),
            scopes: HashMap::new(),
            steps: Vec::new(),
            tools: None,
            said: HashMap::new(),
            pooled: vec![false; pool.len()],
            pool,
            work: 50_000_000,
            late: Vec::new(),
            truncated: 0,
        };
        if has_metadata || fields.peek("metadata").is_some() {
            fields.take("metadata");
            reader.session.pass("sample.metadata");
        }
        if self.is_there_twice {
            reader.session.odd("a sample that is there whole and in pieces");
        }
        if messages.has_holes || events.has_holes {
            reader.session.odd("pieces of the sample that are not there");
        }
        if has_refs_outside {
            reader.session.odd("references to messages that are not there");
        }
        let end = reader.sample(&mut fields, &messages, &events);
        let cut = (messages.has_holes || events.has_holes)
            .then(|| End::Cut("pieces of the sample are missing in the archive".to_owned()));
        reader.finish(cut.unwrap_or(end))
    }
}

/// Where an event is: in a tool, hence in a conversation that is not that with the user; or in a scorer, hence not the agent's.
#[derive(Clone, Copy, Debug, Default)]
struct Scope {
    is_nested: bool,
    is_scorer: bool,
}

/// A result that is there later than its call.
struct LateResult<'j> {
    at: SystemTime,
    place: String,
    id: String,
    event: ToolEnd<'j>,
}

/// What a tool answered.
struct ToolEnd<'j> {
    result: Option<&'j RawValue>,
    error: Option<&'j RawValue>,
}

struct Reader<'j> {
    session: SessionBuilder,
    attachments: Attachments<'j>,
    /// The calls that events have.
    executed: HashSet<String>,
    /// The calls that became messages.
    seen: HashSet<String>,
    /// The calls that the model asked for, and with which arguments.
    asked: HashMap<String, u64>,
    /// The results that are texts, to compare with the conversation.
    results: HashMap<String, u64>,
    /// Calls in the input of the sample: somebody else's.
    prefilled: HashSet<String>,
    scopes: HashMap<String, Scope>,
    steps: Vec<Scope>,
    /// The list of tools that was shown last.
    tools: Option<u64>,
    /// How often each message of the user was said.
    said: HashMap<u64, u64>,
    pool: Vec<&'j RawValue>,
    pooled: Vec<bool>,
    /// How many references are still followed.
    work: u64,
    late: Vec<LateResult<'j>>,
    truncated: u64,
}

impl<'j> Reader<'j> {
    fn sample(&mut self, fields: &mut Fields<'j>, messages: &Sequence<'j>, events: &Sequence<'j>) -> End {
        let input = fields.take("input");
        for message in input.and_then(list).unwrap_or_default() {
            self.prefilled.extend(call_ids(message));
        }
        self.about(fields);
        let (has_models, has_tools) = self.look_ahead(&events.items, 0);
        if has_models {
            for (index, event) in events.items.iter().enumerate() {
                self.session.item(events.place(index));
                self.event(event, Scope::default(), 0);
            }
        } else {
            self.session.lack(
                "local",
                "tools/list",
                Direction::Response,
                "the log has no events of the model, which is where the lists of tools are",
                Some("write the log with its events (`inspect log convert` and trimmed logs lose them)"),
            );
            if has_tools {
                self.session.odd("calls of tools without a model that asked for them");
            }
            if messages.items.is_empty()
                && let Some(input) = input
            {
                self.input(input);
            }
            self.conversation(messages, false);
            for (index, event) in events.items.iter().enumerate() {
                self.session.item(events.place(index));
                self.event(event, Scope::default(), 0);
            }
            if messages.items.is_empty()
                && let Some(output) = fields.peek("output")
            {
                self.session.item("output");
                self.output(output, Scope::default());
            }
        }
        self.late_until(None);
        if has_models {
            self.conversation(messages, true);
        }
        let end = end_of(fields);
        self.session.leave("sample", fields, SAMPLE);
        end
    }

    /// What the sample says about itself.
    fn about(&mut self, fields: &mut Fields<'j>) {
        if let Some(id) = fields.get::<Value>("id").filter(|id| id.to_string().len() <= 400) {
            self.session.about("sample", id);
        }
        if let Some(epoch) = fields.get::<u64>("epoch") {
            self.session.about("epoch", epoch);
        }
        if let Some(mut scores) = fields.object("scores") {
            let names: Vec<String> = scores.left().take(50).map(ToOwned::to_owned).collect();
            let mut kept = Map::new();
            for name in names {
                let value = scores.object(&name).and_then(|mut score| score.get::<Value>("value"));
                if let Some(value) = value.filter(|value| value.to_string().len() + name.len() <= 1000) {
                    kept.insert(name, value);
                }
            }
            if !kept.is_empty() {
                self.session.about("scores", kept);
            }
        }
        if fields.take("invalidation").is_some_and(|raw| raw.get() != "null") {
            self.session.about("invalidated", true);
        }
    }

    /// Finds out what there is: whether the agent's model is, whether tools are, and which calls.
    fn look_ahead(&mut self, events: &[&'j RawValue], depth: usize) -> (bool, bool) {
        let (mut models, mut tools) = (false, false);
        for event in events {
            let Some(mut fields) = Fields::of(event.get()) else { continue };
            match fields.text("event").as_deref() {
                Some("model") => models = true,
                Some("tool") => {
                    tools = true;
                    let id = fields.text("id");
                    let mut bridge = fields.object("metadata").and_then(|mut data| data.object("bridge"));
                    let proposal = bridge.as_mut().and_then(|bridge| bridge.text("proposal_id"));
                    self.executed.extend(id.into_iter().chain(proposal));
                }
                _ => {}
            }
            if depth < NESTED
                && let Some(inner) = fields.items("events").filter(|inner| !inner.is_empty())
            {
                let (more_models, more_tools) = self.look_ahead(&inner, depth + 1);
                (models, tools) = (models | more_models, tools | more_tools);
            }
        }
        (models, tools)
    }

    /// The conversation as it was in the end: all there is when there are no events, else what events do not have.
    fn conversation(&mut self, messages: &Sequence<'j>, is_known: bool) {
        for (index, message) in messages.items.iter().enumerate() {
            let Some(mut fields) = Fields::of(message.get()) else {
                self.session.unknown("a message that is not an object");
                continue;
            };
            self.session.item(messages.place(index));
            let is_input = fields.text("source").as_deref() == Some("input");
            match fields.text("role").as_deref() {
                Some("system") => {}
                Some("user") if is_known => {}
                Some("user") => {
                    let text = self.text(&mut fields);
                    self.session.prompt(&text);
                    self.session.leave("message", &fields, MESSAGE);
                }
                Some("assistant") if is_input => _ = self.session.pass("answer in the input of the sample"),
                Some("assistant") => self.assistant(&mut fields, Scope::default(), is_known),
                Some("tool") => self.tool_message(&mut fields),
                other => _ = self.session.unknown(&format!("message of {}", other.unwrap_or("nobody"))),
            }
        }
    }

    /// The input of a sample of which nothing else is there.
    fn input(&mut self, input: &'j RawValue) {
        self.session.item("input");
        if let Some(messages) = list(input) {
            for message in messages {
                self.given(message, Scope::default());
            }
            return;
        }
        let input = self.attachments.resolve(input);
        if let Ok(text) = serde_json::from_str::<String>(input.get()) {
            self.session.prompt(&text);
        }
    }

    fn finish(mut self, end: End) -> RecordedSession {
        let (missing, too_many) = (self.attachments.missing, self.attachments.too_many);
        if missing + too_many > 0 {
            let why = if too_many > 0 {
                format!("{too_many} attachments are left out, since all together are too large")
            } else {
                format!("{missing} attachments are not in the file")
            };
            for direction in [Direction::Request, Direction::Response] {
                self.session.lack("local", "tools/call", direction, &why, None);
            }
            self.session.lack("ag_ui", "text_message_content", Direction::Response, &why, None);
        }
        if self.truncated > 0 {
            let why = format!("{} results were truncated before the model saw them", self.truncated);
            let setting = Some("max_tool_output=0");
            self.session.lack("local", "tools/call", Direction::Response, &why, setting);
        }
        self.session.finish(end)
    }
}

/// How a sample ended.
fn end_of(fields: &mut Fields<'_>) -> End {
    if let Some(mut error) = fields.object("error") {
        let message = error.text("message").unwrap_or_default();
        return End::Failed(message.chars().take(2000).collect());
    }
    if let Some(mut limit) = fields.object("limit") {
        let kind: String = limit.text("type").unwrap_or_default().chars().take(50).collect();
        return End::Cut(format!("the sample was ended by its limit (`{kind}`)"));
    }
    End::Done
}

/// Results of tools are texts, numbers, blocks, or a single block.
fn as_blocks(result: &RawValue) -> std::borrow::Cow<'_, RawValue> {
    let is_block = Fields::of(result.get()).is_some_and(|fields| {
        let kind = fields.peek("type").map(RawValue::get);
        matches!(
            kind,
            Some("\"text\"" | "\"image\"" | "\"audio\"" | "\"video\"" | "\"document\"" | "\"data\"")
        )
    });
    if !is_block {
        return std::borrow::Cow::Borrowed(result);
    }
    RawValue::from_string(format!("[{}]", result.get()))
        .map_or(std::borrow::Cow::Borrowed(result), std::borrow::Cow::Owned)
}

/// The ids of the calls in a message.
fn call_ids(message: &RawValue) -> Vec<String> {
    let calls =
        Fields::of(message.get()).and_then(|mut fields| fields.items("tool_calls")).unwrap_or_default();
    calls.into_iter().filter_map(|call| Fields::of(call.get())?.text("id")).collect()
}

/// The indices that ranges stand for, up to so many, and whether one lies outside.
fn ranges(refs: &[(u64, u64)], length: usize, most: usize) -> (Vec<usize>, bool) {
    let mut indices = Vec::new();
    let mut is_outside = false;
    for &(start, end) in refs {
        is_outside |= end > length as u64;
        for index in clamp(start, length)..clamp(end, length) {
            if indices.len() == most {
                return (indices, true);
            }
            indices.push(index);
        }
    }
    (indices, is_outside)
}

fn clamp(index: u64, length: usize) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX).min(length)
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
