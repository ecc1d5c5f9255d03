//! Spans and log events of `OpenTelemetry`, whatever their attributes are called: what `otlp`, `openinference` and `openllmetry` read.
//!
//! A file is JSON Lines as the collector's file exporter writes them, a body as it is posted to `/v1/traces` or `/v1/logs` (JSON or
//! protobuf), or single spans as the SDKs print them. Spans of many conversations stand between each other, children before their
//! parents: they are collected by conversation, else by trace, up to a bound, beyond which the one that waited longest is handed over.

mod attributes;
mod coding_agents;
mod interpret;
mod json;
mod logs;
mod plain;
mod protobuf;
mod split;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use crate::conversation::Conversation;
use sortie_recording::format::{Format, Head, ImportError, PendingSession, Sink};
use sortie_recording::input::{DeclaredServer, Input, InputLimits};
use sortie_recording::loss::count;

use attributes::{Attributes, EventText, PASSED, SpanText};
pub(crate) use interpret::as_tool;
use json::{AttributeValue, Export, KeyValue, LogRecord, Span};
pub use split::{ExportError, ExportItem};

/// Whether a file is OTLP.
pub(crate) fn is_otlp(head: &Head<'_>) -> bool {
    protobuf::is_protobuf(head.bytes)
        || ["\"resourceSpans\"", "\"resourceLogs\"", "\"resource_spans\"", "\"resource_logs\""]
            .iter()
            .any(|word| head.says(&[word]))
}

/// Whether a file is spans as an SDK prints them, or their attributes alone.
pub(crate) fn is_plain(head: &Head<'_>) -> bool {
    plain::is_plain(head)
}

/// Reads a file.
pub(crate) fn read(format: &Format, mut input: Input<'_>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let head = input.head()?;
    let file = input.name;
    let mut reader = Reader::new(format, &input);
    let invalid = |line, message: &str| ImportError::Invalid {
        file: file.to_owned(),
        line,
        message: message.to_owned(),
    };
    if protobuf::is_protobuf(&head) {
        let bytes = input.whole()?;
        let messages = protobuf::messages(&bytes).map_err(|why| invalid(0, why))?;
        for (at, message) in messages.into_iter().enumerate() {
            let json = protobuf::as_json(message).ok_or_else(|| invalid(0, "it is not protobuf of OTLP"))?;
            reader.export(&json, at as u64 + 1, sink).map_err(|why| why.at(file, 0))?;
        }
    } else if is_lines(&head) {
        let mut lines = input.lines();
        while let Some((number, line)) = lines.next_line()? {
            match reader.export(line, number, sink) {
                Ok(()) => {}
                Err(Wrong::Sink(error)) => return Err(error),
                Err(Wrong::Json(_)) if lines.was_cut() => {
                    reader.cut = Some("the file ends in the middle of a line".to_owned());
                    break;
                }
                Err(Wrong::Json(why)) => return Err(lines.invalid(why)),
            }
        }
    } else {
        let text = input.whole_text()?;
        reader.export(text.trim(), 0, sink).map_err(|why| why.at(file, 0))?;
    }
    reader.finish(sink)
}

/// Whether a file is JSON Lines, and not one JSON text over many lines.
pub(crate) fn is_lines(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    match head.iter().position(|byte| *byte == b'\n') {
        Some(end) => {
            matches!(head[..end].trim_ascii_end().last(), Some(b'}' | b']'))
                && head[..end].trim_ascii_end().len() > 2
        }
        None => true,
    }
}

/// Why a line cannot be read.
pub(crate) enum Wrong {
    Json(String),
    Sink(ImportError),
}

impl Wrong {
    pub(crate) fn at(self, file: &str, line: u64) -> ImportError {
        match self {
            Self::Json(message) => ImportError::Invalid { file: file.to_owned(), line, message },
            Self::Sink(error) => error,
        }
    }
}

/// A conversation that may go on.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) conversation: Conversation,
    passed: BTreeMap<u16, u64>,
    /// When something of it came last.
    touched: u64,
    counted: usize,
    /// Why it does not begin with its beginning.
    cut: Option<String>,
}

/// Collects conversations.
pub(crate) struct Reader<'r> {
    format: &'r Format,
    file: &'r str,
    limits: InputLimits,
    servers: &'r [DeclaredServer],
    hasher: RandomState,
    groups: HashMap<Arc<str>, Group>,
    /// The conversation of a trace.
    of_trace: HashMap<String, String>,
    /// What was handed over before the end of the file.
    done: HashSet<u64>,
    /// The conversations that waited longest, as they were when all were last looked at: when each was touched, and its key.
    waiting: VecDeque<(u64, Arc<str>)>,
    /// How many traces were left when they were last looked through.
    kept_traces: usize,
    touched: u64,
    bytes: usize,
    /// Why the file ends too early.
    pub(crate) cut: Option<String>,
}

/// How many conversations are remembered as handed over.
const DONE: usize = 1_000_000;
/// What is not counted in bytes otherwise: the entry of a conversation.
const ENTRY: usize = 2048;

impl<'r> Reader<'r> {
    pub(crate) fn new(format: &'r Format, input: &Input<'r>) -> Self {
        Self {
            format,
            file: input.name,
            limits: input.limits,
            servers: input.servers,
            hasher: RandomState::new(),
            groups: HashMap::new(),
            of_trace: HashMap::new(),
            done: HashSet::new(),
            waiting: VecDeque::new(),
            kept_traces: 0,
            touched: 0,
            bytes: 0,
            cut: None,
        }
    }

    fn export(&mut self, json: &str, line: u64, sink: &mut Sink<'_>) -> Result<(), Wrong> {
        let export: Export<'_> = match serde_json::from_str(json) {
            Ok(export) => export,
            Err(error) => {
                // A list, of spans as an SDK prints them or of bodies.
                let Ok(items) = serde_json::from_str::<Vec<&serde_json::value::RawValue>>(json) else {
                    return Err(Wrong::Json(format!("it is not JSON of OTLP: {error}")));
                };
                for item in items {
                    self.export_one(item.get(), line, sink)?;
                }
                return Ok(());
            }
        };
        if export.spans.is_empty()
            && export.logs.is_empty()
            && export.metrics.is_none()
            && !export.unknown.is_empty()
        {
            return self.plain(json, line, sink);
        }
        self.records(&export, line, sink)
    }

    fn export_one(&mut self, json: &str, line: u64, sink: &mut Sink<'_>) -> Result<(), Wrong> {
        let export: Export<'_> =
            serde_json::from_str(json).map_err(|error| Wrong::Json(format!("it is not a span: {error}")))?;
        if export.spans.is_empty() && export.logs.is_empty() {
            return self.plain(json, line, sink);
        }
        self.records(&export, line, sink)
    }

    fn plain(&mut self, json: &str, line: u64, sink: &mut Sink<'_>) -> Result<(), Wrong> {
        let Some(plain) = plain::parse(json) else {
            return Err(Wrong::Json(
                "it has neither `resourceSpans` nor `resourceLogs`, and is not a span".to_owned(),
            ));
        };
        self.span(&plain.span, None, &plain.unknown, line, sink)
    }

    fn records(&mut self, export: &Export<'_>, line: u64, sink: &mut Sink<'_>) -> Result<(), Wrong> {
        for resource in export.spans.iter().chain(&export.logs) {
            let service = resource.about.attributes.iter().find(|pair| &*pair.key == "service.name");
            let service = service.and_then(|pair| AttributeValue::otlp(pair.value?).text());
            for scope in &resource.scopes {
                for span in &scope.spans {
                    let unknown: Vec<&str> = span.unknown.iter().map(|name| &**name).collect();
                    self.span(&span_text(span), service.as_deref(), &unknown, line, sink)?;
                }
                for record in &scope.records {
                    self.log(record, service.as_deref(), line, sink)?;
                }
            }
        }
        Ok(())
    }

    fn span(
        &mut self,
        span: &SpanText<'_>,
        service: Option<&str>,
        unknown: &[&str],
        line: u64,
        sink: &mut Sink<'_>,
    ) -> Result<(), Wrong> {
        let mut attributes = Attributes::default();
        attributes.sort(&span.attributes);
        let conversation = attributes.conversation.and_then(AttributeValue::text).filter(|id| !id.is_empty());
        let ids = interpret::Ids {
            span: self.id_hash(&span.trace, &span.span),
            parent: (!is_zero(&span.parent)).then(|| self.id_hash(&span.trace, &span.parent)),
        };
        let key = self.key(&span.trace, conversation.as_deref());
        let group = self.touch(&key);
        if conversation.is_some() && !is_zero(&span.trace) {
            group.conversation.about("trace", &*normal_id(&span.trace));
        }
        for name in unknown {
            count(&mut group.conversation.notes.unknown, &format!("span.{name}"));
        }
        for passed in &attributes.passed {
            *group.passed.entry(*passed).or_default() += 1;
        }
        interpret::span(&mut group.conversation, span, &attributes, &ids, service, line);
        self.settle(&key, sink)
    }

    fn log(
        &mut self,
        record: &LogRecord<'_>,
        service: Option<&str>,
        line: u64,
        sink: &mut Sink<'_>,
    ) -> Result<(), Wrong> {
        let mut event = EventText {
            time: if record.time.0 > 0 { record.time.0 } else { record.observed.0 },
            name: Cow::Borrowed(&record.name),
            attributes: pairs(&record.attributes),
            body: record.body.map(AttributeValue::otlp),
        };
        // The name that Rust's `tracing` gives an event is where it stands in the source: `event FILE:LINE`.
        if event.name.is_empty() || event.name.starts_with("event ") {
            let named = event.text("event.name").or_else(|| event.body.and_then(AttributeValue::text));
            event.name = named.unwrap_or_default();
        }
        let conversation = ["gen_ai.conversation.id", "session.id", "conversation.id"]
            .iter()
            .find_map(|key| event.text(key))
            .filter(|id| !id.is_empty());
        let key = self.key(&record.trace, conversation.as_deref());
        let span = if is_zero(&record.span) { 0 } else { self.id_hash(&record.trace, &record.span) };
        let group = self.touch(&key);
        if conversation.is_some() && !is_zero(&record.trace) {
            group.conversation.about("trace", &*normal_id(&record.trace));
        }
        for name in &record.unknown {
            count(&mut group.conversation.notes.unknown, &format!("log.{}", &**name));
        }
        if record.dropped.0 > 0 {
            group.conversation.odd("attributes that were dropped");
        }
        logs::event(&mut group.conversation, &event, span, &normal_id(&record.span), service, line);
        self.settle(&key, sink)
    }

    /// Ids are hex, or base64 of the same bytes: one hash for both.
    pub(crate) fn id_hash(&self, trace: &str, id: &str) -> u64 {
        self.hasher.hash_one((&*normal_id(trace), &*normal_id(id))) | 1
    }

    /// The key of the conversation: of its id, else of its trace, which may be known to be of one.
    pub(crate) fn key(&mut self, trace: &str, conversation: Option<&str>) -> String {
        let Some(conversation) = conversation else {
            let trace = normal_id(trace);
            return self.of_trace.get(&*trace).cloned().unwrap_or_else(|| trace.into_owned());
        };
        if !is_zero(trace) {
            let trace = normal_id(trace).into_owned();
            match self.of_trace.get(&trace) {
                Some(known) if known == conversation => {}
                Some(_) => {
                    // An agent that has another one work for it: a conversation of its own, in the same trace.
                }
                None => {
                    if let Some(early) = self.groups.remove(&*trace) {
                        let group = self.groups.entry(Arc::from(conversation)).or_default();
                        for (at, times) in early.passed {
                            *group.passed.entry(at).or_default() += times;
                        }
                        group.conversation.merge(early.conversation);
                        // Both were counted.
                        group.counted += early.counted;
                        group.cut = group.cut.take().or(early.cut);
                    }
                    self.bytes += 128;
                    self.of_trace.insert(trace, conversation.to_owned());
                }
            }
        }
        conversation.to_owned()
    }

    pub(crate) fn touch(&mut self, key: &str) -> &mut Group {
        self.touched += 1;
        if !self.groups.contains_key(key) {
            let cut = self.done.contains(&self.hasher.hash_one(key)).then(|| {
                "its beginning was handed over as another session, to keep to the bound on memory".to_owned()
            });
            self.groups.insert(Arc::from(key), Group { cut, ..Group::default() });
            self.bytes += ENTRY;
        }
        let touched = self.touched;
        // Inserted above.
        let group = self.groups.entry(Arc::from(key)).or_default();
        group.touched = touched;
        group
    }

    /// Counts what a conversation takes, and hands over those that waited longest, while all of them take too much: no more than
    /// that at once, so that whoever evaluates them always has something to do.
    pub(crate) fn settle(&mut self, key: &str, sink: &mut Sink<'_>) -> Result<(), Wrong> {
        if let Some(group) = self.groups.get_mut(key) {
            let now = group.conversation.bytes();
            self.bytes = (self.bytes + now).saturating_sub(group.counted);
            group.counted = now;
        }
        while self.bytes > self.limits.sessions && !self.groups.is_empty() {
            let Some((touched, key)) = self.waiting.pop_front() else {
                // Looking for the oldest takes a look at all, which is worth many of them.
                let mut ages: Vec<(u64, Arc<str>)> =
                    self.groups.iter().map(|(key, group)| (group.touched, Arc::clone(key))).collect();
                ages.sort_unstable();
                self.waiting = ages.into();
                continue;
            };
            // One that went on since, or is gone, waits no longer.
            if self.groups.get(&key).is_none_or(|group| group.touched != touched) {
                continue;
            }
            let Some(group) = self.groups.remove(&key) else { continue };
            self.bytes = self.bytes.saturating_sub(group.counted + ENTRY);
            if self.done.len() < DONE {
                self.done.insert(self.hasher.hash_one(&*key));
            }
            self.hand_over(&key, group, sink)?;
            // Looking through all traces is worth it when there are more than before by a quarter, or when none is of use.
            let traces = self.of_trace.len();
            if traces > self.groups.len() * 4 + 64
                && (traces > self.kept_traces / 4 * 5 || self.groups.is_empty())
            {
                let groups = &self.groups;
                self.of_trace.retain(|_, conversation| groups.contains_key(conversation.as_str()));
                self.kept_traces = self.of_trace.len();
                self.bytes = self.bytes.saturating_sub((traces - self.kept_traces) * 128);
            }
        }
        Ok(())
    }

    fn hand_over(&self, key: &str, mut group: Group, sink: &mut Sink<'_>) -> Result<(), Wrong> {
        if group.conversation.is_empty() {
            return Ok(());
        }
        for (at, times) in &group.passed {
            let name = PASSED[usize::from(*at)];
            *group.conversation.notes.passed_over.entry(name.to_owned()).or_default() += times;
        }
        let id = if key.is_empty() { "spans" } else { key }.to_owned();
        let cut = group.cut.or_else(|| self.cut.clone());
        let mut conversation = group.conversation;
        conversation.declare(self.servers);
        let (format, file, limits) = (*self.format, self.file.to_owned(), self.limits);
        sink(PendingSession::new(move || conversation.finish(&format, &id, &file, limits, cut)))
            .map_err(Wrong::Sink)
    }

    pub(crate) fn finish(mut self, sink: &mut Sink<'_>) -> Result<(), ImportError> {
        let mut left: Vec<(u64, Arc<str>, Group)> =
            self.groups.drain().map(|(key, group)| (group.conversation.begins(), key, group)).collect();
        left.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        for (_, key, group) in left {
            self.hand_over(&key, group, sink).map_err(|why| why.at(self.file, 0))?;
        }
        Ok(())
    }
}

fn span_text<'j>(span: &'j Span<'j>) -> SpanText<'j> {
    SpanText {
        trace: Cow::Borrowed(&span.trace),
        span: Cow::Borrowed(&span.id),
        parent: Cow::Borrowed(&span.parent),
        // Bits 8 and 9: whether it is known, and whether the parent is in another process.
        parent_is_remote: span.flags.0 & 0x300 == 0x300,
        name: Cow::Borrowed(&span.name),
        is_server: matches!(&*span.kind, "2" | "SPAN_KIND_SERVER"),
        start: span.start.0,
        end: span.end.0,
        is_error: matches!(&*span.status.code, "2" | "STATUS_CODE_ERROR"),
        status: Cow::Borrowed(&span.status.message),
        dropped: span.dropped.0 + span.dropped_events.0,
        attributes: pairs(&span.attributes),
        events: span
            .events
            .iter()
            .map(|event| EventText {
                time: event.time.0,
                name: Cow::Borrowed(&event.name),
                attributes: pairs(&event.attributes),
                body: None,
            })
            .collect(),
    }
}

fn pairs<'j>(attributes: &'j [KeyValue<'j>]) -> Vec<(Cow<'j, str>, AttributeValue<'j>)> {
    let pair = |pair: &'j KeyValue<'j>| Some((Cow::Borrowed(&*pair.key), AttributeValue::otlp(pair.value?)));
    attributes.iter().filter_map(pair).collect()
}

fn is_zero(id: &str) -> bool {
    id.bytes().all(|byte| byte == b'0')
}

/// An id as hex in small letters, where it is hex or base64.
fn normal_id(id: &str) -> Cow<'_, str> {
    use base64::Engine as _;
    let id = id.strip_prefix("0x").unwrap_or(id);
    let is_hex = id.len().is_multiple_of(2) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex {
        return if id.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(id.to_ascii_lowercase())
        } else {
            Cow::Borrowed(id)
        };
    }
    if matches!(id.len(), 12 | 24)
        && let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(id)
    {
        return Cow::Owned(protobuf::hex_of(&bytes));
    }
    Cow::Borrowed(id)
}
