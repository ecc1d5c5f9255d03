use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::nearest;

use crate::bindings::{known_modes, known_protocols};
use crate::model::Mode;
use crate::rules::report::NewFinding;
use crate::rules::walk::{ACTORS, EXECUTION, INDICATORS, Trail, is_name};
use crate::rules::{Rule, RuleReport};

/// Modes are `[a-z][a-z0-9_]*_(server|client)`, protocols `[a-z][a-z0-9_]*`.
pub(crate) const V_034: Rule = Rule {
    code: "V-034",
    spec: "§5.1",
    title: "modes and protocols have the form of one",
    severity: Error,
    explain: include_str!("v034.md"),
    check: Some(|document, report| {
        let execution = &document.attack.execution;
        if let Some(mode) = &execution.mode {
            check_mode(report, EXECUTION.key("mode"), mode);
        }
        for (index, actor) in execution.actors.iter().flatten().enumerate() {
            check_mode(report, ACTORS.index(index).key("mode"), &actor.mode);
        }
        document.each_phase(|phase| {
            if let Some(mode) = &phase.phase.mode {
                check_mode(report, phase.at.key("mode"), mode);
            }
        });
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            if let Some(protocol) = indicator.protocol.as_deref().filter(|protocol| !is_name(protocol)) {
                let message = format!("`{protocol}` cannot be a protocol");
                let finding = report.add(&V_034, INDICATORS.index(index).key("protocol"), message).help(
                    "protocols are a small letter, then small letters, digits and `_`: for example `mcp`",
                );
                suggest(finding, protocol, known_protocols());
            }
        }
    }),
};

fn check_mode(report: &mut RuleReport<'_>, at: Trail<'_>, mode: &str) {
    if !Mode::protocol(mode).is_some_and(is_name) {
        let finding = report
            .add(&V_034, at, format!("`{mode}` cannot be a mode"))
            .help("a mode is a protocol and a side, `_server` or `_client`: for example `mcp_server`");
        suggest(finding, mode, known_modes());
    }
}

fn suggest(finding: NewFinding<'_, '_>, written: &str, known: &[&'static str]) {
    if let Some(meant) = nearest(written, known.iter().copied()) {
        finding.label(format!("did you mean `{meant}`?")).replace_value(format!("write `{meant}`"), meant);
    }
}
