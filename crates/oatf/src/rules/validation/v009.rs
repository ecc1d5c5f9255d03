use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;

/// The first phase of each list has `state`.
pub(crate) const V_009: Rule = Rule {
    code: "V-009",
    spec: "§11.1.7",
    title: "the first phase has a state",
    severity: Error,
    explain: include_str!("v009.md"),
    check: Some(|document, report| {
        for list in document.phase_lists() {
            if list.phases.first().is_some_and(|first| first.state.is_none()) {
                report
                    .add(&V_009, list.path.index(0), "the first phase has no `state`")
                    .label("nothing to serve or send")
                    .help("a phase without `state` keeps that of the phase before it, and before this one is none");
            }
        }
    }),
};
