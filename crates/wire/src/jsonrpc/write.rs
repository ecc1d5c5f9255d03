//! From text to bytes.
//!
//! What a message carries is given as JSON text and reaches the wire as it is, right or wrong. Only methods and error
//! messages are plain text, and are escaped.

use std::fmt::Write as _;

use bytes::{Bytes, BytesMut};

/// A request. `id` and `params` are JSON text.
///
/// ```
/// use sortie_wire::jsonrpc;
///
/// let bytes = jsonrpc::request("1", "tools/call", Some(r#"{"n":1.00}"#));
/// assert_eq!(bytes, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"n":1.00}}"#);
/// ```
pub fn request(id: &str, method: &str, params: Option<&str>) -> Bytes {
    let mut text = opened(id.len() + method.len() + params.map_or(0, str::len));
    push_field(&mut text, "id", id);
    push_call(text, method, params)
}

/// A notification. `params` is JSON text.
pub fn notification(method: &str, params: Option<&str>) -> Bytes {
    push_call(opened(method.len() + params.map_or(0, str::len)), method, params)
}

/// The answer to a request. `id` and `result` are JSON text.
pub fn result(id: &str, result: &str) -> Bytes {
    let mut text = opened(id.len() + result.len());
    push_field(&mut text, "id", id);
    push_field(&mut text, "result", result);
    closed(text)
}

/// The refusal of a request. `id` and `data` are JSON text; without an id it is `null`, as JSON-RPC asks.
pub fn error(id: Option<&str>, code: i64, message: &str, data: Option<&str>) -> Bytes {
    let mut text = opened(id.map_or(4, str::len) + message.len() + data.map_or(0, str::len) + 40);
    push_field(&mut text, "id", id.unwrap_or("null"));
    // Writing to a string cannot fail.
    let _ = write!(text, r#","error":{{"code":{code},"message":"#);
    push_string(&mut text, message);
    if let Some(data) = data {
        push_field(&mut text, "data", data);
    }
    text.push('}');
    closed(text)
}

/// Several messages at once, each as it is.
pub(crate) fn batch(messages: &[Bytes]) -> Bytes {
    let mut text =
        BytesMut::with_capacity(messages.iter().map(|message| message.len() + 1).sum::<usize>() + 1);
    for (at, message) in messages.iter().enumerate() {
        text.extend_from_slice(if at == 0 { b"[" } else { b"," });
        text.extend_from_slice(message);
    }
    text.extend_from_slice(b"]");
    text.freeze()
}

fn push_call(mut text: String, method: &str, params: Option<&str>) -> Bytes {
    text.push_str(r#","method":"#);
    push_string(&mut text, method);
    if let Some(params) = params {
        push_field(&mut text, "params", params);
    }
    closed(text)
}

/// The beginning of a message, with room for `content` bytes and the names of the fields.
fn opened(content: usize) -> String {
    let mut text = String::with_capacity(content + 64);
    text.push_str(r#"{"jsonrpc":"2.0""#);
    text
}

fn closed(mut text: String) -> Bytes {
    text.push('}');
    Bytes::from(text)
}

fn push_field(text: &mut String, name: &str, raw: &str) {
    text.push_str(",\"");
    text.push_str(name);
    text.push_str("\":");
    text.push_str(raw);
}

fn push_string(text: &mut String, plain: &str) {
    // A string always has a JSON form, so nothing is ever left out here.
    text.push_str(&serde_json::to_string(plain).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::jsonrpc::{Incoming, read};

    #[test]
    fn fields_stand_in_the_order_people_expect() {
        assert_eq!(request(r#""a""#, "m", None), r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#);
        assert_eq!(notification("m", Some("[]")), r#"{"jsonrpc":"2.0","method":"m","params":[]}"#);
        assert_eq!(result("1", "{}"), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert_eq!(
            error(Some("1"), -32602, "no\n\"tool\"", Some("{}")),
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no\n\"tool\"","data":{}}}"#
        );
        assert_eq!(
            error(None, 1, "", None),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#
        );
    }

    #[test]
    fn content_is_not_corrected() {
        let broken = r#"{"a":1,"a": 1.00,"#;
        assert_eq!(result("1", broken), format!(r#"{{"jsonrpc":"2.0","id":1,"result":{broken}}}"#));
    }

    #[test]
    fn a_method_cannot_break_out_of_its_string() {
        let bytes = notification(r#"x","id":1,"y":""#, None);
        assert!(matches!(read(&bytes, &Limits::default()), Ok(Incoming::Notification { .. })));
    }
}
