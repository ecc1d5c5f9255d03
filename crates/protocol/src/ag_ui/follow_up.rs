//! The run that brings an agent the results of its calls.

use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;

use super::run::{AgentCall, AgentRun};
use crate::Members;

/// What a run is asked for with: a `RunAgentInput`.
#[derive(Clone, Debug)]
pub struct RunInput {
    members: Members,
    /// Its `runId`.
    pub run_id: String,
    /// The tools that the client has, and that the agent may call.
    pub tools: Vec<String>,
}

/// A `RunAgentInput` lacks what makes it one.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RunInputError {
    /// It is not an object.
    #[error("it is not an object")]
    NotObject,
    /// It has no such member, or one that is not text.
    #[error("it has no `{0}`, which is required and is a string")]
    Missing(&'static str),
}

impl RunInput {
    /// Reads the body of a POST.
    pub fn read(json: &str) -> Result<Self, RunInputError> {
        let members = Members::read(json).ok_or(RunInputError::NotObject)?;
        let text = |name: &'static str| members.string(name).ok_or(RunInputError::Missing(name));
        text("threadId")?;
        let run_id = text("runId")?;
        let tools = members.get("tools").and_then(|json| serde_json::from_str::<Vec<Value>>(json).ok());
        let names = tools.into_iter().flatten();
        let tools = names.filter_map(|tool| Some(tool.get("name")?.as_str()?.to_owned())).collect();
        Ok(Self { members, run_id, tools })
    }
}

/// The message that brings the result of a call, as JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult(pub String);

impl ToolResult {
    /// The result of a call. `content` is JSON text: a string is the content; an object that has `content`, `toolCallId` or
    /// `messageId` is the message itself, and what it lacks is added; anything else is the content as text.
    ///
    /// ```
    /// use sortie_protocol::ag_ui::{AgentCall, ToolResult};
    ///
    /// let call = AgentCall { id: "c1".into(), name: "pay".into(), ..AgentCall::default() };
    /// let result = ToolResult::new(&call, "\"done\"");
    /// assert_eq!(result.0, r#"{"id":"c1-result","role":"tool","toolCallId":"c1","content":"done"}"#);
    /// ```
    pub fn new(call: &AgentCall, content: &str) -> Self {
        let own = Value::from(format!("{}-result", call.id)).to_string();
        let call_id = Value::from(call.id.as_str()).to_string();
        let given = Members::read(content).filter(|given| {
            ["content", "toolCallId", "messageId"].iter().any(|key| given.get(key).is_some())
        });
        let content = match serde_json::from_str::<Value>(content) {
            _ if given.is_some() => "\"\"".to_owned(),
            Ok(Value::String(_)) => content.to_owned(),
            _ => Value::from(content).to_string(),
        };
        let mut message = given.unwrap_or_default();
        let id = message.get("messageId").map_or(own, str::to_owned);
        for (name, json) in
            [("id", &*id), ("role", "\"tool\""), ("toolCallId", &call_id), ("content", &content)]
        {
            message.set_missing(name, json);
        }
        Self(message.to_string())
    }
}

/// The body of the run that follows one: on the same thread, with what was said in it and the results of its calls.
pub fn follow_up(input: &RunInput, run_id: &str, run: &AgentRun, results: &[ToolResult]) -> String {
    let (told, said) = run.messages();
    let before = || serde_json::from_str::<Vec<Box<RawValue>>>(input.members.get("messages")?).ok();
    let before = told.map(<[_]>::to_vec).or_else(before).unwrap_or_default();
    let results = results.iter().map(|result| result.0.as_str());
    let messages = before.iter().map(|message| message.get());
    let messages: Vec<_> = messages.chain(said.iter().map(String::as_str)).chain(results).collect();
    let mut members = input.members.clone();
    members.set("runId", &Value::from(run_id).to_string());
    members.set("messages", &format!("[{}]", messages.join(",")));
    members.to_string()
}

#[cfg(test)]
mod tests {
    use super::super::event::AgentEvent;
    use super::*;

    const INPUT: &str = r#"{"threadId":"t","runId":"r","messages":[{"id":"u1","role":"user","content":"pay 1.00","n":1.00}],"tools":[{"name":"pay"}],"state":{}}"#;

    fn run(events: &[&str]) -> AgentRun {
        let mut run = AgentRun::new(100_000);
        for event in events {
            run.observe(&AgentEvent::read(event.as_bytes()), event.as_bytes());
        }
        run
    }

    #[test]
    fn results_go_back_after_what_the_agent_said() {
        let run = run(&[
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Pay"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"ing."}"#,
            r#"{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pay","parentMessageId":"m1"}"#,
            r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"sum\":"}"#,
            r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"1.00}"}"#,
            r#"{"type":"TOOL_CALL_START","toolCallId":"c2","toolCallName":"own"}"#,
            r#"{"type":"TOOL_CALL_RESULT","toolCallId":"c2","content":"x"}"#,
        ]);
        let input = RunInput::read(INPUT).unwrap();
        let calls: Vec<_> = run.unanswered(&input.tools).collect();
        assert_eq!((calls.len(), calls[0].arguments.as_str()), (1, r#"{"sum":1.00}"#));
        let body = follow_up(&input, "r-2", &run, &[ToolResult::new(&calls[0], r#"{"ok":true}"#)]);
        assert_eq!(
            body,
            concat!(
                r#"{"threadId":"t","runId":"r-2","messages":["#,
                r#"{"id":"u1","role":"user","content":"pay 1.00","n":1.00},"#,
                r#"{"id":"m1","role":"assistant","content":"Paying.","toolCalls":[{"id":"c1","type":"function","#,
                r#""function":{"name":"pay","arguments":"{\"sum\":1.00}"}}]},"#,
                r#"{"id":"c2","role":"assistant","toolCalls":[{"id":"c2","type":"function","#,
                r#""function":{"name":"own","arguments":""}}]},"#,
                r#"{"id":"c1-result","role":"tool","toolCallId":"c1","content":"{\"ok\":true}"}"#,
                r#"],"tools":[{"name":"pay"}],"state":{}}"#
            )
        );
    }

    #[test]
    fn a_result_that_a_document_spells_out_is_sent_as_it_is() {
        let call = AgentCall { id: "c1".into(), ..AgentCall::default() };
        assert_eq!(
            ToolResult::new(&call, r#"{"messageId":"m9","toolCallId":"other","content":{"n":1.0},"x":1}"#).0,
            r#"{"messageId":"m9","toolCallId":"other","content":{"n":1.0},"x":1,"id":"m9","role":"tool"}"#
        );
        assert!(ToolResult::new(&call, "[1]").0.ends_with(r#""content":"[1]"}"#));
    }

    #[test]
    fn what_comes_in_chunks_is_joined_too() {
        let run = run(&[
            r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"pay","delta":"{"}"#,
            r#"{"type":"TOOL_CALL_CHUNK","delta":"}"}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"nobody knows whose"}"#,
        ]);
        let tools = ["pay".to_owned()];
        let calls: Vec<_> = run.unanswered(&tools).collect();
        assert_eq!(calls[0].arguments, "{}");
    }

    #[test]
    fn a_conversation_that_the_agent_has_told_is_taken_over() {
        let run = run(&[
            r#"{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pay","parentMessageId":"m1"}"#,
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"s"},{"id":"m1","n":1.0}]}"#,
        ]);
        let body = follow_up(&RunInput::read(INPUT).unwrap(), "r-2", &run, &[]);
        assert!(body.contains(r#""messages":[{"id":"s"},{"id":"m1","n":1.0}]"#), "{body}");
    }

    #[test]
    fn a_run_without_thread_or_id_is_none() {
        assert_eq!(RunInput::read("[]").unwrap_err(), RunInputError::NotObject);
        assert_eq!(RunInput::read(r#"{"runId":"r"}"#).unwrap_err(), RunInputError::Missing("threadId"));
        let error = RunInput::read(r#"{"threadId":"t","runId":7}"#).unwrap_err();
        assert_eq!(error.to_string(), "it has no `runId`, which is required and is a string");
    }

    #[test]
    fn an_agent_that_never_stops_is_not_remembered_for_ever() {
        let mut run = AgentRun::new(1000);
        let event = AgentEvent { name: Some("text_message_content".into()), ..AgentEvent::default() };
        for at in 0..1000 {
            run.observe(&AgentEvent { message_id: Some(at.to_string()), ..event.clone() }, b"");
        }
        assert!(run.is_cut() && run.messages().1.is_empty());
    }
}
