use sortie_syntax::DiagnosticSeverity::Error;

use crate::model::Trigger;
use crate::rules::Rule;

/// A trigger has `event` or `after`.
///
/// One that has `count` or `match` and no `event` is told so by V-019.
pub(crate) const V_040: Rule = Rule {
    code: "V-040",
    spec: "§5.3",
    title: "a trigger waits for something",
    severity: Error,
    explain: include_str!("v040.md"),
    check: Some(|document, report| {
        document.each_phase(|phase| {
            if phase.phase.trigger.as_ref().is_some_and(|trigger| *trigger == Trigger::default()) {
                let path = phase.at.key("trigger").path();
                if !report.is_damaged(path.clone()) {
                    report
                        .add(&V_040, path, "this trigger waits for nothing")
                        .help("say what ends the phase: an `event`, or a time with `after`")
                        .help("a phase that never ends has no `trigger` at all");
                }
            }
        });
    }),
};
