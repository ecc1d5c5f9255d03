//! Reads the execution profile.

use indexmap::IndexMap;

use super::reader::{Field, Reader, is_null};
use crate::model::{
    Action, ActionKind, Actor, ExactNumbers, Execution, Extensions, Extractor, ExtractorSource,
    ExtractorType, LogAction, LogLevel, Phase, SendAction, Trigger, fields,
};
use crate::yaml::{Entry, Node};

impl<'t> Reader<'t> {
    pub(super) fn execution(&mut self, node: Node<'t>) -> Execution {
        let mut execution = Execution::default();
        let entries = self.mapping(node, "a mapping").unwrap_or_default();
        let mut after = None;
        for entry in entries {
            let field = match self.field(entries, *entry, "an execution", fields::EXECUTION, true) {
                Field::Known(field) => field,
                Field::Extension => {
                    self.extension(*entry, after, &mut execution.extensions);
                    continue;
                }
                Field::Unknown => continue,
            };
            after = Some(field);
            self.under(*entry, |reader, node| match field {
                "mode" => execution.mode = reader.string(node),
                "state" if is_null(node) => {}
                "state" => {
                    let (state, numbers) = reader.value_and_numbers(node);
                    execution.state = Some(state);
                    execution.state_numbers = numbers;
                }
                "phases" => execution.phases = reader.phases(node),
                "actors" => {
                    execution.actors =
                        reader.list(node, "a list of actors", |reader, item| Some(reader.actor(item)));
                }
                _ => {}
            });
        }
        execution
    }

    fn actor(&mut self, node: Node<'t>) -> Actor {
        let mut actor = Actor::default();
        let Some(entries) = self.mapping(node, "an actor") else { return actor };
        let mut given = Vec::new();
        let mut after = None;
        for entry in entries {
            let field = match self.field(entries, *entry, "an actor", fields::ACTOR, true) {
                Field::Known(field) => field,
                Field::Extension => {
                    self.extension(*entry, after, &mut actor.extensions);
                    continue;
                }
                Field::Unknown => continue,
            };
            after = Some(field);
            if self.is_given(*entry) {
                given.push(field);
            }
            self.under(*entry, |reader, node| match field {
                "name" => actor.name = reader.string(node).unwrap_or_default(),
                "mode" => actor.mode = reader.string(node).unwrap_or_default(),
                "phases" => actor.phases = reader.phases(node).unwrap_or_default(),
                _ => {}
            });
        }
        for (field, help) in [
            ("name", "other actors refer to this one by its name: `{{name.extractor}}`"),
            ("mode", "for example `mode: mcp_server`"),
            ("phases", "an actor has at least one phase"),
        ] {
            if !given.contains(&field) {
                self.missing(node, "V-031", "an actor", field, help);
            }
        }
        actor
    }

    pub(crate) fn phases(&mut self, node: Node<'t>) -> Option<Vec<Phase>> {
        self.list(node, "a list of phases", |reader, item| Some(reader.phase(item)))
    }

    fn phase(&mut self, node: Node<'t>) -> Phase {
        let mut phase = Phase::default();
        let entries = self.mapping(node, "a phase").unwrap_or_default();
        let mut after = None;
        for entry in entries {
            let field = match self.field(entries, *entry, "a phase", fields::PHASE, true) {
                Field::Known(field) => field,
                Field::Extension => {
                    self.extension(*entry, after, &mut phase.extensions);
                    continue;
                }
                Field::Unknown => continue,
            };
            after = Some(field);
            self.under(*entry, |reader, node| match field {
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
                    phase.extractors = reader
                        .list(node, "a list of extractors", |reader, item| Some(reader.extractor(item)));
                }
                "on_enter" => {
                    phase.on_enter =
                        reader.list(node, "a list of actions", |reader, item| Some(reader.action(item)));
                }
                "trigger" => phase.trigger = reader.trigger(node),
                _ => {}
            });
        }
        phase
    }

    pub(crate) fn extractor(&mut self, node: Node<'t>) -> Extractor {
        let mut extractor = Extractor {
            name: String::new(),
            source: ExtractorSource::Request,
            r#type: ExtractorType::JsonPath,
            selector: String::new(),
        };
        let Some(entries) = self.mapping(node, "an extractor") else { return extractor };
        let mut given = Vec::new();
        for entry in entries {
            let Field::Known(field) = self.field(entries, *entry, "an extractor", fields::EXTRACTOR, false)
            else {
                continue;
            };
            if self.is_given(*entry) {
                given.push(field);
            }
            self.under(*entry, |reader, node| match field {
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
                self.missing(node, "P-010", "an extractor", field, help);
            }
        }
        extractor
    }

    pub(crate) fn trigger(&mut self, node: Node<'t>) -> Option<Trigger> {
        if is_null(node) {
            return None;
        }
        let mut trigger = Trigger::default();
        let entries = self.mapping(node, "a trigger").unwrap_or_default();
        for entry in entries {
            match self.field(entries, *entry, "a trigger", fields::TRIGGER, false) {
                Field::Known("event") => trigger.event = self.under(*entry, Self::string),
                Field::Known("count") => trigger.count = self.under(*entry, Self::integer),
                Field::Known("match") => trigger.r#match = self.under(*entry, Self::predicate),
                Field::Known("after") => trigger.after = self.under(*entry, Self::string),
                _ => {}
            }
        }
        Some(trigger)
    }

    fn action(&mut self, node: Node<'t>) -> Action {
        // What is no mapping keeps its place in the list, so that the others keep theirs.
        let entries = self.mapping(node, "an action").unwrap_or_default();
        let mut extensions = Extensions::default();
        let mut keys: Vec<Entry> = Vec::new();
        for entry in entries {
            let key = self.tree.key(*entry);
            if key.starts_with("x-") {
                let after = keys.last().map(|entry| self.tree.key(*entry));
                self.extension(*entry, after, &mut extensions);
            } else {
                keys.push(*entry);
            }
        }
        let base = self.depth();
        let mut numbers = ExactNumbers::default();
        let kind = match keys.as_slice() {
            [entry] if self.tree.key(*entry) == "send" => {
                self.under(*entry, |reader, node| reader.send(node, base, &mut numbers))
            }
            [entry] if self.tree.key(*entry) == "log" => self.under(*entry, Self::log),
            _ => {
                let mut actions = IndexMap::new();
                for entry in keys {
                    let value = self.under(entry, |reader, node| reader.value_at(node, base, &mut numbers));
                    actions.insert(self.tree.key(entry).to_owned(), value);
                }
                ActionKind::Other(actions)
            }
        };
        Action { kind, extensions, numbers }
    }

    fn send(&mut self, node: Node<'t>, base: usize, numbers: &mut ExactNumbers) -> ActionKind {
        let mut send = SendAction::default();
        let mut has_method = false;
        let entries = self.mapping(node, "a mapping with `method`");
        for entry in entries.unwrap_or_default() {
            match self.field(entries.unwrap_or_default(), *entry, "a `send` action", fields::SEND, false) {
                Field::Known("method") => {
                    has_method = self.is_given(*entry);
                    send.method = self.under(*entry, Self::string).unwrap_or_default();
                }
                Field::Known("params") => {
                    let params = self.under(*entry, |reader, node| reader.value_at(node, base, numbers));
                    send.params = Some(params);
                }
                _ => {}
            }
        }
        if entries.is_some() && !has_method {
            let help = "for example `method: notifications/tools/list_changed`";
            self.missing(node, "P-010", "a `send` action", "method", help);
        }
        ActionKind::Send(send)
    }

    fn log(&mut self, node: Node<'t>) -> ActionKind {
        let mut log = LogAction::default();
        let mut has_message = false;
        let entries = self.mapping(node, "a mapping with `message`");
        for entry in entries.unwrap_or_default() {
            match self.field(entries.unwrap_or_default(), *entry, "a `log` action", fields::LOG, false) {
                Field::Known("message") => {
                    has_message = self.is_given(*entry);
                    log.message = self.under(*entry, Self::string).unwrap_or_default();
                }
                Field::Known("level") => {
                    log.level = self.under(*entry, |reader, node| {
                        reader.variant(node, "V-005", "a log level", LogLevel::WORDS)
                    });
                }
                _ => {}
            }
        }
        if entries.is_some() && !has_message {
            self.missing(node, "P-010", "a `log` action", "message", "say what to log");
        }
        ActionKind::Log(log)
    }
}
