//! Turns what became of runs into text, in every format.

mod human;
mod junit;

use std::io::{self, Write};

use clap::ValueEnum;
use sortie_detect::{Report, Run, Standing};

use super::write_json;

/// A format of what became of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunsFormat {
    /// Verdict, evidence and reach
    Human,
    /// One object; its schema is docs/schema/run-v1.json
    Json,
    /// `JUnit` XML, for CI
    Junit,
}

/// Writes a report. `allow_skipped` decides what `JUnit`, which knows only passed and not passed, is told.
pub(crate) fn write_runs(
    out: &mut dyn Write,
    report: &Report,
    format: RunsFormat,
    color: bool,
    allow_skipped: bool,
) -> io::Result<()> {
    match format {
        RunsFormat::Human => human::write(out, report, color),
        RunsFormat::Json => write_json(out, report),
        RunsFormat::Junit => junit::write(out, report, allow_skipped),
    }
}

/// The name of a case: its id and its name.
fn title(run: &Run) -> String {
    match &run.document.id {
        Some(id) => format!("{id} {}", run.document.name),
        None => run.document.name.clone(),
    }
}

/// What it came to, in one word of the specification, and how far the attack got.
fn outcome(run: &Run) -> String {
    match run.verdict.max_tier {
        Some(tier) => format!("{} ({tier})", run.verdict.result),
        None => run.verdict.result.to_string(),
    }
}

/// Why nothing can be said, or not everything, in a stable word and in words for people.
fn why_undecided(run: &Run) -> Option<(&'static str, String)> {
    match (run.standing(), &run.failure) {
        (Standing::Resisted | Standing::Exploited, _) => None,
        (_, Some(failure)) => Some((failure.kind.as_str(), failure.message.clone())),
        (Standing::Skipped, None) => {
            Some(("skipped", "not every indicator can be evaluated here".to_owned()))
        }
        (Standing::Undecided, None) => Some(("error", "an indicator could not be evaluated".to_owned())),
    }
}
