use super::{Diagnostic, Rule, error, found, optionally_at, way};
use crate::depends::cycles;
use crate::load::Loading;

pub(crate) const E_017: Rule = error("E-017", "dependencies have no cycle", include_str!("e017.md"));

/// No evaluator waits for itself.
pub(crate) fn check(loading: &Loading<'_>, order: &[usize]) -> Vec<(usize, Diagnostic)> {
    let graph: Vec<(&str, &[String])> = order
        .iter()
        .filter_map(|at| loading.drafts[*at].evaluator.as_ref())
        .map(|evaluator| (evaluator.id.as_str(), evaluator.depends_on.as_slice()))
        .collect();
    let findings = cycles(&graph).into_iter().map(|cycle| {
        // The graph has the same order, and as many members.
        let at = order[cycle.last];
        let message = format!("these evaluators wait for each other: {}", way(&cycle.ids));
        let finding = found(&E_017, message).help("remove one of these dependencies: nothing can run first");
        (at, optionally_at(finding, loading.drafts[at].places.depends_on.get(cycle.closes).copied()))
    });
    findings.collect()
}
