//! Turns what became of runs into text, in every format.

mod human;
mod junit;

use std::io::{self, Write};

use clap::ValueEnum;
use sortie_detect::{Run, Standing};
use sortie_report::Report;

use super::write_json;
pub(super) use human::{evidence, line};

/// A format of what became of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunsFormat {
    /// Verdict, evidence and reach
    Human,
    /// One object; its schema is docs/schema/run-v1.json
    Json,
    /// `JUnit` XML, for CI
    Junit,
    /// The JSON without what no run can repeat: times, ports, made-up ids, folders, costs
    Canonical,
}

/// How a report is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunsView {
    pub(crate) format: RunsFormat,
    pub(crate) color: bool,
    /// What `JUnit`, which knows only passed and not passed, is told about skipped cases.
    pub(crate) allow_skipped: bool,
    /// Whether the runs were just made, so that people want to know how they ended and where they are.
    pub(crate) live: bool,
}

impl RunsView {
    pub(crate) fn write(self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            RunsFormat::Human => human::write(out, report, self),
            RunsFormat::Json => write_json(out, report),
            RunsFormat::Junit => junit::write(out, report, self),
            RunsFormat::Canonical => write_json(out, &report.canonical()),
        }
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
pub(super) fn outcome(run: &Run) -> String {
    if run.verdict.indicator_verdicts.is_empty() {
        return "simulated".to_owned();
    }
    match run.verdict.max_tier {
        Some(tier) => format!("{} ({tier})", run.verdict.result),
        None => run.verdict.result.to_string(),
    }
}

/// Why nothing can be said, or not everything, in a stable word and in words for people.
pub(super) fn why_undecided(run: &Run) -> Option<(&'static str, String)> {
    match (run.standing(), &run.failure) {
        (Standing::Resisted | Standing::Exploited, _) => None,
        (_, Some(failure)) => Some((failure.kind.as_str(), failure.message.clone())),
        (Standing::Skipped, None) if run.verdict.indicator_verdicts.is_empty() => {
            Some(("simulated", "the document has no indicators".to_owned()))
        }
        (Standing::Skipped, None) => {
            Some(("skipped", "not every indicator can be evaluated here".to_owned()))
        }
        (Standing::Undecided, None) => Some(("error", "an indicator could not be evaluated".to_owned())),
    }
}
