use std::collections::HashMap;
use std::collections::hash_map::Entry;

use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::NodePath;

use crate::model::Indicator;
use crate::rules::Rule;

/// Indicator ids are unique, those that are generated included.
pub(crate) const V_010: Rule = Rule {
    code: "V-010",
    spec: "§11.1.10",
    title: "indicator ids are unique",
    severity: Error,
    explain: include_str!("v010.md"),
    check: Some(|document, report| {
        let Some(indicators) = &document.attack.indicators else { return };
        let id_path = |index| NodePath::root().key("attack").key("indicators").index(index).key("id");
        let mut first_seen = HashMap::new();
        for (index, indicator) in indicators.iter().enumerate() {
            let Some(id) = indicator.id.as_deref() else { continue };
            match first_seen.entry(id) {
                Entry::Vacant(vacant) => _ = vacant.insert(index),
                Entry::Occupied(first) => {
                    report
                        .add(&V_010, id_path(index), format!("two indicators have the id `{id}`"))
                        .label("second use")
                        .also(&id_path(*first.get()), "first used here")
                        .help("verdicts are reported by id: give each indicator its own, or leave `id` out");
                }
            }
        }
        if first_seen.is_empty() {
            return;
        }
        for (index, indicator) in indicators.iter().enumerate() {
            if indicator.id.is_some() || report.is_unreadable(&id_path(index)) {
                continue;
            }
            let generated = Indicator::generated_id(document.attack.id.as_deref(), index);
            if let Some(taken) = first_seen.get(generated.as_str()) {
                let without_id = NodePath::root().key("attack").key("indicators").index(index);
                let message = format!("`{generated}` is also the id that indicator {} is given", index + 1);
                report
                    .add(&V_010, id_path(*taken), message)
                    .also(&without_id, "has no `id`, so it is numbered by its place")
                    .help("give ids to all indicators, or to none");
            }
        }
    }),
};
