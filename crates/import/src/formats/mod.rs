//! The formats that are read: those of this crate, one module each, and those of `sortie-spans`.

mod agentdojo;
mod claude_code;
mod codex;
mod gemini_cli;
mod inspect;
mod mcp_stdio;
mod openai_chat;
mod opencode;
mod thoughtjack;

use std::path::Path;

use sortie_recording::format::{Format, Head};

/// All formats, in the order in which they are asked whether a file is theirs: the more particular ones first.
static FORMATS: &[&Format] = &[
    &thoughtjack::FORMAT,
    &claude_code::FORMAT,
    &codex::FORMAT,
    &gemini_cli::FORMAT,
    &opencode::FORMAT,
    &inspect::FORMAT,
    &agentdojo::FORMAT,
    &sortie_spans::LANGSMITH,
    &sortie_spans::LANGFUSE,
    &sortie_spans::OPENINFERENCE,
    &sortie_spans::OPENLLMETRY,
    &sortie_spans::OTLP,
    &mcp_stdio::FORMAT,
    &openai_chat::FORMAT,
];

/// The formats that are read.
#[derive(Clone, Copy, Debug)]
pub struct Formats;

impl Formats {
    /// All there are, in the order in which they are asked whether a file is theirs.
    pub fn all() -> &'static [&'static Format] {
        FORMATS
    }

    /// The one of this name.
    ///
    /// ```
    /// use sortie_import::Formats;
    ///
    /// assert_eq!(Formats::named("codex").unwrap().name, "codex");
    /// assert!(Formats::named("punched-cards").is_none());
    /// ```
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS.iter().copied().find(|format| format.name == name)
    }

    /// Whether a file is called as one that is read with another: then it is to be read after the others, if none of them
    /// [had](sortie_recording::session::RecordedSession::companions) it.
    ///
    /// ```
    /// use std::path::Path;
    ///
    /// use sortie_import::Formats;
    ///
    /// assert!(Formats::is_companion(Path::new("session/subagents/agent-a1.jsonl")));
    /// assert!(!Formats::is_companion(Path::new("session.jsonl")));
    /// ```
    pub fn is_companion(path: &Path) -> bool {
        claude_code::is_companion(path)
    }

    /// The format of a file, as far as its beginning and its name tell.
    pub fn recognize(head: &Head<'_>) -> Option<&'static Format> {
        FORMATS.iter().copied().find(|format| (format.recognizes)(head))
    }
}
