//! What each phase of a document asks of an AG-UI client.

use serde_json::Value;
use sortie_wire::Members;
use sortie_wire::ag_ui::{AgentCall, Input, ToolResult};

use crate::actor::ActorState;
use crate::modes::responses::Responses;
use crate::payload::{TooLarge, WirePayload};
use crate::phase::ActorPhase;
use crate::synthesis::{Shape, Synthesis};

/// What a phase does, read once, before anything is said.
#[derive(Debug)]
pub(super) struct Script {
    input: WirePayload,
    synthesis: Option<Synthesis>,
    responses: Responses,
}

impl Script {
    /// Reads the state of a phase. What is wrong with it is said as a sentence.
    pub(super) fn new(phase: &ActorPhase) -> Result<Self, String> {
        let input = phase.key("run_agent_input").filter(|input| !input.value().is_null());
        let input = input.ok_or("there is no `run_agent_input`, which is required")?;
        let synthesis = Synthesis::of(&input, Shape::Messages);
        let input = input.without(&["synthesize"]);
        // Templates do not change which members there are.
        Input::read(input.text()).map_err(|error| format!("`run_agent_input`: {error}"))?;
        let responses = Responses::new(phase.key("tool_responses").as_ref(), "tool_responses")?;
        Ok(Self { input, synthesis, responses })
    }

    /// The body that asks for a run, its messages generated where the phase wants that.
    pub(super) fn body(&self, actor: &ActorState) -> Result<String, TooLarge> {
        let body = actor.fill(&self.input, None, None)?.json.into_owned();
        let generated = self.synthesis.as_ref().and_then(|wanted| wanted.generate(actor, None));
        Ok(generated.and_then(|generated| with_messages(&body, &generated)).unwrap_or(body))
    }

    /// What a call is answered with: what the document has for it, else an empty result. `start` is the event that began it.
    pub(super) fn result(&self, actor: &ActorState, call: &AgentCall, start: &Value) -> ToolResult {
        let entry = self.responses.select(start);
        let content = entry.and_then(|entry| entry.get("content"));
        let content = content.filter(|content| !content.value().is_null());
        let wanted = entry.and_then(|entry| Synthesis::of(entry, Shape::ToolMessage));
        if content.is_none() && wanted.is_none() {
            return ToolResult::new(call, "\"\"");
        }
        let mut request = start.clone();
        if let Value::Object(request) = &mut request {
            let arguments = serde_json::from_str(&call.arguments);
            let arguments = arguments.unwrap_or_else(|_| Value::from(call.arguments.as_str()));
            request.insert("_arguments".to_owned(), arguments);
        }
        if let Some(generated) = wanted.and_then(|wanted| wanted.generate(actor, Some(&request))) {
            return ToolResult::new(call, &generated);
        }
        let Some(content) = content else { return ToolResult::new(call, "\"\"") };
        match actor.fill(&content, Some(&request), None) {
            Ok(filled) => ToolResult::new(call, &filled.json),
            // A warning says so.
            Err(_) => ToolResult::new(call, "\"\""),
        }
    }
}

/// The same body with other messages. `None` when one of them is no object, which has been looked at.
fn with_messages(body: &str, generated: &str) -> Option<String> {
    let messages = Members::read(generated)?.get("messages")?.to_owned();
    let mut body = Members::read(body)?;
    body.set("messages", &messages);
    Some(body.to_string())
}
