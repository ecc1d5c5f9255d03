//! Spans by the conventions of `OpenLLMetry` (Traceloop): `traceloop.span.kind`, `gen_ai.prompt.0.role`.

use super::{otlp, spans};
use sortie_recording::format::{Format, Head};

/// The format.
pub static FORMAT: Format = Format {
    name: "openllmetry",
    about: "OpenTelemetry with the attributes of OpenLLMetry",
    shows: otlp::SHOWS,
    gaps: otlp::GAPS,
    recognizes,
    read: spans::read,
};

fn recognizes(head: &Head<'_>) -> bool {
    let is_it = head.says(&["\"traceloop."]) || head.says(&["\"gen_ai.prompt.0."]);
    is_it && (spans::is_otlp(head) || spans::is_plain(head))
}
