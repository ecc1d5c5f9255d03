//! Log events: those of the `GenAI` conventions, and those of coding agents.

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::value::to_raw_value;
use sortie_trace::Direction::{Request, Response};

use super::attributes::{Attributes, EventText};
use super::interpret::{
    CLAUDE_PROMPTS, GENAI, ModelSpan, is_hidden_text, message_event, model_call, note_truncation,
};
use super::json::AttributeValue;
use crate::conversation::{AgentLog, Conversation, Place, Source, ToolRun};
use crate::messages::{Role, Turn};
use sortie_recording::fields::Fields;
use sortie_recording::loss::count;
use sortie_recording::session::CalledTool;

/// A coding agent, and the settings by which its log events have content.
struct CodingAgent {
    prefix: &'static str,
    prompts: &'static str,
    tool_input: &'static str,
    tool_output: &'static str,
    answers: &'static str,
}

static AGENTS: [CodingAgent; 3] = [
    CodingAgent {
        prefix: "claude_code.",
        prompts: CLAUDE_PROMPTS,
        tool_input: "OTEL_LOG_TOOL_DETAILS=1",
        tool_output: "OTEL_LOG_TOOL_CONTENT=1",
        answers: "OTEL_LOG_RAW_API_BODIES=1",
    },
    CodingAgent {
        prefix: "codex.",
        prompts: "otel.log_user_prompt = true",
        tool_input: "",
        tool_output: "",
        answers: "",
    },
    CodingAgent {
        prefix: "gemini_cli.",
        prompts: "telemetry.logPrompts = true",
        tool_input: "telemetry.logPrompts = true",
        tool_output: "",
        answers: "telemetry.logPrompts = true",
    },
];

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
        Place { time: event.time, line, item: Rc::from(if item.is_empty() { &*event.name } else { item }) };
    // Claude Code has its name in the body, and a short one in an attribute.
    let body = event.body.and_then(AttributeValue::text).unwrap_or_default();
    let name = if body.starts_with("claude_code.") { body } else { event.name.clone() };
    let agent = AGENTS.iter().find(|agent| name.starts_with(agent.prefix));
    if let Some(agent) = agent {
        if let Some(service) = service {
            conversation.about("program", service);
        }
        let short = name.strip_prefix(agent.prefix).unwrap_or_default().to_owned();
        return coding_agent(conversation, agent, &short, event, place);
    }
    if name == "gen_ai.client.inference.operation.details" {
        let mut attributes = Attributes::default();
        attributes.sort(&event.attributes);
        for name in &attributes.unknown {
            count(&mut conversation.notes.unknown, name);
        }
        if let Some(model) = attributes.model.and_then(AttributeValue::text) {
            conversation.about("model", &*model);
        }
        let failure = attributes.error.and_then(AttributeValue::text).map(Cow::into_owned);
        let end = event.time;
        let model = ModelSpan { span, place: &place, end, failure, setting: GENAI, source: Source::Details };
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

fn coding_agent(
    conversation: &mut Conversation,
    agent: &CodingAgent,
    name: &str,
    event: &EventText<'_>,
    place: Place,
) {
    let log = conversation.agent_log.get_or_insert(AgentLog { has_answers: false, setting: agent.answers });
    let mut log = *log;
    // Every tool that is run has its event, whoever's it is.
    conversation.shows("mcp", "tools/call", Request);
    conversation.shows("mcp", "tools/call", Response);
    let visible = |key: &str| event.text(key).filter(|text| !is_hidden_text(text));
    if let Some(model) = event.text("model") {
        conversation.about("model", &*model);
    }
    match name {
        "user_prompt" => match visible("prompt") {
            Some(prompt) => {
                note_truncation(conversation, &prompt, &[("ag_ui", "run_agent_input", Request)]);
                conversation.output(0, place, vec![Turn::text(Role::User, prompt)], true);
            }
            None => conversation.lack(
                ("ag_ui", "run_agent_input", Request),
                "prompts were not recorded",
                agent.prompts,
            ),
        },
        "assistant_response" => {
            let said = ["response", "text", "content"].iter().find_map(|key| visible(key));
            match said {
                Some(said) => {
                    log.has_answers = true;
                    note_truncation(conversation, &said, &crate::conversation::ANSWERS);
                    conversation.output(0, place, vec![Turn::text(Role::Assistant, said)], true);
                }
                None => log.has_answers = false,
            }
            conversation.agent_log = Some(log);
        }
        "tool_result" | "tool_call" => tool_result(conversation, agent, event, &place),
        "api_error" => {
            let words = event
                .text("error")
                .or_else(|| event.text("error.message"))
                .or_else(|| event.text("error_message"));
            let words = words.map_or_else(|| "a request to the model failed".to_owned(), Cow::into_owned);
            conversation.model_ended(event.time, Some(words));
        }
        "api_request" | "api_response" => {
            let failure = visible("error.message").or_else(|| visible("error"));
            conversation.model_ended(event.time, failure.map(Cow::into_owned));
            count(&mut conversation.notes.passed_over, &format!("log event {}{name}", agent.prefix));
        }
        _ => {
            // What is known to say nothing about messages; the others may.
            let known = matches!(
                name,
                "tool_decision"
                    | "conversation_starts"
                    | "sse_event"
                    | "websocket_request"
                    | "websocket_event"
                    | "config"
                    | "next_speaker_check"
                    | "api_request_body"
                    | "api_response_body"
                    | "mcp_server_connection"
                    | "internal_error"
                    | "plugin_installed"
                    | "skill_activated"
                    | "hook_execution_start"
                    | "hook_execution_complete"
                    | "hook_registered"
                    | "compaction"
                    | "auth"
                    | "permission_mode_changed"
                    | "at_mention"
                    | "model_routing"
                    | "chat_compression"
                    | "flash_fallback"
                    | "ide_connection"
                    | "conversation_finished"
                    | "file_operation"
                    | "tool_output_truncated"
                    | "slash_command"
                    | "feedback_survey"
                    | "extension_enable"
                    | "startup_stats"
            );
            let table =
                if known { &mut conversation.notes.passed_over } else { &mut conversation.notes.unknown };
            count(table, &format!("log event {}{name}", agent.prefix));
        }
    }
    account(conversation, name, event);
}

fn tool_result(conversation: &mut Conversation, agent: &CodingAgent, event: &EventText<'_>, place: &Place) {
    let first = |keys: &[&str]| keys.iter().find_map(|key| event.get(key));
    let word = |keys: &[&str]| {
        first(keys).and_then(AttributeValue::text).map(Cow::into_owned).filter(|text| !is_hidden_text(text))
    };
    let mut name = word(&["tool_name", "function_name"]).unwrap_or_default();
    let mut server = word(&["mcp_server", "mcp_server_name"]);
    let details = first(&["tool_parameters"]).map(AttributeValue::json);
    let mut details = details.as_ref().and_then(|json| Fields::of(json.get()));
    if let Some(details) = &mut details {
        server = server.or_else(|| details.text("mcp_server_name"));
        if let Some(tool) = details.text("mcp_tool_name") {
            name = tool;
        }
    }
    if let CalledTool::Mcp { server: named, name: tool } = CalledTool::named(&name) {
        server = server.or(Some(named));
        name = tool;
    }
    if server.is_none() && (name == "mcp_tool" || event.text("tool_type").is_some_and(|kind| kind == "mcp")) {
        server = Some(String::new());
        if name == "mcp_tool" {
            conversation.lack(
                ("mcp", "tools/call", Request),
                "the names of MCP tools were not recorded",
                agent.tool_input,
            );
        }
    }
    let arguments = first(&["tool_input", "arguments", "function_args"]).map(AttributeValue::json);
    let arguments = arguments.filter(|arguments| Fields::of(arguments.get()).is_some());
    let output = word(&["output", "tool_output"]);
    let class = if server.is_some() { "mcp" } else { "local" };
    if let Some(output) = &output {
        note_truncation(conversation, output, &[(class, "tools/call", Response)]);
    }
    if let Some(arguments) = &arguments {
        note_truncation(conversation, arguments.get(), &[(class, "tools/call", Request)]);
    } else {
        conversation.lack(
            (class, "tools/call", Request),
            "the arguments of calls were not recorded",
            agent.tool_input,
        );
    }
    let failed = event.text("success").is_some_and(|word| word == "false");
    let result = output.or_else(|| word(&["error", "error.message"]).filter(|_| failed));
    if result.is_none() {
        conversation.lack(
            (class, "tools/call", Response),
            "the results of calls were not recorded",
            agent.tool_output,
        );
    }
    let took = event.text("duration_ms").and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float becomes the nearest whole number there is"
    )]
    let start = place.time.saturating_sub((took.clamp(0.0, 1e12) * 1e6) as u64);
    conversation.run(ToolRun {
        id: word(&["tool_use_id", "call_id"]),
        name,
        server,
        arguments,
        result: result.and_then(|text| to_raw_value(&text).ok()),
        is_error: failed,
        setting: agent.tool_input,
        result_elsewhere: true,
        end: place.time,
        place: Some(place.at(start)),
        ..ToolRun::default()
    });
}

/// Attributes of the log events of coding agents that say nothing more.
const PASSED: &[&str] = &[
    "agent.name",
    "app.entrypoint",
    "app.version",
    "approval_policy",
    "attempt",
    "auth_mode",
    "auth_type",
    "cache_creation_tokens",
    "cache_read_tokens",
    "cached_token_count",
    "content_length",
    "context_window",
    "conversation.id",
    "cost_usd",
    "decision",
    "decision_source",
    "decision_type",
    "duration_ms",
    "effort",
    "error",
    "error.message",
    "error.type",
    "error_type",
    "event.kind",
    "event.name",
    "event.sequence",
    "event.timestamp",
    "extension_name",
    "function_args",
    "function_name",
    "http.response.status_code",
    "input_token_count",
    "input_tokens",
    "interactive",
    "mcp_server",
    "mcp_server_name",
    "mcp_server_origin",
    "mcp_server_scope",
    "mcp_servers",
    "model",
    "organization.id",
    "originator",
    "os.type",
    "output",
    "output_token_count",
    "output_tokens",
    "prompt",
    "prompt.id",
    "prompt_id",
    "prompt_length",
    "provider_name",
    "query_source",
    "reasoning_effort",
    "reasoning_summary",
    "reasoning_token_count",
    "request_id",
    "response",
    "response_length",
    "sandbox_policy",
    "session.id",
    "slug",
    "source",
    "speed",
    "start_time",
    "status_code",
    "success",
    "terminal.type",
    "thoughts_token_count",
    "tool_input",
    "tool_name",
    "tool_input_size_bytes",
    "tool_parameters",
    "tool_result_size_bytes",
    "tool_type",
    "tool_use_id",
    "tool_token_count",
    "total_token_count",
    "call_id",
    "arguments",
    "user.account_id",
    "user.account_uuid",
    "user.email",
    "user.id",
    "installation.id",
    "error_message",
    "finish_reasons",
];

fn account(conversation: &mut Conversation, name: &str, event: &EventText<'_>) {
    for (key, _) in &event.attributes {
        let table = if PASSED.contains(&&**key) {
            &mut conversation.notes.passed_over
        } else {
            &mut conversation.notes.unknown
        };
        count(table, &format!("{name}.{key}"));
    }
}
