//! What Langfuse calls an observation and `LangSmith` a run: a step of an agent with what went in and what came out.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use serde_json::value::{RawValue, to_raw_value};
use sortie_trace::time::parse_time;

use super::conversation::{ModelCall, Place, ToolRun};
use super::messages::{Role, parse_messages, tool_output};
use super::spans::{self, Reader, Wrong};
use sortie_recording::fields::{Fields, unquoted};
use sortie_recording::format::{Format, ImportError, Sink};
use sortie_recording::input::Input;
use sortie_recording::loss::{RecordingLoss, count};
use sortie_recording::parquet;

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    Model,
    Tool,
    Agent,
    Other,
}

/// A step, as far as messages are concerned.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) id: String,
    pub(super) trace: String,
    pub(super) parent: Option<String>,
    pub(super) conversation: Option<String>,
    pub(super) kind: StepKind,
    pub(super) name: String,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) input: Option<Box<RawValue>>,
    pub(super) output: Option<Box<RawValue>>,
    pub(super) error: Option<String>,
    pub(super) call_id: Option<String>,
    pub(super) tools: Option<Box<RawValue>>,
    pub(super) model: Option<String>,
    /// The setting that records content.
    pub(super) setting: &'static str,
    pub(super) notes: RecordingLoss,
}

/// Reads a file of steps: a list, `{"data": [..]}`, one of them in each line, or a Parquet file with one in each row. `step` takes one
/// apart.
pub(super) fn read(
    format: &Format,
    mut input: Input<'_>,
    sink: &mut Sink<'_>,
    step: impl Fn(&mut Fields<'_>) -> Option<Step>,
) -> Result<(), ImportError> {
    let head = input.head()?;
    let file = input.name;
    let mut reader = Reader::new(format, &input);
    if head.starts_with(parquet::MAGIC) {
        let mut rows = input.rows()?;
        if !is_of_steps(rows.names()) {
            // Scores and traces are exported beside observations.
            return Ok(());
        }
        let mut number = 0;
        while let Some(row) = rows.next_row().map_err(|error| error.of(file))? {
            number += 1;
            one(&mut reader, row, number, sink, &step).map_err(|why| why.at(file, number))?;
        }
    } else if spans::is_lines(&head) {
        let mut lines = input.lines();
        while let Some((number, line)) = lines.next_line()? {
            match items(&mut reader, line, number, sink, &step) {
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
        items(&mut reader, text.trim(), 0, sink, &step).map_err(|why| why.at(file, 0))?;
    }
    reader.finish(sink)
}

/// Whether the columns of a table are those of observations.
fn is_of_steps<'n>(names: impl Iterator<Item = &'n str>) -> bool {
    let mut missing = vec!["type", "trace_id", "start_time"];
    names.for_each(|name| missing.retain(|wanted| *wanted != name));
    missing.is_empty()
}

fn items(
    reader: &mut Reader<'_>,
    json: &str,
    line: u64,
    sink: &mut Sink<'_>,
    step: &impl Fn(&mut Fields<'_>) -> Option<Step>,
) -> Result<(), Wrong> {
    let wrong = |what: &str| Wrong::Json(what.to_owned());
    if json.starts_with('[') {
        let items: Vec<&RawValue> =
            serde_json::from_str(json).map_err(|error| Wrong::Json(error.to_string()))?;
        for item in items {
            one(reader, item.get(), line, sink, step)?;
        }
        return Ok(());
    }
    let mut fields = Fields::of(json).ok_or_else(|| wrong("it is not a JSON object"))?;
    for list in ["data", "observations", "runs"] {
        if let Some(items) = fields.items(list) {
            for item in items {
                one(reader, item.get(), line, sink, step)?;
            }
            return Ok(());
        }
    }
    one(reader, json, line, sink, step)
}

fn one(
    reader: &mut Reader<'_>,
    json: &str,
    line: u64,
    sink: &mut Sink<'_>,
    step: &impl Fn(&mut Fields<'_>) -> Option<Step>,
) -> Result<(), Wrong> {
    let mut fields = Fields::of(json).ok_or_else(|| Wrong::Json("it is not a JSON object".to_owned()))?;
    let step =
        step(&mut fields).ok_or_else(|| Wrong::Json("it has no id, no trace or no kind".to_owned()))?;
    put(reader, step, line, sink)
}

/// Puts a step to its conversation.
pub(super) fn put(
    reader: &mut Reader<'_>,
    mut step: Step,
    line: u64,
    sink: &mut Sink<'_>,
) -> Result<(), Wrong> {
    let key = reader.key(&step.trace, step.conversation.as_deref());
    let span = reader.id_hash(&step.trace, &step.id);
    let parent = step.parent.as_ref().map(|parent| reader.id_hash(&step.trace, parent));
    let conversation = &mut reader.touch(&key).conversation;
    conversation.span(span, parent, false);
    for (table, noted) in [
        (&mut conversation.notes.oddities, &step.notes.oddities),
        (&mut conversation.notes.passed_over, &step.notes.passed_over),
        (&mut conversation.notes.unknown, &step.notes.unknown),
    ] {
        for name in noted.keys() {
            count(table, name);
        }
    }
    if let Some(model) = step.model.take() {
        conversation.about("model", model);
    }
    let place = Place { time: step.start, line, item: Arc::from(&*step.id) };
    let end = place.at(step.end.max(step.start));
    let has = |raw: &Option<Box<RawValue>>| {
        raw.as_ref().is_some_and(|raw| !matches!(raw.get(), "null" | "{}" | "\"\""))
    };
    match step.kind {
        StepKind::Model => {
            if let Some(tools) = step.tools.take() {
                conversation.tools(place.clone(), None, &tools);
            }
            let (has_input, has_output) = (has(&step.input), has(&step.output));
            if let Some(input) = step.input.filter(|_| has_input) {
                match parse_messages(unquoted(&input).get(), Role::User, &mut conversation.notes) {
                    Some(turns) => conversation.input(span, place.clone(), turns),
                    None => count(&mut conversation.notes.unknown, "an input that is not messages"),
                }
            }
            if let Some(output) = step.output.filter(|_| has_output) {
                match parse_messages(unquoted(&output).get(), Role::Assistant, &mut conversation.notes) {
                    Some(turns) => conversation.output(span, end.clone(), turns, true),
                    None => count(&mut conversation.notes.unknown, "an output that is not messages"),
                }
            }
            let call = ModelCall {
                has_input,
                has_output,
                failure: step.error,
                end: end.time,
                setting: step.setting,
            };
            conversation.model(span, call);
        }
        StepKind::Tool => {
            let mut run = ToolRun {
                span,
                id: step.call_id,
                name: step.name,
                setting: step.setting,
                is_error: step.error.is_some(),
                place: Some(place),
                end: end.time,
                ..ToolRun::default()
            };
            if let Some(input) = step.input.as_ref().filter(|_| has(&step.input)) {
                run.arguments = arguments(&unquoted(input), &mut conversation.notes);
            } else if step.input.as_ref().is_some_and(|input| input.get() == "{}") && has(&step.output) {
                // A tool without parameters.
                run.arguments = step.input.take();
            }
            if let Some(output) = step.output.as_ref().filter(|_| has(&step.output)) {
                let output = tool_output(&unquoted(output));
                run.id = run.id.or(output.id);
                run.is_error |= output.is_error;
                run.result = Some(output.value);
            } else if let Some(words) = &step.error {
                run.result = to_raw_value(words).ok();
            }
            conversation.run(run);
        }
        StepKind::Agent if step.parent.is_none() => {
            let mut silent = RecordingLoss::default();
            for (raw, role, place) in
                [(&step.input, Role::User, place), (&step.output, Role::Assistant, end.clone())]
            {
                let turns =
                    raw.as_ref().and_then(|raw| parse_messages(unquoted(raw).get(), role, &mut silent));
                if let Some(turns) = turns {
                    conversation.output(span, place, turns, false);
                }
            }
            if step.error.is_some() {
                conversation.model_ended(end.time, step.error);
            }
        }
        StepKind::Agent | StepKind::Other => {}
    }
    reader.settle(&key, sink)
}

/// The arguments of a tool: an object, also one that stands as a text in `input`. What is none is left to what the model wrote.
fn arguments(input: &RawValue, notes: &mut RecordingLoss) -> Option<Box<RawValue>> {
    let Some(mut fields) = Fields::of(input.get()) else {
        count(&mut notes.oddities, "arguments that are no JSON object");
        return None;
    };
    let is_wrapped = fields.left().count() == 1;
    if is_wrapped && let Some(inner) = fields.take("input").or_else(|| fields.take("args")) {
        let inner = unquoted(inner);
        return inner.get().starts_with('{').then_some(inner);
    }
    // A call as a model wrote it.
    if let (Some(_), Some(args)) =
        (fields.peek("name"), fields.peek("args").or_else(|| fields.peek("arguments")))
    {
        return Some(unquoted(args));
    }
    Some(input.to_owned())
}

/// Nanoseconds since 1970 of RFC 3339, with or without its zone; of a number of milliseconds or more digits.
pub(super) fn nanos(text: &str) -> Option<u64> {
    if let Ok(number) = text.parse::<u64>() {
        let digits = text.len();
        return Some(match digits {
            0..=10 => number.saturating_mul(1_000_000_000),
            11..=13 => number.saturating_mul(1_000_000),
            14..=16 => number.saturating_mul(1000),
            _ => number,
        });
    }
    let text = text.replacen(' ', "T", 1);
    let time = parse_time(&text).or_else(|| parse_time(&format!("{text}Z")))?;
    u64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
}
