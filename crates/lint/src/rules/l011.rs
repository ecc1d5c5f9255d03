use sortie_oatf::bindings::Side;
use sortie_oatf::model::{Condition, Mode};
use sortie_syntax::DiagnosticSeverity::Warning;

use super::Rule;
use super::scope::{Scope, scopes};

/// A string operator does not search a message that carries our own request.
pub(super) const L_011: Rule = Rule {
    code: "L-011",
    spec: "§4.1",
    title: "a search leaves out the request inside a response",
    severity: Warning,
    explain: include_str!("l011.md"),
    check: Some(|document, report| {
        for scope in scopes(document) {
            let Some((path, "")) = scope.target() else { continue };
            let Some(Condition::Match(operators)) = scope.condition() else { continue };
            let searches = operators.contains.is_some()
                || operators.starts_with.is_some()
                || operators.ends_with.is_some()
                || operators.regex.is_some();
            if !searches || !sees_answers(&scope) {
                continue;
            }
            let example = match scope.protocol {
                Some("a2a") => "artifacts[*].parts[*].text",
                _ => "content[*].text",
            };
            report
                .add(&L_011, path, "this searches the whole response, and our own request is part of it")
                .label("the whole message")
                .help("what a client actor is answered carries what it asked, under `_request`")
                .help(format!("look at the part that the agent writes, such as `{example}`"));
        }
    }),
};

/// Whether it sees what client actors are answered.
fn sees_answers(scope: &Scope<'_>) -> bool {
    let client = |mode: &&str| matches!(Mode::of(mode), Mode::McpClient | Mode::A2aClient);
    // These have no params to carry.
    let bare = matches!(scope.surface(), Some("agent_card/get" | "ping"));
    let started_by_server = scope.surface().is_some_and(|surface| {
        surface.starts_with("notifications/")
            || matches!(surface, "sampling/createMessage" | "elicitation/create" | "roots/list")
    });
    scope.side != Some(Side::Request) && scope.modes.iter().any(client) && !bare && !started_by_server
}
