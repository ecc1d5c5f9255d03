//! Observations of Langfuse: as its API lists them, and as it exports them.

use serde_json::value::{RawValue, to_raw_value};

use super::observations::{self, Step, StepKind, nanos};
use super::otlp;
use super::spans::as_tool;
use sortie_recording::fields::{Fields, unquoted};
use sortie_recording::format::{Format, Head, ImportError, Sink};
use sortie_recording::input::Input;
use sortie_recording::loss::{RecordingLoss, count};
use sortie_recording::parquet;

/// The format.
pub static FORMAT: Format = Format {
    name: "langfuse",
    about: "observations of Langfuse, as JSON, JSON Lines or Parquet",
    shows: otlp::SHOWS,
    gaps: otlp::GAPS,
    recognizes,
    read,
};

/// Content is masked by a function of the program, if at all.
const SETTING: &str = "Langfuse(mask=None)";

fn recognizes(head: &Head<'_>) -> bool {
    let is_camel =
        head.says(&["\"traceId\"", "\"type\"", "\"startTime\""]) && head.says(&["\"parentObservationId\""]);
    let is_snake = head.says(&["\"trace_id\"", "\"type\"", "\"start_time\"", "\"parent_observation_id\""]);
    is_camel || is_snake || head.bytes.starts_with(parquet::MAGIC)
}

fn read(format: &Format, input: Input<'_>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    observations::read(format, input, sink, step)
}

/// Members that say nothing about messages, without the difference between the API and exports.
const PASSED: &[&str] = &[
    "bookmarked",
    "calculatedinputcost",
    "calculatedoutputcost",
    "calculatedtotalcost",
    "completionstarttime",
    "completiontokens",
    "costdetails",
    "createdat",
    "environment",
    "eventts",
    "experimentdatasetid",
    "experimentdescription",
    "experimentid",
    "experimentitemexpectedoutput",
    "experimentitemid",
    "experimentitemmetadata",
    "experimentitemrootspanid",
    "experimentitemversion",
    "experimentmetadata",
    "experimentname",
    "inputcost",
    "inputprice",
    "inputusage",
    "internalmodelid",
    "isapproot",
    "isdeleted",
    "isrootobservation",
    "latency",
    "level",
    "metadata",
    "modelid",
    "modelparameters",
    "outputcost",
    "outputprice",
    "outputusage",
    "projectid",
    "promptcompletiontokens",
    "promptid",
    "promptlink",
    "promptname",
    "prompttokens",
    "promptversion",
    "providedcostdetails",
    "providedusagedetails",
    "public",
    "release",
    "statusmessage",
    "tags",
    "timetofirsttoken",
    "totalcost",
    "totalprice",
    "totaltokens",
    "totalusage",
    "traceenvironment",
    "tracename",
    "unit",
    "updatedat",
    "usage",
    "usagedetails",
    "usagepricingtierid",
    "usagepricingtiername",
    "userid",
    "version",
];

fn step(fields: &mut Fields<'_>) -> Option<Step> {
    let mut notes = RecordingLoss::default();
    let either = |fields: &mut Fields<'_>, names: [&str; 2]| {
        let found = names.iter().find_map(|name| fields.text(name));
        for name in names {
            fields.take(name);
        }
        found
    };
    let id = either(fields, ["id", "span_id"])?;
    let trace = either(fields, ["traceId", "trace_id"])?;
    let kind = either(fields, ["type", "observation_type"])?;
    let parent =
        either(fields, ["parentObservationId", "parent_observation_id"]).filter(|parent| !parent.is_empty());
    let conversation = either(fields, ["sessionId", "session_id"]).filter(|session| !session.is_empty());
    let start = either(fields, ["startTime", "start_time"]).and_then(|time| nanos(&time)).unwrap_or(0);
    let end = either(fields, ["endTime", "end_time"]).and_then(|time| nanos(&time)).unwrap_or(0);
    let model = either(fields, ["model", "provided_model_name"]);
    let status = either(fields, ["statusMessage", "status_message"]);
    let level = fields.text("level").unwrap_or_default();
    let error = (level == "ERROR")
        .then(|| status.unwrap_or_else(|| "an observation with the level ERROR".to_owned()));
    let kind = match kind.as_str() {
        "GENERATION" => StepKind::Model,
        "TOOL" => StepKind::Tool,
        "SPAN" | "AGENT" | "CHAIN" => StepKind::Agent,
        "EVENT" | "RETRIEVER" | "EVALUATOR" | "EMBEDDING" | "GUARDRAIL" => StepKind::Other,
        _ => {
            count(&mut notes.unknown, "observation.type");
            StepKind::Other
        }
    };
    let tools = fields.take("toolDefinitions").or_else(|| fields.take("tool_definitions")).and_then(tools);
    let calls = fields.take("toolCalls").or_else(|| fields.take("tool_calls")).map(unquoted);
    let names = fields.take("toolCallNames").or_else(|| fields.take("tool_call_names")).map(unquoted);
    let names: Vec<String> =
        names.and_then(|names| serde_json::from_str(names.get()).ok()).unwrap_or_default();
    let input = fields.take("input").map(ToOwned::to_owned);
    let mut output = fields.take("output").map(ToOwned::to_owned);
    if let Some(calls) = calls.as_ref().filter(|calls| calls.get() != "[]") {
        output = with_calls(output, calls, &names);
    }
    // `{"metadata": {"tool_call_id": ..}}` where a program says so.
    let metadata = fields.peek("metadata").map(unquoted);
    let call_id = metadata.as_ref().and_then(|metadata| {
        let mut metadata = Fields::of(metadata.get())?;
        metadata.text("tool_call_id").or_else(|| metadata.text("toolCallId"))
    });
    let name = fields.text("name").unwrap_or_default();
    for name in fields.left() {
        let plain = name.replace('_', "").to_lowercase();
        let table =
            if PASSED.contains(&plain.as_str()) { &mut notes.passed_over } else { &mut notes.unknown };
        count(table, &format!("observation.{name}"));
    }
    Some(Step {
        id,
        trace,
        parent,
        conversation,
        kind,
        name,
        start,
        end,
        input,
        output,
        error,
        call_id,
        tools,
        model,
        setting: SETTING,
        notes,
    })
}

/// `{"name": "{\"description\": .., \"parameters\": ..}"}`, or a list of tools.
fn tools(raw: &RawValue) -> Option<Box<RawValue>> {
    let raw = unquoted(raw);
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
        let tools: Vec<_> = items.iter().map(|item| as_tool(item)).collect();
        return (!tools.is_empty()).then(|| to_raw_value(&tools).ok()).flatten();
    }
    let fields = Fields::of(raw.get())?;
    let mut tools = Vec::new();
    for name in fields.left() {
        let mut tool = fields.peek(name).map(as_tool)?;
        if let Some(tool) = tool.as_object_mut() {
            tool.shift_insert(0, "name".to_owned(), name.into());
        }
        tools.push(tool);
    }
    (!tools.is_empty()).then(|| to_raw_value(&tools).ok()).flatten()
}

/// The output of a model, and the calls that stand beside it where it does not have them. In exports, their names stand beside them.
fn with_calls(output: Option<Box<RawValue>>, calls: &RawValue, names: &[String]) -> Option<Box<RawValue>> {
    if output
        .as_ref()
        .is_some_and(|output| output.get().contains("tool_call") || output.get().contains("tool_use"))
    {
        return output;
    }
    let items: Vec<&RawValue> = serde_json::from_str(calls.get()).ok()?;
    let calls: Vec<Box<RawValue>> =
        items.into_iter().enumerate().map(|(at, call)| named(unquoted(call), names.get(at))).collect();
    let mut messages: Vec<Box<RawValue>> = Vec::new();
    if let Some(output) = output.filter(|output| output.get() != "null") {
        messages.push(unquoted(&output));
    }
    messages.push(
        to_raw_value(&serde_json::json!({"role": "assistant", "content": "", "tool_calls": calls})).ok()?,
    );
    to_raw_value(&messages).ok()
}

/// A call with its name, where that stands beside it.
fn named(call: Box<RawValue>, name: Option<&String>) -> Box<RawValue> {
    let is_named = Fields::of(call.get())
        .is_none_or(|fields| fields.peek("name").is_some() || fields.peek("function").is_some());
    let (Some(name), false) = (name, is_named) else { return call };
    let mut fields: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(call.get()).unwrap_or_default();
    fields.insert("name".to_owned(), name.as_str().into());
    to_raw_value(&fields).unwrap_or(call)
}
