//! Log events: those of the `GenAI` conventions. Those of coding agents are in `coding_agents.rs`.

use std::borrow::Cow;
use std::sync::Arc;

use super::attributes::{Attributes, EventText};
use super::coding_agents;
use super::interpret::{GENAI, ModelSpan, message_event, model_call};
use super::json::AttributeValue;
use crate::conversation::{Conversation, Place, Source};
use sortie_recording::loss::count;

/// Puts what a log event says to its conversation.
pub(super) fn event(
    conversation: &mut Conversation,
    event: &EventText<'_>,
    span: u64,
    item: &str,
    service: Option<&str>,
    line: u64,
) {
    let place =
        Place { time: event.time, line, item: Arc::from(if item.is_empty() { &*event.name } else { item }) };
    // Claude Code has its name in the body, and a short one in an attribute.
    let body = event.body.and_then(AttributeValue::text).unwrap_or_default();
    let name = if body.starts_with("claude_code.") { body } else { event.name.clone() };
    if coding_agents::event(conversation, &name, event, &place) {
        if let Some(service) = service {
            conversation.about("program", service);
        }
        return;
    }
    if name == "gen_ai.client.inference.operation.details" {
        let mut attributes = Attributes::default();
        attributes.sort(&event.attributes);
        let is_gemini = service == Some(coding_agents::GEMINI);
        if is_gemini && attributes.finish_reasons.is_none() {
            // The event of the answer says all of it again.
            count(&mut conversation.notes.passed_over, "log event of a request to the model");
            return;
        }
        for name in &attributes.unknown {
            count(&mut conversation.notes.unknown, name);
        }
        if let Some(model) = attributes.model.and_then(AttributeValue::text) {
            conversation.about("model", &*model);
        }
        let failure = attributes.error.and_then(AttributeValue::text).map(Cow::into_owned);
        let end = event.time;
        let model = ModelSpan {
            span,
            place: &place,
            end,
            failure,
            setting: if is_gemini { coding_agents::GEMINI_CONTENT } else { GENAI },
            source: Source::Details,
            amend: if is_gemini { coding_agents::gemini_turns } else { |turns| turns },
        };
        return model_call(conversation, &attributes, model);
    }
    if message_event(conversation, event, span, &place, GENAI) {
        return;
    }
    let table = if name.starts_with("gen_ai.") {
        &mut conversation.notes.unknown
    } else {
        &mut conversation.notes.passed_over
    };
    count(
        table,
        &format!("log event {}", if name.starts_with("gen_ai.") { &*name } else { "of something else" }),
    );
}
