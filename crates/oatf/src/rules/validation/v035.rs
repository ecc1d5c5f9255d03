use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;
use crate::rules::walk::ATTACK;

/// `attack.version` is at least 1.
pub(crate) const V_035: Rule = Rule {
    code: "V-035",
    spec: "§4.2",
    title: "versions count from one",
    severity: Error,
    explain: include_str!("v035.md"),
    check: Some(|document, report| {
        if let Some(version) = document.attack.version.filter(|version| *version < 1) {
            report
                .add(
                    &V_035,
                    ATTACK.key("version"),
                    format!("`version` is {version}, and versions count from one"),
                )
                .help("write 1, and add one each time the published document changes")
                .replace_value("start at 1", "1");
        }
    }),
};
