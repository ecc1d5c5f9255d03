//! Runs of `LangSmith`: as its API lists them, or one in each line.

use serde_json::value::to_raw_value;

use super::observations::{self, Step, StepKind, nanos};
use super::otlp;
use super::spans::as_tool;
use sortie_recording::fields::Fields;
use sortie_recording::format::{Format, Head, ImportError, Sink};
use sortie_recording::input::Input;
use sortie_recording::loss::{RecordingLoss, count};

/// The format.
pub static FORMAT: Format = Format {
    name: "langsmith",
    about: "runs of LangSmith, as JSON or JSON Lines",
    shows: otlp::SHOWS,
    gaps: otlp::GAPS,
    recognizes,
    read,
};

const SETTING: &str = "LANGSMITH_HIDE_INPUTS=false and LANGSMITH_HIDE_OUTPUTS=false";

fn recognizes(head: &Head<'_>) -> bool {
    head.says(&["\"run_type\"", "\"dotted_order\""])
}

fn read(format: &Format, input: Input<'_>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    observations::read(format, input, sink, step)
}

/// Members that say nothing about messages.
const PASSED: &[&str] = &[
    "app_path",
    "attachments",
    "child_run_ids",
    "completion_cost",
    "completion_tokens",
    "direct_child_run_ids",
    "dotted_order",
    "events",
    "execution_order",
    "feedback_stats",
    "first_token_time",
    "in_dataset",
    "inputs_preview",
    "inputs_s3_urls",
    "last_queued_at",
    "manifest_id",
    "outputs_preview",
    "outputs_s3_urls",
    "parent_run_ids",
    "price_model_id",
    "prompt_cost",
    "prompt_tokens",
    "reference_dataset_id",
    "reference_example_id",
    "serialized",
    "session_id",
    "session_name",
    "share_token",
    "status",
    "tags",
    "thread_id",
    "total_cost",
    "total_tokens",
    "trace_first_received_at",
    "trace_max_start_time",
    "trace_min_start_time",
    "trace_tier",
    "trace_upgrade",
    "ttl_seconds",
];

fn step(fields: &mut Fields<'_>) -> Option<Step> {
    let id = fields.text("id")?;
    let trace = fields.text("trace_id").unwrap_or_else(|| id.clone());
    let kind = fields.text("run_type")?;
    let mut notes = RecordingLoss::default();
    // `20261117T144951250201Z` and the id, of the run and all that it is within: the order of runs.
    let order = fields.peek("dotted_order").and_then(super::messages::text).unwrap_or_default();
    let own = order.rsplit('.').next().and_then(ordered);
    let time = |text: Option<String>| text.and_then(|text| nanos(&text)).unwrap_or(0);
    let start = time(fields.text("start_time"));
    if own.is_none() {
        count(&mut notes.oddities, "a run without `dotted_order`");
    }
    let start = own.unwrap_or(start);
    let end = time(fields.text("end_time"));
    let mut extra = fields.object("extra").unwrap_or_default();
    let mut metadata = extra.object("metadata").unwrap_or_default();
    let conversation =
        ["session_id", "thread_id", "conversation_id"].iter().find_map(|key| metadata.text(key));
    let mut parameters = extra.object("invocation_params").unwrap_or_default();
    let tools = parameters.items("tools").and_then(|tools| {
        let tools: Vec<_> = tools.iter().map(|tool| as_tool(tool)).collect();
        to_raw_value(&tools).ok()
    });
    let kind = match kind.as_str() {
        "llm" | "chat_model" => StepKind::Model,
        "tool" => StepKind::Tool,
        "chain" | "agent" => StepKind::Agent,
        "retriever" | "embedding" | "prompt" | "parser" => StepKind::Other,
        _ => {
            count(&mut notes.unknown, "run_type");
            StepKind::Other
        }
    };
    let raw = |fields: &mut Fields<'_>, key| fields.take(key).map(ToOwned::to_owned);
    let step = Step {
        id,
        trace,
        parent: fields.text("parent_run_id"),
        conversation,
        kind,
        name: fields.text("name").unwrap_or_default(),
        start,
        end,
        input: raw(fields, "inputs"),
        output: raw(fields, "outputs"),
        error: fields
            .text("error")
            .map(|words| words.lines().next().unwrap_or_default().chars().take(500).collect()),
        call_id: extra.text("tool_call_id"),
        tools,
        model: parameters.text("model").or_else(|| metadata.text("ls_model_name")),
        setting: SETTING,
        notes: RecordingLoss::default(),
    };
    fields.take("parent_run_id");
    fields.take("error");
    fields.take("end_time");
    fields.take("start_time");
    for name in fields.left() {
        let table = if PASSED.contains(&name) { &mut notes.passed_over } else { &mut notes.unknown };
        count(table, &format!("run.{name}"));
    }
    for name in extra.left() {
        let known = matches!(
            name,
            "runtime"
                | "color"
                | "metadata"
                | "options"
                | "batch_size"
                | "name"
                | "invocation_params"
                | "ls_method"
                | "tool_call_count"
        );
        count(if known { &mut notes.passed_over } else { &mut notes.unknown }, &format!("run.extra.{name}"));
    }
    Some(Step { notes, ..step })
}

/// `20261117T144951250201Z…`: nanoseconds since 1970.
fn ordered(part: &str) -> Option<u64> {
    let (date, rest) = part.split_once('T')?;
    let (time, _) = rest.split_once('Z')?;
    if date.len() != 8 || time.len() < 6 || !(date.is_ascii() && time.is_ascii()) {
        return None;
    }
    let fraction = if time.len() > 6 { format!(".{}", &time[6..]) } else { String::new() };
    let (year, month, day) = (&date[..4], &date[4..6], &date[6..]);
    nanos(&format!("{year}-{month}-{day}T{}:{}:{}{fraction}Z", &time[..2], &time[2..4], &time[4..6]))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_dotted_order_has_a_time() {
        assert_eq!(super::ordered("20261117T144951250201Zabc"), super::nanos("2026-11-17T14:49:51.250201Z"));
        assert!(super::ordered("20261117T144951250201Zabc").is_some());
        assert!(super::ordered("abc").is_none());
    }
}
