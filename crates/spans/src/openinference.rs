//! Spans by the conventions of `OpenInference` (Arize Phoenix): `openinference.span.kind`, `llm.input_messages.0.message.role`.

use super::{otlp, spans};
use sortie_recording::format::{Format, Head};

/// The format.
pub static FORMAT: Format = Format {
    name: "openinference",
    about: "OpenTelemetry with the attributes of OpenInference",
    shows: otlp::SHOWS,
    gaps: otlp::GAPS,
    recognizes,
    read: spans::read,
};

fn recognizes(head: &Head<'_>) -> bool {
    head.says(&["\"openinference.span.kind\""]) && (spans::is_otlp(head) || spans::is_plain(head))
}
