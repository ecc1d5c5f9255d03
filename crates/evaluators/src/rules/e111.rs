use super::{Diagnostic, Rule, found, warning};
use crate::model::Evaluator;
use crate::parse::Places;
use crate::template::RUNNER_NAMES;
use std::collections::HashSet;

pub(crate) const E_111: Rule =
    warning("E-111", "a check looks for what a template holds", include_str!("e111.md"));

/// Placeholders of checks that no template has: nothing that was said could hold their values.
pub(crate) fn check(evaluator: &Evaluator, places: &Places) -> Vec<Diagnostic> {
    let templates = evaluator.patterns.iter().flat_map(|pattern| pattern.template.placeholders());
    let known: HashSet<&str> = templates.chain(RUNNER_NAMES.iter().copied()).collect();
    let mut findings = Vec::new();
    for (check, at) in evaluator.checks.iter().zip(&places.checks) {
        // One name says enough.
        let unknown = check.test.placeholders().into_iter().find(|name| !known.contains(name.as_str()));
        if let Some(name) = unknown {
            let finding = found(&E_111, format!("no template has `{{{{{name}}}}}`, which this looks for"));
            let help = "use it in a template too, or nothing that was said can hold its value";
            findings.push(finding.at(*at).help(help));
        }
    }
    findings
}
