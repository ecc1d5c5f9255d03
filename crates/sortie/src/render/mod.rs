//! Turns findings into text. Renderers only consume: none decides what is found, or how a command ends.

mod diff;
mod github;
mod human;
mod json;
mod library;
mod markdown;
mod plan;
mod proofs;
mod runs;
mod sarif;
pub(crate) mod style;
mod trace;
mod visible;

use std::io::{self, Write};

use sortie_oatf::{Diagnostic, LineColumn, Source, Span};

pub(crate) use diff::{shown_diff, unified_diff};
pub(crate) use github::GitHub;
pub(crate) use human::Human;
pub(crate) use json::{Json, write_json};
pub(crate) use library::{write_coverage, write_list, write_list_json};
pub(crate) use markdown::markdown;
pub(crate) use plan::{write_plans, write_plans_json};
pub(crate) use proofs::{ProofsFormat, write_proofs};
pub(crate) use runs::{RunsFormat, RunsView};
pub(crate) use sarif::Sarif;
pub(crate) use trace::TraceView;
pub(crate) use visible::visible;

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

/// A format of `sortie check`.
pub(crate) trait Reporter {
    /// Reports one input.
    fn file(&mut self, checked: &Checked, out: &mut dyn Write) -> io::Result<()>;

    /// Reports that there are no more.
    fn finish(&mut self, totals: &Totals, out: &mut dyn Write) -> io::Result<()>;
}
