use sortie_oatf::model::Mode;
use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::NodePath;

use super::Rule;
use super::scope::{Scope, scopes};

/// Some indicator looks at what the agent does.
pub(super) const L_009: Rule = Rule {
    code: "L-009",
    spec: "§6",
    title: "some indicator looks at what the agent does",
    severity: Warning,
    explain: include_str!("l009.md"),
    check: Some(|document, report| {
        let scopes = scopes(document);
        // A document with more of them is not written by hand, and asking costs.
        if scopes.is_empty() || scopes.len() > 200 || !scopes.iter().all(Scope::is_payload_only) {
            return;
        }
        let finding = report.add(
            &L_009,
            NodePath::root().key("attack").key("indicators"),
            "no indicator looks at what the agent does",
        );
        let mut finding = finding.label(match scopes.len() {
            1 => "it sees the attack's own messages only".to_owned(),
            count => format!("all {count} see the attack's own messages only"),
        });
        if let [only] = scopes.as_slice() {
            finding = finding.also(&only.path.clone().key("target"), "in what the attack sends");
        }
        finding.help(match scopes[0].modes.first().map(|mode| Mode::of(mode)) {
            Some(Mode::McpServer) => "add one for what the agent does next: the `request` of `tools/call`",
            Some(Mode::A2aServer) => "add one for what the agent does next: the `request` of `message/send`",
            Some(Mode::AgUiClient) => {
                "add one for what the agent says or calls: `text_message_end`, `tool_call_end`"
            }
            _ => "add one for what the agent answers: `direction: response`",
        });
    }),
};
