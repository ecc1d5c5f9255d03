use sortie_syntax::DiagnosticSeverity::Warning;

use crate::bindings;
use crate::rules::Rule;
use crate::rules::report::Shown;

/// Trigger events are known to the mode of their actor.
pub(crate) const V_029: Rule = Rule {
    code: "V-029",
    spec: "§7",
    title: "triggers wait for events that their actor can see",
    severity: Warning,
    explain: include_str!("v029.md"),
    check: Some(|document, report| {
        document.each_phase(|phase| {
            let event = phase.phase.trigger.as_ref().and_then(|trigger| trigger.event.as_deref());
            let (Some(event), Some(mode)) = (event, phase.mode) else { return };
            if bindings::is_known_event(mode, event) != Some(false) {
                return;
            }
            let path = phase.at.key("trigger");
            let message =
                format!("`{}` is no event that an actor of mode `{}` sees", Shown(event), Shown(mode));
            let mut finding = report.add(&V_029, path.key("event"), message);
            if let Some(meant) = bindings::nearest_event(mode, event) {
                finding = finding
                    .label(format!("did you mean `{meant}`?"))
                    .replace_value(format!("wait for `{meant}`"), meant);
            }
            let elsewhere = |known: &&&str| bindings::is_known_event(known, event) == Some(true);
            if let Some(other) = bindings::known_modes().iter().find(elsewhere) {
                finding = finding
                    .help(format!("it is an event of mode `{other}`; an actor only sees its own traffic"));
            }
            finding
                .help("the phase never ends by an event that never comes; give it `after`, or another event");
        });
    }),
};
