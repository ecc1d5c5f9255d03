//! Reads the execution profile.

use indexmap::IndexMap;

use sortie_syntax::yaml::{Entry, Node};
use sortie_syntax::{ExactNumbers, Field, Reader, is_null};

use super::extension;
use super::indicator::predicate;
use crate::model::{
    Action, ActionKind, Actor, Execution, Extensions, Extractor, ExtractorSource, ExtractorType, LogAction,
    LogLevel, Phase, SendAction, Trigger, fields,
};

pub(super) fn execution<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Execution {
    let mut execution = Execution::default();
    let entries = reader.mapping(node, "a mapping").unwrap_or_default();
    let mut after = None;
    for entry in entries {
        let field = match reader.field(entries, *entry, "an execution", fields::EXECUTION, true) {
            Field::Known(field) => field,
            Field::Extension => {
                extension(reader, *entry, after, &mut execution.extensions);
                continue;
            }
            Field::Unknown => continue,
        };
        after = Some(field);
        reader.under(*entry, |reader, node| match field {
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
    }
    execution
}

fn actor<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Actor {
    let mut actor = Actor::default();
    let Some(entries) = reader.mapping(node, "an actor") else { return actor };
    let mut given = Vec::new();
    let mut after = None;
    for entry in entries {
        let field = match reader.field(entries, *entry, "an actor", fields::ACTOR, true) {
            Field::Known(field) => field,
            Field::Extension => {
                extension(reader, *entry, after, &mut actor.extensions);
                continue;
            }
            Field::Unknown => continue,
        };
        after = Some(field);
        if reader.is_given(*entry) {
            given.push(field);
        }
        reader.under(*entry, |reader, node| match field {
            "name" => actor.name = reader.string(node).unwrap_or_default(),
            "mode" => actor.mode = reader.string(node).unwrap_or_default(),
            "phases" => actor.phases = phases(reader, node).unwrap_or_default(),
            _ => {}
        });
    }
    for (field, help) in [
        ("name", "other actors refer to this one by its name: `{{name.extractor}}`"),
        ("mode", "for example `mode: mcp_server`"),
        ("phases", "an actor has at least one phase"),
    ] {
        if !given.contains(&field) {
            reader.missing(node, "V-031", "an actor", field, help);
        }
    }
    actor
}

/// A list of phases.
pub fn phases<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Vec<Phase>> {
    reader.list(node, "a list of phases", |reader, item| Some(phase(reader, item)))
}

fn phase<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Phase {
    let mut phase = Phase::default();
    let entries = reader.mapping(node, "a phase").unwrap_or_default();
    let mut after = None;
    for entry in entries {
        let field = match reader.field(entries, *entry, "a phase", fields::PHASE, true) {
            Field::Known(field) => field,
            Field::Extension => {
                extension(reader, *entry, after, &mut phase.extensions);
                continue;
            }
            Field::Unknown => continue,
        };
        after = Some(field);
        reader.under(*entry, |reader, node| match field {
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
    }
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
    let Some(entries) = reader.mapping(node, "an extractor") else { return extractor };
    let mut given = Vec::new();
    for entry in entries {
        let Field::Known(field) = reader.field(entries, *entry, "an extractor", fields::EXTRACTOR, false)
        else {
            continue;
        };
        if reader.is_given(*entry) {
            given.push(field);
        }
        reader.under(*entry, |reader, node| match field {
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
    }
    for (field, help) in [
        ("name", "templates use the value as `{{name}}`"),
        ("source", "`request` or `response`"),
        ("type", "`json_path` or `regex`"),
        ("selector", "a JSONPath such as `$.arguments.path`, or a pattern with a group"),
    ] {
        if !given.contains(&field) {
            reader.missing(node, "P-010", "an extractor", field, help);
        }
    }
    extractor
}

/// A trigger; `None` where it is left empty.
pub fn trigger<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Trigger> {
    if is_null(node) {
        return None;
    }
    let mut trigger = Trigger::default();
    let entries = reader.mapping(node, "a trigger").unwrap_or_default();
    for entry in entries {
        match reader.field(entries, *entry, "a trigger", fields::TRIGGER, false) {
            Field::Known("event") => trigger.event = reader.under(*entry, Reader::string),
            Field::Known("count") => trigger.count = reader.under(*entry, Reader::integer),
            Field::Known("match") => trigger.r#match = reader.under(*entry, predicate),
            Field::Known("after") => trigger.after = reader.under(*entry, Reader::string),
            _ => {}
        }
    }
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
    let mut has_method = false;
    let entries = reader.mapping(node, "a mapping with `method`");
    for entry in entries.unwrap_or_default() {
        match reader.field(entries.unwrap_or_default(), *entry, "a `send` action", fields::SEND, false) {
            Field::Known("method") => {
                has_method = reader.is_given(*entry);
                send.method = reader.under(*entry, Reader::string).unwrap_or_default();
            }
            Field::Known("params") => {
                let params = reader.under(*entry, |reader, node| reader.value_at(node, base, numbers));
                send.params = Some(params);
            }
            _ => {}
        }
    }
    if entries.is_some() && !has_method {
        let help = "for example `method: notifications/tools/list_changed`";
        reader.missing(node, "P-010", "a `send` action", "method", help);
    }
    ActionKind::Send(send)
}

fn log<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> ActionKind {
    let mut log = LogAction::default();
    let mut has_message = false;
    let entries = reader.mapping(node, "a mapping with `message`");
    for entry in entries.unwrap_or_default() {
        match reader.field(entries.unwrap_or_default(), *entry, "a `log` action", fields::LOG, false) {
            Field::Known("message") => {
                has_message = reader.is_given(*entry);
                log.message = reader.under(*entry, Reader::string).unwrap_or_default();
            }
            Field::Known("level") => {
                log.level = reader.under(*entry, |reader, node| {
                    reader.variant(node, "V-005", "a log level", LogLevel::WORDS)
                });
            }
            _ => {}
        }
    }
    if entries.is_some() && !has_message {
        reader.missing(node, "P-010", "a `log` action", "message", "say what to log");
    }
    ActionKind::Log(log)
}
