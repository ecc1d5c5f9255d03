//! Turns findings into text. Renderers only consume: none decides what is found, or how a command ends.

mod demo;
mod diff;
mod evaluator;
mod github;
mod human;
mod json;
mod markdown;
mod plan;
mod proofs;
mod runs;
mod sarif;
mod tested;
mod trace;

use std::io::{self, Write};

use clap::ValueEnum;
use sortie_oatf::{Diagnostic, LineColumn, Source, Span};

use crate::console::Console;

pub(crate) use demo::{DemoFormat, DemoView, demo_report};
pub(crate) use diff::{shown_diff, unified_diff};
pub(crate) use evaluator::EvaluatorView;
use github::GitHub;
pub(crate) use human::Human;
use json::Json;
pub(crate) use markdown::markdown;
pub(crate) use plan::{Shown, write_plans, write_plans_json};
pub(crate) use proofs::{ProofsFormat, write_proofs};
pub(crate) use runs::{RunsFormat, RunsView};
use sarif::Sarif;
pub(crate) use sortie_report::{style, visible, write_json};
pub(crate) use tested::{Tested, write_tested, write_tested_json};
pub(crate) use trace::TraceView;

/// One input, and everything that is to be said about it.
pub(crate) struct Checked {
    /// How people are told about it.
    pub(crate) name: String,
    /// What was checked.
    pub(crate) source: Source,
    /// Whether it is a valid document. A denied warning does not change that.
    pub(crate) valid: bool,
    /// What is to be reported, in the order of the source.
    pub(crate) findings: Vec<Diagnostic>,
}

impl Checked {
    /// Line and column of the start and the end of a span.
    fn region(&self, span: Span) -> (LineColumn, LineColumn) {
        (self.source.line_column(span.start), self.source.line_column(span.end.max(span.start)))
    }
}

/// What all inputs come to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) files: usize,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    /// Findings that `--fix` would see to.
    pub(crate) fixable: usize,
    /// Inputs that could not be read, and are not among the files.
    pub(crate) unread: usize,
}

impl Totals {
    pub(crate) fn add(&mut self, checked: &Checked) {
        self.files += 1;
        for finding in &checked.findings {
            if finding.is_error() {
                self.errors += 1;
            } else {
                self.warnings += 1;
            }
            self.fixable += usize::from(finding.fix.is_some());
        }
    }
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

/// Reports findings, input by input.
pub(crate) trait Reporter {
    /// Reports one input.
    fn file(&mut self, checked: &Checked, out: &mut dyn Write) -> io::Result<()>;

    /// Reports that there are no more.
    fn finish(&mut self, totals: &Totals, out: &mut dyn Write) -> io::Result<()>;
}
