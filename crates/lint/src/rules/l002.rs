use sortie_expr::path::WildcardPath;
use sortie_oatf::bindings::{Reachability, known_protocols, reachability};
use sortie_oatf::model::{Document, Mode};
use sortie_oatf::rules::RuleReport;
use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::NodePath;

use super::Rule;
use super::payload::{self, Message};
use super::scope::{Scope, scopes};

/// An indicator does not match what the attack itself sends.
pub(super) const L_002: Rule = Rule {
    code: "L-002",
    spec: "§6",
    title: "an indicator does not match by itself",
    severity: Warning,
    explain: include_str!("l002.md"),
    check: Some(|document, report| {
        let mut messages: Option<Vec<Message<'_>>> = None;
        for scope in scopes(document) {
            let (Some(condition), Some((_, target))) = (scope.condition(), scope.target()) else { continue };
            let Ok(path) = WildcardPath::parse(target) else { continue };
            if scope.wants_absence() && scope.surface().is_none() {
                absence_everywhere(document, &scope, target, report);
                continue;
            }
            let Some(check) = report.compile(&condition) else { continue };
            let messages = messages.get_or_insert_with(|| payload::messages(document));
            for message in messages.iter().filter(|message| selects(&scope, message, target)) {
                if !report.can_try(&check, message.weight) {
                    return;
                }
                if message.readings().iter().all(|reading| check.matches_at(&path, reading)) {
                    let place = message.place(&path, |value| check.matches(value));
                    fires_by_itself(&scope, message, &place, report);
                    break;
                }
            }
        }
    }),
};

fn selects(scope: &Scope<'_>, message: &Message<'_>, target: &str) -> bool {
    // Of an answer we know what we asked and nothing else; its root is what L-011 is about.
    let unknown = message.is_request_in_response() && !target.starts_with("_request");
    scope.protocol == Some(message.protocol)
        && scope.surface().is_none_or(|surface| surface == message.surface)
        && scope.side.is_none_or(|side| side == message.side)
        && scope.indicator.actor.as_deref().is_none_or(|actor| actor == message.actor)
        && !unknown
}

fn fires_by_itself(scope: &Scope<'_>, message: &Message<'_>, place: &NodePath, report: &mut RuleReport<'_>) {
    let Message { surface, side, .. } = message;
    let said = if scope.wants_absence() {
        "the attack sends nothing of the kind here"
    } else {
        "the attack itself sends what it looks for"
    };
    let finding = report
        .add(
            &L_002,
            scope.path.clone().key("pattern"),
            format!(
                "this indicator matches the attack's own {} of `{surface}`, whatever the agent does",
                side.as_str()
            ),
        )
        .label("matches by itself")
        .also(place, said);
    // The other side is the agent's; the indicator may have forgotten to say that it means that one.
    let other = side.other();
    let elsewhere = scope.side.is_none() && {
        let target = scope.target().map_or("", |(_, target)| target);
        reachability(message.protocol, Some(surface), Some(other), &scope.modes, target)
            == Reachability::Possible
    };
    if elsewhere && scope.surface().is_some() {
        finding.help(format!("if the agent's side is meant, add `direction: {}`", other.as_str()));
        return;
    }
    finding.help(match scope.modes.first().map(|mode| Mode::of(mode)) {
        Some(Mode::McpServer) => {
            "look at what the agent does with it: `surface: tools/call`, `direction: request`"
        }
        Some(Mode::A2aServer) => {
            "look at what the agent does with it: `surface: message/send`, `direction: request`"
        }
        Some(Mode::AgUiClient) => {
            "look at what the agent answers: `surface: text_message_end`, `target: _text`"
        }
        _ => "look at what the agent answers: `direction: response`",
    });
}

/// Without a surface, the first message of another operation lacks the field.
fn absence_everywhere(document: &Document, scope: &Scope<'_>, target: &str, report: &mut RuleReport<'_>) {
    let Some(protocol) = scope.protocol.filter(|protocol| known_protocols().contains(protocol)) else {
        return;
    };
    // What no message has is for L-001 to say, and what all have is a fair question.
    let possible =
        reachability(protocol, None, scope.side, &document.modes(), target) == Reachability::Possible;
    if possible && !target.is_empty() {
        report
            .add(
                &L_002,
                scope.path.clone().key("pattern"),
                format!(
                    "this indicator matches every message that has no `{target}`, whatever the agent does"
                ),
            )
            .label("matches by itself")
            .help("name the operation it is about with `surface`, and its side with `direction`");
    }
}
