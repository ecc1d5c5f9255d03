//! What each phase of a document asks of an AG-UI client.

use serde_json::Value;
use sortie_wire::ag_ui::{Call, Input, ToolResult};

use crate::actor::Actor;
use crate::modes::responses::Responses;
use crate::payload::Payload;
use crate::phase::Phase;

/// What a phase does, read once, before anything is said.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) input: Payload,
    responses: Responses,
}

impl Script {
    /// Reads the state of a phase. What is wrong with it is said as a sentence.
    pub(super) fn new(phase: &Phase) -> Result<Self, String> {
        let input = phase.key("run_agent_input").filter(|input| !input.value().is_null());
        let input = input.ok_or("there is no `run_agent_input`, which is required")?.without(&["synthesize"]);
        // Templates do not change which members there are.
        Input::read(input.text()).map_err(|error| format!("`run_agent_input`: {error}"))?;
        let responses = Responses::new(phase.key("tool_responses").as_ref(), "tool_responses")?;
        Ok(Self { input, responses })
    }

    /// What a call is answered with: what the document has for it, else an empty result. `start` is the event that began it.
    pub(super) fn result(&self, actor: &Actor, call: &Call, start: &Value) -> ToolResult {
        let content = self.responses.select(start).and_then(|entry| entry.get("content"));
        let content = content.filter(|content| !content.value().is_null());
        let Some(content) = content else { return ToolResult::new(call, "\"\"") };
        let mut request = start.clone();
        if let Value::Object(request) = &mut request {
            let arguments = serde_json::from_str(&call.arguments);
            let arguments = arguments.unwrap_or_else(|_| Value::from(call.arguments.as_str()));
            request.insert("_arguments".to_owned(), arguments);
        }
        match actor.fill(&content, Some(&request), None) {
            Ok(filled) => ToolResult::new(call, &filled.json),
            // A warning says so.
            Err(_) => ToolResult::new(call, "\"\""),
        }
    }
}
