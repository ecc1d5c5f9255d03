//! One sample in one epoch: its events, or its conversation, as messages.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::SystemTime;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sortie_trace::Direction;
use sortie_trace::time::parse_time;

use super::attachments::Attachments;
use sortie_recording::fields::{Fields, list, unquoted};
use sortie_recording::input::InputLimits;
use sortie_recording::session::{CalledTool, End, RecordedSession, SessionBuilder};
use sortie_recording::tool_list::ToolList;

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

    fn event(&mut self, raw: &'j RawValue, around: Scope, depth: usize) {
        let Some(mut fields) = Fields::of(raw.get()) else {
            self.session.unknown("an event that is no object");
            return;
        };
        let kind = fields.text("event").unwrap_or_default();
        let time = fields.text("timestamp");
        let at = time.as_deref().and_then(parse_time);
        if at.is_some() {
            self.late_until(at);
        }
        if let Some(time) = &time {
            self.session.time(time);
        }
        let span = fields.text("span_id");
        let within = span.and_then(|span| self.scopes.get(&span)).copied().unwrap_or_default();
        let step = self.steps.last().copied().unwrap_or_default();
        let scope = Scope {
            is_nested: around.is_nested | within.is_nested | step.is_nested,
            is_scorer: around.is_scorer | within.is_scorer | step.is_scorer,
        };
        match kind.as_str() {
            "span_begin" => self.span(&mut fields),
            "step" => self.step(&mut fields, step),
            "model" | "tool" if scope.is_scorer => {
                self.session.pass(&format!("{kind} event of a scorer"));
            }
            "model" => self.model(&mut fields, scope),
            "tool" => self.tool(&mut fields, at, depth),
            "subtask" => {
                self.session.pass("event subtask");
                self.inner(&mut fields, depth);
            }
            known if PASSED.contains(&known) => _ = self.session.pass(&format!("event {known}")),
            other => _ = self.session.unknown(&format!("event {other}")),
        }
    }

    /// Old logs keep the events of a tool or a subtask in it.
    fn inner(&mut self, fields: &mut Fields<'j>, depth: usize) {
        let events = fields.items("events").unwrap_or_default();
        if !events.is_empty() && depth >= NESTED {
            self.session.odd("events within events, too deep to be read");
            return;
        }
        for event in events {
            self.event(event, Scope { is_nested: true, is_scorer: false }, depth + 1);
        }
    }

    fn span(&mut self, fields: &mut Fields<'j>) {
        let (Some(id), kind) = (fields.text("id"), fields.text("type")) else { return };
        let parent = fields.text("parent_id").and_then(|parent| self.scopes.get(&parent)).copied();
        let mut scope = parent.unwrap_or_default();
        scope.is_nested |= kind.as_deref() == Some("tool");
        scope.is_scorer |= matches!(kind.as_deref(), Some("scorer" | "scorers"));
        self.scopes.insert(id, scope);
        self.session.pass("event span_begin");
    }

    fn step(&mut self, fields: &mut Fields<'j>, around: Scope) {
        let is_scorer = fields.text("type").as_deref() == Some("scorer");
        match fields.text("action").as_deref() {
            Some("begin") if self.steps.len() < 1000 => {
                self.steps.push(Scope { is_scorer: is_scorer | around.is_scorer, ..around });
            }
            Some("end") => _ = self.steps.pop(),
            _ => _ = self.session.odd("a step that neither begins nor ends"),
        }
        self.session.pass("event step");
    }

    fn model(&mut self, fields: &mut Fields<'j>, scope: Scope) {
        if let Some(tools) = fields.take("tools") {
            self.tools(tools);
        }
        self.model_input(fields, scope);
        if let Some(time) = fields.text("completed") {
            self.session.time(&time);
        }
        if fields.take("error").is_some_and(|error| error.get() != "null") {
            self.session.odd("a call of the model that failed");
        }
        if fields.get::<bool>("pending") == Some(true) {
            self.session.odd("a call of the model that did not end");
        }
        if let Some(output) = fields.take("output") {
            self.output(output, scope);
        }
        self.session.leave("model event", fields, MODEL_EVENT);
    }

    /// The list of tools, when it is another than that before.
    fn tools(&mut self, raw: &'j RawValue) {
        let hash = hash_of(raw.get());
        if self.tools == Some(hash) {
            return;
        }
        self.tools = Some(hash);
        let raw = self.attachments.resolve(raw);
        let Some(infos) = list(&raw) else {
            self.session.unknown("a list of tools that is none");
            return;
        };
        let mut tools = ToolList::default();
        for info in infos {
            let Some(mut fields) = Fields::of(info.get()) else {
                self.session.unknown("a tool that is no object");
                continue;
            };
            let name = fields.text("name").unwrap_or_default();
            if !tools.add(&name, fields.take("description"), fields.take("parameters")) {
                self.session.odd("tools of more servers than are kept");
            }
            self.session.leave("tool info", &fields, &["options"]);
        }
        tools.put(&mut self.session);
    }

    fn shows_mcp(&mut self) {
        self.session.shows("mcp", "tools/call", Direction::Request);
        self.session.shows("mcp", "tools/call", Direction::Response);
    }

    /// What the model was given: the messages of the user that it was not given before.
    fn model_input(&mut self, fields: &mut Fields<'j>, scope: Scope) {
        let inline = fields.items("input").unwrap_or_default();
        let mut times = HashMap::new();
        for message in inline {
            let hash = hash_of(message.get());
            let now: &mut u64 = times.entry(hash).or_default();
            *now += 1;
            if *now > self.said.get(&hash).copied().unwrap_or_default() {
                self.said.insert(hash, *now);
                self.given(message, scope);
            }
        }
        let Some(refs) = fields.get::<Option<Vec<(u64, u64)>>>("input_refs").flatten() else { return };
        let mut is_outside = false;
        for (start, end) in refs {
            is_outside |= end > self.pool.len() as u64;
            let range = clamp(start, self.pool.len())..clamp(end, self.pool.len());
            self.work = self.work.saturating_sub(range.len() as u64);
            if self.work == 0 {
                self.session.odd("more references to messages than are followed");
                return;
            }
            for index in range {
                if !std::mem::replace(&mut self.pooled[index], true) {
                    self.given(self.pool[index], scope);
                }
            }
        }
        if is_outside {
            self.session.odd("references to messages that are not there");
        }
    }

    /// A message that the model was given for the first time.
    fn given(&mut self, message: &'j RawValue, scope: Scope) {
        let Some(mut fields) = Fields::of(message.get()) else {
            self.session.unknown("a message that is no object");
            return;
        };
        match fields.text("role").as_deref() {
            Some("user") if scope.is_nested => {
                self.session.pass("message of the user in a conversation with a tool");
            }
            Some("user") => {
                let text = self.text(&mut fields);
                self.session.prompt(&text);
                self.session.leave("message", &fields, MESSAGE);
            }
            Some("tool") => self.tool_message(&mut fields),
            // The model's own words are there as its output.
            Some("system" | "assistant") => {}
            other => _ = self.session.unknown(&format!("message of {}", other.unwrap_or("nobody"))),
        }
    }

    fn output(&mut self, output: &'j RawValue, scope: Scope) {
        let Some(mut fields) = Fields::of(output.get()) else {
            self.session.unknown("an output that is no object");
            return;
        };
        let choices = fields.items("choices").unwrap_or_default();
        if choices.len() > 1 {
            self.session.odd("more than one choice of the model");
        }
        if let Some(mut choice) = choices.first().and_then(|choice| Fields::of(choice.get())) {
            if matches!(choice.text("stop_reason").as_deref(), Some("max_tokens" | "model_length")) {
                self.session.odd("an answer that is cut at a limit");
            }
            if let Some(mut message) = choice.object("message") {
                self.assistant(&mut message, scope, false);
            }
            self.session.leave("choice", &choice, &["logprobs", "prompt_logprobs", "stop_details"]);
        }
        self.session.leave("output", &fields, OUTPUT);
    }

    /// What the model says: to its user, unless its user is a tool; and the calls that no event has.
    fn assistant(&mut self, fields: &mut Fields<'j>, scope: Scope, is_known: bool) {
        fields.take("role");
        if is_known {
            fields.take("content");
        } else {
            let text = self.text(fields);
            if scope.is_nested {
                self.session.pass("answer in a conversation with a tool");
            } else {
                self.session.answer(&text);
            }
        }
        for call in fields.items("tool_calls").unwrap_or_default() {
            let Some(mut call) = Fields::of(call.get()) else {
                self.session.unknown("a call that is no object");
                continue;
            };
            let Some(id) = call.text("id") else {
                self.session.odd("a call without an id");
                continue;
            };
            let arguments = call.take("arguments").unwrap_or(RawValue::NULL);
            let hash = self.hash_of_json(arguments);
            if is_known && self.asked.get(&id).is_some_and(|asked| *asked != hash) {
                self.session.odd("a call that the conversation has otherwise");
            }
            if !is_known {
                self.asked.insert(id.clone(), hash);
            }
            if self.executed.contains(&id) || self.seen.contains(&id) || self.prefilled.contains(&id) {
                continue;
            }
            self.session.odd(if is_known {
                "a call that only the conversation has"
            } else {
                "a call that the model asked for, without an event of the tool"
            });
            let name = call.text("function").unwrap_or_default();
            self.session.leave("call", &call, &["parse_error", "view", "type"]);
            self.call(&id, &CalledTool::named(&name), arguments);
        }
        self.session.leave("message", fields, MESSAGE);
    }

    /// What a value is known by, however it is written.
    fn hash_of_json(&mut self, raw: &RawValue) -> u64 {
        let raw = self.attachments.resolve(raw);
        let value = serde_json::from_str::<Value>(raw.get());
        value.map_or_else(|_| hash_of(raw.get()), |value| hash_of(&value.to_string()))
    }

    fn call(&mut self, id: &str, tool: &CalledTool, arguments: &RawValue) {
        if matches!(tool, CalledTool::Mcp { .. }) {
            self.shows_mcp();
        }
        let arguments = self.attachments.resolve(arguments);
        self.session.call(id, tool, &arguments);
        self.seen.insert(id.to_owned());
    }

    fn tool(&mut self, fields: &mut Fields<'j>, at: Option<SystemTime>, depth: usize) {
        let id = fields.text("id").unwrap_or_default();
        let function = fields.text("function").unwrap_or_default();
        let arguments = fields.take("arguments").unwrap_or(RawValue::NULL);
        let bridge = fields.object("metadata").and_then(|mut metadata| metadata.object("bridge"));
        let mut bridge = bridge.unwrap_or_default();
        let proposal = bridge.text("proposal_id");
        let asked = self.asked.get(&id).or_else(|| self.asked.get(&proposal?)).copied();
        match asked {
            Some(asked) if asked != self.hash_of_json(arguments) => {
                self.session.odd("a call with other arguments than the model asked for");
            }
            Some(_) => {}
            None => _ = self.session.odd("a call that no event of the model asked for"),
        }
        let tool = match (bridge.text("server"), bridge.text("tool")) {
            (Some(server), name) => CalledTool::Mcp { server, name: name.unwrap_or(function) },
            _ => CalledTool::named(&function),
        };
        let is_again = !self.seen.insert(id.clone());
        if is_again && self.session.waits_for(&id) {
            self.session.odd("two events of one call");
        }
        self.call(&id, &tool, arguments);
        let truncated = fields.take("truncated").is_some_and(|raw| raw.get() != "null");
        self.truncated += u64::from(truncated);
        let event = ToolEnd { result: fields.take("result"), error: fields.take("error") };
        if let Some(result) = event.result.filter(|_| !truncated) {
            let result = self.attachments.resolve(result);
            if let Ok(text) = serde_json::from_str::<String>(result.get()) {
                self.results.insert(id.clone(), hash_of(&text));
            }
        }
        let is_pending = fields.get::<bool>("pending") == Some(true);
        let completed = fields.text("completed").as_deref().and_then(parse_time);
        self.inner(fields, depth);
        self.session.leave("tool event", fields, TOOL_EVENT);
        let place = self.session.place().item.clone().unwrap_or_default();
        match completed {
            Some(completed) if at.is_some_and(|at| at <= completed) => {
                self.late.push(LateResult { at: completed, place, id, event });
            }
            _ if is_pending => {}
            _ => self.end_call(&id, &event),
        }
    }

    /// Results that were there at this time; all, for none.
    fn late_until(&mut self, time: Option<SystemTime>) {
        if self.late.is_empty() {
            return;
        }
        self.late.sort_by_key(|late| late.at);
        let ready = time.map_or(self.late.len(), |time| self.late.partition_point(|late| late.at <= time));
        let here = self.session.place().item.clone();
        for late in self.late.drain(..ready).collect::<Vec<_>>() {
            self.session.item(late.place).at(late.at);
            self.end_call(&late.id, &late.event);
        }
        if let Some(here) = here {
            self.session.item(here);
        }
    }

    fn end_call(&mut self, id: &str, event: &ToolEnd<'j>) {
        let error = event.error.filter(|error| error.get() != "null");
        let result = self.attachments.resolve(event.result.unwrap_or(RawValue::NULL)).into_owned();
        match error {
            Some(error) => {
                let error = self.attachments.resolve(error);
                let message = Fields::of(error.get()).and_then(|mut error| error.text("message"));
                let message = message.unwrap_or_else(|| error.get().to_owned());
                let partial = serde_json::from_str::<String>(result.get()).unwrap_or_default();
                let texts = [partial, message].into_iter().filter(|text| !text.is_empty());
                let blocks: Vec<_> = texts.map(|text| json!({"type": "text", "text": text})).collect();
                if let Ok(blocks) = serde_json::value::to_raw_value(&blocks) {
                    self.session.result(id, &blocks, true);
                }
            }
            None if event.result.is_none() => _ = self.session.odd("an event of a tool without a result"),
            None => _ = self.session.result(id, &as_blocks(&result), false),
        }
    }

    /// The result of a call that has no event of its own.
    fn tool_message(&mut self, fields: &mut Fields<'j>) {
        let Some(id) = fields.text("tool_call_id") else {
            self.session.odd("a result of no call");
            return;
        };
        if let Some(result) = self.results.get(&id).copied() {
            let content = fields.take("content").unwrap_or(RawValue::NULL);
            let content = self.attachments.resolve(content);
            if serde_json::from_str::<String>(content.get()).is_ok_and(|text| hash_of(&text) != result) {
                self.session.odd("a result that the conversation has otherwise");
            }
        }
        if self.executed.contains(&id) || self.prefilled.contains(&id) {
            return;
        }
        if !self.session.waits_for(&id) {
            if !self.seen.contains(&id) {
                self.session.odd("a result of no call");
            }
            return;
        }
        let end = ToolEnd { result: fields.take("content"), error: fields.take("error") };
        self.end_call(&id, &end);
        self.session.leave("message", fields, &["id", "function", "source", "metadata", "model"]);
    }

    /// The text of a message. Calls that a provider made itself are in its content.
    fn text(&mut self, fields: &mut Fields<'j>) -> String {
        let Some(content) = fields.take("content") else { return String::new() };
        let content = self.attachments.resolve(content);
        if let Ok(text) = serde_json::from_str::<String>(content.get()) {
            return text;
        }
        let mut texts = Vec::new();
        for part in list(&content).unwrap_or_default() {
            let Some(mut part) = Fields::of(part.get()) else {
                self.session.unknown("a part that is no object");
                continue;
            };
            match part.text("type").as_deref() {
                Some("text") => texts.extend(part.text("text")),
                Some("tool_use") => self.provider_call(&mut part),
                Some(kind @ ("reasoning" | "image" | "audio" | "video" | "document" | "data")) => {
                    self.session.pass(&format!("content {kind}"));
                }
                other => _ = self.session.unknown(&format!("content {}", other.unwrap_or("without a type"))),
            }
        }
        texts.join("\n")
    }

    /// A call that the provider of the model made for it.
    fn provider_call(&mut self, part: &mut Fields<'_>) {
        let id = part.text("id").unwrap_or_default();
        let name = part.text("name").unwrap_or_default();
        let tool = match (part.text("tool_type").as_deref(), part.text("context")) {
            (Some("mcp_call"), server) => CalledTool::Mcp { server: server.unwrap_or_default(), name },
            _ => CalledTool::Local(name),
        };
        let arguments = part.take("arguments").map_or_else(|| RawValue::NULL.to_owned(), unquoted);
        if !self.seen.contains(&id) {
            self.call(&id, &tool, &arguments);
            let error = part.text("error");
            let result = part.text("result").unwrap_or_default();
            self.session.result_text(&id, error.as_deref().unwrap_or(&result), error.is_some());
        }
        self.session.leave("content tool_use", part, &["internal", "result", "error", "context"]);
    }

    /// The conversation as it was in the end: all there is when there are no events, else what events do not have.
    fn conversation(&mut self, messages: &Sequence<'j>, is_known: bool) {
        for (index, message) in messages.items.iter().enumerate() {
            let Some(mut fields) = Fields::of(message.get()) else {
                self.session.unknown("a message that is no object");
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

/// How deep events of old logs are within events.
const NESTED: usize = 6;

/// Events that say nothing about messages.
const PASSED: &[&str] = &[
    "sample_init",
    "sample_limit",
    "sandbox",
    "state",
    "store",
    "anchor",
    "approval",
    "review",
    "sentinel",
    "branch",
    "checkpoint",
    "compaction",
    "input",
    "interrupt",
    "score",
    "score_edit",
    "error",
    "logger",
    "info",
    "span_end",
];

const MODEL_EVENT: &[&str] = &[
    "uuid",
    "working_start",
    "metadata",
    "model",
    "role",
    "requested_model",
    "tool_choice",
    "config",
    "retries",
    "request_ids",
    "traceback",
    "traceback_ansi",
    "cache",
    "call",
    "working_time",
    "pending",
    "completed",
    "input_refs",
];

const TOOL_EVENT: &[&str] = &[
    "uuid",
    "working_start",
    "type",
    "view",
    "working_time",
    "agent",
    "agent_span_id",
    "failed",
    "message_id",
    "pending",
    "completed",
];

const MESSAGE: &[&str] =
    &["id", "source", "metadata", "tool_call_id", "tool_calls", "model", "function", "error", "reasoning"];

const OUTPUT: &[&str] = &[
    "model",
    "completion",
    "usage",
    "input_context_tokens",
    "fallback",
    "time",
    "metadata",
    "error",
    "response_id",
];

const SAMPLE: &[&str] = &[
    "choices",
    "target",
    "description",
    "sandbox",
    "files",
    "setup",
    "output",
    "store",
    "timelines",
    "model_usage",
    "role_usage",
    "model_fallbacks",
    "started_at",
    "completed_at",
    "total_time",
    "working_time",
    "uuid",
    "error",
    "error_retries",
    "limit",
    "turn_count",
    "token_limit",
    "token_limit_type",
    "token_limit_usage",
    "message_limit",
    "time_limit",
    "transcript",
    "scores",
    "events_data",
    "score",
];
