use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::NodePath;

use crate::bindings::{is_known_surface, known_protocols, nearest_surface};
use crate::model::Mode;
use crate::rules::Rule;

/// A surface is an operation of the indicator's protocol, where we know the protocol.
pub(crate) const V_018: Rule = Rule {
    code: "V-018",
    spec: "§7",
    title: "a surface is an operation of its protocol",
    severity: Warning,
    explain: include_str!("v018.md"),
    check: Some(|document, report| {
        let mode = document.attack.execution.mode.as_deref();
        let of_mode = mode.and_then(Mode::protocol);
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let protocol = indicator.protocol.as_deref().or(of_mode);
            let (Some(surface), Some(protocol)) = (indicator.surface.as_deref(), protocol) else { continue };
            // `None` is a protocol we know nothing about.
            if is_known_surface(protocol, surface) != Some(false) {
                continue;
            }
            let path = NodePath::root().key("attack").key("indicators").index(index).key("surface");
            let finding = report
                .add(&V_018, path, format!("`{surface}` is not an operation of `{protocol}`"))
                .help("an indicator sees only messages of its surface, so this one will see none");
            let elsewhere = |other: &&&str| is_known_surface(other, surface) == Some(true);
            if let Some(meant) = nearest_surface(protocol, surface) {
                finding
                    .label(format!("did you mean `{meant}`?"))
                    .replace_value(format!("write `{meant}`"), meant);
            } else if let Some(other) = known_protocols().iter().find(elsewhere) {
                finding.label(format!("an operation of `{other}`"));
            }
        }
    }),
};
