//! What evaluators depend on.

use std::collections::HashSet;

use super::{Diagnostic, Rule, error, found, optionally_at, or_nearest, way};
use crate::catalogue::{MOST_SUGGESTIONS, Unknown};
use crate::depends::cycles;
use crate::limits::MAX_ALL_FINDINGS;
use crate::load::Loading;

pub(super) const E_016: Rule = error("E-016", "every dependency exists", include_str!("e016.md"));

/// Every evaluator depends on evaluators. Of one that is broken, nothing is said.
pub(crate) fn unknown_dependencies(loading: &Loading<'_>, order: &[usize]) -> Vec<(usize, Diagnostic)> {
    let ids = || order.iter().filter_map(|at| loading.drafts[*at].read.id.as_deref());
    let known: HashSet<&str> = ids().collect();
    let mut findings = Vec::new();
    for at in order {
        let draft = &loading.drafts[*at].read;
        let depends_on = draft.evaluator.iter().flat_map(|evaluator| &evaluator.depends_on);
        for (id, span) in depends_on.zip(&draft.places.depends_on) {
            if known.contains(id.as_str()) || loading.broken.evaluators.contains(id) {
                continue;
            }
            let finding = found(&E_016, format!("there is no evaluator `{id}` to depend on")).at(*span);
            let suggests = findings.len() < MOST_SUGGESTIONS;
            let nearest = suggests.then(|| Unknown::new("evaluator", id, ids()).nearest).flatten();
            let help = "name the id of an evaluator, as it is written there";
            let otherwise = "name the id of an evaluator that is loaded too, or remove it";
            findings.push((*at, or_nearest(finding, nearest.as_deref(), help, otherwise)));
            if findings.len() > MAX_ALL_FINDINGS {
                return findings;
            }
        }
    }
    findings
}

pub(super) const E_017: Rule = error("E-017", "dependencies have no cycle", include_str!("e017.md"));

/// No evaluator waits for itself.
pub(crate) fn circular_dependencies(loading: &Loading<'_>, order: &[usize]) -> Vec<(usize, Diagnostic)> {
    let graph: Vec<(&str, &[String])> = order
        .iter()
        .filter_map(|at| loading.drafts[*at].read.evaluator.as_ref())
        .map(|evaluator| (evaluator.id.as_str(), evaluator.depends_on.as_slice()))
        .collect();
    let findings = cycles(&graph).into_iter().map(|cycle| {
        // The graph has the same order, and as many members.
        let at = order[cycle.last];
        let message = format!("these evaluators wait for each other: {}", way(&cycle.ids));
        let finding = found(&E_017, message).help("remove one of these dependencies: nothing can run first");
        let places = &loading.drafts[at].read.places;
        (at, optionally_at(finding, places.depends_on.get(cycle.closes).copied()))
    });
    findings.collect()
}
