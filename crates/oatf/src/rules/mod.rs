//! Every code that can stand in a diagnostic: its check, its words and its examples, in one unit each.
//!
//! A rule is a constant in a file of its own, with a Markdown page beside it. Validation, `sortie explain`,
//! the documentation and the golden tests all read the same page, so they cannot drift apart.

mod lint;
mod page;
mod parsing;
mod places;
mod report;
mod structure;
mod validation;
mod walk;
mod warning;

pub use page::{Example, Page};
pub(crate) use places::execution;
pub(crate) use report::Report;

use crate::diagnostic::{Diagnostic, DiagnosticSeverity};
use crate::model::Document;
use crate::node_path::NodePath;

/// Which part of the work a rule belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// `P-…`: the text is no document. Found while parsing.
    Parsing,
    /// `V-…`: rules of the specification.
    Validation,
    /// `S-…`: errors the specification is silent about.
    Structure,
    /// `W-…`: warnings of the specification.
    Warning,
    /// `L-…`: lints of ours.
    Lint,
    /// `E-…`: what evaluators, their fixtures and suites must keep to.
    Evaluators,
}

/// One code.
#[derive(Clone, Copy)]
pub struct Rule {
    /// The code, stable for ever.
    pub code: &'static str,
    /// Where the specification says so; empty for rules of ours.
    pub spec: &'static str,
    /// What must hold, in a few words.
    pub title: &'static str,
    /// How bad a violation is.
    pub severity: DiagnosticSeverity,
    /// Which part of the work it belongs to.
    pub family: Family,
    /// What, why, a wrong and a right example, as Markdown (see [`Page`]).
    pub explain: &'static str,
    /// Finds every violation. Rules that are found while parsing have none, nor has one that is not about the text.
    check: Option<fn(&Document, &mut Report<'_>)>,
}

impl Rule {
    /// A rule that something else finds: what is written in the same YAML has codes and pages of the same kind.
    pub const fn found_elsewhere(
        code: &'static str,
        title: &'static str,
        severity: DiagnosticSeverity,
        family: Family,
        explain: &'static str,
    ) -> Self {
        Self { code, spec: "", title, severity, family, explain, check: None }
    }

    /// The explanation, taken apart.
    pub fn page(&self) -> Page {
        Page::parse(self.explain)
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule").field("code", &self.code).field("title", &self.title).finish_non_exhaustive()
    }
}

const FAMILIES: &[&[&Rule]] =
    &[parsing::RULES, validation::RULES, structure::RULES, warning::RULES, lint::RULES];

/// All rules, family by family, each in the order of its codes.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().flat_map(|family| family.iter().copied())
}

/// The rule with this code, in any case (`v-031`).
///
/// The specification lists V-002 among its rules and has it reported as W-001, so both name the latter.
pub fn rule(code: &str) -> Option<&'static Rule> {
    let code = if code.eq_ignore_ascii_case("V-002") { "W-001" } else { code };
    rules().find(|rule| rule.code.eq_ignore_ascii_case(code))
}

/// The rule whose code was probably meant (`V31`, `v-13`, `VV-013`).
///
/// ```
/// assert_eq!(sortie_oatf::nearest_rule("v13").unwrap().code, "V-013");
/// assert!(sortie_oatf::nearest_rule("unsafe").is_none());
/// ```
pub fn nearest_rule(code: &str) -> Option<&'static Rule> {
    // A number without its zeros is the likeliest slip, and further from the code than other codes are.
    let letters = code.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let padded = format!("{}-{:0>3}", letters.trim_end_matches(['-', '_', ' ']), &code[letters.len()..]);
    rule(&padded).or_else(|| rule(crate::suggest::nearest(code, rules().map(|rule| rule.code))?))
}

/// Lints are for what people write: a larger document is not linted. The longest of the public library has 15 kB,
/// and a thousand keys and values.
const MOST_LINTED: (usize, usize) = (256 * 1024, 5_000);

fn is_linted(document: &Document) -> bool {
    let (bytes, nodes) = MOST_LINTED;
    document.tree().is_none_or(|tree| tree.source().text().len() <= bytes && tree.len() <= nodes)
}

/// Runs the rules of some families. Findings about what could not be read are left out: they were
/// reported when it could not be read.
pub(crate) fn run(document: &Document, unreadable: &[NodePath], families: &[Family]) -> Vec<Diagnostic> {
    let mut report = Report::new(document, unreadable);
    let is_linted = is_linted(document);
    let runs = |rule: &Rule| families.contains(&rule.family) && (rule.family != Family::Lint || is_linted);
    for rule in rules().filter(|rule| runs(rule)) {
        if let Some(check) = rule.check {
            check(document, &mut report);
        }
    }
    report.finish()
}
