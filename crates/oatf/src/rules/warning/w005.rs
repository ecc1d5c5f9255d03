use std::cell::LazyCell;
use std::collections::BTreeSet;

use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::listed;

use crate::bindings::known_protocols;
use crate::model::Mode;
use crate::rules::Rule;
use crate::rules::report::Shown;
use crate::rules::walk::{ACTOR_MODE, INDICATORS};

/// The protocol of an indicator is one that an actor speaks; where it names an actor, that one.
///
/// A protocol that nobody knows is W-003's to report.
pub(crate) const W_005: Rule = Rule {
    code: "W-005",
    spec: "§6.1",
    title: "indicators look at protocols that are spoken",
    severity: Warning,
    explain: include_str!("w005.md"),
    check: Some(|document, report| {
        let modes = document.modes();
        if modes.is_empty() || report.may_lack(ACTOR_MODE) {
            return;
        }
        let spoken: BTreeSet<_> = modes.iter().filter_map(|mode| Mode::protocol(mode)).collect();
        let cast = LazyCell::new(|| document.cast());
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let Some(protocol) = indicator.protocol.as_deref() else { continue };
            if !known_protocols().contains(&protocol) {
                continue;
            }
            let at = INDICATORS.index(index);
            if !spoken.contains(protocol) {
                if report.leaves_out(&W_005) {
                    continue;
                }
                let spoken: Vec<_> =
                    spoken.iter().map(|protocol| Shown(protocol).to_string()).take(8).collect();
                let spoken: Vec<_> = spoken.iter().map(String::as_str).collect();
                report
                    .add(&W_005, at.key("protocol"), format!("no actor speaks `{protocol}`"))
                    .label("nothing to look at")
                    .help(format!("spoken here: {}", listed(&spoken)))
                    .help(
                        "the indicator never matches: look at a protocol that is spoken, or add an \
                           actor that speaks it",
                    );
                continue;
            }
            let Some(actor) = indicator.actor.as_deref() else { continue };
            let mode = cast.get(actor).and_then(|part| part.mode);
            if let Some(mode) = mode.filter(|mode| Mode::protocol(mode) != Some(protocol)) {
                report
                    .add(&W_005, at.key("protocol"), format!("actor `{actor}` does not speak `{protocol}`"))
                    .label("nothing to look at")
                    .also(&at.key("actor").path(), format!("its mode is `{}`", Shown(mode)))
                    .help("the indicator never matches: name an actor that speaks the protocol, or none");
            }
        }
    }),
};
