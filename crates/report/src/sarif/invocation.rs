//! How the run went: its exit code, and what it has to say besides results.

use std::time::Duration;

use serde_json::{Value, json};
use sortie_detect::{Fault, Outcome};
use sortie_trace::time::{format_time, parse_time};

use super::rules::Rules;
use super::{SarifOptions, plain};
use crate::Report;
use crate::rules::rule_id;
use crate::summary::cut;
use crate::text::line;

/// So many notifications are written. The report of the run has all.
const MAX_NOTIFICATIONS: usize = 1_000;

/// What notifications are about, in the order of their descriptors.
const DESCRIPTORS: [(&str, &str); 5] = [
    ("unfinished", "A case did not run to its end."),
    ("failure", "Something kept a case from being played or decided as a whole."),
    ("warning", "Something looks odd, and changes no verdict."),
    ("stopped", "The run stopped before every case had run."),
    ("left-out", "Something was left out of this file."),
];

/// What notifications are about.
#[derive(Clone, Copy)]
enum Topic {
    Unfinished,
    Failure,
    Warning,
    Stopped,
    LeftOut,
}

/// The descriptors of notifications.
pub(super) fn descriptors() -> Vec<Value> {
    // GitHub asks of these what it asks of rules.
    let one = |(id, text): &(&str, &str)| {
        let text = json!({ "text": text });
        json!({ "id": id, "shortDescription": text, "fullDescription": text, "help": text })
    };
    DESCRIPTORS.iter().map(one).collect()
}

/// The one invocation of a log.
pub(super) fn invocation(
    report: &Report,
    rules: &Rules,
    left_out: usize,
    options: &SarifOptions<'_>,
) -> Value {
    let is_ours = |run: &Outcome| run.failure.as_ref().is_some_and(|failure| failure.fault == Fault::Harness);
    let is_whole =
        report.unfinished.is_empty() && report.stopped.is_none() && !report.runs.iter().any(is_ours);
    let mut invocation = json!({
        "exitCode": options.exit_code,
        "exitCodeDescription": exit_words(options.exit_code),
        "executionSuccessful": is_whole && matches!(options.exit_code, 0 | 1 | 3),
    });
    let started = report.run.as_ref().and_then(|run| parse_time(&run.started));
    if let Some(started) = started {
        invocation["startTimeUtc"] = format_time(started).into();
        let seconds = report.run.as_ref().and_then(|run| run.seconds);
        let took = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        if let Some(ended) = took.and_then(|took| started.checked_add(took)) {
            invocation["endTimeUtc"] = format_time(ended).into();
        }
    }
    let mut notifications = notifications(report, rules, left_out);
    let more = notifications.len().saturating_sub(MAX_NOTIFICATIONS);
    if more > 0 {
        notifications.truncate(MAX_NOTIFICATIONS);
        notifications.push(notification(
            Topic::LeftOut,
            "note",
            &format!("{more} more notifications are left out"),
        ));
    }
    if !notifications.is_empty() {
        invocation["toolExecutionNotifications"] = notifications.into();
    }
    invocation
}

fn notifications(report: &Report, rules: &Rules, left_out: usize) -> Vec<Value> {
    let mut told = Vec::new();
    if left_out > 0 {
        let text = format!("{left_out} results are left out, the least important ones: a log holds 25000");
        told.push(notification(Topic::LeftOut, "warning", &text));
    }
    if let Some(why) = &report.stopped {
        told.push(notification(Topic::Stopped, "error", why));
    }
    for id in &report.unfinished {
        told.push(notification(Topic::Unfinished, "error", &format!("{id}: not run to its end")));
    }
    for run in &report.runs {
        let mut about = |topic, level, text: &str| {
            let mut one = notification(topic, level, &format!("{}: {text}", run.id));
            if let Some(index) = rules.index(rule_id(run)) {
                one["associatedRule"] = json!({ "id": line(rule_id(run)), "index": index });
            }
            told.push(one);
        };
        if let Some(failure) = &run.failure {
            let level = if failure.fault == Fault::Harness { "error" } else { "warning" };
            about(Topic::Failure, level, &format!("{}: {}", failure.kind, failure.message));
        }
        for warning in &run.warnings {
            about(Topic::Warning, "note", warning);
        }
    }
    told
}

fn notification(topic: Topic, level: &str, text: &str) -> Value {
    let index = topic as usize;
    json!({
        "descriptor": { "id": DESCRIPTORS[index].0, "index": index },
        "level": level,
        "message": { "text": plain(&line(&cut(text, 600))) },
    })
}

fn exit_words(code: u8) -> &'static str {
    match code {
        0 => "every case that applies was resisted",
        1 => "at least one case was exploited, wholly or in part",
        3 => "nothing was exploited, but something is undecided",
        130 => "interrupted",
        _ => "the run could not do its work, or not all of it",
    }
}
