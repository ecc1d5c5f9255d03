//! The events of a sample: what a model was shown and said, and what is around it.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;
use sortie_trace::Direction;
use sortie_trace::time::parse_time;

use super::names::{MESSAGE, MODEL_EVENT, NESTED, OUTPUT, PASSED};
use super::{Reader, Scope, clamp, hash_of};
use sortie_recording::fields::{Fields, list};
use sortie_recording::session::CalledTool;
use sortie_recording::tool_list::ToolList;

impl<'j> Reader<'j> {
    pub(super) fn event(&mut self, raw: &'j RawValue, around: Scope, depth: usize) {
        let Some(mut fields) = Fields::of(raw.get()) else {
            self.session.unknown("an event that is not an object");
            return;
        };
        let kind = fields.text("event").unwrap_or_default();
        let time = fields.text("timestamp");
        let at = time.as_deref().and_then(parse_time);
        if at.is_some() {
            self.late_until(at);
        }
        if let Some(time) = &time {
            self.session.time(time);
        }
        let span = fields.text("span_id");
        let within = span.and_then(|span| self.scopes.get(&span)).copied().unwrap_or_default();
        let step = self.steps.last().copied().unwrap_or_default();
        let scope = Scope {
            is_nested: around.is_nested | within.is_nested | step.is_nested,
            is_scorer: around.is_scorer | within.is_scorer | step.is_scorer,
        };
        match kind.as_str() {
            "span_begin" => self.span(&mut fields),
            "step" => self.step(&mut fields, step),
            "model" | "tool" if scope.is_scorer => {
                self.session.pass(&format!("{kind} event of a scorer"));
            }
            "model" => self.model(&mut fields, scope),
            "tool" => self.tool(&mut fields, at, depth),
            "subtask" => {
                self.session.pass("event subtask");
                self.inner(&mut fields, depth);
            }
            known if PASSED.contains(&known) => _ = self.session.pass(&format!("event {known}")),
            other => _ = self.session.unknown(&format!("event {other}")),
        }
    }

    /// Old logs keep the events of a tool or a subtask in it.
    pub(super) fn inner(&mut self, fields: &mut Fields<'j>, depth: usize) {
        let events = fields.items("events").unwrap_or_default();
        if !events.is_empty() && depth >= NESTED {
            self.session.odd("events within events, too deep to be read");
            return;
        }
        for event in events {
            self.event(event, Scope { is_nested: true, is_scorer: false }, depth + 1);
        }
    }

    pub(super) fn span(&mut self, fields: &mut Fields<'j>) {
        let (Some(id), kind) = (fields.text("id"), fields.text("type")) else { return };
        let parent = fields.text("parent_id").and_then(|parent| self.scopes.get(&parent)).copied();
        let mut scope = parent.unwrap_or_default();
        scope.is_nested |= kind.as_deref() == Some("tool");
        scope.is_scorer |= matches!(kind.as_deref(), Some("scorer" | "scorers"));
        self.scopes.insert(id, scope);
        self.session.pass("event span_begin");
    }

    pub(super) fn step(&mut self, fields: &mut Fields<'j>, around: Scope) {
        let is_scorer = fields.text("type").as_deref() == Some("scorer");
        match fields.text("action").as_deref() {
            Some("begin") if self.steps.len() < 1000 => {
                self.steps.push(Scope { is_scorer: is_scorer | around.is_scorer, ..around });
            }
            Some("end") => _ = self.steps.pop(),
            _ => _ = self.session.odd("a step that neither begins nor ends"),
        }
        self.session.pass("event step");
    }

    pub(super) fn model(&mut self, fields: &mut Fields<'j>, scope: Scope) {
        if let Some(tools) = fields.take("tools") {
            self.tools(tools);
        }
        self.model_input(fields, scope);
        if let Some(time) = fields.text("completed") {
            self.session.time(&time);
        }
        if fields.take("error").is_some_and(|error| error.get() != "null") {
            self.session.odd("a call of the model that failed");
        }
        if fields.get::<bool>("pending") == Some(true) {
            self.session.odd("a call of the model that did not end");
        }
        if let Some(output) = fields.take("output") {
            self.output(output, scope);
        }
        self.session.leave("model event", fields, MODEL_EVENT);
    }

    /// The list of tools, when it is another than that before.
    pub(super) fn tools(&mut self, raw: &'j RawValue) {
        let hash = hash_of(raw.get());
        if self.tools == Some(hash) {
            return;
        }
        self.tools = Some(hash);
        let raw = self.attachments.resolve(raw);
        let Some(infos) = list(&raw) else {
            self.session.unknown("a list of tools that is none");
            return;
        };
        let mut tools = ToolList::default();
        for info in infos {
            let Some(mut fields) = Fields::of(info.get()) else {
                self.session.unknown("a tool that is not an object");
                continue;
            };
            let name = fields.text("name").unwrap_or_default();
            if !tools.add(&name, fields.take("description"), fields.take("parameters")) {
                self.session.odd("tools of more servers than are kept");
            }
            self.session.leave("tool info", &fields, &["options"]);
        }
        tools.put(&mut self.session);
    }

    pub(super) fn shows_mcp(&mut self) {
        self.session.shows("mcp", "tools/call", Direction::Request);
        self.session.shows("mcp", "tools/call", Direction::Response);
    }

    /// What the model was given: the messages of the user that it was not given before.
    pub(super) fn model_input(&mut self, fields: &mut Fields<'j>, scope: Scope) {
        let inline = fields.items("input").unwrap_or_default();
        let mut times = HashMap::new();
        for message in inline {
            let hash = hash_of(message.get());
            let now: &mut u64 = times.entry(hash).or_default();
            *now += 1;
            if *now > self.said.get(&hash).copied().unwrap_or_default() {
                self.said.insert(hash, *now);
                self.given(message, scope);
            }
        }
        let Some(refs) = fields.get::<Option<Vec<(u64, u64)>>>("input_refs").flatten() else { return };
        let mut is_outside = false;
        for (start, end) in refs {
            is_outside |= end > self.pool.len() as u64;
            let range = clamp(start, self.pool.len())..clamp(end, self.pool.len());
            self.work = self.work.saturating_sub(range.len() as u64);
            if self.work == 0 {
                self.session.odd("more references to messages than are followed");
                return;
            }
            for index in range {
                if !std::mem::replace(&mut self.pooled[index], true) {
                    self.given(self.pool[index], scope);
                }
            }
        }
        if is_outside {
            self.session.odd("references to messages that are not there");
        }
    }

    /// A message that the model was given for the first time.
    pub(super) fn given(&mut self, message: &'j RawValue, scope: Scope) {
        let Some(mut fields) = Fields::of(message.get()) else {
            self.session.unknown("a message that is not an object");
            return;
        };
        match fields.text("role").as_deref() {
            Some("user") if scope.is_nested => {
                self.session.pass("message of the user in a conversation with a tool");
            }
            Some("user") => {
                let text = self.text(&mut fields);
                self.session.prompt(&text);
                self.session.leave("message", &fields, MESSAGE);
            }
            Some("tool") => self.tool_message(&mut fields),
            // The model's own words are there as its output.
            Some("system" | "assistant") => {}
            other => _ = self.session.unknown(&format!("message of {}", other.unwrap_or("nobody"))),
        }
    }

    pub(super) fn output(&mut self, output: &'j RawValue, scope: Scope) {
        let Some(mut fields) = Fields::of(output.get()) else {
            self.session.unknown("an output that is not an object");
            return;
        };
        let choices = fields.items("choices").unwrap_or_default();
        if choices.len() > 1 {
            self.session.odd("more than one choice of the model");
        }
        if let Some(mut choice) = choices.first().and_then(|choice| Fields::of(choice.get())) {
            if matches!(choice.text("stop_reason").as_deref(), Some("max_tokens" | "model_length")) {
                self.session.odd("an answer that is cut at a limit");
            }
            if let Some(mut message) = choice.object("message") {
                self.assistant(&mut message, scope, false);
            }
            self.session.leave("choice", &choice, &["logprobs", "prompt_logprobs", "stop_details"]);
        }
        self.session.leave("output", &fields, OUTPUT);
    }

    /// What the model says: to its user, unless its user is a tool; and the calls that no event has.
    pub(super) fn assistant(&mut self, fields: &mut Fields<'j>, scope: Scope, is_known: bool) {
        fields.take("role");
        if is_known {
            fields.take("content");
        } else {
            let text = self.text(fields);
            if scope.is_nested {
                self.session.pass("answer in a conversation with a tool");
            } else {
                self.session.answer(&text);
            }
        }
        for call in fields.items("tool_calls").unwrap_or_default() {
            let Some(mut call) = Fields::of(call.get()) else {
                self.session.unknown("a call that is not an object");
                continue;
            };
            let Some(id) = call.text("id") else {
                self.session.odd("a call without an id");
                continue;
            };
            let arguments = call.take("arguments").unwrap_or(RawValue::NULL);
            let hash = self.hash_of_json(arguments);
            if is_known && self.asked.get(&id).is_some_and(|asked| *asked != hash) {
                self.session.odd("a call that the conversation has otherwise");
            }
            if !is_known {
                self.asked.insert(id.clone(), hash);
            }
            if self.executed.contains(&id) || self.seen.contains(&id) || self.prefilled.contains(&id) {
                continue;
            }
            self.session.odd(if is_known {
                "a call that only the conversation has"
            } else {
                "a call that the model asked for, without an event of the tool"
            });
            let name = call.text("function").unwrap_or_default();
            self.session.leave("call", &call, &["parse_error", "view", "type"]);
            self.call(&id, &CalledTool::named(&name), arguments);
        }
        self.session.leave("message", fields, MESSAGE);
    }

    /// What a value is known by, however it is written.
    pub(super) fn hash_of_json(&mut self, raw: &RawValue) -> u64 {
        let raw = self.attachments.resolve(raw);
        let value = serde_json::from_str::<Value>(raw.get());
        value.map_or_else(|_| hash_of(raw.get()), |value| hash_of(&value.to_string()))
    }
}
