use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::NodePath;

use crate::rules::Rule;

/// `oatf` is there, and names a supported version.
///
/// A missing `oatf` is found while parsing, under the same code.
pub(crate) const V_001: Rule = Rule {
    code: "V-001",
    spec: "§11.1.1",
    title: "`oatf` names a supported version of the format",
    severity: Error,
    explain: include_str!("v001.md"),
    check: Some(|document, report| {
        if document.oatf == SUPPORTED {
            return;
        }
        let message = match document.oatf.as_str() {
            "" => "`oatf` names no version".to_owned(),
            other => format!("version `{other}` of the format is not supported"),
        };
        let finding = report
            .add(&V_001, NodePath::root().key("oatf"), message)
            .help(format!("this reader knows OATF {SUPPORTED}: write `oatf: \"{SUPPORTED}\"`"));
        if matches!(document.oatf.as_str(), "v0.1" | "0.1.0" | "v0.1.0") {
            finding.replace_value(format!("write `{SUPPORTED}`"), format!("\"{SUPPORTED}\""));
        }
    }),
};

/// The version of the format that this crate implements.
const SUPPORTED: &str = "0.1";
