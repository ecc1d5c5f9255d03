use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::listed;

use crate::rules::Rule;

/// A trigger has `count` and `match` only together with `event`.
pub(crate) const V_019: Rule = Rule {
    code: "V-019",
    spec: "§5.3",
    title: "`count` and `match` need an event",
    severity: Error,
    explain: include_str!("v019.md"),
    check: Some(|document, report| {
        for list in document.phase_lists() {
            for (index, phase) in list.phases.iter().enumerate() {
                let Some(trigger) = &phase.trigger else { continue };
                let given = [("count", trigger.count.is_some()), ("match", trigger.r#match.is_some())];
                if trigger.event.is_some() || !given.iter().any(|(_, is_given)| *is_given) {
                    continue;
                }
                let path = list.path.clone().index(index).key("trigger");
                if report.is_unreadable(&path.clone().key("event")) {
                    continue;
                }
                let keys: Vec<_> = given.iter().filter_map(|(key, given)| given.then_some(*key)).collect();
                let mut finding = report
                    .add(&V_019, path.clone(), format!("the trigger has {} and no `event`", listed(&keys)))
                    .help("name the event to wait for, such as `event: tools/call`");
                for key in keys {
                    let text = if key == "count" { "counts nothing" } else { "matches nothing" };
                    finding = finding.also(&path.clone().key(key), text);
                }
            }
        }
    }),
};
