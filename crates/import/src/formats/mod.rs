//! The formats that are read, one module each.

mod agentdojo;
mod claude_code;
mod codex;
mod conversation;
mod gemini_cli;
mod inspect;
mod langfuse;
mod langsmith;
mod mcp_stdio;
mod messages;
mod observations;
mod openai_chat;
mod opencode;
mod openinference;
mod openllmetry;
mod otlp;
mod spans;
mod thoughtjack;

use crate::format::Format;

/// All formats, in the order in which they are asked whether a file is theirs: the more particular ones first.
pub(crate) static FORMATS: &[&Format] = &[
    &thoughtjack::FORMAT,
    &claude_code::FORMAT,
    &codex::FORMAT,
    &gemini_cli::FORMAT,
    &opencode::FORMAT,
    &inspect::FORMAT,
    &agentdojo::FORMAT,
    &mcp_stdio::FORMAT,
    &openai_chat::FORMAT,
    &langsmith::FORMAT,
    &langfuse::FORMAT,
    &openinference::FORMAT,
    &openllmetry::FORMAT,
    &otlp::FORMAT,
];
