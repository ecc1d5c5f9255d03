use super::{Diagnostic, Rule, error, found, optionally_at};
use crate::load::Loading;
use std::collections::HashMap;

pub(crate) const E_002: Rule = error("E-002", "an id is used once", include_str!("e002.md"));

/// Of two evaluators with the same id, the second is reported.
pub(crate) fn check(loading: &Loading<'_>) -> Vec<(usize, Diagnostic)> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    let mut findings = Vec::new();
    for (at, draft) in loading.drafts.iter().enumerate() {
        let Some(id) = &draft.id else { continue };
        let Some(earlier) = first.get(id.as_str()).map(|earlier| &loading.drafts[*earlier]) else {
            first.insert(id, at);
            continue;
        };
        let finding = found(&E_002, format!("two evaluators have the id `{id}`"))
            .label("second use")
            .help(format!("the other is `{}`", loading.place(earlier.file, earlier.places.id)))
            .help("ids are unique over `agent/`, `mcp/` and all folders that are loaded together");
        findings.push((at, optionally_at(finding, draft.places.id)));
    }
    findings
}
