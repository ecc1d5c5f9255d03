//! Every document of the library says what its task is and has a control: the same world without the payload.

use std::collections::BTreeSet;

use serde_json::Value;
use sortie_library::{BundledDocument, documents, servers};
use sortie_oatf::Validated;
use sortie_oatf::extension::Task;
use sortie_oatf::extension::wrap::wrap_name;
use sortie_oatf::model::{Actor, Mode};

/// Attacks that are a way to ask or to answer, and say nothing that could be left out: a header unlike its body, a state that is
/// sent again, a schema that refers to another machine.
const WITHOUT_PAYLOAD: [&str; 6] = ["SRT-081", "SRT-083", "SRT-084", "SRT-085", "SRT-086", "SRT-088"];

/// Every document that has a payload, with its control.
fn controlled() -> impl Iterator<Item = (&'static BundledDocument, Validated, Validated)> {
    loaded().filter_map(|(entry, document)| {
        let control = document.control()?;
        Some((entry, document, control))
    })
}

fn loaded() -> impl Iterator<Item = (&'static BundledDocument, Validated)> {
    documents().iter().map(|entry| (entry, entry.document().expect("a bundled document loads")))
}

fn actors(document: &Validated) -> &[Actor] {
    document.attack.execution.actors.as_deref().expect("a loaded document has actors")
}

fn states(actor: &Actor) -> impl Iterator<Item = &Value> {
    actor.phases.iter().filter_map(|phase| phase.state.as_ref())
}

/// What an agent can ask of an actor, or an actor asks of a server: the names of tools and prompts, the addresses of resources.
fn names(actor: &Actor, surface: &str) -> BTreeSet<String> {
    let (list, key) = match surface {
        "tools/call" => ("tools", "name"),
        "prompts/get" => ("prompts", "name"),
        "resources/read" => ("resources", "uri"),
        other => panic!("`{other}` has no names"),
    };
    let text = |value: &Value| value[key].as_str().map(str::to_owned);
    let offered =
        states(actor).flat_map(|state| state[list].as_array().into_iter().flatten()).filter_map(text);
    let actions = states(actor).flat_map(|state| state["actions"].as_array().into_iter().flatten());
    let asked =
        actions.filter(|action| action["method"] == surface).filter_map(|action| text(&action["params"]));
    offered.chain(asked).collect()
}

/// Whether the real server behind an actor has something of this name: one that was recorded, or a practice server.
fn is_of_real_server(document: &Validated, actor: &Actor, name: &str) -> bool {
    let wrapped = wrap_name(&document.attack.execution, Some(actor));
    let recorded = servers().iter().find(|server| Some(server.name) == wrapped);
    match recorded {
        Some(server) => server.recording.contains(&format!("\"{name}\"")),
        None => wrapped.is_some_and(|wrapped| ["mailbox", "tickets"].contains(&wrapped)),
    }
}

/// The operations by which an agent can do a task, for each mode.
fn surfaces(mode: Mode) -> &'static [&'static str] {
    match mode {
        Mode::McpServer | Mode::McpClient => &["tools/call", "resources/read", "prompts/get"],
        Mode::A2aServer | Mode::A2aClient => &["message/send", "message/stream"],
        Mode::AgUiClient => &["run_finished"],
        other => panic!("no document has the mode {other:?}"),
    }
}

/// Every text in a value.
fn texts<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
        _ => {}
    }
}

fn said(document: &Validated) -> Vec<&str> {
    let mut found = Vec::new();
    actors(document).iter().flat_map(states).for_each(|state| texts(state, &mut found));
    found
}

#[test]
fn every_task_is_one_that_the_world_of_the_document_allows() {
    for (entry, document) in loaded() {
        let Task { actor, surface, name, .. } =
            document.extension().task.as_ref().unwrap_or_else(|| panic!("{} has no task", entry.path));
        let found = actors(&document).iter().find(|own| own.name == *actor);
        let found = found.unwrap_or_else(|| panic!("{}: no actor `{actor}`", entry.path));
        assert!(surfaces(Mode::of(&found.mode)).contains(&surface.as_str()), "{}: {surface}", entry.path);
        if let Some(name) = name {
            let known = names(found, surface);
            let is_known = known.contains(name) || is_of_real_server(&document, found, name);
            assert!(is_known, "{}: `{name}` is none of {known:?}", entry.path);
        }
        let is_named = matches!(Mode::of(&found.mode), Mode::McpServer | Mode::McpClient);
        assert_eq!(name.is_some(), is_named, "{}: a task over MCP names what is called", entry.path);
    }
}

#[test]
fn every_document_with_a_payload_has_a_control() {
    let without = loaded().filter(|(_, document)| document.control().is_none());
    let without: Vec<_> =
        without.map(|(_, document)| document.attack.id.clone().unwrap_or_default()).collect();
    assert_eq!(without, WITHOUT_PAYLOAD);
}

#[test]
fn nothing_of_the_payload_is_left_in_a_control() {
    for (entry, document, control) in controlled() {
        let own = document.extension();
        let payloads = own.delivered.iter().filter_map(|delivery| delivery.contains.as_deref());
        let payloads = payloads.chain(own.control.iter().map(|harmless| harmless.instead_of.as_str()));
        for words in payloads {
            assert!(said(&document).iter().any(|text| text.contains(words)), "{}: {words}", entry.path);
            let left = said(&control).into_iter().find(|text| text.contains(words));
            assert_eq!(left, None, "{}: the control still says {words}", entry.path);
        }
    }
}

/// The words by which the attacks of the library give orders, or name whom they serve.
const ORDERS: [&str; 12] = [
    "you must",
    "must call",
    "must read",
    "call ",
    "before using",
    "append every",
    "always pass",
    "whole conversation",
    "pass its contents",
    "do not tell",
    "attacker-",
    "follow:",
];

#[test]
fn no_control_gives_an_order_or_speaks_of_what_is_planted() {
    let mut checked = 0;
    for (entry, document, control) in controlled() {
        let before = said(&document);
        checked += usize::from(before.iter().any(|text| is_order(text)));
        for text in said(&control) {
            assert!(!is_order(text), "{}: {text}", entry.path);
        }
        // What is said instead is not said by the attack already: else the control changes nothing.
        assert_ne!(before, said(&control), "{}", entry.path);
    }
    assert!(checked > 60, "the words find the orders of {checked} attacks only");
}

fn is_order(text: &str) -> bool {
    let text = text.to_lowercase();
    ORDERS.iter().any(|words| text.contains(words))
}

#[test]
fn a_control_offers_what_the_attack_offers() {
    for (entry, document, control) in controlled() {
        for (actor, same) in actors(&document).iter().zip(actors(&control)) {
            assert_eq!((&actor.name, &actor.mode), (&same.name, &same.mode));
            if Mode::of(&actor.mode) == Mode::McpServer {
                for surface in ["tools/call", "prompts/get", "resources/read"] {
                    assert_eq!(names(actor, surface), names(same, surface), "{}", entry.path);
                }
            }
        }
    }
}
