use std::collections::HashMap;
use std::collections::hash_map::Entry;

use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;

/// Phase names are unique within their list. Two actors may use the same ones.
pub(crate) const V_011: Rule = Rule {
    code: "V-011",
    spec: "§11.1.7",
    title: "phase names are unique within their list",
    severity: Error,
    explain: include_str!("v011.md"),
    check: Some(|document, report| {
        for list in document.phase_lists() {
            let name_path = |index| list.path.clone().index(index).key("name");
            let mut first_seen = HashMap::new();
            for (index, phase) in list.phases.iter().enumerate() {
                let Some(name) = phase.name.as_deref() else { continue };
                match first_seen.entry(name) {
                    Entry::Vacant(vacant) => _ = vacant.insert(index),
                    Entry::Occupied(first) => {
                        report
                            .add(&V_011, name_path(index), format!("two phases are called `{name}`"))
                            .label("second use")
                            .also(&name_path(*first.get()), "first used here")
                            .help("a report says by name how far the agent got: give each phase its own");
                    }
                }
            }
        }
    }),
};
