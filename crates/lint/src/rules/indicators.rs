//! What indicators look at.

use sortie_bindings::{Reachability, Side, known_protocols, reachability};
use sortie_expr::path::WildcardPath;
use sortie_oatf::model::{Condition, Document, Mode};
use sortie_oatf::rules::RuleReport;
use sortie_syntax::NodePath;

use super::Rule;
use super::payload::{self, Message};
use super::scope::{Scope, scopes};

/// An indicator does not match what the attack itself sends.
pub(super) const L_002: Rule = Rule::warning("L-002", "§6", include_str!("l002.md"))
    .titled("an indicator does not match the attack's own messages")
    .check(Some(|document, report| {
        let mut messages: Option<Vec<Message<'_>>> = None;
        for scope in scopes(document) {
            let (Some(condition), Some((_, target))) = (scope.condition(), scope.target()) else { continue };
            let Ok(path) = WildcardPath::parse(target) else { continue };
            if scope.wants_absence() && scope.surface().is_none() {
                absence_everywhere(document, &scope, target, report);
                continue;
            }
            let messages = messages.get_or_insert_with(|| payload::messages(document));
            let mut selected = messages.iter().filter(|message| selects(&scope, message, target)).peekable();
            // Most indicators look at what the agent says, and compiling is the dearest step.
            if selected.peek().is_none() {
                continue;
            }
            let Some(check) = report.compile(&condition) else { continue };
            for message in selected {
                if !report.can_try(&check, message.weight()) {
                    return;
                }
                if message.readings().iter().all(|reading| check.matches_at(&path, reading)) {
                    let place = message.place(&path, |value| check.matches(value));
                    fires_by_itself(&scope, message, &place, report);
                    break;
                }
            }
        }
    }));

fn selects(scope: &Scope<'_>, message: &Message<'_>, target: &str) -> bool {
    // Of an answer we know what we asked and nothing else; its root is what L-011 is about.
    let unknown = message.is_request_in_response() && !target.starts_with("_request");
    // Of a message that a real server says the rest of, nobody knows what it lacks.
    !(message.is_part && scope.wants_absence())
        && message.is_seen_by(scope)
        && scope.indicator.actor.as_deref().is_none_or(|actor| actor == message.actor)
        && !unknown
}

fn fires_by_itself(scope: &Scope<'_>, message: &Message<'_>, place: &NodePath, report: &mut RuleReport<'_>) {
    let Message { protocol, surface, side, .. } = message;
    let said = if scope.wants_absence() {
        "the attack sends no such message here"
    } else {
        "the attack itself sends the text"
    };
    let own = format!("{} of `{surface}`", side.as_str());
    let message = format!("this indicator matches the attack's own {own}, whatever the agent does");
    let finding =
        report.add(scope.path.clone().key("pattern"), message).label("matches by itself").also(place, said);
    // The other side is the agent's; the indicator may have forgotten to say that it means that one.
    let other = side.other();
    let elsewhere = scope.side.is_none() && {
        let target = scope.target().map_or("", |(_, target)| target);
        reachability(protocol, Some(surface), Some(other), &scope.modes, target) == Reachability::Possible
    };
    if elsewhere && scope.surface().is_some() {
        finding.help(format!("if the agent's side is meant, add `direction: {}`", other.as_str()));
        return;
    }
    finding.help(match scope.modes.first().map(|mode| Mode::of(mode)) {
        Some(Mode::McpServer) => {
            "match what the agent does instead: `surface: tools/call`, `direction: request`"
        }
        Some(Mode::A2aServer) => {
            "match what the agent does instead: `surface: message/send`, `direction: request`"
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
        let message =
            format!("this indicator matches every message that has no `{target}`, whatever the agent does");
        report
            .add(scope.path.clone().key("pattern"), message)
            .label("matches by itself")
            .help("name the operation it is about with `surface`, and its side with `direction`");
    }
}

pub(super) const L_008: Rule = Rule::warning("L-008", "§6.4", include_str!("l008.md"))
    .titled("a semantic indicator has two positive and two negative examples")
    .check(Some(|document, report| {
        for (path, indicator) in document.indicators() {
            let Some(semantic) = &indicator.semantic else { continue };
            let path = path.key("semantic");
            let count = |list: &Option<Vec<String>>| list.as_ref().map_or(0, Vec::len);
            let (positive, negative) = match &semantic.examples {
                Some(examples) => (count(&examples.positive), count(&examples.negative)),
                None => (0, 0),
            };
            if positive >= WANTED && negative >= WANTED {
                continue;
            }
            let message = if positive + negative == 0 {
                "this semantic indicator has no examples to calibrate with".to_owned()
            } else {
                format!(
                    "this semantic indicator has {positive} positive and {negative} negative examples, two of each are needed"
                )
            };
            let at = if semantic.examples.is_some() { path.key("examples") } else { path };
            report.add(at, message).help(
                "engines use different scales; examples define what must match and what must not",
            );
        }
    }));

/// How many of each kind.
const WANTED: usize = 2;

pub(super) const L_009: Rule = Rule::warning("L-009", "§6", include_str!("l009.md"))
    .titled("some indicator examines the agent")
    .check(Some(|document, report| {
        let scopes = scopes(document);
        // A document with more of them is not written by hand, and asking costs.
        if scopes.is_empty() || scopes.len() > 200 || !scopes.iter().all(Scope::is_payload_only) {
            return;
        }
        let finding =
            report.add(NodePath::root().key("attack").key("indicators"), "no indicator examines the agent");
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
    }));

/// A string operator does not search a message that carries our own request.
pub(super) const L_011: Rule = Rule::warning("L-011", "§4.1", include_str!("l011.md"))
    .titled("a search does not include the request inside a response")
    .check(Some(|document, report| {
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
                .add(path, "this searches the whole response, which includes the attack's request")
                .label("the whole message")
                .help("a response to a client actor contains its request, under `_request`")
                .help(format!("look at the part that the agent writes, such as `{example}`"));
        }
    }));

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
