//! The calls of a sample, and what came of them.

use std::time::SystemTime;

use serde_json::json;
use serde_json::value::RawValue;
use sortie_trace::time::parse_time;

use super::names::TOOL_EVENT;
use super::{LateResult, Reader, ToolEnd, as_blocks, hash_of};
use sortie_recording::fields::{Fields, list, unquoted};
use sortie_recording::session::CalledTool;

impl<'j> Reader<'j> {
    pub(super) fn call(&mut self, id: &str, tool: &CalledTool, arguments: &RawValue) {
        if matches!(tool, CalledTool::Mcp { .. }) {
            self.shows_mcp();
        }
        let arguments = self.attachments.resolve(arguments);
        self.session.call(id, tool, &arguments);
        self.seen.insert(id.to_owned());
    }

    pub(super) fn tool(&mut self, fields: &mut Fields<'j>, at: Option<SystemTime>, depth: usize) {
        let id = fields.text("id").unwrap_or_default();
        let function = fields.text("function").unwrap_or_default();
        let arguments = fields.take("arguments").unwrap_or(RawValue::NULL);
        let bridge = fields.object("metadata").and_then(|mut metadata| metadata.object("bridge"));
        let mut bridge = bridge.unwrap_or_default();
        let proposal = bridge.text("proposal_id");
        let asked = self.asked.get(&id).or_else(|| self.asked.get(&proposal?)).copied();
        match asked {
            Some(asked) if asked != self.hash_of_json(arguments) => {
                self.session.odd("a call with other arguments than the model asked for");
            }
            Some(_) => {}
            None => _ = self.session.odd("a call that no event of the model asked for"),
        }
        let tool = match (bridge.text("server"), bridge.text("tool")) {
            (Some(server), name) => CalledTool::Mcp { server, name: name.unwrap_or(function) },
            _ => CalledTool::named(&function),
        };
        let is_again = !self.seen.insert(id.clone());
        if is_again && self.session.waits_for(&id) {
            self.session.odd("two events of one call");
        }
        self.call(&id, &tool, arguments);
        let truncated = fields.take("truncated").is_some_and(|raw| raw.get() != "null");
        self.truncated += u64::from(truncated);
        let event = ToolEnd { result: fields.take("result"), error: fields.take("error") };
        if let Some(result) = event.result.filter(|_| !truncated) {
            let result = self.attachments.resolve(result);
            if let Ok(text) = serde_json::from_str::<String>(result.get()) {
                self.results.insert(id.clone(), hash_of(&text));
            }
        }
        let is_pending = fields.get::<bool>("pending") == Some(true);
        let completed = fields.text("completed").as_deref().and_then(parse_time);
        self.inner(fields, depth);
        self.session.leave("tool event", fields, TOOL_EVENT);
        let place = self.session.place().item.clone().unwrap_or_default();
        match completed {
            Some(completed) if at.is_some_and(|at| at <= completed) => {
                self.late.push(LateResult { at: completed, place, id, event });
            }
            _ if is_pending => {}
            _ => self.end_call(&id, &event),
        }
    }

    /// Results that were there at this time; all, for none.
    pub(super) fn late_until(&mut self, time: Option<SystemTime>) {
        if self.late.is_empty() {
            return;
        }
        self.late.sort_by_key(|late| late.at);
        let ready = time.map_or(self.late.len(), |time| self.late.partition_point(|late| late.at <= time));
        let here = self.session.place().item.clone();
        for late in self.late.drain(..ready).collect::<Vec<_>>() {
            self.session.item(late.place).at(late.at);
            self.end_call(&late.id, &late.event);
        }
        if let Some(here) = here {
            self.session.item(here);
        }
    }

    pub(super) fn end_call(&mut self, id: &str, event: &ToolEnd<'j>) {
        let error = event.error.filter(|error| error.get() != "null");
        let result = self.attachments.resolve(event.result.unwrap_or(RawValue::NULL)).into_owned();
        match error {
            Some(error) => {
                let error = self.attachments.resolve(error);
                let message = Fields::of(error.get()).and_then(|mut error| error.text("message"));
                let message = message.unwrap_or_else(|| error.get().to_owned());
                let partial = serde_json::from_str::<String>(result.get()).unwrap_or_default();
                let texts = [partial, message].into_iter().filter(|text| !text.is_empty());
                let blocks: Vec<_> = texts.map(|text| json!({"type": "text", "text": text})).collect();
                if let Ok(blocks) = serde_json::value::to_raw_value(&blocks) {
                    self.session.result(id, &blocks, true);
                }
            }
            None if event.result.is_none() => _ = self.session.odd("an event of a tool without a result"),
            None => _ = self.session.result(id, &as_blocks(&result), false),
        }
    }

    /// The result of a call that has no event of its own.
    pub(super) fn tool_message(&mut self, fields: &mut Fields<'j>) {
        let Some(id) = fields.text("tool_call_id") else {
            self.session.odd("a result of no call");
            return;
        };
        if let Some(result) = self.results.get(&id).copied() {
            let content = fields.take("content").unwrap_or(RawValue::NULL);
            let content = self.attachments.resolve(content);
            if serde_json::from_str::<String>(content.get()).is_ok_and(|text| hash_of(&text) != result) {
                self.session.odd("a result that the conversation has otherwise");
            }
        }
        if self.executed.contains(&id) || self.prefilled.contains(&id) {
            return;
        }
        if !self.session.waits_for(&id) {
            if !self.seen.contains(&id) {
                self.session.odd("a result of no call");
            }
            return;
        }
        let end = ToolEnd { result: fields.take("content"), error: fields.take("error") };
        self.end_call(&id, &end);
        self.session.leave("message", fields, &["id", "function", "source", "metadata", "model"]);
    }

    /// The text of a message. Calls that a provider made itself are in its content.
    pub(super) fn text(&mut self, fields: &mut Fields<'j>) -> String {
        let Some(content) = fields.take("content") else { return String::new() };
        let content = self.attachments.resolve(content);
        if let Ok(text) = serde_json::from_str::<String>(content.get()) {
            return text;
        }
        let mut texts = Vec::new();
        for part in list(&content).unwrap_or_default() {
            let Some(mut part) = Fields::of(part.get()) else {
                self.session.unknown("a part that is not an object");
                continue;
            };
            match part.text("type").as_deref() {
                Some("text") => texts.extend(part.text("text")),
                Some("tool_use") => self.provider_call(&mut part),
                Some(kind @ ("reasoning" | "image" | "audio" | "video" | "document" | "data")) => {
                    self.session.pass(&format!("content {kind}"));
                }
                other => _ = self.session.unknown(&format!("content {}", other.unwrap_or("without a type"))),
            }
        }
        texts.join("\n")
    }

    /// A call that the provider of the model made for it.
    pub(super) fn provider_call(&mut self, part: &mut Fields<'_>) {
        let id = part.text("id").unwrap_or_default();
        let name = part.text("name").unwrap_or_default();
        let tool = match (part.text("tool_type").as_deref(), part.text("context")) {
            (Some("mcp_call"), server) => CalledTool::Mcp { server: server.unwrap_or_default(), name },
            _ => CalledTool::Local(name),
        };
        let arguments = part.take("arguments").map_or_else(|| RawValue::NULL.to_owned(), unquoted);
        if !self.seen.contains(&id) {
            self.call(&id, &tool, &arguments);
            let error = part.text("error");
            let result = part.text("result").unwrap_or_default();
            self.session.result_text(&id, error.as_deref().unwrap_or(&result), error.is_some());
        }
        self.session.leave("content tool_use", part, &["internal", "result", "error", "context"]);
    }
}
