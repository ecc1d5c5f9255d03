//! What generated content must look like: the binding's message that it goes into.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

/// Bytes of a schema that a server asks with; by a longer one a form is not held to.
const MAX_SCHEMA: usize = 64 << 10;

/// The message that content is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The result of `tools/call`.
    ToolResult,
    /// The result of `prompts/get`.
    PromptResult,
    /// The result of `sampling/createMessage`.
    SamplingResult,
    /// What a form is filled in with.
    FormContent,
    /// What `message/send` is answered with: a task or a message.
    Task,
    /// The result of a call of an AG-UI agent.
    ToolMessage,
    /// The messages of a run of an AG-UI agent.
    Messages,
}

struct Known {
    tool_result: Validator,
    prompt_result: Validator,
    sampling_result: Validator,
    form_content: Validator,
    task: Validator,
    tool_message: Validator,
    messages: Validator,
}

static KNOWN: LazyLock<Option<Known>> = LazyLock::new(|| {
    let validator = |shape: Shape| jsonschema::draft202012::new(&shape.schema()).ok();
    Some(Known {
        tool_result: validator(Shape::ToolResult)?,
        prompt_result: validator(Shape::PromptResult)?,
        sampling_result: validator(Shape::SamplingResult)?,
        form_content: validator(Shape::FormContent)?,
        task: validator(Shape::Task)?,
        tool_message: validator(Shape::ToolMessage)?,
        messages: validator(Shape::Messages)?,
    })
});

impl Shape {
    /// What is generated, for who generates it.
    pub(crate) const fn description(self) -> &'static str {
        match self {
            Self::ToolResult => {
                r#"MCP, the result of tools/call: {"content": [{"type": "text", "text": "…"}], "isError": false}"#
            }
            Self::PromptResult => {
                r#"MCP, the result of prompts/get: {"messages": [{"role": "user", "content": {"type": "text", "text": "…"}}]}"#
            }
            Self::SamplingResult => {
                r#"MCP, the result of sampling/createMessage: {"role": "assistant", "content": {"type": "text", "text": "…"}, "model": "…"}"#
            }
            Self::FormContent => {
                "MCP, the content of an accepted elicitation: an object with a value for each property of the requestedSchema"
            }
            Self::Task => {
                r#"A2A, the result of message/send: {"kind": "task", "id": "…", "contextId": "…", "status": {"state": "completed"}, "artifacts": [{"artifactId": "…", "parts": [{"kind": "text", "text": "…"}]}]}, or {"kind": "message", "role": "agent", "messageId": "…", "parts": [{"kind": "text", "text": "…"}]}"#
            }
            Self::ToolMessage => {
                r#"AG-UI, the result of a tool that the agent called: {"content": "…"}, the content being a text"#
            }
            Self::Messages => {
                r#"AG-UI, the messages of RunAgentInput: {"messages": [{"id": "…", "role": "user", "content": "…"}]}"#
            }
        }
    }

    /// Whether content can be sent; the error says what is wrong with it.
    pub(crate) fn check(self, content: &Value, request: Option<&Value>) -> Result<(), String> {
        let known = KNOWN.as_ref().ok_or("there is nothing to hold it to, which is a fault of ours")?;
        let validator = match self {
            Self::ToolResult => &known.tool_result,
            Self::PromptResult => &known.prompt_result,
            Self::SamplingResult => &known.sampling_result,
            Self::FormContent => &known.form_content,
            Self::Task => &known.task,
            Self::ToolMessage => &known.tool_message,
            Self::Messages => &known.messages,
        };
        first_error(validator, content)?;
        match request.and_then(|request| request.get("requestedSchema")) {
            // What asks for a form also says how it is filled in; a schema that is none asks for nothing.
            Some(schema) if self == Self::FormContent && schema.to_string().len() <= MAX_SCHEMA => {
                jsonschema::validator_for(schema).map_or(Ok(()), |validator| first_error(&validator, content))
            }
            _ => Ok(()),
        }
    }

    fn schema(self) -> Value {
        let text = json!({"type": "string"});
        match self {
            Self::ToolResult => json!({
                "type": "object", "required": ["content"],
                "properties": {
                    "content": {"type": "array", "minItems": 1, "items": block()},
                    "isError": {"type": "boolean"},
                    "structuredContent": {"type": "object"},
                },
            }),
            Self::PromptResult => json!({
                "type": "object", "required": ["messages"],
                "properties": {
                    "description": text,
                    "messages": {"type": "array", "minItems": 1, "items": {
                        "type": "object", "required": ["role", "content"],
                        "properties": {"role": {"enum": ["user", "assistant"]}, "content": block()},
                    }},
                },
            }),
            Self::SamplingResult => json!({
                "type": "object", "required": ["role", "content", "model"],
                "properties": {
                    "role": {"enum": ["user", "assistant"]}, "content": block(), "model": text, "stopReason": text,
                },
            }),
            Self::FormContent => json!({
                "type": "object",
                "additionalProperties": {
                    "type": ["string", "number", "boolean", "array"], "items": {"type": "string"},
                },
            }),
            Self::Task => json!({"oneOf": [task(), message()]}),
            Self::ToolMessage => json!({
                "type": "object", "required": ["content"], "properties": {"content": text, "error": false},
            }),
            Self::Messages => json!({
                "type": "object", "required": ["messages"], "additionalProperties": false,
                "properties": {"messages": {"type": "array", "minItems": 1, "items": {
                    "type": "object", "required": ["id", "role", "content"],
                    "properties": {
                        "id": text, "role": {"enum": ["developer", "system", "assistant", "user", "tool"]},
                        "content": text,
                    },
                }}},
            }),
        }
    }
}

/// A piece of content as MCP has it.
fn block() -> Value {
    let of = |kind: &str, required: &[&str]| {
        let mut properties = json!({"type": {"const": kind}});
        for name in required.iter().filter(|name| **name != "resource") {
            properties[*name] = json!({"type": "string"});
        }
        if kind == "resource" {
            properties["resource"] = json!({
                "type": "object", "required": ["uri"], "properties": {"uri": {"type": "string"}},
                "anyOf": [{"required": ["text"]}, {"required": ["blob"]}],
            });
        }
        let required: Vec<_> = ["type"].iter().chain(required).collect();
        json!({"type": "object", "required": required, "properties": properties})
    };
    json!({"oneOf": [
        of("text", &["text"]),
        of("image", &["data", "mimeType"]),
        of("audio", &["data", "mimeType"]),
        of("resource", &["resource"]),
        of("resource_link", &["uri", "name"]),
    ]})
}

fn parts() -> Value {
    json!({"type": "array", "minItems": 1, "items": {"oneOf": [
        {"type": "object", "required": ["kind", "text"], "properties": {"kind": {"const": "text"}, "text": {"type": "string"}}},
        {"type": "object", "required": ["kind", "data"], "properties": {"kind": {"const": "data"}, "data": {"type": "object"}}},
        {"type": "object", "required": ["kind", "file"], "properties": {"kind": {"const": "file"}, "file": {
            "type": "object", "anyOf": [{"required": ["bytes"]}, {"required": ["uri"]}],
        }}},
    ]}})
}

fn message() -> Value {
    json!({
        "type": "object", "required": ["kind", "role", "messageId", "parts"],
        "properties": {
            "kind": {"const": "message"}, "role": {"enum": ["agent", "user"]}, "messageId": {"type": "string"},
            "parts": parts(),
        },
    })
}

fn task() -> Value {
    let states = [
        "submitted",
        "working",
        "input-required",
        "completed",
        "canceled",
        "failed",
        "rejected",
        "auth-required",
        "unknown",
    ];
    json!({
        "type": "object", "required": ["kind", "id", "contextId", "status"],
        "properties": {
            "kind": {"const": "task"}, "id": {"type": "string"}, "contextId": {"type": "string"},
            "status": {"type": "object", "required": ["state"], "properties": {
                "state": {"enum": states}, "message": message(),
            }},
            "artifacts": {"type": "array", "items": {
                "type": "object", "required": ["artifactId", "parts"],
                "properties": {"artifactId": {"type": "string"}, "parts": parts()},
            }},
            "history": {"type": "array", "items": message()},
        },
    })
}

fn first_error(validator: &Validator, content: &Value) -> Result<(), String> {
    validator.validate(content).map_err(|error| {
        let at = error.instance_path().to_string();
        let at = if at.is_empty() { "the content".to_owned() } else { format!("`{at}`") };
        // What a model wrote is not repeated: it may be long, and it may be a refusal.
        format!("{at} does not fit the protocol ({})", error.kind().keyword())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_bindings_have_is_taken() {
        let text = json!({"type": "text", "text": "x"});
        let part = json!([{"kind": "text", "text": "x"}]);
        for (shape, content) in [
            (Shape::ToolResult, json!({"content": [text], "isError": true})),
            (
                Shape::ToolResult,
                json!({"content": [{"type": "resource", "resource": {"uri": "a:b", "text": "x"}}]}),
            ),
            (Shape::PromptResult, json!({"messages": [{"role": "user", "content": text}]})),
            (Shape::SamplingResult, json!({"role": "assistant", "content": text, "model": "m"})),
            (Shape::FormContent, json!({"name": "Ada", "age": 36, "yes": true, "tags": ["a"]})),
            (Shape::Task, json!({"kind": "message", "role": "agent", "messageId": "m", "parts": part})),
            (
                Shape::Task,
                json!({
                    "kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"},
                    "artifacts": [{"artifactId": "a", "parts": part}],
                }),
            ),
            (Shape::ToolMessage, json!({"content": "done"})),
            (Shape::Messages, json!({"messages": [{"id": "1", "role": "user", "content": "hi"}]})),
        ] {
            assert_eq!(shape.check(&content, None), Ok(()), "{shape:?} {content}");
        }
    }

    #[test]
    fn what_a_model_says_instead_is_not_sent() {
        for (shape, content) in [
            (Shape::ToolResult, json!({})),
            (Shape::ToolResult, json!({"error": "I cannot help with that."})),
            (Shape::ToolResult, json!({"content": "I cannot help with that."})),
            (Shape::ToolResult, json!({"content": []})),
            (Shape::ToolResult, json!({"content": [{"type": "text"}]})),
            (Shape::ToolResult, json!({"content": [{"type": "spell", "text": "x"}]})),
            (
                Shape::PromptResult,
                json!({"messages": [{"role": "judge", "content": {"type": "text", "text": "x"}}]}),
            ),
            (Shape::SamplingResult, json!({"role": "assistant", "content": "x", "model": "m"})),
            (Shape::FormContent, json!({"deep": {"er": 1}})),
            (Shape::Task, json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "great"}})),
            (Shape::Task, json!({"kind": "message", "role": "agent", "messageId": "m", "parts": []})),
            (Shape::Task, json!({"refusal": "no"})),
            (Shape::ToolMessage, json!({"content": {"a": 1}})),
            (Shape::ToolMessage, json!({"content": "x", "error": "no"})),
            (Shape::Messages, json!({"messages": []})),
            (Shape::Messages, json!({"messages": [{"role": "user", "content": "hi"}]})),
        ] {
            let error = shape.check(&content, None).unwrap_err();
            assert!(
                error.contains("does not fit the protocol") && !error.contains("help"),
                "{shape:?}: {error}"
            );
        }
    }

    #[test]
    fn a_form_is_filled_in_as_it_asks() {
        let request = json!({"requestedSchema": {
            "type": "object", "properties": {"age": {"type": "number"}}, "required": ["age"],
        }});
        assert!(Shape::FormContent.check(&json!({"age": 3}), Some(&request)).is_ok());
        assert!(Shape::FormContent.check(&json!({"age": "three"}), Some(&request)).is_err());
        assert!(Shape::FormContent.check(&json!({}), Some(&request)).is_err());
    }
}
