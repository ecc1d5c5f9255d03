//! What generated content must look like: the binding's message that it goes into.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

/// Bytes of a schema that a server asks with; by a longer one a form is not held to.
const MAX_SCHEMA: usize = 64 << 10;

/// The message that content is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// MCP: the result of `tools/call`.
    ToolResult,
    /// MCP: the result of `prompts/get`.
    PromptResult,
    /// MCP: the result of `sampling/createMessage`.
    SamplingResult,
    /// MCP: the content of an accepted elicitation.
    FormContent,
    /// A2A: the result of `message/send`.
    Task,
    /// AG-UI: the content of a tool message.
    ToolMessage,
    /// AG-UI: the messages of a run.
    Messages,
}

/// Each shape: its description for who generates, and what content is held to.
static SHAPES: LazyLock<[(Shape, &str, Option<Validator>); 7]> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let prompt =
        object(&["role", "content"], json!({"role": {"enum": ["user", "assistant"]}, "content": block()}));
    let roles = ["developer", "system", "assistant", "user", "tool"];
    let run =
        object(&["id", "role", "content"], json!({"id": text, "role": {"enum": roles}, "content": text}));
    let shapes = [
        (
            Shape::ToolResult,
            r#"MCP, the result of tools/call: {"content": [{"type": "text", "text": "…"}], "isError": false}"#,
            json!({"type": "object", "required": ["content"], "properties": {
                "content": list(block()), "isError": {"type": "boolean"}, "structuredContent": {"type": "object"},
            }}),
        ),
        (
            Shape::PromptResult,
            r#"MCP, the result of prompts/get: {"messages": [{"role": "user", "content": {"type": "text", "text": "…"}}]}"#,
            object(&["messages"], json!({"description": text, "messages": list(prompt)})),
        ),
        (
            Shape::SamplingResult,
            r#"MCP, the result of sampling/createMessage: {"role": "assistant", "content": {"type": "text", "text": "…"}, "model": "…"}"#,
            json!({"type": "object", "required": ["role", "content", "model"], "properties": {
                "role": {"enum": ["user", "assistant"]}, "content": block(), "model": text, "stopReason": text,
            }}),
        ),
        (
            Shape::FormContent,
            "MCP, the content of an accepted elicitation: an object with a value for each property of the requestedSchema",
            json!({"type": "object", "additionalProperties": {
                "type": ["string", "number", "boolean", "array"], "items": text,
            }}),
        ),
        (
            Shape::Task,
            r#"A2A, the result of message/send: {"kind": "task", "id": "…", "contextId": "…", "status": {"state": "completed"}, "artifacts": [{"artifactId": "…", "parts": [{"kind": "text", "text": "…"}]}]}, or {"kind": "message", "role": "agent", "messageId": "…", "parts": [{"kind": "text", "text": "…"}]}"#,
            json!({"oneOf": [task(), message()]}),
        ),
        (
            Shape::ToolMessage,
            r#"AG-UI, the result of a tool that the agent called: {"content": "…"}, the content being a text"#,
            object(&["content"], json!({"content": text, "error": false})),
        ),
        (
            Shape::Messages,
            r#"AG-UI, the messages of RunAgentInput: {"messages": [{"id": "…", "role": "user", "content": "…"}]}"#,
            json!({"type": "object", "required": ["messages"], "additionalProperties": false, "properties": {
                "messages": list(run),
            }}),
        ),
    ];
    shapes.map(|(shape, about, schema)| (shape, about, jsonschema::draft202012::new(&schema).ok()))
});

/// Why content cannot be sent.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// Nothing says what it looks like.
    #[error("there is nothing to hold it to, which is a fault of ours")]
    NoSchema,
    /// What a model wrote is not repeated: it may be long, and it may be a refusal.
    #[error("{} does not fit the protocol ({keyword})", place(.pointer))]
    Content {
        /// Where.
        pointer: String,
        /// What of its schema it breaks.
        keyword: String,
    },
}

/// Where in generated content.
fn place(pointer: &str) -> String {
    if pointer.is_empty() { "the content".to_owned() } else { format!("`{pointer}`") }
}

impl Shape {
    fn known(self) -> Option<&'static (Self, &'static str, Option<Validator>)> {
        SHAPES.iter().find(|(shape, ..)| *shape == self)
    }

    /// What it looks like, for whoever generates it.
    pub fn description(self) -> &'static str {
        self.known().map_or("", |(_, description, _)| description)
    }

    /// Whether content can be sent.
    pub fn check(self, content: &Value, request: Option<&Value>) -> Result<(), ShapeError> {
        let validator = self.known().and_then(|(.., validator)| validator.as_ref());
        first_error(validator.ok_or(ShapeError::NoSchema)?, content)?;
        match request.and_then(|request| request.get("requestedSchema")) {
            // What asks for a form also says how it is filled in; a schema that is none asks for nothing.
            Some(schema) if self == Self::FormContent && schema.to_string().len() <= MAX_SCHEMA => {
                jsonschema::validator_for(schema).map_or(Ok(()), |validator| first_error(&validator, content))
            }
            _ => Ok(()),
        }
    }
}

fn object(required: &[&str], properties: Value) -> Value {
    let mut schema = json!({"type": "object", "required": required});
    schema["properties"] = properties;
    schema
}

/// A list that is not empty.
fn list(items: Value) -> Value {
    let mut schema = json!({"type": "array", "minItems": 1});
    schema["items"] = items;
    schema
}

/// A piece of content as MCP has it.
fn block() -> Value {
    let text = json!({"type": "string"});
    let mut resource = object(&["uri"], json!({"uri": text}));
    resource["anyOf"] = json!([{"required": ["text"]}, {"required": ["blob"]}]);
    let of = |kind: &str, required: &[&str]| {
        let mut properties = json!({"type": {"const": kind}});
        for name in required {
            properties[*name] = if *name == "resource" { resource.clone() } else { text.clone() };
        }
        object(&[&["type"], required].concat(), properties)
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
    let of =
        |kind: &str, schema: Value| object(&["kind", kind], json!({"kind": {"const": kind}, kind: schema}));
    list(json!({"oneOf": [
        of("text", json!({"type": "string"})),
        of("data", json!({"type": "object"})),
        of("file", json!({"type": "object", "anyOf": [{"required": ["bytes"]}, {"required": ["uri"]}]})),
    ]}))
}

fn message() -> Value {
    object(
        &["kind", "role", "messageId", "parts"],
        json!({
            "kind": {"const": "message"}, "role": {"enum": ["agent", "user"]}, "messageId": {"type": "string"},
            "parts": parts(),
        }),
    )
}

fn task() -> Value {
    let text = json!({"type": "string"});
    let states = "submitted working input-required completed canceled failed rejected auth-required unknown";
    let states: Vec<&str> = states.split(' ').collect();
    object(
        &["kind", "id", "contextId", "status"],
        json!({
            "kind": {"const": "task"}, "id": text, "contextId": text,
            "status": object(&["state"], json!({"state": {"enum": states}, "message": message()})),
            "artifacts": {"type": "array", "items": object(
                &["artifactId", "parts"],
                json!({"artifactId": text, "parts": parts()}),
            )},
            "history": {"type": "array", "items": message()},
        }),
    )
}

fn first_error(validator: &Validator, content: &Value) -> Result<(), ShapeError> {
    validator.validate(content).map_err(|error| ShapeError::Content {
        pointer: error.instance_path().to_string(),
        keyword: error.kind().keyword().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_bindings_have_is_taken() {
        let text = json!({"type": "text", "text": "x"});
        let part = json!([{"kind": "text", "text": "x"}]);
        let resource = json!({"type": "resource", "resource": {"uri": "a:b", "text": "x"}});
        let task = json!({
            "kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"},
            "artifacts": [{"artifactId": "a", "parts": part}],
        });
        for (shape, content) in [
            (Shape::ToolResult, json!({"content": [text], "isError": true})),
            (Shape::ToolResult, json!({"content": [resource]})),
            (Shape::PromptResult, json!({"messages": [{"role": "user", "content": text}]})),
            (Shape::SamplingResult, json!({"role": "assistant", "content": text, "model": "m"})),
            (Shape::FormContent, json!({"name": "Ada", "age": 36, "yes": true, "tags": ["a"]})),
            (Shape::Task, json!({"kind": "message", "role": "agent", "messageId": "m", "parts": part})),
            (Shape::Task, task),
            (Shape::ToolMessage, json!({"content": "done"})),
            (Shape::Messages, json!({"messages": [{"id": "1", "role": "user", "content": "hi"}]})),
        ] {
            assert_eq!(shape.check(&content, None), Ok(()), "{shape:?} {content}");
            assert!(shape.description().contains(if shape == Shape::FormContent {
                "elicitation"
            } else {
                "{"
            }));
        }
    }

    #[test]
    fn what_a_model_says_instead_is_not_sent() {
        let text = json!({"type": "text", "text": "x"});
        for (shape, content) in [
            (Shape::ToolResult, json!({})),
            (Shape::ToolResult, json!({"error": "I cannot help with that."})),
            (Shape::ToolResult, json!({"content": "I cannot help with that."})),
            (Shape::ToolResult, json!({"content": []})),
            (Shape::ToolResult, json!({"content": [{"type": "text"}]})),
            (Shape::ToolResult, json!({"content": [{"type": "spell", "text": "x"}]})),
            (Shape::PromptResult, json!({"messages": [{"role": "judge", "content": text}]})),
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
            let error = shape.check(&content, None).unwrap_err().to_string();
            let is_short = error.contains("does not fit the protocol") && !error.contains("help");
            assert!(is_short, "{shape:?}: {error}");
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
