//! Every code that can stand in a diagnostic: its check, its words and its examples, in one unit each.
//!
//! A rule is a constant in a file of its own, with a Markdown page beside it. Validation, `sortie explain`,
//! the documentation and the golden tests all read the same page, so they cannot drift apart.

pub mod edits;
mod lint;
mod parsing;
mod places;
mod report;
mod structure;
mod validation;
mod walk;
mod warning;

pub use places::{ActorState, PhaseList, execution_path};
pub use report::{NewFinding, RuleReport};

use sortie_syntax::{Diagnostic, NodePath, nearest};

use crate::model::Document;

/// A rule about documents. One that is found while parsing has no check, nor has one that is not about the text.
pub(crate) type Rule = sortie_syntax::Rule<Option<fn(&Document, &mut RuleReport<'_>)>>;

/// What the specification asks for, and what we ask for where it is silent.
pub(crate) const CONFORMANCE: &[&[&Rule]] = &[validation::RULES, structure::RULES, warning::RULES];
pub(crate) const LINTS: &[&Rule] = lint::RULES;

/// All rules, family by family, each in the order of its codes.
pub fn rules() -> impl Iterator<Item = sortie_syntax::Rule> {
    let families = [parsing::RULES].into_iter().chain(CONFORMANCE.iter().copied()).chain([LINTS]);
    families.flatten().map(|rule| rule.words())
}

/// The rule with this code, in any case (`v-031`).
///
/// The specification lists V-002 among its rules and has it reported as W-001, so both name the latter.
pub fn rule(code: &str) -> Option<sortie_syntax::Rule> {
    let code = if code.eq_ignore_ascii_case("V-002") { "W-001" } else { code };
    rules().find(|rule| rule.code.eq_ignore_ascii_case(code))
}

/// The rule whose code was probably meant (`V31`, `v-13`, `VV-013`).
///
/// ```
/// assert_eq!(sortie_oatf::nearest_rule("v13").unwrap().code, "V-013");
/// assert!(sortie_oatf::nearest_rule("unsafe").is_none());
/// ```
pub fn nearest_rule(code: &str) -> Option<sortie_syntax::Rule> {
    // A number without its zeros is the likeliest slip, and further from the code than other codes are.
    let letters = code.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let padded = format!("{}-{:0>3}", letters.trim_end_matches(['-', '_', ' ']), &code[letters.len()..]);
    rule(&padded).or_else(|| rule(nearest(code, rules().map(|rule| rule.code))?))
}

/// Lints are for what people write: a larger document is not linted. The longest of the public library has 15 kB,
/// and a thousand keys and values.
const MOST_LINTED: (usize, usize) = (256 * 1024, 5_000);

fn is_linted(document: &Document) -> bool {
    let (bytes, nodes) = MOST_LINTED;
    document.tree().is_none_or(|tree| tree.source().text().len() <= bytes && tree.len() <= nodes)
}

/// Runs the lints, unless the document is too large for them.
pub(crate) fn lint(document: &Document) -> Vec<Diagnostic> {
    if is_linted(document) { run(document, &[], &[LINTS]) } else { Vec::new() }
}

/// Runs the rules of some families. Findings about what could not be read are left out: they were
/// reported when it could not be read.
pub(crate) fn run(document: &Document, unreadable: &[NodePath], families: &[&[&Rule]]) -> Vec<Diagnostic> {
    let mut report = RuleReport::new(document, unreadable);
    for check in families.iter().copied().flatten().filter_map(|rule| rule.check) {
        check(document, &mut report);
    }
    report.finish()
}
