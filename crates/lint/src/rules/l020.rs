use serde_json::Value;
use sortie_oatf::model::Mode;
use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::Edit;
use sortie_syntax::yaml::{NodeKind, Style};

use super::Rule;
use super::state::items;

/// What an A2A agent answers is a task or a message.
pub(super) const L_020: Rule = Rule {
    code: "L-020",
    spec: "§7.2.4",
    title: "what an A2A agent answers is a task or a message",
    severity: Warning,
    explain: include_str!("l020.md"),
    check: Some(|document, report| {
        for state in
            document.states().into_iter().filter(|state| state.mode.map(Mode::of) == Some(Mode::A2aServer))
        {
            for (entry, path) in items(state.value, &state.path, "task_responses") {
                let path = path.key("content");
                let Some(content) = entry.get("content") else { continue };
                if let Some(Value::String(word)) = content.get("status") {
                    let at = path.clone().key("status");
                    let mut finding = report
                        .add(&L_020, at.clone(), "the `status` of a task is a mapping; clients refuse a text")
                        .label("a text");
                    if content.get("message").is_some() {
                        let said = path.clone().key("message");
                        finding = finding
                            .also(&said, "this belongs to the status")
                            .help(format!("write `status: {{state: {word}, message: ...}}`"));
                    } else {
                        finding = finding.help(format!("write `status: {{state: {word}}}`"));
                        let written =
                            document.tree().and_then(|tree| {
                                let (id, _) = tree.find(&at)?;
                                let node = tree.node(id);
                                let NodeKind::Scalar(
                                    _,
                                    Style::Plain | Style::SingleQuoted | Style::DoubleQuoted,
                                ) = node.kind
                                else {
                                    return None;
                                };
                                let text = tree.source().slice(node.span);
                                Some(Edit { span: node.span, replacement: format!("{{state: {text}}}") })
                            });
                        finding = finding.fix("make the status a mapping", written.into_iter().collect());
                    }
                    let _ = finding;
                }
                for (artifact, path) in items(content, &path, "artifacts") {
                    if artifact.is_object() && artifact.get("parts").is_none() {
                        report
                            .add(
                                &L_020,
                                path,
                                "an artifact has its content in `parts`; clients refuse one without",
                            )
                            .label("no `parts` here")
                            .help("for example `parts: [{kind: text, text: ...}]`, and an `artifactId`");
                    }
                }
            }
        }
    }),
};
