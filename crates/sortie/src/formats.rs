//! The formats that commands offer.

use std::io;

use clap::ValueEnum;
use sortie_report::findings::{GitHub, Human, Json, Reporter, Sarif};
use sortie_report::{Report, View, write_human, write_json, write_junit};

use crate::Console;

/// A format of what is listed or shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Human,
    /// One JSON object
    Json,
}

/// A format of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsFormat {
    /// The source, underlined
    Human,
    /// One object; its schema is docs/schema/check-v1.json
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

impl FindingsFormat {
    /// What reports in this format.
    pub(crate) fn reporter(self, console: &Console) -> Box<dyn Reporter> {
        match self {
            Self::Human => Box::new(Human::new(console.color, console.width())),
            Self::Json => Box::<Json>::default(),
            Self::Sarif => Box::<Sarif>::default(),
            Self::Github => Box::new(GitHub),
        }
    }
}

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

impl RunsFormat {
    /// What became of runs, as text.
    pub(crate) fn text(self, report: &Report, view: View) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        match self {
            Self::Human => write_human(&mut text, report, view)?,
            Self::Json => write_json(&mut text, report)?,
            Self::Junit => write_junit(&mut text, report, view)?,
            Self::Canonical => write_json(&mut text, &report.canonical())?,
        }
        Ok(text)
    }
}
