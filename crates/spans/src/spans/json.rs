//! OTLP as JSON: borrowed from the line that it stands in. Attributes stay as they are written until somebody asks for one.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::messages::json_of_text;

/// A text that is borrowed where nothing in it is escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text<'j>(pub(super) Cow<'j, str>);

impl<'j> Deserialize<'j> for Text<'j> {
    fn deserialize<D: Deserializer<'j>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'j> Visitor<'j> for Any {
            type Value = Text<'j>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'j str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_bool<E>(self, word: bool) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(if word { "true" } else { "false" })))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// An object of OTLP: members by the names that they have in JSON and in protobuf, and the names of all others.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident<$j:lifetime> { $($field:ident: $type:ty = $($key:literal)|+,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub(super) struct $name<$j> {
            $(pub(super) $field: $type,)*
            pub(super) unknown: Vec<Text<$j>>,
        }

        impl<$j> Deserialize<$j> for $name<$j> {
            fn deserialize<D: Deserializer<$j>>(deserializer: D) -> Result<Self, D::Error> {
                struct Members;
                impl<$j> Visitor<$j> for Members {
                    type Value = $name<$j>;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: MapAccess<$j>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        let mut object = $name::default();
                        while let Some(key) = map.next_key::<Text<$j>>()? {
                            match &*key {
                                $($($key)|+ => object.$field = map.next_value::<Option<$type>>()?.unwrap_or_default(),)*
                                _ => {
                                    map.next_value::<IgnoredAny>()?;
                                    object.unknown.push(key);
                                }
                            }
                        }
                        Ok(object)
                    }
                }
                deserializer.deserialize_map(Members)
            }
        }
    };
}

object! {
    /// A line, or a body.
    Export<'j> {
        spans: Vec<Resource<'j>> = "resourceSpans" | "resource_spans",
        logs: Vec<Resource<'j>> = "resourceLogs" | "resource_logs",
        metrics: Option<Skipped> = "resourceMetrics" | "resource_metrics",
    }
}

object! {
    Resource<'j> {
        about: Attributed<'j> = "resource",
        scopes: Vec<Scope<'j>> = "scopeSpans" | "scope_spans" | "scopeLogs" | "scope_logs" | "instrumentationLibrarySpans",
        schema: Option<Skipped> = "schemaUrl" | "schema_url",
    }
}

object! {
    Attributed<'j> {
        name: Text<'j> = "name",
        version: Text<'j> = "version",
        attributes: Vec<KeyValue<'j>> = "attributes",
        dropped: Number = "droppedAttributesCount" | "dropped_attributes_count",
        entities: Option<Skipped> = "entityRefs" | "entity_refs",
    }
}

object! {
    Scope<'j> {
        about: Attributed<'j> = "scope" | "instrumentationLibrary",
        spans: Vec<Span<'j>> = "spans",
        records: Vec<LogRecord<'j>> = "logRecords" | "log_records",
        schema: Option<Skipped> = "schemaUrl" | "schema_url",
    }
}

object! {
    Span<'j> {
        trace: Text<'j> = "traceId" | "trace_id",
        id: Text<'j> = "spanId" | "span_id",
        parent: Text<'j> = "parentSpanId" | "parent_span_id",
        name: Text<'j> = "name",
        kind: Text<'j> = "kind",
        start: Number = "startTimeUnixNano" | "start_time_unix_nano",
        end: Number = "endTimeUnixNano" | "end_time_unix_nano",
        attributes: Vec<KeyValue<'j>> = "attributes",
        dropped: Number = "droppedAttributesCount" | "dropped_attributes_count",
        events: Vec<SpanEvent<'j>> = "events",
        dropped_events: Number = "droppedEventsCount" | "dropped_events_count",
        status: Status<'j> = "status",
        flags: Number = "flags",
        state: Option<Skipped> = "traceState" | "trace_state" | "links" | "droppedLinksCount" | "dropped_links_count",
    }
}

object! {
    SpanEvent<'j> {
        time: Number = "timeUnixNano" | "time_unix_nano",
        name: Text<'j> = "name",
        attributes: Vec<KeyValue<'j>> = "attributes",
        dropped: Number = "droppedAttributesCount" | "dropped_attributes_count",
    }
}

object! {
    Status<'j> {
        code: Text<'j> = "code",
        message: Text<'j> = "message",
    }
}

object! {
    LogRecord<'j> {
        time: Number = "timeUnixNano" | "time_unix_nano",
        observed: Number = "observedTimeUnixNano" | "observed_time_unix_nano",
        name: Text<'j> = "eventName" | "event_name",
        body: Option<&'j RawValue> = "body",
        attributes: Vec<KeyValue<'j>> = "attributes",
        dropped: Number = "droppedAttributesCount" | "dropped_attributes_count",
        trace: Text<'j> = "traceId" | "trace_id",
        span: Text<'j> = "spanId" | "span_id",
        severity: Option<Skipped> = "severityNumber" | "severityText" | "severity_number" | "severity_text" | "flags",
    }
}

object! {
    KeyValue<'j> {
        key: Text<'j> = "key",
        value: Option<&'j RawValue> = "value",
    }
}

/// Something that is there, and does not matter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Skipped;

impl<'j> Deserialize<'j> for Skipped {
    fn deserialize<D: Deserializer<'j>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// A number, or a text of one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Number(pub(super) u64);

impl<'j> Deserialize<'j> for Number {
    fn deserialize<D: Deserializer<'j>>(deserializer: D) -> Result<Self, D::Error> {
        Text::deserialize(deserializer).map(|text| Self(text.parse().unwrap_or(0)))
    }
}

/// A value of an attribute.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttributeValue<'j> {
    raw: &'j RawValue,
    /// Whether it is JSON as it is, and not `{"stringValue": ..}`.
    is_plain: bool,
}

impl<'j> AttributeValue<'j> {
    pub(super) fn otlp(raw: &'j RawValue) -> Self {
        Self { raw, is_plain: false }
    }

    pub(super) fn plain(raw: &'j RawValue) -> Self {
        Self { raw, is_plain: true }
    }

    /// As it is written.
    pub(super) fn written(self) -> &'j str {
        self.raw.get()
    }

    /// Whether it is there and says nothing.
    pub(super) fn is_null(self) -> bool {
        matches!(self.raw.get().trim_ascii(), "null" | "{}") && (!self.is_plain || self.raw.get() != "{}")
    }

    /// As it is written, where that is a text.
    pub(super) fn written_text(self) -> Option<&'j str> {
        let written = self.raw.get();
        (!self.is_plain && written.starts_with("{\"stringValue\":\"")).then_some(written)
    }

    /// As a text: what a text says, or a number or a word as one.
    pub(super) fn text(self) -> Option<Cow<'j, str>> {
        match self.any()? {
            Any::Text(text) => Some(text),
            Any::Word(word) => Some(Cow::Borrowed(word)),
            Any::List(_) | Any::Map(_) => None,
        }
    }

    /// As a text: JSON where it is not text.
    pub(super) fn json_text(self) -> Cow<'j, str> {
        match self.any() {
            Some(Any::Text(text)) => text,
            Some(other) => {
                let mut json = String::new();
                write_plain(&other, &mut json);
                Cow::Owned(json)
            }
            None => Cow::Borrowed(""),
        }
    }

    /// As JSON: what a text says, where that is JSON.
    pub(super) fn json(self) -> Box<RawValue> {
        match self.any() {
            Some(Any::Text(text)) => json_of_text(&text),
            Some(other) => {
                let mut json = String::new();
                write_plain(&other, &mut json);
                RawValue::from_string(json).unwrap_or_else(|_| RawValue::NULL.to_owned())
            }
            None => RawValue::NULL.to_owned(),
        }
    }

    fn any(self) -> Option<Any<'j>> {
        if self.is_plain {
            let json = self.raw.get();
            return Some(match json.as_bytes().first()? {
                b'"' => Any::Text(serde_json::from_str::<Text<'_>>(json).ok()?.0),
                _ => Any::Word(json),
            });
        }
        serde_json::from_str(self.raw.get()).ok()
    }
}

/// A value of OTLP.
#[derive(Debug)]
enum Any<'j> {
    Text(Cow<'j, str>),
    /// A number, a word, or JSON as it is.
    Word(&'j str),
    List(Vec<Any<'j>>),
    Map(Vec<(Cow<'j, str>, Any<'j>)>),
}

impl<'j> Deserialize<'j> for Any<'j> {
    fn deserialize<D: Deserializer<'j>>(deserializer: D) -> Result<Self, D::Error> {
        struct Value;
        impl<'j> Visitor<'j> for Value {
            type Value = Any<'j>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value of OTLP")
            }

            fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut value = Any::Word("null");
                while let Some(key) = map.next_key::<Text<'j>>()? {
                    match &*key {
                        "stringValue" | "string_value" | "bytesValue" | "bytes_value" => {
                            value = Any::Text(map.next_value::<Text<'j>>()?.0);
                        }
                        "arrayValue" | "array_value" => value = Any::List(map.next_value::<List<'j>>()?.0),
                        "kvlistValue" | "kvlist_value" => value = Any::Map(map.next_value::<Pairs<'j>>()?.0),
                        // Integers are texts.
                        _ => value = Any::Word(map.next_value::<&'j RawValue>()?.get().trim_matches('"')),
                    }
                }
                Ok(value)
            }
        }
        deserializer.deserialize_map(Value)
    }
}

#[derive(Default)]
struct List<'j>(Vec<Any<'j>>);
#[derive(Default)]
struct Pairs<'j>(Vec<(Cow<'j, str>, Any<'j>)>);

struct Items<T>(std::marker::PhantomData<T>);

impl<'j, T: Deserialize<'j>> Visitor<'j> for Items<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of values")
    }

    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(key) = map.next_key::<Text<'j>>()? {
            if &*key == "values" {
                all = map.next_value::<Option<Vec<T>>>()?.unwrap_or_default();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(all)
    }

    fn visit_seq<A: SeqAccess<'j>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(all)
    }
}

/// `{"values": [..]}`.
fn values<'j, D: Deserializer<'j>, T: Deserialize<'j>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_any(Items(std::marker::PhantomData))
}

impl<'j> Deserialize<'j> for List<'j> {
    fn deserialize<D: Deserializer<'j>>(deserializer: D) -> Result<Self, D::Error> {
        values(deserializer).map(Self)
    }
}

impl<'j> Deserialize<'j> for Pairs<'j> {
    fn deserialize<D: Deserializer<'j>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pair<'j>(Cow<'j, str>, Any<'j>);
        impl<'j> Deserialize<'j> for Pair<'j> {
            fn deserialize<D: Deserializer<'j>>(deserializer: D) -> Result<Self, D::Error> {
                struct Members;
                impl<'j> Visitor<'j> for Members {
                    type Value = Pair<'j>;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a key and a value")
                    }

                    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        let (mut key, mut value) = (Cow::Borrowed(""), Any::Word("null"));
                        while let Some(name) = map.next_key::<Text<'j>>()? {
                            match &*name {
                                "key" => key = map.next_value::<Text<'j>>()?.0,
                                "value" => value = map.next_value()?,
                                _ => _ = map.next_value::<IgnoredAny>()?,
                            }
                        }
                        Ok(Pair(key, value))
                    }
                }
                deserializer.deserialize_map(Members)
            }
        }
        let pairs: Vec<Pair<'j>> = values(deserializer)?;
        Ok(Self(pairs.into_iter().map(|Pair(key, value)| (key, value)).collect()))
    }
}

fn write_plain(any: &Any<'_>, json: &mut String) {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    match any {
        Any::Text(text) => json.push_str(&quoted(text)),
        Any::Word(word) => json.push_str(word),
        Any::List(items) => {
            json.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    json.push(',');
                }
                write_plain(item, json);
            }
            json.push(']');
        }
        Any::Map(pairs) => {
            json.push('{');
            for (at, (key, value)) in pairs.iter().enumerate() {
                if at > 0 {
                    json.push(',');
                }
                let _ = write!(json, "{}:", quoted(key));
                write_plain(value, json);
            }
            json.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_attributes_are_plain_json() {
        let cases = [
            (r#"{"stringValue":"a\"b"}"#, "a\"b", r#""a\"b""#),
            (r#"{"stringValue":"{\"a\":1}"}"#, r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"intValue":"7"}"#, "7", "7"),
            (r#"{"intValue":7}"#, "7", "7"),
            (r#"{"doubleValue":0.5}"#, "0.5", "0.5"),
            (r#"{"boolValue":true}"#, "true", "true"),
            (
                r#"{"arrayValue":{"values":[{"stringValue":"a"},{"intValue":"1"}]}}"#,
                r#"["a",1]"#,
                r#"["a",1]"#,
            ),
            (r#"{"arrayValue":{}}"#, "[]", "[]"),
            (
                r#"{"kvlistValue":{"values":[{"key":"k","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[]}}]}}}]}}"#,
                r#"{"k":[{}]}"#,
                r#"{"k":[{}]}"#,
            ),
            ("{}", "null", "null"),
        ];
        for (json, text, plain) in cases {
            let value = AttributeValue::otlp(serde_json::from_str(json).unwrap());
            assert_eq!((&*value.json_text(), value.json().get()), (text, plain), "{json}");
        }
        let plain = AttributeValue::plain(serde_json::from_str(r#"["a"]"#).unwrap());
        assert_eq!(plain.json().get(), r#"["a"]"#);
    }

    #[test]
    fn a_line_is_borrowed_and_every_key_accounted_for() {
        let line = r#"{"resourceSpans":[{"resource":{"attributes":null},"scopeSpans":[{"scope":{},"spans":[{"traceId":"t","spanId":"s","startTimeUnixNano":"5","endTimeUnixNano":6,"kind":3,"status":{"code":"STATUS_CODE_ERROR"},"new":1,"attributes":[{"key":"a","value":{"intValue":"1"}}]}]}]}],"more":[]}"#;
        let export: Export<'_> = serde_json::from_str(line).unwrap();
        let span = &export.spans[0].scopes[0].spans[0];
        assert!(
            matches!(span.trace.0, Cow::Borrowed("t"))
                && matches!(span.attributes[0].key.0, Cow::Borrowed("a"))
        );
        assert_eq!(
            (span.start.0, span.end.0, &*span.kind, &*span.status.code),
            (5, 6, "3", "STATUS_CODE_ERROR")
        );
        assert_eq!((&*span.unknown[0], &*export.unknown[0]), ("new", "more"));
    }
}
