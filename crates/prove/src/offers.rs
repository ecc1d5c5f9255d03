//! Which operations a run of a document can have.

use serde_json::Value;
use sortie_oatf::Validated;
use sortie_oatf::model::{Action, ActionKind, Mode, Phase};

/// Whether an agent that keeps to the protocol can come to an operation when the actors of these modes play the
/// document: an agent does not ask a server for what it says it does not have, and a client asks for what stands in its
/// actions. What is not known is possible.
pub(crate) fn offers(document: &Validated, modes: &[&str], surface: &str) -> bool {
    let actors = document.attack.execution.actors.iter().flatten();
    let mut playing = actors.filter(|actor| modes.contains(&actor.mode.as_str())).peekable();
    if playing.peek().is_none() {
        return true;
    }
    playing.any(|actor| {
        let states: Vec<&Value> = actor.phases.iter().filter_map(|phase| phase.state.as_ref()).collect();
        let of_state = match Mode::of(&actor.mode) {
            Mode::McpServer => mcp_server(&states, surface),
            Mode::McpClient => mcp_client(&states, surface),
            Mode::A2aServer => a2a_server(&states, surface),
            Mode::A2aClient => a2a_client(&states, surface),
            _ => true,
        };
        of_state || actor.phases.iter().any(|phase| sends(phase, surface))
    })
}

/// Whether a phase begins with a message of this operation.
fn sends(phase: &Phase, surface: &str) -> bool {
    let is_it = |action: &Action| matches!(&action.kind, ActionKind::Send(send) if send.method == surface);
    phase.on_enter.iter().flatten().any(is_it)
}

/// Whether a state has anything at a path of keys.
fn has(states: &[&Value], path: &[&str]) -> bool {
    states.iter().any(|state| {
        let at = path.iter().try_fold(*state, |value, key| value.get(key));
        at.is_some_and(|value| *value != Value::Bool(false) && !value.is_null())
    })
}

fn mcp_server(states: &[&Value], surface: &str) -> bool {
    let any = |keys: &[&str]| keys.iter().any(|key| has(states, &[key]));
    match surface {
        "elicitation/create" | "notifications/elicitation/complete" => any(&["elicitations"]),
        // These start with the server, which only does what the document says.
        "sampling/createMessage" | "roots/list" => false,
        "completion/complete" => any(&["prompts", "resource_templates"]),
        "logging/setLevel" | "notifications/message" => has(states, &["capabilities", "logging"]),
        _ => match surface.split('/').next() {
            Some("tools") => any(&["tools"]),
            Some("resources") => any(&["resources", "resource_templates"]),
            Some("prompts") => any(&["prompts"]),
            Some("tasks") => has(states, &["capabilities", "tasks"]),
            _ => true,
        },
    }
}

/// A client asks for what its actions say, and is asked for anything.
fn mcp_client(states: &[&Value], surface: &str) -> bool {
    match surface.split('/').next() {
        Some("tools" | "resources" | "prompts" | "completion" | "logging" | "tasks") => asks(states, surface),
        _ => true,
    }
}

fn a2a_server(states: &[&Value], surface: &str) -> bool {
    let card = |path: &[&str]| has(states, &[&["agent_card"], path].concat());
    match surface {
        "message/stream" | "tasks/resubscribe" | "task/status" | "task/artifact" => {
            card(&["capabilities", "streaming"])
        }
        "agent/getAuthenticatedExtendedCard" => card(&["supportsAuthenticatedExtendedCard"]),
        _ if surface.starts_with("tasks/pushNotificationConfig") => {
            card(&["capabilities", "pushNotifications"])
        }
        _ => true,
    }
}

fn a2a_client(states: &[&Value], surface: &str) -> bool {
    let streams = || asks(states, "message/stream") || asks(states, "tasks/resubscribe");
    match surface {
        "agent_card/get" => true,
        "task/status" | "task/artifact" => streams(),
        surface => asks(states, surface),
    }
}

fn asks(states: &[&Value], method: &str) -> bool {
    let actions = states.iter().filter_map(|state| state.get("actions")).filter_map(Value::as_array);
    actions.flatten().any(|action| action.get("method").and_then(Value::as_str) == Some(method))
}
