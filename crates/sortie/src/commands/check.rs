//! `sortie check`

use std::path::{Path, PathBuf};

use clap::Args;
use sortie_library::{DocumentInput, EvaluatorScope, Found, LoadError, Opened, check_twin};
use sortie_lint::{analyze, fix, fix_suggested};
use sortie_oatf::Analysis;
use sortie_prove::missing;
use sortie_report::counted;
use sortie_report::files::replace;
use sortie_report::findings::{Checked, FindingTotals, Selection};
use sortie_syntax::{Diagnostic, Source};

use crate::{Console, Exit, Failure, FindingsFormat, Sources};

const EXAMPLES: &str = "\
Examples:
  Check one document:
    $ sortie check attack.yaml

  Check every document in a folder, and fail on warnings:
    $ sortie check attacks/ --deny warnings

  Preview fixes, then apply them:
    $ sortie check attack.yaml --diff
    $ sortie check attack.yaml --fix

  Preview suggestions, which change the meaning of a document:
    $ sortie check attack.yaml --diff --suggested

  Check standard input:
    $ sortie new --mode a2a_server | sortie check -

  Annotate a pull request, or write JSON:
    $ sortie check attacks/ --format github
    $ sortie check attacks/ --format json

Exit codes:
  0  no errors; warnings do not count unless they are denied
  1  an error in a document or an evaluator, or a denied warning
  2  wrong usage, an input that cannot be read, or no document found";

/// Check documents and evaluators: errors, warnings and lints, each with its location and a fix.
///
/// Documents are parsed, validated against OATF, and linted for likely mistakes. All findings are reported in one run.
/// Evaluators, fixtures and suites are checked too, as with `sortie evaluators check`.
///
/// A file that you name is always checked. In a folder, a document is a file with `oatf` or `attack` as a top-level key, and an
/// evaluator is a file with an evaluator's keys. Other files are counted in a note. Names that start with a dot are skipped.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES, group = clap::ArgGroup::new("repairs").multiple(true))]
pub(crate) struct Check {
    /// Files, folders, library ids, or `-` for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Report format
    #[arg(long, value_enum, default_value = "human")]
    format: FindingsFormat,

    /// Apply safe fixes, then report what is left
    #[arg(long, group = "repairs")]
    fix: bool,

    /// Show what `--fix` would change as a diff; write nothing
    #[arg(long, group = "repairs")]
    diff: bool,

    /// Also apply suggestions. They change the meaning of a document: preview them with `--diff`
    #[arg(long, requires = "repairs")]
    suggested: bool,

    /// Treat warnings with this code as errors: a code, a family such as `L`, or `warnings` for all. `proofs` requires proofs
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    deny: Vec<String>,

    /// Do not report these warnings: a code, a family such as `L`, or `warnings` for all
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    allow: Vec<String>,
}

impl Check {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let selection = Selection::new(&self.deny, &self.allow)?;
        let found = Found::everything(&self.paths)?;
        self.refuse_contradictions(&found.inputs)?;
        let notes = found.notes();
        let mut run = Run { check: &self, selection, totals: FindingTotals::default(), exit: Exit::Clean };
        let mut reporter = self.format.reporter(console);
        for failure in found.failures {
            run.unread(&failure.into(), console);
        }
        for input in &found.inputs {
            match run.checked(input, console) {
                Ok(Some(checked)) => reporter.file(&checked, &mut console.out)?,
                Ok(None) => {}
                Err(failure) => run.unread(&failure, console),
            }
        }
        if let Some(mut evaluators) = evaluators(&found.evaluators, console)? {
            repair(&mut evaluators, (self.fix, self.diff), &run.selection, console)?;
            for checked in evaluators.check() {
                let checked = run.counted(checked);
                if !self.diff {
                    reporter.file(&checked, &mut console.out)?;
                }
            }
        }
        if !self.diff {
            reporter.finish(&run.totals, &mut console.out)?;
        }
        console.note_all(&notes);
        Ok(run.exit)
    }

    fn refuse_contradictions(&self, inputs: &[DocumentInput]) -> Result<(), Failure> {
        if self.diff && self.format != FindingsFormat::Human {
            return Err(Failure::new("`--diff` shows a diff, not a report in another format")
                .help("leave out `--diff` or `--format`"));
        }
        if self.fix && !self.diff && inputs.contains(&DocumentInput::Stdin) {
            return Err(Failure::new("`--fix` has no file to write when it reads standard input")
                .help("name a file, or see the repairs with `--diff`"));
        }
        let carried = inputs.iter().find(|input| matches!(input, DocumentInput::Library(_)));
        if let Some(input) = carried.filter(|_| self.fix && !self.diff) {
            let message = format!("`--fix` cannot change `{}`, which is part of the program", input.name());
            return Err(Failure::new(message).help("copy it with `sortie library export`, and name the copy"));
        }
        Ok(())
    }
}

/// Evaluators and what belongs to them, as `sortie evaluators check` sees them.
fn evaluators(
    found: &[(PathBuf, Option<PathBuf>)],
    console: &mut Console,
) -> Result<Option<Opened>, Failure> {
    if found.is_empty() {
        return Ok(None);
    }
    let sources = Sources::default();
    let mut scope = EvaluatorScope::new(sources.asked()?);
    for (file, folder) in found {
        scope.add_found(file, folder.as_deref());
    }
    sources.open(&scope, console).map(Some)
}

/// Writes the repairs that findings offer, or shows them.
pub(super) fn repair(
    opened: &mut Opened,
    (fix, diff): (bool, bool),
    selection: &Selection,
    console: &mut Console,
) -> Result<(), Failure> {
    if !fix && !diff {
        return Ok(());
    }
    for file in opened.check() {
        let wanted = |finding: &Diagnostic| finding.is_error() || !selection.allows(finding.code);
        let Some(text) = opened.repaired(&file, wanted) else { continue };
        if diff {
            console.diff(&file.name, file.source.text(), &text)?;
        } else {
            replace(Path::new(&file.name), &text)?;
            opened.put(&file.name, &text);
        }
    }
    Ok(())
}

/// What a run has seen so far.
struct Run<'c> {
    check: &'c Check,
    selection: Selection,
    totals: FindingTotals,
    exit: Exit,
}

impl Run<'_> {
    fn unread(&mut self, failure: &Failure, console: &mut Console) {
        console.failure(failure);
        self.totals.unread += 1;
        self.exit = self.exit.max(Exit::Invalid);
    }

    /// Checks one input, and repairs it when asked to. `None` when a diff was shown instead of findings.
    fn checked(&mut self, input: &DocumentInput, console: &mut Console) -> Result<Option<Checked>, Failure> {
        let checked = match input.read() {
            Err(LoadError::Invalid(checked)) => *checked,
            Err(error) => return Err(error.into()),
            Ok(text) => {
                let (text, analysis) = self.analyzed(input, text, console)?;
                let valid = analysis.is_valid();
                let mut findings = analysis.diagnostics;
                if let Some(document) = analysis.document.filter(|_| valid) {
                    findings.extend(check_twin(&input.name(), &document));
                    findings.extend(match input {
                        _ if !self.selection.asks_for_proofs() => None,
                        DocumentInput::Stdin => missing(None, &document),
                        DocumentInput::File(path) => missing(Some(path), &document),
                        // They come with their proofs.
                        DocumentInput::Library(_) => None,
                    });
                    findings.sort_by_key(|finding| finding.span.map(|span| span.start));
                }
                let valid = !findings.iter().any(Diagnostic::is_error);
                Checked { name: input.name(), valid, findings, source: Source::new(text) }
            }
        };
        let checked = self.counted(checked);
        Ok((!self.check.diff).then_some(checked))
    }

    /// What is left of the findings, and counts.
    fn counted(&mut self, mut checked: Checked) -> Checked {
        checked.findings = self.selection.apply(checked.findings);
        self.totals.add(&checked);
        if checked.findings.iter().any(Diagnostic::is_error) {
            self.exit = self.exit.max(Exit::Findings);
        }
        checked
    }

    /// A text and what is to be said about it: as it is, or as it was repaired. What would be repaired is shown.
    fn analyzed(
        &self,
        input: &DocumentInput,
        text: String,
        console: &mut Console,
    ) -> Result<(String, Analysis), Failure> {
        if !self.check.fix && !self.check.diff {
            let analysis = analyze(&text);
            return Ok((text, analysis));
        }
        let wanted = |finding: &Diagnostic| finding.is_error() || !self.selection.allows(finding.code);
        let fixed = if self.check.suggested { fix_suggested(&text, wanted) } else { fix(&text, wanted) };
        if !self.check.diff {
            if let (true, DocumentInput::File(path)) = (fixed.text != text, input) {
                replace(path, &fixed.text)?;
            }
            return Ok((fixed.text, fixed.analysis));
        }
        if fixed.text != text {
            console.diff(&input.name(), &text, &fixed.text)?;
            let left = fixed.analysis.diagnostics.iter().filter(|finding| finding.is_error()).count();
            if left > 0 {
                let left = counted(left, "error", "errors");
                console.note(&format!("{}: {left} would be left", input.name()));
            }
        }
        let analysis = analyze(&text);
        Ok((text, analysis))
    }
}
