//! OTLP as protobuf, written as the JSON that the collector writes: the reader of that reads it then.
//!
//! A file has messages with four bytes of length before each, most significant first; a body, as it is posted, is one message.
//! The fields are those of `opentelemetry/proto/{trace,logs,common}/v1`.

use std::fmt::Write as _;

/// How deep values may stand in each other.
const DEPTH: usize = 64;

/// Whether a file begins like protobuf.
pub(super) fn is_protobuf(head: &[u8]) -> bool {
    is_message(head) || head.first() == Some(&0) && head.get(4..).is_some_and(is_message)
}

/// Whether it begins with a list of resources: field 1, within it field 1 or 2.
fn is_message(bytes: &[u8]) -> bool {
    let mut reader = Reader(bytes);
    reader.varint() == Some(0x0a)
        && reader.varint().is_some_and(|size| size > 0)
        && matches!(reader.0.first(), Some(0x0a | 0x12))
        && reader.0.get(1).is_some_and(|size| *size != b' ')
}

/// The messages of a file.
pub(super) fn messages(bytes: &[u8]) -> Result<Vec<&[u8]>, &'static str> {
    if is_message(bytes) {
        return Ok(vec![bytes]);
    }
    let mut all = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (size, after) = rest.split_first_chunk::<4>().ok_or("it ends within a length")?;
        let size = usize::try_from(u32::from_be_bytes(*size)).map_err(|_| "a length is too large")?;
        let (message, after) = after.split_at_checked(size).ok_or("it ends within a message")?;
        all.push(message);
        rest = after;
    }
    Ok(all)
}

/// A message as a line of JSON.
pub(super) fn as_json(message: &[u8]) -> Option<String> {
    // Both requests have the same frame: only records of logs have a time where spans have an id.
    let is_log = first_record(message).is_some_and(|record| !has_trace_id(record));
    let (list, scopes, records) = if is_log {
        ("resourceLogs", "scopeLogs", "logRecords")
    } else {
        ("resourceSpans", "scopeSpans", "spans")
    };
    let mut out = String::from("{");
    repeated(message, 1, list, &mut out, &mut |resource, out| {
        out.push('{');
        single(resource, 1, "resource", out, &mut attributed)?;
        comma(out);
        repeated(resource, 2, scopes, out, &mut |scope, out| {
            out.push('{');
            single(scope, 1, "scope", out, &mut attributed)?;
            comma(out);
            repeated(scope, 2, records, out, &mut |record, out| {
                if is_log { log(record, out) } else { span(record, out) }
            })?;
            out.push('}');
            Some(())
        })?;
        out.push('}');
        Some(())
    })?;
    out.push('}');
    Some(out)
}

fn first_record(message: &[u8]) -> Option<&[u8]> {
    let within = |message, field| {
        let mut reader = Reader(message);
        while let Some((number, value)) = reader.field()? {
            if let (true, Value::Bytes(bytes)) = (number == field, value) {
                return Some(bytes);
            }
        }
        None
    };
    within(within(within(message, 1)?, 2)?, 2)
}

fn has_trace_id(record: &[u8]) -> bool {
    let mut reader = Reader(record);
    while let Some(Some((number, value))) = reader.field() {
        if number == 1 {
            return matches!(value, Value::Bytes(_));
        }
    }
    false
}

type Writer<'w> = dyn FnMut(&[u8], &mut String) -> Option<()> + 'w;

fn comma(out: &mut String) {
    if !out.ends_with(['{', '[', ',']) {
        out.push(',');
    }
}

/// All fields of a number, as a list.
fn repeated(message: &[u8], field: u64, name: &str, out: &mut String, write: &mut Writer<'_>) -> Option<()> {
    let _ = write!(out, "\"{name}\":[");
    let mut reader = Reader(message);
    while let Some((number, value)) = reader.field()? {
        if let (true, Value::Bytes(bytes)) = (number == field, value) {
            comma(out);
            write(bytes, out)?;
        }
    }
    out.push(']');
    Some(())
}

/// The field of a number, or an empty object.
fn single(message: &[u8], field: u64, name: &str, out: &mut String, write: &mut Writer<'_>) -> Option<()> {
    let _ = write!(out, "\"{name}\":");
    let mut reader = Reader(message);
    while let Some((number, value)) = reader.field()? {
        if let (true, Value::Bytes(bytes)) = (number == field, value) {
            return write(bytes, out);
        }
    }
    out.push_str("{}");
    Some(())
}

/// A resource has its attributes in field 1, a scope in field 3, after its name and version, which are texts.
fn attributed(message: &[u8], out: &mut String) -> Option<()> {
    out.push('{');
    let mut attributes = String::from("\"attributes\":[");
    let mut reader = Reader(message);
    while let Some((number, value)) = reader.field()? {
        let Value::Bytes(bytes) = value else { continue };
        let mut pair = String::new();
        if matches!(number, 1 | 3) && key_value(bytes, &mut pair, 0).is_some() {
            comma(&mut attributes);
            attributes.push_str(&pair);
        } else if let (1, Ok(name)) = (number, std::str::from_utf8(bytes)) {
            comma(out);
            let _ = write!(out, "\"name\":{}", serde_json::Value::from(name));
        }
    }
    comma(out);
    out.push_str(&attributes);
    out.push_str("]}");
    Some(())
}

fn span(message: &[u8], out: &mut String) -> Option<()> {
    out.push('{');
    let mut reader = Reader(message);
    while let Some((number, value)) = reader.field()? {
        match (number, value) {
            (1, Value::Bytes(id)) => hex("traceId", id, out),
            (2, Value::Bytes(id)) => hex("spanId", id, out),
            (4, Value::Bytes(id)) => hex("parentSpanId", id, out),
            (5, Value::Bytes(name)) => text("name", name, out),
            (6, Value::Number(kind)) => number_as("kind", kind, out),
            (7, Value::Number(time)) => number_as("startTimeUnixNano", time, out),
            (8, Value::Number(time)) => number_as("endTimeUnixNano", time, out),
            (10, Value::Number(count)) => number_as("droppedAttributesCount", count, out),
            (12, Value::Number(count)) => number_as("droppedEventsCount", count, out),
            (15, Value::Bytes(status)) => {
                comma(out);
                out.push_str("\"status\":{");
                let mut reader = Reader(status);
                while let Some((number, value)) = reader.field()? {
                    match (number, value) {
                        (2, Value::Bytes(words)) => text("message", words, out),
                        (3, Value::Number(code)) => number_as("code", code, out),
                        _ => {}
                    }
                }
                out.push('}');
            }
            (16, Value::Number(flags)) => number_as("flags", flags, out),
            _ => {}
        }
    }
    comma(out);
    repeated(message, 9, "attributes", out, &mut |pair, out| key_value(pair, out, 0))?;
    comma(out);
    repeated(message, 11, "events", out, &mut |event, out| {
        out.push('{');
        let mut reader = Reader(event);
        while let Some((number, value)) = reader.field()? {
            match (number, value) {
                (1, Value::Number(time)) => number_as("timeUnixNano", time, out),
                (2, Value::Bytes(name)) => text("name", name, out),
                _ => {}
            }
        }
        comma(out);
        repeated(event, 3, "attributes", out, &mut |pair, out| key_value(pair, out, 0))?;
        out.push('}');
        Some(())
    })?;
    out.push('}');
    Some(())
}

fn log(message: &[u8], out: &mut String) -> Option<()> {
    out.push('{');
    let mut reader = Reader(message);
    while let Some((number, value)) = reader.field()? {
        match (number, value) {
            (1, Value::Number(time)) => number_as("timeUnixNano", time, out),
            (11, Value::Number(time)) => number_as("observedTimeUnixNano", time, out),
            (5, Value::Bytes(body)) => {
                comma(out);
                out.push_str("\"body\":");
                any_value(body, out, 0)?;
            }
            (7, Value::Number(count)) => number_as("droppedAttributesCount", count, out),
            (9, Value::Bytes(id)) => hex("traceId", id, out),
            (10, Value::Bytes(id)) => hex("spanId", id, out),
            (12, Value::Bytes(name)) => text("eventName", name, out),
            _ => {}
        }
    }
    comma(out);
    repeated(message, 6, "attributes", out, &mut |pair, out| key_value(pair, out, 0))?;
    out.push('}');
    Some(())
}

fn key_value(message: &[u8], out: &mut String, depth: usize) -> Option<()> {
    out.push('{');
    let mut reader = Reader(message);
    while let Some((number, value)) = reader.field()? {
        match (number, value) {
            (1, Value::Bytes(key)) => text("key", key, out),
            (2, Value::Bytes(value)) => {
                comma(out);
                out.push_str("\"value\":");
                any_value(value, out, depth + 1)?;
            }
            _ => return None,
        }
    }
    out.push('}');
    Some(())
}

fn any_value(message: &[u8], out: &mut String, depth: usize) -> Option<()> {
    if depth > DEPTH {
        return None;
    }
    out.push('{');
    let mut reader = Reader(message);
    while let Some((number, value)) = reader.field()? {
        match (number, value) {
            (1, Value::Bytes(words)) => text("stringValue", words, out),
            (2, Value::Number(word)) => {
                comma(out);
                let _ = write!(out, "\"boolValue\":{}", word != 0);
            }
            (3, Value::Number(number)) => {
                comma(out);
                let _ = write!(out, "\"intValue\":\"{}\"", number.cast_signed());
            }
            (4, Value::Number(bits)) => {
                comma(out);
                let _ = write!(out, "\"doubleValue\":{}", serde_json::Value::from(f64::from_bits(bits)));
            }
            (5, Value::Bytes(list)) => {
                comma(out);
                out.push_str("\"arrayValue\":{");
                repeated(list, 1, "values", out, &mut |item, out| any_value(item, out, depth + 1))?;
                out.push('}');
            }
            (6, Value::Bytes(pairs)) => {
                comma(out);
                out.push_str("\"kvlistValue\":{");
                repeated(pairs, 1, "values", out, &mut |pair, out| key_value(pair, out, depth + 1))?;
                out.push('}');
            }
            (7, Value::Bytes(bytes)) => text("bytesValue", hex_of(bytes).as_bytes(), out),
            _ => {}
        }
    }
    out.push('}');
    Some(())
}

fn text(name: &str, bytes: &[u8], out: &mut String) {
    comma(out);
    let _ = write!(out, "\"{name}\":{}", serde_json::Value::from(String::from_utf8_lossy(bytes).as_ref()));
}

fn number_as(name: &str, number: u64, out: &mut String) {
    comma(out);
    let _ = write!(out, "\"{name}\":\"{number}\"");
}

fn hex(name: &str, bytes: &[u8], out: &mut String) {
    comma(out);
    let _ = write!(out, "\"{name}\":\"{}\"", hex_of(bytes));
}

pub(super) fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

enum Value<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

/// Reads the fields of a message.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn varint(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// The next field: `Some(None)` at the end, `None` where it is damaged.
    #[expect(clippy::option_option, reason = "the end of a message is not damage")]
    fn field(&mut self) -> Option<Option<(u64, Value<'b>)>> {
        if self.0.is_empty() {
            return Some(None);
        }
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => {
                let (bytes, rest) = self.0.split_first_chunk::<8>()?;
                self.0 = rest;
                Value::Number(u64::from_le_bytes(*bytes))
            }
            2 => {
                let size = usize::try_from(self.varint()?).ok()?;
                let (bytes, rest) = self.0.split_at_checked(size)?;
                self.0 = rest;
                Value::Bytes(bytes)
            }
            5 => {
                let (bytes, rest) = self.0.split_first_chunk::<4>()?;
                self.0 = rest;
                Value::Number(u64::from(u32::from_le_bytes(*bytes)))
            }
            _ => return None,
        };
        Some(Some((tag >> 3, value)))
    }
}
