//! What codex did: events, which tell most of it again, and to which server a call went.

use std::hash::BuildHasher;

use serde_json::Value;
use serde_json::value::RawValue;

use super::names::EVENTS;
use super::results::{end_of, failed, is_declined, texts_of};
use super::{Call, CallEnd, Heard, Item, Reader, Turn, lacks_calls};
use sortie_recording::fields::Fields;
use sortie_recording::session::SessionBuilder;

impl Reader {
    pub(super) fn event(&mut self, session: &mut SessionBuilder, mut payload: Fields<'_>) {
        let kind = payload.text("type").unwrap_or_default();
        match kind.as_str() {
            "task_started" | "turn_started" => {
                self.turn = Turn::Started;
                session.pass(&format!("event {kind}"));
            }
            "task_complete" | "turn_complete" => {
                let error = payload.object("error").and_then(|mut error| error.text("message"));
                self.turn = error.map_or(Turn::Complete, Turn::Failed);
                if let Some(text) = payload.text("last_agent_message") {
                    self.events.insert(self.hasher.hash_one(&text));
                }
                session.pass(&format!("event {kind}"));
            }
            "turn_aborted" => {
                self.turn = Turn::Aborted(payload.text("reason").unwrap_or_default());
                session.pass("event turn_aborted");
            }
            "error" | "stream_error" => {
                let words = payload.text("message").unwrap_or_default();
                if kind == "error" {
                    self.turn = Turn::Failed(words);
                }
                session.pass(&format!("event {kind}"));
            }
            "agent_message" => {
                if let Some(text) = payload.text("message") {
                    self.events.insert(self.hasher.hash_one(&text));
                }
                session.pass("event agent_message");
            }
            "item_completed" => {
                let Some(item) = payload.object("item") else {
                    session.unknown("an event without an item");
                    return;
                };
                self.completed(session, item);
            }
            "mcp_tool_call_begin" | "mcp_tool_call_end" => {
                let id = payload.text("call_id").unwrap_or_default();
                let result = payload.take("result");
                if let Some(invocation) = payload.object("invocation") {
                    self.mcp(session, &id, invocation, result.map(end_of));
                }
                session.pass(&format!("event {kind}"));
            }
            "exec_command_end" => {
                let id = payload.text("call_id").unwrap_or_default();
                self.printed(session, id, payload.text("aggregated_output"));
                session.pass("event exec_command_end");
            }
            "thread_rolled_back" => {
                session.odd("turns that were taken back");
            }
            _ if EVENTS.contains(&kind.as_str()) => _ = session.pass(&format!("event {kind}")),
            _ => _ = session.unknown(&format!("event {kind}")),
        }
    }

    pub(super) fn completed(&mut self, session: &mut SessionBuilder, mut item: Fields<'_>) {
        let kind = item.text("type").unwrap_or_default();
        match kind.as_str() {
            "McpToolCall" => {
                let id = item.text("id").unwrap_or_default();
                let result = item.take("result").filter(|result| result.get() != "null");
                let error = item.take("error").filter(|error| error.get() != "null");
                let end = result.map(end_of).or_else(|| error.map(failed));
                self.mcp(session, &id, item, end);
                session.pass("item_completed McpToolCall");
            }
            "AgentMessage" => {
                let texts = item.items("content").unwrap_or_default().into_iter();
                for text in texts.filter_map(|block| Fields::of(block.get())?.text("text")) {
                    self.events.insert(self.hasher.hash_one(&text));
                }
                session.pass("item_completed AgentMessage");
            }
            "CommandExecution" => {
                let id = item.text("id").unwrap_or_default();
                let output = item.text("aggregated_output");
                if is_declined(&mut item) {
                    self.declined(session, id, output.unwrap_or_default());
                } else {
                    self.printed(session, id, output);
                }
                session.pass("item_completed CommandExecution");
            }
            "FileChange" => {
                let id = item.text("id").unwrap_or_default();
                if is_declined(&mut item) {
                    self.declined(session, id, "the change was declined".to_owned());
                }
                session.pass("item_completed FileChange");
            }
            "UserMessage" | "Reasoning" | "Plan" | "WebSearch" | "ContextCompaction" | "ImageView"
            | "ImageGeneration" | "HookPrompt" | "EnteredReviewMode" | "ExitedReviewMode" | "Sleep" => {
                _ = session.pass(&format!("item_completed {kind}"));
            }
            "CollabAgentToolCall" | "SubAgentActivity" => {
                lacks_calls(session, "what another agent did is in a rollout of its own");
                session.pass(&format!("item_completed {kind}"));
            }
            _ => _ = session.unknown(&format!("item_completed {kind}")),
        }
    }

    /// What a command printed, to be compared with what the model was shown of it.
    pub(super) fn printed(&mut self, session: &mut SessionBuilder, id: String, output: Option<String>) {
        if !self.calls.contains(&id) {
            session.odd("a command of no call");
            return;
        }
        self.heard.entry(id).or_insert(Heard { texts: output.into_iter().collect(), is_result: false });
    }

    /// A call of codex's own tool that the user or a rule declined. What the model was told of it says no more.
    pub(super) fn declined(&mut self, session: &mut SessionBuilder, id: String, words: String) {
        if !self.calls.contains(&id) {
            session.odd("a command of no call");
            return;
        }
        if let Some(call) = self.waiting_call(&id) {
            call.is_clear = true;
        }
        self.refused.insert(id.clone());
        let size = words.len();
        self.push(Item::Refusal { call: id, words }, size);
    }

    /// An event that says to which server a call went, what was sent, and what came back.
    pub(super) fn mcp(
        &mut self,
        session: &mut SessionBuilder,
        id: &str,
        mut call: Fields<'_>,
        end: Option<CallEnd>,
    ) {
        let (Some(server), Some(tool)) = (call.text("server"), call.text("tool")) else {
            session.unknown("an event of a call without a server and a tool");
            return;
        };
        let is_shown = self.calls.contains(id);
        let sent = call.take("arguments").unwrap_or(RawValue::NULL).to_owned();
        if let Some(known) = self.waiting_call(id) {
            let is_other = serde_json::from_str::<Value>(sent.get()).ok()
                != serde_json::from_str::<Value>(known.arguments.get()).ok();
            known.mcp = Some((server, tool));
            known.is_clear |= end.is_some();
            if is_other {
                session.odd("a call that its two records tell in two ways");
                if let Some(known) = self.waiting_call(id) {
                    known.arguments = sent;
                }
            }
        } else if !self.calls.contains(id) {
            // Code that the model wrote called it: there is no item.
            let is_clear = true;
            let call = Call {
                id: id.to_owned(),
                name: tool.clone(),
                namespace: None,
                arguments: sent,
                mcp: Some((server, tool)),
                is_clear,
            };
            self.call(session, call);
            session.odd("a call that stands only among the events");
        }
        let Some(end) = end.filter(|_| !self.heard.contains_key(id)) else { return };
        let (texts, size) = match &end {
            CallEnd::Result { value, .. } => (texts_of(value), value.get().len()),
            CallEnd::Refused(words) => (vec![words.clone()], words.len()),
        };
        // What code that the model wrote did with a result is not for the model.
        if is_shown {
            self.heard.insert(id.to_owned(), Heard { texts, is_result: true });
        }
        let call = id.to_owned();
        let item = match end {
            CallEnd::Result { value, is_error } => Item::Result { call, value, is_error },
            CallEnd::Refused(words) => Item::Refusal { call, words },
        };
        self.push(item, size);
    }
}
