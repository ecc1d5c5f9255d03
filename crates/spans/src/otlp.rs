//! Spans and log events of `OpenTelemetry`, by the `GenAI` conventions, old and new, and those of MCP; log events of coding agents.

use sortie_trace::Direction::{Request, Response};

use super::spans;
use sortie_recording::format::{Format, Head, Shown};
use sortie_recording::loss::Gap;

/// The format.
pub static FORMAT: Format = Format {
    name: "otlp",
    about: "OpenTelemetry: JSON Lines of the collector, bodies of `/v1/traces` and `/v1/logs`, protobuf",
    shows: SHOWS,
    gaps: GAPS,
    recognizes,
    read: spans::read,
};

/// What spans show, when their content is recorded.
pub(super) const SHOWS: &[Shown] = &[
    ("local", "tools/call", Request),
    ("local", "tools/call", Response),
    ("ag_ui", "run_agent_input", Request),
    ("ag_ui", "text_message_content", Response),
    ("ag_ui", "text_message_end", Response),
];

pub(super) const GAPS: &[Gap] = &[
    Gap {
        what: "the servers of tools",
        means: "a function of a framework may call an MCP server: it is `local` unless a span of the MCP client is there",
    },
    Gap {
        what: "what was sampled away",
        means: "a trace that sampling dropped leaves no mark, so the remaining traces cannot show that something never happened",
    },
];

fn recognizes(head: &Head<'_>) -> bool {
    spans::is_otlp(head) || spans::is_plain(head)
}
