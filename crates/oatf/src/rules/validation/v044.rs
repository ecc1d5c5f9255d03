use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;
use crate::rules::report::Shown;
use crate::rules::walk::ACTORS;

/// In the multi-actor form, `phase.mode` is `actor.mode`.
pub(crate) const V_044: Rule = Rule {
    code: "V-044",
    spec: "§5.2",
    title: "a phase has the mode of its actor",
    severity: Error,
    explain: include_str!("v044.md"),
    check: Some(|document, report| {
        for (actor_index, actor) in document.attack.execution.actors.iter().flatten().enumerate() {
            for (index, phase) in actor.phases.iter().enumerate() {
                let Some(mode) = phase.mode.as_deref().filter(|mode| *mode != actor.mode) else { continue };
                let at = ACTORS.index(actor_index);
                let own = at.key("mode").path();
                if report.is_unreadable(&own) {
                    continue;
                }
                let phases = at.key("phases");
                let message =
                    format!("this phase is `{}`, and its actor `{}`", Shown(mode), Shown(&actor.mode));
                report
                    .add(&V_044, phases.index(index).key("mode"), message)
                    .also(&own, "the actor's mode")
                    .help(
                        "an actor is one endpoint and keeps its mode: leave `mode` out here, or make \
                           another actor",
                    );
            }
        }
    }),
};
