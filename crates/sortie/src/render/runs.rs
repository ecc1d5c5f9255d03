//! Turns what became of runs into text, in every format.

use std::io::{self, Write};

use clap::ValueEnum;
use sortie_report::{Report, View, write_human, write_json, write_junit};

/// A format of what became of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunsFormat {
    /// Verdict, evidence and reach
    Human,
    /// One object; its schema is docs/schema/run-v2.json
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
        let view = View { color: self.color, allow_skipped: self.allow_skipped, live: self.live };
        match self.format {
            RunsFormat::Human => write_human(out, report, view),
            RunsFormat::Json => write_json(out, report),
            RunsFormat::Junit => write_junit(out, report, view),
            RunsFormat::Canonical => write_json(out, &report.canonical()),
        }
    }
}
