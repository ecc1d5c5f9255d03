use super::{Diagnostic, Rule, error, found};
use crate::catalogue::{MOST_SUGGESTIONS, Unknown};
use crate::limits::MAX_ALL_FINDINGS;
use crate::load::Loading;
use std::collections::HashSet;

pub(crate) const E_016: Rule = error("E-016", "a dependency is an evaluator", include_str!("e016.md"));

/// Every evaluator depends on evaluators. Of one that is broken, nothing is said.
pub(crate) fn check(loading: &Loading<'_>, order: &[usize]) -> Vec<(usize, Diagnostic)> {
    let ids = || order.iter().filter_map(|at| loading.drafts[*at].id.as_deref());
    let known: HashSet<&str> = ids().collect();
    let mut findings = Vec::new();
    for at in order {
        let draft = &loading.drafts[*at];
        let depends_on = draft.evaluator.iter().flat_map(|evaluator| &evaluator.depends_on);
        for (id, span) in depends_on.zip(&draft.places.depends_on) {
            if known.contains(id.as_str()) || loading.broken.evaluators.contains(id) {
                continue;
            }
            let finding = found(&E_016, format!("there is no evaluator `{id}` to depend on")).at(*span);
            let suggests = findings.len() < MOST_SUGGESTIONS;
            let finding = match suggests.then(|| Unknown::new("evaluator", id, ids()).nearest).flatten() {
                Some(meant) => finding
                    .label(format!("did you mean `{meant}`?"))
                    .help("name the id of an evaluator, as it is written there"),
                None => finding.help("name the id of an evaluator that is loaded too, or remove it"),
            };
            findings.push((*at, finding));
            if findings.len() > MAX_ALL_FINDINGS {
                return findings;
            }
        }
    }
    findings
}
