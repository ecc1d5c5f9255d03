//! Curated suites.

use std::collections::HashMap;

use super::{Diagnostic, Rule, error, findings, found, or_nearest, way};
use crate::load::Loading;
use crate::parse::{Include, IncludeKind};
use crate::suites::{Curated, is_derived};

pub(super) const E_023: Rule = error("E-023", "ids of suites are unique", include_str!("e023.md"));
pub(super) const E_024: Rule = error("E-024", "every entry of a suite exists", include_str!("e024.md"));
pub(super) const E_025: Rule = error("E-025", "a suite is not empty", include_str!("e025.md"));
pub(super) const E_026: Rule = error("E-026", "a suite does not include itself", include_str!("e026.md"));

findings! {
    E_024 several(): "each item includes one thing",
        help "write an item for each: `- evaluator: a` and `- tag: b`";
    E_025 includes_nothing(): "the suite is empty",
        help "add an evaluator, document, suite or tag to `include`: every target would pass an empty suite";
    E_025 holds_nothing(id: &str): "suite `{id}` is empty",
        help "include something else: every target would pass an empty suite";
    E_026 cycle(ids: &[String]): "these suites include each other: {}" = way(ids),
        help "remove one of these: a suite cannot be a part of itself";
}

/// A suite has an id that is neither another's nor one that follows from a standard.
pub(crate) fn duplicate_suites(loading: &Loading<'_>) -> Vec<(usize, Diagnostic)> {
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

pub(crate) fn unknown(include: &Include, nearest: Option<&str>) -> Diagnostic {
    let message = match include.kind {
        IncludeKind::Tag => format!("nothing has the tag `{}`", include.name),
        kind => format!("there is no {kind} `{}`", include.name),
    };
    let finding = found(&E_024, message).at(include.span);
    let help = "an entry that does not exist would be ignored";
    or_nearest(finding, nearest, help, "name something that is loaded too, or remove it")
}
