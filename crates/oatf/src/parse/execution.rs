//! Reads the execution profile.

use indexmap::IndexMap;

use sortie_syntax::yaml::{Entry, Node};
use sortie_syntax::{ExactNumbers, Reader, is_null};

use super::indicator::predicate;
use super::{extension, object, require};
use crate::model::{
    Action, ActionKind, Actor, Execution, Extensions, Extractor, ExtractorSource, ExtractorType, LogAction,
    LogLevel, Phase, SendAction, Trigger, fields,
};

pub(super) fn execution<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Execution {
    let mut execution = Execution::default();
    let extensions = Some(&mut execution.extensions);
    let what = ("a mapping", "an execution");
    object(reader, node, what, fields::EXECUTION, extensions, |reader, field, node| match field {
        "mode" => execution.mode = reader.string(node),
        "state" if is_null(node) => {}
        "state" => {
            let (state, numbers) = reader.value_and_numbers(node);
            execution.state = Some(state);
            execution.state_numbers = numbers;
        }
        "phases" => execution.phases = phases(reader, node),
        "actors" => {
            execution.actors =
                reader.list(node, "a list of actors", |reader, item| Some(actor(reader, item)));
        }
        _ => {}
    });
    execution
}

fn actor<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Actor {
    let mut actor = Actor::default();
    let extensions = Some(&mut actor.extensions);
    let what = ("an actor", "an actor");
    let given = object(reader, node, what, fields::ACTOR, extensions, |reader, field, node| match field {
        "name" => actor.name = reader.string(node).unwrap_or_default(),
        "mode" => actor.mode = reader.string(node).unwrap_or_default(),
        "phases" => actor.phases = phases(reader, node).unwrap_or_default(),
        _ => {}
    });
    let needed = [
        ("name", "other actors refer to this one by its name: `{{name.extractor}}`"),
        ("mode", "for example `mode: mcp_server`"),
        ("phases", "an actor has at least one phase"),
    ];
    require(reader, node, ("V-031", "an actor"), given, &needed);
    actor
}

/// A list of phases.
pub fn phases<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Vec<Phase>> {
    reader.list(node, "a list of phases", |reader, item| Some(phase(reader, item)))
}

fn phase<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Phase {
    let mut phase = Phase::default();
    let extensions = Some(&mut phase.extensions);
    let what = ("a phase", "a phase");
    object(reader, node, what, fields::PHASE, extensions, |reader, field, node| match field {
        "name" => phase.name = reader.string(node),
        "description" => phase.description = reader.string(node),
        "mode" => phase.mode = reader.string(node),
        "state" if is_null(node) => {}
        "state" => {
            let (state, numbers) = reader.value_and_numbers(node);
            phase.state = Some(state);
            phase.state_numbers = numbers;
        }
        "extractors" => {
            phase.extractors =
                reader.list(node, "a list of extractors", |reader, item| Some(extractor(reader, item)));
        }
        "on_enter" => {
            phase.on_enter =
                reader.list(node, "a list of actions", |reader, item| Some(action(reader, item)));
        }
        "trigger" => phase.trigger = trigger(reader, node),
        _ => {}
    });
    phase
}

/// An extractor.
pub fn extractor<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Extractor {
    let mut extractor = Extractor {
        name: String::new(),
        source: ExtractorSource::Request,
        r#type: ExtractorType::JsonPath,
        selector: String::new(),
    };
    let what = ("an extractor", "an extractor");
    let given = object(reader, node, what, fields::EXTRACTOR, None, |reader, field, node| match field {
        "name" => extractor.name = reader.string(node).unwrap_or_default(),
        "source" => {
            let what = "a message to extract from";
            if let Some(source) = reader.variant(node, "V-005", what, ExtractorSource::WORDS) {
                extractor.source = source;
            }
        }
        "type" => {
            let what = "a type of extractor";
            if let Some(kind) = reader.variant(node, "V-005", what, ExtractorType::WORDS) {
                extractor.r#type = kind;
            }
        }
        "selector" => extractor.selector = reader.string(node).unwrap_or_default(),
        _ => {}
    });
    let needed = [
        ("name", "templates use the value as `{{name}}`"),
        ("source", "`request` or `response`"),
        ("type", "`json_path` or `regex`"),
        ("selector", "a JSONPath such as `$.arguments.path`, or a pattern with a group"),
    ];
    require(reader, node, ("P-010", "an extractor"), given, &needed);
    extractor
}

/// A trigger; `None` where it is left empty.
pub fn trigger<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Trigger> {
    if is_null(node) {
        return None;
    }
    let mut trigger = Trigger::default();
    object(
        reader,
        node,
        ("a trigger", "a trigger"),
        fields::TRIGGER,
        None,
        |reader, field, node| match field {
            "event" => trigger.event = reader.string(node),
            "count" => trigger.count = reader.integer(node),
            "match" => trigger.r#match = predicate(reader, node),
            "after" => trigger.after = reader.string(node),
            _ => {}
        },
    );
    Some(trigger)
}

fn action<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Action {
    // What is no mapping keeps its place in the list, so that the others keep theirs.
    let entries = reader.mapping(node, "an action").unwrap_or_default();
    let mut extensions = Extensions::default();
    let mut keys: Vec<Entry> = Vec::new();
    for entry in entries {
        let key = reader.tree().key(*entry);
        if key.starts_with("x-") {
            let after = keys.last().map(|entry| reader.tree().key(*entry));
            extension(reader, *entry, after, &mut extensions);
        } else {
            keys.push(*entry);
        }
    }
    let base = reader.depth();
    let mut numbers = ExactNumbers::default();
    let kind = match keys.as_slice() {
        [entry] if reader.tree().key(*entry) == "send" => {
            reader.under(*entry, |reader, node| send(reader, node, base, &mut numbers))
        }
        [entry] if reader.tree().key(*entry) == "log" => reader.under(*entry, log),
        _ => {
            let mut actions = IndexMap::new();
            for entry in keys {
                let value = reader.under(entry, |reader, node| reader.value_at(node, base, &mut numbers));
                actions.insert(reader.tree().key(entry).to_owned(), value);
            }
            ActionKind::Other(actions)
        }
    };
    Action { kind, extensions, numbers }
}

fn send<'t>(reader: &mut Reader<'t>, node: Node<'t>, base: usize, numbers: &mut ExactNumbers) -> ActionKind {
    let mut send = SendAction::default();
    let what = ("a mapping with `method`", "a `send` action");
    let given = object(reader, node, what, fields::SEND, None, |reader, field, node| match field {
        "method" => send.method = reader.string(node).unwrap_or_default(),
        "params" => send.params = Some(reader.value_at(node, base, numbers)),
        _ => {}
    });
    let needed = [("method", "for example `method: notifications/tools/list_changed`")];
    require(reader, node, ("P-010", "a `send` action"), given, &needed);
    ActionKind::Send(send)
}

fn log<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> ActionKind {
    let mut log = LogAction::default();
    let what = ("a mapping with `message`", "a `log` action");
    let given = object(reader, node, what, fields::LOG, None, |reader, field, node| match field {
        "message" => log.message = reader.string(node).unwrap_or_default(),
        "level" => log.level = reader.variant(node, "V-005", "a log level", LogLevel::WORDS),
        _ => {}
    });
    require(reader, node, ("P-010", "a `log` action"), given, &[("message", "say what to log")]);
    ActionKind::Log(log)
}
