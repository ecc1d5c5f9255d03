use super::{Diagnostic, Rule, error, found};
use crate::load::Loading;
use crate::suites::{Curated, is_derived};
use std::collections::HashMap;

pub(crate) const E_023: Rule = error("E-023", "a suite has an id of its own", include_str!("e023.md"));

/// A suite has an id that is neither another's nor one that follows from a standard.
pub(crate) fn check(loading: &Loading<'_>) -> Vec<(usize, Diagnostic)> {
    let mut findings = Vec::new();
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (at, (_, Curated { suite, .. })) in loading.curated.iter().enumerate() {
        let finding = if is_derived(&suite.id) {
            found(&E_023, format!("`{}` is a suite that follows from `standards`", suite.id))
                .help("call yours something else; it may include that one")
        } else if let Some(earlier) = first.get(suite.id.as_str()) {
            let (other, Curated { suite: earlier, .. }) = &loading.curated[*earlier];
            found(&E_023, format!("two suites have the id `{}`", suite.id))
                .label("second use")
                .help(format!("the other is `{}`", loading.place(*other, Some(earlier.id_at))))
        } else {
            first.insert(&suite.id, at);
            continue;
        };
        findings.push((at, finding.at(suite.id_at)));
    }
    findings
}
