//! An export, cut into its spans and log events: for whoever receives exports one after the other, and has to put those of a session together.

use serde_json::value::RawValue;

use super::attributes::Attributes;
use super::json::{AttributeValue, Export, Span};
use super::{is_zero, normal_id, pairs, plain, protobuf, span_text};

/// The longest name of a service that stays with each of its spans.
const MAX_SERVICE: usize = 1024;
/// The most spans and events of one export.
const MAX_ITEMS: usize = 1 << 17;
/// What they may take, each with the name of its service: a short export can say a long name for many empty spans.
const MAX_BYTES: usize = 64 << 20;

/// A span or a log event of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportItem {
    /// The id of its trace, as hexadecimal digits; empty for none.
    pub trace: String,
    /// The conversation that it names.
    pub conversation: Option<String>,
    /// Whether it is a span without a parent: the last of its trace, if the exporter sends a span when it ends.
    pub is_root: bool,
    /// It alone, as an export in one line of JSON: what [`OTLP`](crate::OTLP) reads.
    pub line: String,
}

/// Why an export cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportError(String);

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ExportError {}

impl ExportItem {
    /// The spans and events of a body that is posted to `/v1/traces` or `/v1/logs`, or of a line of the collector's file exporter: JSON or
    /// protobuf. Metrics are passed over.
    ///
    /// ```
    /// use sortie_spans::ExportItem;
    ///
    /// let body = r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "0af7651916cd43dd8448eb211c80319c", "name": "chat"}]}]}]}"#;
    /// let items = ExportItem::split(body.as_bytes()).unwrap();
    /// assert_eq!(items[0].trace, "0af7651916cd43dd8448eb211c80319c");
    /// assert!(ExportItem::split(b"hello").is_err());
    /// ```
    pub fn split(body: &[u8]) -> Result<Vec<Self>, ExportError> {
        let body = body.trim_ascii_start();
        if !matches!(body.first(), Some(b'{' | b'[')) {
            return Self::split_protobuf(body);
        }
        let text = std::str::from_utf8(body).map_err(|_| ExportError("it is not UTF-8".to_owned()))?;
        let mut items = ExportItems::default();
        split_json(text, true, &mut items)?;
        Ok(items.items)
    }

    /// The same of protobuf alone. An empty message is an export of nothing.
    pub fn split_protobuf(body: &[u8]) -> Result<Vec<Self>, ExportError> {
        let json = protobuf::as_json(body);
        let json = json.ok_or_else(|| ExportError("it is not protobuf of OTLP".to_owned()))?;
        let mut items = ExportItems::default();
        split_json(&json, false, &mut items)?;
        Ok(items.items)
    }
}

fn split_json(json: &str, may_be_list: bool, items: &mut ExportItems) -> Result<(), ExportError> {
    let shorten = |text: String| ExportError(text.chars().take(300).collect());
    let export: Export<'_> = match serde_json::from_str(json) {
        Ok(export) => export,
        Err(error) => {
            let list = serde_json::from_str::<Vec<&RawValue>>(json).ok().filter(|_| may_be_list);
            let Some(list) = list else {
                return Err(shorten(format!("it is not JSON of OTLP: {error}")));
            };
            return list.into_iter().try_for_each(|item| split_json(item.get(), false, items));
        }
    };
    if export.spans.is_empty()
        && export.logs.is_empty()
        && export.metrics.is_none()
        && !export.unknown.is_empty()
    {
        let Some(span) = plain::parse(json) else {
            return Err(ExportError("it has neither `resourceSpans` nor `resourceLogs`".to_owned()));
        };
        let mut attributes = Attributes::default();
        attributes.sort(&span.span.attributes);
        let conversation = attributes.conversation.and_then(AttributeValue::text);
        return items.put(ExportItem {
            trace: id(&span.span.trace),
            conversation: conversation.filter(|id| !id.is_empty()).map(Into::into),
            is_root: is_zero(&span.span.parent),
            line: one_line(json),
        });
    }
    // Read twice: the first time for what a span says, the second for how it is written.
    let written: WrittenExport<'_> =
        serde_json::from_str(json).map_err(|error| shorten(format!("it is not JSON of OTLP: {error}")))?;
    for (resource, raw) in export.spans.iter().chain(&export.logs).zip(written.resources()) {
        let service = resource.about.attributes.iter().find(|pair| &*pair.key == "service.name");
        let service = service.and_then(|pair| pair.value).filter(|value| value.get().len() <= MAX_SERVICE);
        for (scope, raw) in resource.scopes.iter().zip(&raw.scopes) {
            for (span, raw) in scope.spans.iter().zip(&raw.spans) {
                items.put(span_item(span, raw, service))?;
            }
            for (record, raw) in scope.records.iter().zip(&raw.records) {
                let attributes = pairs(&record.attributes);
                let conversation = ["gen_ai.conversation.id", "session.id", "conversation.id"];
                let conversation = conversation.iter().find_map(|key| {
                    let (_, value) = attributes.iter().find(|(name, _)| name == key)?;
                    value.text()
                });
                let line = export_line("resourceLogs", "scopeLogs", "logRecords", service, raw.get());
                items.put(ExportItem {
                    trace: id(&record.trace),
                    conversation: conversation.filter(|id| !id.is_empty()).map(Into::into),
                    is_root: false,
                    line,
                })?;
            }
        }
    }
    Ok(())
}

fn span_item(span: &Span<'_>, raw: &RawValue, service: Option<&RawValue>) -> ExportItem {
    let text = span_text(span);
    let mut attributes = Attributes::default();
    attributes.sort(&text.attributes);
    let conversation = attributes.conversation.and_then(AttributeValue::text);
    ExportItem {
        trace: id(&span.trace),
        conversation: conversation.filter(|id| !id.is_empty()).map(Into::into),
        is_root: is_zero(&span.parent),
        line: export_line("resourceSpans", "scopeSpans", "spans", service, raw.get()),
    }
}

/// The items of an export, within limits.
#[derive(Default)]
struct ExportItems {
    items: Vec<ExportItem>,
    bytes: usize,
}

impl ExportItems {
    fn put(&mut self, item: ExportItem) -> Result<(), ExportError> {
        self.bytes += item.line.len();
        if self.items.len() == MAX_ITEMS {
            return Err(ExportError(format!("it has more than {MAX_ITEMS} spans and events")));
        }
        if self.bytes > MAX_BYTES {
            return Err(ExportError(format!("its spans and events take more than {MAX_BYTES} bytes")));
        }
        self.items.push(item);
        Ok(())
    }
}

fn id(written: &str) -> String {
    if is_zero(written) { String::new() } else { normal_id(written).into_owned() }
}

fn export_line(list: &str, scopes: &str, items: &str, service: Option<&RawValue>, item: &str) -> String {
    let resource = service.map_or_else(String::new, |service| {
        format!(r#""resource":{{"attributes":[{{"key":"service.name","value":{}}}]}},"#, service.get())
    });
    one_line(&format!(r#"{{"{list}":[{{{resource}"{scopes}":[{{"{items}":[{item}]}}]}}]}}"#))
}

/// JSON has line breaks only where they mean nothing.
fn one_line(json: &str) -> String {
    json.trim_ascii().replace(['\n', '\r'], " ")
}

/// An export as it is written.
#[derive(serde::Deserialize)]
struct WrittenExport<'j> {
    #[serde(borrow, default, rename = "resourceSpans", alias = "resource_spans")]
    spans: Option<Vec<WrittenResource<'j>>>,
    #[serde(borrow, default, rename = "resourceLogs", alias = "resource_logs")]
    logs: Option<Vec<WrittenResource<'j>>>,
}

impl<'j> WrittenExport<'j> {
    fn resources(&self) -> impl Iterator<Item = &WrittenResource<'j>> {
        self.spans.iter().flatten().chain(self.logs.iter().flatten())
    }
}

#[derive(serde::Deserialize)]
struct WrittenResource<'j> {
    #[serde(
        borrow,
        default,
        deserialize_with = "or_empty",
        rename = "scopeSpans",
        alias = "scope_spans",
        alias = "scopeLogs",
        alias = "scope_logs",
        alias = "instrumentationLibrarySpans"
    )]
    scopes: Vec<WrittenScope<'j>>,
}

#[derive(serde::Deserialize)]
struct WrittenScope<'j> {
    #[serde(borrow, default, deserialize_with = "or_empty")]
    spans: Vec<&'j RawValue>,
    #[serde(borrow, default, deserialize_with = "or_empty", rename = "logRecords", alias = "log_records")]
    records: Vec<&'j RawValue>,
}

/// A list, which may be written as `null`.
fn or_empty<'j, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'j>,
    T: serde::Deserialize<'j>,
{
    <Option<Vec<T>> as serde::Deserialize>::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export(service: &str, spans: usize) -> String {
        let spans = vec!["{}"; spans].join(",");
        format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"{service}"}}}}]}},"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#
        )
    }

    #[test]
    fn a_short_export_of_many_empty_spans_takes_no_more_than_the_limits() {
        let reason = |export: String| {
            ExportItem::split(export.as_bytes()).map(|items| items.len()).map_err(|error| error.0)
        };
        assert_eq!(reason(export("agent", 1000)), Ok(1000));
        assert!(reason(export("agent", MAX_ITEMS + 1)).unwrap_err().contains("spans and events"));
        // Each would repeat the name.
        assert!(reason(export(&"x".repeat(900), 100_000)).unwrap_err().contains("bytes"));
    }
}
