//! What the attributes of a span are, in the conventions that are known: the `GenAI` conventions of `OpenTelemetry`, old and new, MCP's,
//! those of `OpenInference`, `OpenLLMetry`, Vercel's AI SDK and pydantic-ai, and Claude Code's.

use std::borrow::Cow;

use super::json::AttributeValue;
use crate::messages::{Part, Role, Turn, json_of_text};

/// Attributes that say nothing about messages. Sorted: they are searched.
pub(super) static PASSED: &[&str] = &[
    "agent.name",
    "agent_name",
    "ai.embedding",
    "ai.embeddings",
    "ai.finishReason",
    "ai.model.id",
    "ai.model.provider",
    "ai.operationId",
    "ai.prompt.format",
    "ai.prompt.toolChoice",
    "ai.result.text",
    "ai.schema",
    "ai.schema.description",
    "ai.schema.name",
    "ai.telemetry.functionId",
    "ai.value",
    "ai.values",
    "anthropic.custom_base_url",
    "anthropic.provider",
    "app.version",
    "attempt",
    "auth_type",
    "cache_creation_tokens",
    "cache_read_tokens",
    "code.file.path",
    "code.filepath",
    "code.function",
    "code.function.name",
    "code.line.number",
    "code.lineno",
    "cost_usd",
    "decision",
    "deployment.environment",
    "duration_ms",
    "effort",
    "error.message",
    "error.type",
    "event.name",
    "event.timestamp",
    "fastmcp.component.key",
    "fastmcp.component.type",
    "fastmcp.provider.type",
    "file_path",
    "first_content_ms",
    "gen_ai.agent.call.id",
    "gen_ai.agent.description",
    "gen_ai.agent.id",
    "gen_ai.agent.name",
    "gen_ai.agent.version",
    "gen_ai.data_source.id",
    "gen_ai.operation.name",
    "gen_ai.output.type",
    "gen_ai.prompt.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.finish_reasons",
    "gen_ai.response.id",
    "gen_ai.response.model",
    "gen_ai.system",
    "gen_ai.task.id",
    "gen_ai.task.input",
    "gen_ai.task.kind",
    "gen_ai.task.name",
    "gen_ai.task.output",
    "gen_ai.task.parent.id",
    "gen_ai.task.status",
    "gen_ai.token.type",
    "gen_ai.tool.description",
    "gen_ai.tool.type",
    "gen_ai.workflow.edges",
    "gen_ai.workflow.name",
    "gen_ai.workflow.nodes",
    "graph.node.id",
    "graph.node.parent_id",
    "input.mime_type",
    "input_tokens",
    "installation.id",
    "interaction.duration_ms",
    "interaction.sequence",
    "interactive",
    "jsonrpc.protocol.version",
    "jsonrpc.request.id",
    "langgraph.graph.name",
    "langgraph.node.name",
    "llm.finish_reason",
    "llm.headers",
    "llm.invocation_parameters",
    "llm.is_streaming",
    "llm.model_name",
    "llm.provider",
    "llm.request.type",
    "llm.response.finish_reason",
    "llm.response.model",
    "llm.system",
    "llm_request.context",
    "logfire.json_schema",
    "logfire.level_num",
    "logfire.metrics",
    "logfire.msg",
    "logfire.msg_template",
    "logfire.pending_parent_id",
    "logfire.span_type",
    "mcp.method.name",
    "mcp.protocol.version",
    "mcp.session.id",
    "metadata",
    "model",
    "model_name",
    "model_request_parameters",
    "network.peer.address",
    "network.peer.port",
    "network.protocol.name",
    "network.protocol.version",
    "network.transport",
    "openinference.span.kind",
    "operation.name",
    "output.mime_type",
    "output_tokens",
    "parent.source",
    "pydantic_ai.new_message_index",
    "pydantic_ai.variable_instructions",
    "query_source_safe",
    "queued_sends",
    "resource.name",
    "rpc.jsonrpc.version",
    "rpc.method",
    "rpc.response.status_code",
    "rpc.service",
    "rpc.system",
    "rpc.system.name",
    "server.address",
    "server.port",
    "service.name",
    "session.id",
    "source",
    "span.kind",
    "span.type",
    "speed",
    "stop_reason",
    "success",
    "tag.tags",
    "tags",
    "terminal.type",
    "thread.id",
    "thread.name",
    "tool.description",
    "tool.json_schema",
    "tool_call.type",
    "tool_name_safe",
    "traceloop.entity.name",
    "traceloop.entity.path",
    "traceloop.entity.version",
    "traceloop.prompt.key",
    "traceloop.span.kind",
    "traceloop.workflow.name",
    "ttft_ms",
    "url.full",
    "user.id",
    "user_agent.original",
    "user_prompt_length",
];

/// Whole families of such attributes.
static PASSED_FAMILIES: &[&str] = &[
    "ai.embedding.",
    "ai.request.headers.",
    "ai.response.",
    "ai.settings.",
    "ai.telemetry.metadata.",
    "ai.usage.",
    "gen_ai.aggregated_usage.",
    "gen_ai.openai.",
    "gen_ai.request.",
    "gen_ai.usage.",
    "llm.cost.",
    "llm.token_count.",
    "llm.usage.",
    "openai.",
    "operation.cost",
    "traceloop.association.properties.",
];

/// A span, however it was written.
#[derive(Debug, Default)]
pub(super) struct SpanText<'j> {
    pub(super) trace: Cow<'j, str>,
    pub(super) span: Cow<'j, str>,
    pub(super) parent: Cow<'j, str>,
    pub(super) parent_is_remote: bool,
    pub(super) name: Cow<'j, str>,
    pub(super) is_server: bool,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) is_error: bool,
    pub(super) status: Cow<'j, str>,
    pub(super) dropped: u64,
    pub(super) attributes: Vec<(Cow<'j, str>, AttributeValue<'j>)>,
    pub(super) events: Vec<EventText<'j>>,
}

/// An event of a span, or a record of a log.
#[derive(Debug, Default)]
pub(super) struct EventText<'j> {
    pub(super) time: u64,
    pub(super) name: Cow<'j, str>,
    pub(super) attributes: Vec<(Cow<'j, str>, AttributeValue<'j>)>,
    pub(super) body: Option<AttributeValue<'j>>,
}

impl<'j> EventText<'j> {
    pub(super) fn get(&self, key: &str) -> Option<AttributeValue<'j>> {
        let found = self.attributes.iter().rev().find(|(name, _)| name == key);
        found.map(|(_, value)| *value).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, key: &str) -> Option<Cow<'j, str>> {
        self.get(key).and_then(AttributeValue::text)
    }
}

type Found<'j> = Option<AttributeValue<'j>>;

/// The attributes that say something.
#[derive(Debug, Default)]
pub(super) struct Attributes<'j> {
    pub(super) operation: Found<'j>,
    pub(super) conversation: Found<'j>,
    pub(super) model: Found<'j>,
    pub(super) provider: Found<'j>,
    pub(super) tool_name: Found<'j>,
    pub(super) tool_id: Found<'j>,
    pub(super) tool_kind: Found<'j>,
    pub(super) arguments: Found<'j>,
    pub(super) result: Found<'j>,
    pub(super) input_messages: Found<'j>,
    pub(super) output_messages: Found<'j>,
    pub(super) all_messages: Found<'j>,
    pub(super) final_result: Found<'j>,
    pub(super) tools: Found<'j>,
    pub(super) prompt: Found<'j>,
    pub(super) completion: Found<'j>,
    pub(super) mcp_method: Found<'j>,
    pub(super) mcp_server: Found<'j>,
    pub(super) mcp_uri: Found<'j>,
    pub(super) error: Found<'j>,
    pub(super) finish_reasons: Found<'j>,
    /// `openinference.span.kind`.
    pub(super) inference_kind: Found<'j>,
    /// `traceloop.span.kind`.
    pub(super) loop_kind: Found<'j>,
    pub(super) input: Found<'j>,
    pub(super) output: Found<'j>,
    /// `ai.operationId`.
    pub(super) vercel: Found<'j>,
    pub(super) vercel_text: Found<'j>,
    pub(super) vercel_calls: Found<'j>,
    /// Messages with an attribute for each of their parts.
    pub(super) flat_input: Vec<(&'j str, AttributeValue<'j>)>,
    pub(super) flat_output: Vec<(&'j str, AttributeValue<'j>)>,
    pub(super) flat_tools: Vec<(&'j str, AttributeValue<'j>)>,
    /// `traceloop.entity.name`.
    pub(super) entity: Found<'j>,
    pub(super) is_pydantic: bool,
    pub(super) is_traceloop: bool,
    /// Whether it is a span that says something about an agent.
    pub(super) is_relevant: bool,
    pub(super) passed: Vec<u16>,
    pub(super) passed_families: Vec<&'static str>,
    pub(super) unknown: Vec<&'j str>,
}

impl<'j> Attributes<'j> {
    /// Sorts the attributes of a span. Nothing is parsed, and nothing is copied.
    pub(super) fn sort(&mut self, attributes: &'j [(Cow<'j, str>, AttributeValue<'j>)]) {
        for (key, value) in attributes.iter().filter(|(_, value)| !value.is_null()) {
            self.put(key, *value);
        }
    }

    fn put(&mut self, key: &'j str, value: AttributeValue<'j>) {
        let found = Some(value);
        let first = |place: &mut Found<'j>| {
            if place.is_none() {
                *place = found;
            }
        };
        match key {
            "gen_ai.operation.name" => self.operation = found,
            "gen_ai.conversation.id" => self.conversation = found,
            "session.id"
            | "langfuse.session.id"
            | "conversation.id"
            | "ai.telemetry.metadata.sessionId"
            | "traceloop.association.properties.session_id"
            | "traceloop.association.properties.thread_id" => {
                first(&mut self.conversation);
                return self.pass_if_relevant(key);
            }
            "gen_ai.tool.name" | "tool.name" | "ai.toolCall.name" | "tool_name" => first(&mut self.tool_name),
            "gen_ai.tool.call.id" | "tool.id" | "tool_call.id" | "ai.toolCall.id" | "tool_use_id" => {
                first(&mut self.tool_id);
            }
            "gen_ai.tool.type" => {
                self.tool_kind = found;
                self.pass(key);
            }
            "gen_ai.tool.call.arguments"
            | "tool_arguments"
            | "ai.toolCall.args"
            | "tool.parameters"
            | "tool_input" => {
                first(&mut self.arguments);
            }
            "gen_ai.tool.call.result" | "tool_response" | "ai.toolCall.result" => first(&mut self.result),
            "gen_ai.input.messages" | "ai.prompt.messages" => first(&mut self.input_messages),
            "gen_ai.output.messages" => self.output_messages = found,
            "gen_ai.system_instructions" => {}
            "pydantic_ai.all_messages" => self.all_messages = found,
            "final_result" => self.final_result = found,
            "gen_ai.tool.definitions" | "ai.prompt.tools" => first(&mut self.tools),
            "gen_ai.prompt" | "ai.prompt" | "user_prompt" => first(&mut self.prompt),
            "gen_ai.completion" | "ai.response.object" => first(&mut self.completion),
            "ai.response.text" => self.vercel_text = found,
            "ai.response.toolCalls" => self.vercel_calls = found,
            "mcp.method.name" => self.mcp_method = found,
            "mcp.server.name" | "fastmcp.server.name" | "mcp.server" | "anthropic.mcp.server.name" => {
                first(&mut self.mcp_server);
            }
            "mcp.resource.uri" => self.mcp_uri = found,
            "openinference.span.kind" => self.inference_kind = found,
            "traceloop.span.kind" => self.loop_kind = found,
            "traceloop.entity.name" => {
                self.entity = found;
                self.pass(key);
            }
            "input.value" | "traceloop.entity.input" | "input" => first(&mut self.input),
            "output.value" | "traceloop.entity.output" | "output" => first(&mut self.output),
            "gen_ai.response.finish_reasons" => {
                self.finish_reasons = found;
                self.pass(key);
            }
            "error.type" => {
                self.error = found;
                return self.pass_if_relevant(key);
            }
            "gen_ai.request.model" | "llm.model_name" | "ai.model.id" => {
                first(&mut self.model);
                self.pass(key);
            }
            "gen_ai.provider.name" | "gen_ai.system" | "llm.provider" => {
                first(&mut self.provider);
                self.pass(key);
            }
            "ai.operationId" => {
                self.vercel = found;
                self.pass(key);
            }
            _ => {
                if let Some(path) =
                    key.strip_prefix("llm.input_messages.").or_else(|| key.strip_prefix("gen_ai.prompt."))
                {
                    if key == "gen_ai.prompt.name" {
                        return self.pass(key);
                    }
                    self.flat_input.push((path, value));
                } else if let Some(path) = key
                    .strip_prefix("llm.output_messages.")
                    .or_else(|| key.strip_prefix("gen_ai.completion."))
                {
                    self.flat_output.push((path, value));
                } else if let Some(path) =
                    key.strip_prefix("llm.tools.").or_else(|| key.strip_prefix("llm.request.functions."))
                {
                    self.flat_tools.push((path, value));
                } else {
                    return self.pass_if_relevant(key);
                }
            }
        }
        self.is_relevant = true;
    }

    /// What says nothing; it makes no span relevant.
    fn pass_if_relevant(&mut self, key: &'j str) {
        let was = self.is_relevant;
        self.pass(key);
        self.is_relevant = was;
    }

    fn pass(&mut self, key: &'j str) {
        self.is_relevant = true;
        self.is_pydantic |= key.starts_with("logfire.");
        self.is_traceloop |= key.starts_with("traceloop.");
        if let Ok(at) = PASSED.binary_search(&key) {
            self.passed.push(u16::try_from(at).unwrap_or(0));
        } else if let Some(family) = PASSED_FAMILIES.iter().find(|family| key.starts_with(**family)) {
            self.passed_families.push(family);
        } else if matches!(key, "langfuse.session.id" | "conversation.id") {
            // Taken.
        } else {
            self.unknown.push(key);
        }
    }
}

/// Messages that have an attribute for each of their parts: `0.message.role`, `0.message.tool_calls.0.tool_call.function.name`, and,
/// older, `0.role`, `0.tool_calls.0.name`.
pub(super) fn flat_messages<'j>(
    attributes: &[(&'j str, AttributeValue<'j>)],
    role: Role,
    unknown: &mut dyn FnMut(&str),
) -> Vec<Turn> {
    #[derive(Default)]
    struct Flat<'j> {
        role: Option<Cow<'j, str>>,
        content: Option<AttributeValue<'j>>,
        contents: Vec<(usize, Cow<'j, str>)>,
        calls: Vec<FlatCall<'j>>,
        call_id: Option<Cow<'j, str>>,
        name: Option<Cow<'j, str>>,
    }
    #[derive(Default)]
    struct FlatCall<'j> {
        id: Option<Cow<'j, str>>,
        name: Option<Cow<'j, str>>,
        arguments: Option<AttributeValue<'j>>,
    }
    // Hostile numbers make no long lists.
    let mut all: std::collections::BTreeMap<usize, Flat<'j>> = std::collections::BTreeMap::new();
    for (path, value) in attributes {
        let Some((number, rest)) = path.split_once('.') else {
            unknown(path);
            continue;
        };
        let Ok(number) = number.parse::<usize>() else {
            unknown(path);
            continue;
        };
        let rest = rest.strip_prefix("message.").unwrap_or(rest);
        let flat = all.entry(number).or_default();
        let mut words = rest.split('.');
        let indexed =
            |word: Option<&str>| word.and_then(|word| word.parse::<usize>().ok()).filter(|at| *at < 10_000);
        match words.next() {
            Some("role") => flat.role = value.text(),
            Some("content") => flat.content = Some(*value),
            Some("tool_call_id") => flat.call_id = value.text(),
            Some("name") => flat.name = value.text(),
            Some("finish_reason") => {}
            Some("contents") => {
                let at = indexed(words.next()).unwrap_or(0);
                if rest.ends_with("message_content.text")
                    && let Some(text) = value.text()
                {
                    flat.contents.push((at, text));
                } else if !(rest.contains("message_content.type")
                    || rest.contains("message_content.image")
                    || rest.contains("message_content.reasoning")
                    || rest.contains("message_content.id")
                    || rest.contains("message_content.signature"))
                {
                    unknown(rest);
                }
            }
            Some("tool_calls") => {
                let Some(at) = indexed(words.next()) else {
                    unknown(rest);
                    continue;
                };
                if flat.calls.len() <= at {
                    flat.calls.resize_with(at + 1, FlatCall::default);
                }
                let call = &mut flat.calls[at];
                match rest.rsplit('.').next() {
                    Some("id") => call.id = value.text(),
                    Some("name") => call.name = value.text(),
                    Some("arguments") => call.arguments = Some(*value),
                    Some("type") => {}
                    _ => unknown(rest),
                }
            }
            Some("function_call_name") => {
                flat.calls.resize_with(flat.calls.len().max(1), FlatCall::default);
                flat.calls[0].name = value.text();
            }
            Some("function_call_arguments_json") => {
                flat.calls.resize_with(flat.calls.len().max(1), FlatCall::default);
                flat.calls[0].arguments = Some(*value);
            }
            _ => unknown(rest),
        }
    }
    all.into_values()
        .filter_map(|flat| {
            let named = match flat.role.as_deref() {
                Some("system" | "developer") => Role::System,
                Some("assistant" | "ai" | "model") => Role::Assistant,
                Some("tool" | "function") => Role::Tool,
                Some("user" | "human") => Role::User,
                _ => role,
            };
            let mut contents = flat.contents;
            contents.sort_by_key(|(at, _)| *at);
            let mut parts = Vec::new();
            if named == Role::Tool {
                let value = match flat.content {
                    Some(content) => Some(result_of(&content.json_text())),
                    None if contents.is_empty() => None,
                    None => {
                        let blocks: Vec<_> = contents
                            .iter()
                            .map(|(_, text)| serde_json::json!({"type": "text", "text": text}))
                            .collect();
                        serde_json::value::to_raw_value(&blocks).ok()
                    }
                };
                parts.push(Part::Result {
                    id: flat.call_id.map(Cow::into_owned),
                    name: flat.name.map(Cow::into_owned),
                    value,
                    is_error: false,
                });
            } else {
                if let Some(content) = flat.content {
                    let text = content.json_text();
                    if !text.is_empty() {
                        parts.push(Part::Text(text.into_owned()));
                    }
                }
                parts.extend(contents.into_iter().map(|(_, text)| Part::Text(text.into_owned())));
            }
            parts.extend(flat.calls.into_iter().filter_map(|call| {
                Some(Part::Call {
                    id: call.id.map(Cow::into_owned),
                    name: call.name?.into_owned(),
                    arguments: call.arguments.map(AttributeValue::json),
                })
            }));
            (!parts.is_empty()).then_some(Turn { role: named, parts })
        })
        .collect()
}

/// A result that is a text: blocks where it is a list of them, else the text as it is.
fn result_of(text: &str) -> Box<serde_json::value::RawValue> {
    if text.starts_with('[') {
        return json_of_text(text);
    }
    serde_json::value::to_raw_value(text).unwrap_or_else(|_| serde_json::value::RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_passed_over_is_sorted() {
        assert!(super::PASSED.is_sorted());
    }
}
