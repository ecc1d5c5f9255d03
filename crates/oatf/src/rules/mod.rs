//! Every code that can stand in a diagnostic: its check, its words and its examples, in one unit each.
//!
//! A rule is a constant in the file of its topic, with a Markdown page of its own beside it. Validation, `sortie explain`,
//! the documentation and the golden tests all read the same page, so they cannot drift apart.

pub mod edits;
mod parsing;
mod places;
mod report;
mod structure;
mod validation;
mod walk;
mod warning;

pub use places::{PhaseList, PlacedState, execution_path};
pub use report::{NewFinding, RuleReport};
pub use walk::PhaseScope;
pub(crate) use walk::is_name;

use sortie_syntax::{Diagnostic, NodePath};

use crate::model::Document;

/// A rule about documents. One that is found while parsing has no check, nor has one that is not about the text.
pub(crate) type Rule = sortie_syntax::Rule<Option<fn(&Document, &mut RuleReport<'_>)>>;

/// What the specification asks for, and what we ask for where it is silent.
pub(crate) const CONFORMANCE: &[&[&Rule]] = &[validation::RULES, structure::RULES, warning::RULES];

/// All rules of the format, family by family, each in the order of its codes.
pub fn rules() -> impl Iterator<Item = sortie_syntax::Rule> {
    let families = [parsing::RULES].into_iter().chain(CONFORMANCE.iter().copied());
    families.flatten().map(|rule| rule.words())
}

/// The rule with this code, in any case (`v-031`).
///
/// The specification lists V-002 among its rules and has it reported as W-001, so both name the latter.
pub fn rule(code: &str) -> Option<sortie_syntax::Rule> {
    let code = if code.eq_ignore_ascii_case("V-002") { "W-001" } else { code };
    rules().find(|rule| rule.code.eq_ignore_ascii_case(code))
}

/// Runs the rules of some families. Findings about what could not be read are left out: they were
/// reported when it could not be read.
pub fn run(document: &Document, unreadable: &[NodePath], families: &[&[&Rule]]) -> Vec<Diagnostic> {
    let mut report = RuleReport::new(document, unreadable);
    for rule in families.iter().copied().flatten() {
        report.begin(rule);
        rule.check.inspect(|check| check(document, &mut report));
    }
    report.finish()
}
