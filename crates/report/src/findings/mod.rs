//! What is found in documents and evaluators, input by input: which findings count, and how they are written.
//!
//! ```
//! use sortie_lint::analyze;
//! use sortie_syntax::Source;
//! use sortie_report::findings::{Checked, Reporter, Sarif, FindingTotals};
//!
//! let text = "oatf: \"0.1\"\nattack: {}\n";
//! let analysis = analyze(text);
//! let checked = Checked {
//!     name: "attack.yaml".to_owned(),
//!     valid: analysis.is_valid(),
//!     findings: analysis.diagnostics,
//!     source: Source::new(text),
//! };
//! let (mut sarif, mut totals, mut log) = (Sarif::default(), FindingTotals::default(), Vec::new());
//! totals.add(&checked);
//! sarif.file(&checked, &mut log)?;
//! sarif.finish(&totals, &mut log)?;
//! assert!(String::from_utf8_lossy(&log).contains("\"version\": \"2.1.0\""));
//! # Ok::<(), std::io::Error>(())
//! ```

mod github;
mod human;
mod json;
mod sarif;
mod selection;

use std::io::{self, Write};

use sortie_syntax::{Diagnostic, LineColumn, Rule, Source, Span, nearest};

pub use github::GitHub;
pub use human::Human;
pub use json::Json;
pub use sarif::Sarif;
pub(crate) use sarif::uri;
pub use selection::{Selection, SelectionError};

/// One input, and everything that is to be said about it.
#[derive(Clone, Debug)]
pub struct Checked {
    /// How people are told about it.
    pub name: String,
    /// What was checked.
    pub source: Source,
    /// Whether it is a valid document. A denied warning does not change that.
    pub valid: bool,
    /// What is to be reported, in the order of the source.
    pub findings: Vec<Diagnostic>,
}

impl Checked {
    /// Line and column of the start and the end of a span.
    fn region(&self, span: Span) -> (LineColumn, LineColumn) {
        (self.source.line_column(span.start), self.source.line_column(span.end.max(span.start)))
    }
}

/// What all inputs come to.
#[derive(Clone, Copy, Debug, Default)]
pub struct FindingTotals {
    /// How many inputs were checked.
    pub files: usize,
    /// Findings that are errors.
    pub errors: usize,
    /// Findings that are warnings.
    pub warnings: usize,
    /// Findings that `--fix` would see to.
    pub fixable: usize,
    /// Inputs that could not be read, and are not among the files.
    pub unread: usize,
}

impl FindingTotals {
    /// Counts an input.
    pub fn add(&mut self, checked: &Checked) {
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

/// Reports findings, input by input.
pub trait Reporter {
    /// Reports one input.
    fn file(&mut self, checked: &Checked, out: &mut dyn Write) -> io::Result<()>;

    /// Reports that there are no more.
    fn finish(&mut self, _totals: &FindingTotals, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// A finding in plain text: what happened, and on lines of their own what to do.
fn message_and_help(finding: &Diagnostic) -> String {
    [finding.message.as_str()]
        .into_iter()
        .chain(finding.help.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join("\nhelp: ")
}

/// Every rule there is, families together, in the order of their codes.
pub fn rules() -> impl Iterator<Item = Rule> {
    sortie_oatf::rules().chain(sortie_lint::rules()).chain(sortie_evaluators::rules::rules())
}

/// The one with this code, in any case (`v-013`).
pub fn rule(code: &str) -> Option<Rule> {
    // The format has one rule that two codes name.
    sortie_oatf::rule(code).or_else(|| rules().find(|rule| rule.code.eq_ignore_ascii_case(code)))
}

/// The one that was probably meant (`V31`, `e2`).
pub fn nearest_rule(code: &str) -> Option<Rule> {
    // A number without its zeros is the likeliest slip, and further from the code than other codes are.
    let letters = code.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let padded = format!("{}-{:0>3}", letters.trim_end_matches(['-', '_', ' ']), &code[letters.len()..]);
    rule(&padded).or_else(|| rule(nearest(code, rules().map(|rule| rule.code))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_all_families_are_known_and_guessed() {
        assert_eq!(rule("e-002").unwrap().code, "E-002");
        assert_eq!(rule("v-002").unwrap().code, "W-001");
        assert_eq!(nearest_rule("E2").unwrap().code, "E-002");
        assert_eq!(nearest_rule("l1").unwrap().code, "L-001");
        assert_eq!(nearest_rule("v13").unwrap().code, "V-013");
        assert!(nearest_rule("unsafe").is_none());
    }
}
