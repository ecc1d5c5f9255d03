use crate::bindings::known_protocols;
use crate::diagnostic::DiagnosticSeverity::Warning;
use crate::parse::listed;
use crate::rules::walk::{INDICATORS, protocol_of};
use crate::rules::{Family, Rule};

/// The protocol of an indicator is one that an actor speaks; where it names an actor, that one.
///
/// A protocol that nobody knows is W-003's to report.
pub(crate) const W_005: Rule = Rule {
    code: "W-005",
    spec: "§6.1",
    title: "indicators look at protocols that are spoken",
    severity: Warning,
    family: Family::Warning,
    explain: include_str!("w005.md"),
    check: Some(|document, report| {
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let Some(protocol) = indicator.protocol.as_deref() else { continue };
            if !known_protocols().contains(&protocol) {
                continue;
            }
            let speaks = |mode: &str| protocol_of(mode) == Some(protocol);
            let at = INDICATORS.index(index);
            let modes = document.modes();
            let actors = document.attack.execution.actors.as_deref().unwrap_or_default();
            let named =
                indicator.actor.as_deref().and_then(|name| actors.iter().find(|actor| actor.name == name));
            if !modes.is_empty() && !modes.iter().any(|mode| speaks(mode)) {
                report
                    .add(&W_005, at.key("protocol"), format!("no actor speaks `{protocol}`"))
                    .label("nothing to look at")
                    .help(format!("modes here: {}", listed(&modes)))
                    .help("the indicator never matches: look at a protocol that is spoken, or add an actor that speaks it");
            } else if let Some(actor) = named.filter(|actor| !speaks(&actor.mode)) {
                report
                    .add(
                        &W_005,
                        at.key("protocol"),
                        format!("actor `{}` does not speak `{protocol}`", actor.name),
                    )
                    .label("nothing to look at")
                    .also(&at.key("actor").path(), format!("its mode is `{}`", actor.mode))
                    .help("the indicator never matches: name an actor that speaks the protocol, or none");
            }
        }
    }),
};
