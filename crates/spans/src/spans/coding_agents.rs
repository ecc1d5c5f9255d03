//! Log events of coding agents: Claude Code, codex and gemini-cli.

use std::borrow::Cow;

use serde_json::value::{RawValue, to_raw_value};
use sortie_trace::Direction::{Request, Response};

use super::attributes::EventText;
use super::interpret::{CLAUDE_PROMPTS, is_hidden_text, note_truncation};
use super::json::AttributeValue;
use crate::conversation::{ANSWERS, AgentLog, Conversation, Place, ToolRun};
use crate::messages::{Part, Role, Turn};
use sortie_recording::fields::Fields;
use sortie_recording::loss::count;
use sortie_recording::session::CalledTool;

/// The service that gemini-cli calls itself.
pub(super) const GEMINI: &str = "gemini-cli";
/// The setting by which gemini-cli records content.
pub(super) const GEMINI_CONTENT: &str = "telemetry.logPrompts = true";

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
        answers: "OTEL_LOG_ASSISTANT_RESPONSES=1",
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
        prompts: GEMINI_CONTENT,
        tool_input: GEMINI_CONTENT,
        tool_output: "",
        answers: GEMINI_CONTENT,
    },
];

/// Whether the spans of a service say no more than its log events do: those of gemini-cli repeat them, and those of codex have
/// no content.
pub(super) fn is_told_by_logs(service: &str) -> bool {
    service == GEMINI || service.starts_with("codex")
}

/// Puts an event of a coding agent to its conversation; says whether it was one.
pub(super) fn event(
    conversation: &mut Conversation,
    name: &str,
    event: &EventText<'_>,
    place: &Place,
) -> bool {
    let found = AGENTS.iter().find_map(|agent| Some((agent, name.strip_prefix(agent.prefix)?)));
    let Some((agent, name)) = found else { return false };
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
                // gemini-cli has it in the events of its model too.
                let is_told_once = agent.prefix != "gemini_cli.";
                conversation.output(0, place.clone(), vec![Turn::text(Role::User, prompt)], is_told_once);
            }
            None => conversation.lack(
                ("ag_ui", "run_agent_input", Request),
                "prompts were not recorded",
                agent.prompts,
            ),
        },
        "assistant_response" => {
            let said = visible("response");
            log.has_answers = said.is_some();
            if let Some(said) = said {
                note_truncation(conversation, &said, &ANSWERS);
                conversation.output(0, place.clone(), vec![Turn::text(Role::Assistant, said)], true);
            }
            conversation.agent_log = Some(log);
        }
        "tool_result" | "tool_call" => {
            let run = tool_run(conversation, agent, event, place);
            conversation.run(run);
        }
        "tool_decision" => decision(conversation, agent, event, place),
        "api_error" => {
            let words =
                visible("error").or_else(|| visible("error.message")).or_else(|| visible("error_message"));
            let words = words.map_or_else(|| "a request to the model failed".to_owned(), Cow::into_owned);
            conversation.model_ended(event.time, Some(words));
        }
        "api_request" | "api_response" => {
            let failure = visible("error.message").or_else(|| visible("error"));
            conversation.model_ended(event.time, failure.map(Cow::into_owned));
        }
        _ => {
            // An event that says nothing about messages is passed over as a whole; others may say something.
            let table = if EVENTS.contains(&name) {
                &mut conversation.notes.passed_over
            } else {
                &mut conversation.notes.unknown
            };
            count(table, &format!("log event {}{name}", agent.prefix));
            return true;
        }
    }
    for (key, value) in &event.attributes {
        let is_known = value.is_null() || PASSED.contains(&&**key) || key.starts_with("auth.");
        let table =
            if is_known { &mut conversation.notes.passed_over } else { &mut conversation.notes.unknown };
        count(table, &format!("{name}.{key}"));
    }
    true
}

/// Whether a call may be made. One that may has an event of its own when it was.
fn decision(conversation: &mut Conversation, agent: &CodingAgent, event: &EventText<'_>, place: &Place) {
    let source = event.text("source").unwrap_or_default();
    match &*event.text("decision").unwrap_or_default() {
        // Claude Code says nothing more of such a call.
        "reject" => {
            let mut run = tool_run(conversation, agent, event, place);
            run.refused = Some(format!("reject, by `{source}`"));
            conversation.run(run);
        }
        // codex has an event with what it told its model.
        "denied" | "abort" => {
            if let Some(call) = event.text("call_id") {
                conversation.refused(call.into_owned(), format!("denied, by `{source}`"));
            }
        }
        _ => {}
    }
}

/// What an event says of a call of a tool.
fn tool_run(
    conversation: &mut Conversation,
    agent: &CodingAgent,
    event: &EventText<'_>,
    place: &Place,
) -> ToolRun {
    let first = |keys: &[&str]| keys.iter().find_map(|key| event.get(key));
    let word = |keys: &[&str]| {
        first(keys).and_then(AttributeValue::text).map(Cow::into_owned).filter(|text| !is_hidden_text(text))
    };
    let (name, server) = called(event, &word);
    let arguments = first(&["tool_input", "arguments", "function_args"]).map(AttributeValue::json);
    let arguments = arguments.filter(|arguments| Fields::of(arguments.get()).is_some());
    let class = if server.is_some() { "mcp" } else { "local" };
    if let Some(arguments) = &arguments {
        note_truncation(conversation, arguments.get(), &[(class, "tools/call", Request)]);
    }
    let output = word(&["output"]).map(|output| match output.split_once("\nOutput:\n") {
        // Before what a server said, codex says how long it took.
        Some((before, said)) if server.is_some() && before.starts_with("Wall time: ") => said.to_owned(),
        _ => output,
    });
    if let Some(output) = &output {
        note_truncation(conversation, output, &[(class, "tools/call", Response)]);
    }
    if event.text("output_truncated").is_some_and(|word| word == "true") {
        conversation.lack((class, "tools/call", Response), "content was cut off when it was recorded", "");
    }
    let failed = event.text("success").is_some_and(|word| word == "false");
    let error = word(&["error", "error.message"]).filter(|_| failed);
    let is_refused = event.text("error_type").is_some_and(|kind| kind == "policy_violation")
        || event.text("decision").is_some_and(|decision| decision == "reject");
    let took = event.text("duration_ms").and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float becomes the nearest whole number there is"
    )]
    let start = place.time.saturating_sub((took.clamp(0.0, 1e12) * 1e6) as u64);
    ToolRun {
        id: word(&["tool_use_id", "call_id"]),
        name,
        server,
        arguments,
        refused: error.clone().filter(|_| is_refused),
        result: output.or(error).and_then(|text| to_raw_value(&text).ok()),
        is_error: failed,
        setting: agent.tool_input,
        result_setting: Some(agent.tool_output),
        is_log: true,
        end: place.time,
        place: Some(place.at(start)),
        ..ToolRun::default()
    }
}

/// Which tool was called, and of which MCP server, where it is of one: empty for one without a name.
fn called(event: &EventText<'_>, word: &impl Fn(&[&str]) -> Option<String>) -> (String, Option<String>) {
    let mut name = word(&["tool_name", "function_name"]).unwrap_or_default();
    let mut server = word(&["mcp_server", "mcp_server_name"]);
    if let Some(space) = word(&["tool_namespace"]).as_deref().and_then(|space| space.strip_prefix("mcp__")) {
        server = server.or_else(|| Some(space.trim_end_matches('_').to_owned()));
    }
    let details = event.get("tool_parameters").map(AttributeValue::json);
    if let Some(mut details) = details.as_ref().and_then(|json| Fields::of(json.get())) {
        server = server.or_else(|| details.text("mcp_server_name"));
        name = details.text("mcp_tool_name").unwrap_or(name);
    }
    if let CalledTool::Mcp { server: named, name: tool } = CalledTool::named(&name) {
        server = server.or(Some(named));
        name = tool;
    }
    let is_mcp = name == "mcp_tool" || event.text("tool_type").is_some_and(|kind| kind == "mcp");
    (name, server.or_else(|| is_mcp.then(String::new)))
}

/// Messages as gemini-cli writes them in its events. The model is called `system` there; a call has its name before its id, and its
/// result does not; a result is wrapped, that of a server once more; and what the program says about the machine is the user's.
pub(super) fn gemini_turns(turns: Vec<Turn>) -> Vec<Turn> {
    let amend = |mut turn: Turn| {
        if turn.role == Role::System {
            turn.role = Role::Assistant;
        }
        turn.parts.retain(|part| !matches!(part, Part::Text(text) if text.starts_with("<session_context>")));
        for part in &mut turn.parts {
            match part {
                Part::Call { id: Some(id), name, .. } => {
                    let short = id.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix("__"));
                    if let Some(short) = short.map(ToOwned::to_owned) {
                        *id = short;
                    }
                }
                Part::Result { value: Some(value), .. } => {
                    if let Some(inner) = gemini_result(value) {
                        *value = inner;
                    }
                }
                _ => {}
            }
        }
        turn
    };
    turns.into_iter().map(amend).collect()
}

/// What a tool gave, out of `{"output": ..}`.
fn gemini_result(value: &RawValue) -> Option<Box<RawValue>> {
    let value = sortie_recording::fields::unquoted(value);
    let mut fields = Fields::of(value.get())?;
    let output = fields.text("output").or_else(|| fields.text("error"))?;
    let inner = output
        .strip_prefix("<untrusted_context>\n")
        .and_then(|text| text.strip_suffix("\n</untrusted_context>"));
    to_raw_value(inner.unwrap_or(&output)).ok()
}

/// Events that say nothing about messages.
const EVENTS: &[&str] = &[
    "api_request_body",
    "api_response_body",
    "at_mention",
    "auth",
    "chat_compression",
    "compaction",
    "config",
    "conversation_finished",
    "conversation_starts",
    "extension_enable",
    "feedback_survey",
    "file_operation",
    "flash_fallback",
    "hook_execution_complete",
    "hook_execution_start",
    "hook_registered",
    "ide_connection",
    "internal_error",
    "managed_settings_resolved",
    "mcp_server_connection",
    "model_routing",
    "next_speaker_check",
    "permission_mode_changed",
    "plan.approval_mode_duration",
    "plugin_installed",
    "plugin_loaded",
    "ripgrep_fallback",
    "skill_activated",
    "slash_command",
    "sse_event",
    "startup_phase",
    "startup_stats",
    "tool_output_truncated",
    "turn_ttft",
    "websocket_event",
    "websocket_request",
];

/// Attributes of the log events of coding agents that say nothing more.
const PASSED: &[&str] = &[
    "agent.name",
    "agent_name",
    "anthropic.custom_base_url",
    "anthropic.provider",
    "app.entrypoint",
    "app.version",
    "approval_policy",
    "arguments",
    "attempt",
    "auth_mode",
    "auth_type",
    "cache_creation_1h_tokens",
    "cache_creation_5m_tokens",
    "cache_creation_tokens",
    "cache_read_tokens",
    "cached_content_token_count",
    "cached_token_count",
    "call_id",
    "content_length",
    "context_window",
    "conversation.id",
    "cost_usd",
    "cost_usd_micros",
    "decision",
    "decision_source",
    "decision_type",
    "duration_ms",
    "effort",
    "end_time",
    "endpoint",
    "error",
    "error.message",
    "error.type",
    "error_message",
    "error_type",
    "event.kind",
    "event.name",
    "event.sequence",
    "event.timestamp",
    "extension_id",
    "extension_name",
    "finish_reasons",
    "function_args",
    "function_name",
    "http.response.status_code",
    "http.status_code",
    "input_token_count",
    "input_tokens",
    "installation.id",
    "interactive",
    "mcp_server",
    "mcp_server.name",
    "mcp_server_name",
    "mcp_server_origin",
    "mcp_server_scope",
    "mcp_servers",
    "mcp_tool.name",
    "message.uuid",
    "model",
    "organization.id",
    "originator",
    "os.type",
    "output",
    "output_token_count",
    "output_tokens",
    "output_truncated",
    "permission_mode",
    "prompt",
    "prompt.id",
    "prompt_id",
    "prompt_length",
    "prompt_text",
    "provider_name",
    "query_source",
    "reasoning_effort",
    "reasoning_summary",
    "reasoning_token_count",
    "request_id",
    "request_text",
    "response",
    "response_length",
    "response_text",
    "role",
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
    "tool_input_size_bytes",
    "tool_name",
    "tool_namespace",
    "tool_parameters",
    "tool_result_seq",
    "tool_result_size_bytes",
    "tool_source",
    "tool_token_count",
    "tool_type",
    "tool_use_id",
    "total_token_count",
    "ttft_ms",
    "user.account_id",
    "user.account_uuid",
    "user.email",
    "user.id",
];
