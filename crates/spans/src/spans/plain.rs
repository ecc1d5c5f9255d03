//! Single spans, as the SDKs print them: with their attributes as an object. Also such an object alone, as tests have it.

use std::borrow::Cow;
use std::time::UNIX_EPOCH;

use serde::Deserialize as _;
use serde_json::value::RawValue;

use super::attributes::{EventText, SpanText};
use super::json::{AttributeValue, Text};
use sortie_recording::fields::Fields;
use sortie_recording::format::Head;

/// The names by which attributes are known.
const MARKS: [&str; 6] = [
    "\"openinference.span.kind\"",
    "\"gen_ai.",
    "\"ai.operationId\"",
    "\"traceloop.",
    "\"llm.input_messages",
    "\"mcp.method.name\"",
];

pub(super) fn is_plain(head: &Head<'_>) -> bool {
    let begins = head.bytes.trim_ascii_start().first();
    matches!(begins, Some(b'{' | b'[')) && MARKS.iter().any(|mark| head.says(&[mark]))
}

pub(super) struct PlainSpan<'j> {
    pub(super) span: SpanText<'j>,
    pub(super) unknown: Vec<&'j str>,
}

type Members<'j> = Vec<(Cow<'j, str>, &'j RawValue)>;

/// The members of an object, borrowed.
fn members(json: &str) -> Option<Members<'_>> {
    struct Pairs<'j>(Members<'j>);
    impl<'j> serde::Deserialize<'j> for Pairs<'j> {
        fn deserialize<D: serde::Deserializer<'j>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'j> serde::de::Visitor<'j> for Visitor {
                type Value = Pairs<'j>;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<A: serde::de::MapAccess<'j>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                    let mut all = Vec::new();
                    while let Some(key) = map.next_key::<Text<'j>>()? {
                        all.push((key.0, map.next_value()?));
                    }
                    Ok(Pairs(all))
                }
            }
            deserializer.deserialize_map(Visitor)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    Pairs::deserialize(&mut deserializer).ok().map(|pairs| pairs.0)
}

pub(super) fn parse(json: &str) -> Option<PlainSpan<'_>> {
    let all = members(json)?;
    let is_span = all.iter().any(|(key, _)| key == "attributes");
    if !is_span {
        // Only the attributes of one.
        let is_known =
            all.iter().any(|(key, _)| MARKS.iter().any(|mark| key.starts_with(mark.trim_matches('"'))));
        let attributes = all.into_iter().map(|(key, raw)| (key, AttributeValue::plain(raw))).collect();
        let span = SpanText { span: Cow::Borrowed("span"), attributes, ..SpanText::default() };
        return is_known.then_some(PlainSpan { span, unknown: Vec::new() });
    }
    let mut span = SpanText::default();
    let mut unknown = Vec::new();
    let text = |raw: &'_ RawValue| {
        serde_json::from_str::<String>(raw.get()).ok().map(Cow::Owned).unwrap_or_default()
    };
    for (key, raw) in all {
        match &*key {
            "name" => span.name = text(raw),
            "spanContext" | "context" => {
                let Some(mut context) = Fields::of(raw.get()) else { continue };
                let mut id = |keys: [&str; 2]| keys.iter().find_map(|key| context.text(key)).map(Cow::Owned);
                span.trace = id(["traceId", "trace_id"]).unwrap_or_default();
                span.span = id(["spanId", "span_id"]).unwrap_or_default();
            }
            "traceId" | "trace_id" => span.trace = text(raw),
            "spanId" | "span_id" | "id" => span.span = text(raw),
            "parentSpanId" | "parent_id" | "parentId" | "parent_span_id" => span.parent = text(raw),
            "parentSpanContext" => {
                let parent = Fields::of(raw.get()).and_then(|mut parent| parent.text("spanId"));
                span.parent = parent.map(Cow::Owned).unwrap_or_default();
            }
            "startTime" | "start_time" | "startTimeUnixNano" => span.start = time(raw),
            "endTime" | "end_time" | "endTimeUnixNano" => span.end = time(raw),
            "kind" => span.is_server = matches!(raw.get(), "1" | "\"SpanKind.SERVER\"" | "\"SERVER\""),
            "status" => {
                let Some(mut status) = Fields::of(raw.get()) else { continue };
                let code = status.take("code").or_else(|| status.take("status_code"));
                span.is_error = code
                    .is_some_and(|code| matches!(code.get(), "2" | "\"ERROR\"" | "\"STATUS_CODE_ERROR\""));
                let message = status.text("message").or_else(|| status.text("description"));
                span.status = message.map(Cow::Owned).unwrap_or_default();
            }
            "attributes" => {
                let attributes = members(raw.get()).unwrap_or_default();
                span.attributes =
                    attributes.into_iter().map(|(key, raw)| (key, AttributeValue::plain(raw))).collect();
            }
            "events" => span.events = events(raw),
            "resource"
            | "instrumentationScope"
            | "instrumentationLibrary"
            | "scope"
            | "links"
            | "duration"
            | "ended"
            | "droppedLinksCount"
            | "droppedEventsCount"
            | "traceState" => {}
            "droppedAttributesCount" => span.dropped = raw.get().parse().unwrap_or(0),
            _ => {
                if let Cow::Borrowed(key) = key {
                    unknown.push(key);
                }
            }
        }
    }
    Some(PlainSpan { span, unknown })
}

fn events(raw: &RawValue) -> Vec<EventText<'_>> {
    let items: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
    items.into_iter().filter_map(event).collect()
}

fn event(item: &RawValue) -> Option<EventText<'_>> {
    let mut event = EventText::default();
    for (key, raw) in members(item.get())? {
        match &*key {
            "name" => event.name = Cow::Owned(serde_json::from_str(raw.get()).unwrap_or_default()),
            "time" | "timestamp" | "timeUnixNano" => event.time = time(raw),
            "attributes" => {
                let attributes = members(raw.get()).unwrap_or_default();
                event.attributes =
                    attributes.into_iter().map(|(key, raw)| (key, AttributeValue::plain(raw))).collect();
            }
            _ => {}
        }
    }
    Some(event)
}

/// Nanoseconds since 1970: `[seconds, nanoseconds]`, a number of them, or RFC 3339.
fn time(raw: &RawValue) -> u64 {
    if let Ok([seconds, nanos]) = serde_json::from_str::<[u64; 2]>(raw.get()) {
        return seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    }
    let text: String = serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned());
    if let Ok(nanos) = text.parse() {
        return nanos;
    }
    let time = sortie_trace::time::parse_time(&text);
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}
