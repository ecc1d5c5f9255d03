//! From data to bytes.

use bytes::{BufMut as _, Bytes, BytesMut};

use super::Event;

/// One event. Every line of `data` is a `data` field of its own.
///
/// A stream has no way to say CR: it ends a line as LF does, and arrives as LF. In JSON text both are space between
/// tokens, so nothing is lost. A line break in `event` or `id` would begin another field, and becomes a space.
///
/// ```
/// use sortie_wire::sse;
///
/// assert_eq!(sse::encode(Some("message"), Some("7"), b"{}"), "event: message\nid: 7\ndata: {}\n\n");
/// ```
pub fn encode(event: Option<&str>, id: Option<&str>, data: &[u8]) -> Bytes {
    block(event, id, None, data)
}

/// A comment, which readers ignore; it keeps a connection alive.
pub fn comment(text: &str) -> Bytes {
    let mut bytes = BytesMut::with_capacity(text.len() + 4);
    put_field(&mut bytes, "", text);
    bytes.put_u8(b'\n');
    bytes.freeze()
}

impl Event {
    /// The event as it stands in a stream; see [`encode`].
    pub fn encode(&self) -> Bytes {
        block(self.event.as_deref(), self.id.as_deref(), self.retry, &self.data)
    }
}

fn block(event: Option<&str>, id: Option<&str>, retry: Option<u64>, data: &[u8]) -> Bytes {
    let named = event.map_or(0, str::len) + id.map_or(0, str::len);
    let mut bytes = BytesMut::with_capacity(named + data.len() + 64);
    if let Some(event) = event {
        put_field(&mut bytes, "event", event);
    }
    if let Some(id) = id {
        put_field(&mut bytes, "id", id);
    }
    if let Some(retry) = retry {
        put_field(&mut bytes, "retry", &retry.to_string());
    }
    let mut rest = data;
    loop {
        bytes.put_slice(b"data: ");
        let Some(end) = memchr::memchr2(b'\r', b'\n', rest) else { break };
        bytes.put_slice(&rest[..end]);
        bytes.put_u8(b'\n');
        let ending = if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = &rest[end + ending..];
    }
    bytes.put_slice(rest);
    bytes.put_slice(b"\n\n");
    bytes.freeze()
}

fn put_field(bytes: &mut BytesMut, name: &str, value: &str) {
    bytes.put_slice(name.as_bytes());
    bytes.put_slice(b": ");
    bytes.extend(value.bytes().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }));
    bytes.put_u8(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_data_is_a_field() {
        assert_eq!(encode(None, None, b""), "data: \n\n");
        assert_eq!(encode(None, None, b"a\nb\r\nc\rd\n"), "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
    }

    #[test]
    fn names_cannot_begin_another_field() {
        assert_eq!(
            encode(Some("a\ndata: b"), Some("1\r\n2"), b"x"),
            "event: a data: b\nid: 1  2\ndata: x\n\n"
        );
        assert_eq!(comment("a\n\ndata: b"), ": a  data: b\n\n");
    }

    #[test]
    fn an_event_writes_all_it_has() {
        let event = Event { id: Some("1".into()), retry: Some(500), ..Event::default() };
        assert_eq!(event.encode(), "id: 1\nretry: 500\ndata: \n\n");
    }
}
