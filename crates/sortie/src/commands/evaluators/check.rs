//! `sortie evaluators check`

use std::path::PathBuf;

use clap::Args;
use sortie_library::EvaluatorScope;
use sortie_report::findings::{FindingTotals, Selection};
use sortie_syntax::Diagnostic;

use crate::commands::check::repair;
use crate::{Console, Exit, Failure, FindingsFormat, Sources};

const EXAMPLES: &str = "\
Examples:
  Check a folder of evaluators, and fail on warnings:
    $ sortie evaluators check my-evaluators --deny warnings

  Check one evaluator, with its patterns and its fixtures:
    $ sortie evaluators check my-evaluators/agent/refund-limit.yaml

  Annotate a pull request:
    $ sortie evaluators check my-evaluators --format github

Exit codes:
  0  no errors; warnings do not count unless they are denied
  1  a denied warning
  2  an error in an evaluator, a pattern, fixtures or a suite, or nothing to check";

/// Check evaluators, patterns, fixtures and suites: every error, with its location and a fix.
///
/// An evaluator that passes can be loaded. A file is checked together with its folder, the folders in `sortie.toml` and the
/// bundled evaluators, because ids must be unique in all of them.
///
/// The folder of a file is the parent that contains `agent`, `mcp` or `suites`. A file without such a folder is checked alone.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Check {
    /// Files and folders to check. Default: the folders in `--evaluators` and `sortie.toml`
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    sources: Sources,

    /// Report format
    #[arg(long, value_enum, default_value = "human")]
    format: FindingsFormat,

    /// Apply safe fixes, then report what is left
    #[arg(long)]
    fix: bool,

    /// Show what `--fix` would change as a diff; write nothing
    #[arg(long, conflicts_with = "format")]
    diff: bool,

    /// Treat warnings with this code as errors; `warnings` means all
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    deny: Vec<String>,

    /// Do not report these warnings: a code, or `warnings` for all
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    allow: Vec<String>,
}

impl Check {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let selection = Selection::new(&self.deny, &self.allow)?;
        let known = self.sources.asked()?;
        let paths = if self.paths.is_empty() { known.clone() } else { self.paths };
        if paths.is_empty() {
            return Err(Failure::new("there is nothing to check")
                .help("name a file or a folder, or write `evaluators = [\"DIR\"]` into sortie.toml"));
        }
        let mut scope = EvaluatorScope::new(known);
        for path in &paths {
            scope.add(path)?;
        }
        let mut opened = self.sources.open(&scope, console)?;
        repair(&mut opened, (self.fix, self.diff), &selection, console)?;
        let checked = opened.check();
        if checked.is_empty() {
            let names: Vec<_> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
            return Err(Failure::new(format!("there is no evaluator in {}", names.join(", ")))
                .help("an evaluator is a file `<id>.yaml`, or a folder `<id>` with `evaluator.yaml`"));
        }
        let mut reporter = self.format.reporter(console);
        let (mut totals, mut exit) = (FindingTotals::default(), Exit::Clean);
        for mut file in checked {
            if file.findings.iter().any(Diagnostic::is_error) {
                exit = Exit::Invalid;
            }
            file.findings = selection.apply(file.findings);
            if file.findings.iter().any(Diagnostic::is_error) {
                exit = exit.max(Exit::Findings);
            }
            totals.add(&file);
            if !self.diff {
                reporter.file(&file, &mut console.out)?;
            }
        }
        if !self.diff {
            reporter.finish(&totals, &mut console.out)?;
        }
        Ok(exit)
    }
}
