use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::listed;

use crate::model::ActionKind;
use crate::rules::Rule;

/// An action has exactly one key that is not `x-`.
pub(crate) const V_041: Rule = Rule {
    code: "V-041",
    spec: "§11.1.16",
    title: "an action does one thing",
    severity: Error,
    explain: include_str!("v041.md"),
    check: Some(|document, report| {
        document.each_phase(|phase| {
            for (index, action) in phase.phase.on_enter.iter().flatten().enumerate() {
                let ActionKind::Other(keys) = &action.kind else { continue };
                let at = phase.at.key("on_enter");
                let at = at.index(index);
                match keys.len() {
                    1 => {}
                    0 => {
                        report
                            .add(&V_041, at, "this action does nothing")
                            .help("name one action: `send`, `log`, or one that the binding defines");
                    }
                    _ => {
                        // A hostile action may have thousands; a few make the point.
                        let names: Vec<_> = keys.keys().map(String::as_str).take(8).collect();
                        let message = format!("this action does several things: {}", listed(&names));
                        let mut finding = report.add(&V_041, at, message).label("one action");
                        for name in &names[1..] {
                            finding = finding.also_key(&at.key(name).path(), "another");
                        }
                        finding.help("give each an item of its own in `on_enter`; they run in that order");
                    }
                }
            }
        });
    }),
};
