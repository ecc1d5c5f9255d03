//! Names of what says nothing about messages.

/// How deep events of old logs are within events.
pub(super) const NESTED: usize = 6;

/// Events that say nothing about messages.
pub(super) const PASSED: &[&str] = &[
    "sample_init",
    "sample_limit",
    "sandbox",
    "state",
    "store",
    "anchor",
    "approval",
    "review",
    "sentinel",
    "branch",
    "checkpoint",
    "compaction",
    "input",
    "interrupt",
    "score",
    "score_edit",
    "error",
    "logger",
    "info",
    "span_end",
];

pub(super) const MODEL_EVENT: &[&str] = &[
    "uuid",
    "working_start",
    "metadata",
    "model",
    "role",
    "requested_model",
    "tool_choice",
    "config",
    "retries",
    "request_ids",
    "traceback",
    "traceback_ansi",
    "cache",
    "call",
    "working_time",
    "pending",
    "completed",
    "input_refs",
];

pub(super) const TOOL_EVENT: &[&str] = &[
    "uuid",
    "working_start",
    "type",
    "view",
    "working_time",
    "agent",
    "agent_span_id",
    "failed",
    "message_id",
    "pending",
    "completed",
];

pub(super) const MESSAGE: &[&str] =
    &["id", "source", "metadata", "tool_call_id", "tool_calls", "model", "function", "error", "reasoning"];

pub(super) const OUTPUT: &[&str] = &[
    "model",
    "completion",
    "usage",
    "input_context_tokens",
    "fallback",
    "time",
    "metadata",
    "error",
    "response_id",
];

pub(super) const SAMPLE: &[&str] = &[
    "choices",
    "target",
    "description",
    "sandbox",
    "files",
    "setup",
    "output",
    "store",
    "timelines",
    "model_usage",
    "role_usage",
    "model_fallbacks",
    "started_at",
    "completed_at",
    "total_time",
    "working_time",
    "uuid",
    "error",
    "error_retries",
    "limit",
    "turn_count",
    "token_limit",
    "token_limit_type",
    "token_limit_usage",
    "message_limit",
    "time_limit",
    "transcript",
    "scores",
    "events_data",
    "score",
];
