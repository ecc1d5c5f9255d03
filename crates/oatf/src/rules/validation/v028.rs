use sortie_syntax::DiagnosticSeverity::Error;

use crate::model::{Document, Mode, Phase};
use crate::rules::walk::{EXECUTION, INDICATORS, is_name};
use crate::rules::{Rule, RuleReport};

/// Without `execution.mode`: phases of the multi-phase form have one and the same mode, and indicators have a
/// protocol.
///
/// One mistake is reported once: a missing mode that V-030 reports, or that could not be read, is not looked
/// for again in every phase and indicator.
pub(crate) const V_028: Rule = Rule {
    code: "V-028",
    spec: "§5.1",
    title: "without a mode for all, each says its own",
    severity: Error,
    explain: include_str!("v028.md"),
    check: Some(|document, report| {
        let execution = &document.attack.execution;
        if execution.mode.is_some() || report.is_unreadable(&EXECUTION.key("mode").path()) {
            return;
        }
        // V-030 says that `state` needs `mode`, and that one of the three forms must be there.
        if execution.state.is_some() || (execution.phases.is_none() && execution.actors.is_none()) {
            return;
        }
        if let (Some(phases), None) = (&execution.phases, &execution.actors) {
            check_phases(phases, report);
            if !phases.is_empty() && phases.iter().all(|phase| phase.mode.is_none()) {
                return; // a mode for all is missing, and would give indicators their protocol
            }
        }
        let protocol = protocol_of_all(document);
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            if indicator.protocol.is_none() {
                let at = INDICATORS.index(index);
                let finding = report
                    .add(&V_028, at.key("protocol"), "this indicator does not say which protocol it looks at")
                    .label("no `protocol` here")
                    .help("`execution` has no `mode` to take it from: add `protocol` to the indicator");
                if let Some(protocol) = protocol {
                    finding.insert_field(&at.path(), "protocol", protocol);
                }
            }
        }
    }),
};

fn check_phases(phases: &[Phase], report: &mut RuleReport<'_>) {
    let path = EXECUTION.key("phases");
    if report.may_lack(&["attack", "execution", "phases", "*", "mode"]) {
        return;
    }
    let first = phases.iter().position(|phase| phase.mode.is_some());
    for (index, phase) in phases.iter().enumerate() {
        if phase.mode.is_some() {
            continue;
        }
        let finding = report.add(&V_028, path.index(index).key("mode"), "this phase has no mode");
        let Some(first) = first else {
            finding
                .label("no `mode` here, nor in any other phase, nor on `execution`")
                .help("write it once, on `execution`: for example `mode: mcp_server`");
            return;
        };
        finding
            .label("no `mode` here")
            .also(&path.index(first).key("mode").path(), "this phase has its own")
            .help("write `mode` once, on `execution`: all phases inherit it");
    }
    let Some(first) = first else { return };
    let other = |phase: &Phase| phase.mode.is_some() && phase.mode != phases[first].mode;
    if let Some(second) = phases.iter().position(other) {
        report
            .add(&V_028, path, "the phases have different modes")
            .also(&path.index(first).key("mode").path(), "this one")
            .also(&path.index(second).key("mode").path(), "and another")
            .help(
                "phases of one list are one endpoint: give the other endpoint an actor of its own, \
                   under `actors`",
            );
    }
}

/// The protocol, if the whole document speaks only one.
fn protocol_of_all(document: &Document) -> Option<&str> {
    let mut protocols = document.modes().into_iter().map(Mode::protocol);
    let first = protocols.next()??;
    protocols.all(|protocol| protocol == Some(first)).then_some(first).filter(|protocol| is_name(protocol))
}
