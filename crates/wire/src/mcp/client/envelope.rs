//! What a 2026-07-28 request carries with it, since there is no handshake that it could refer to.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use serde_json::value::RawValue;

/// The revision without sessions.
pub const STATELESS: &str = "2026-07-28";

/// Who we are, in every request.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// The client's name and version, as JSON text.
    pub client_info: String,
    /// What the client can do, as JSON text.
    pub capabilities: String,
}

impl Envelope {
    /// Params with `_meta` in them. What the document has put there stays, and what is no object stays as it is.
    pub fn stamp(&self, params: Option<&str>) -> String {
        let own = [
            ("io.modelcontextprotocol/protocolVersion", format!("\"{STATELESS}\"")),
            ("io.modelcontextprotocol/clientInfo", self.client_info.clone()),
            ("io.modelcontextprotocol/clientCapabilities", self.capabilities.clone()),
        ];
        let params = params.unwrap_or("{}");
        let Ok(fields) = serde_json::from_str::<Fields>(params) else { return params.to_owned() };
        let meta = fields.0.iter().find(|(key, _)| key == "_meta").map_or("{}", |(_, raw)| raw.get());
        let Ok(stamped) = serde_json::from_str::<Fields>(meta) else { return params.to_owned() };
        let own = own.iter().filter(|(key, _)| !stamped.0.iter().any(|(there, _)| there == key));
        let own = own.map(|(key, text)| (*key, text.as_str()));
        let meta = object(stamped.0.iter().map(|(key, raw)| (key.as_str(), raw.get())).chain(own));
        let others = fields.0.iter().filter(|(key, _)| key != "_meta");
        let others = others.map(|(key, raw)| (key.as_str(), raw.get()));
        object(others.chain([("_meta", meta.as_str())]))
    }
}

/// The headers of a request, which repeat what is in it.
pub(super) fn headers(method: &str, params: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut put = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(&encoded(value)) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    put("mcp-protocol-version", STATELESS);
    put("mcp-method", method);
    let named = match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    };
    let params: Option<Value> = params.and_then(|params| serde_json::from_str(params).ok());
    if let Some(name) = named.and_then(|key| params.as_ref()?.get(key)?.as_str()) {
        put("mcp-name", name);
    }
    headers
}

/// What cannot stand in a header as it is, in base64.
fn encoded(value: &str) -> String {
    let plain = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) && value.trim() == value;
    if plain && !(value.starts_with("=?base64?") && value.ends_with("?=")) {
        return value.to_owned();
    }
    format!("=?base64?{}?=", STANDARD.encode(value))
}

/// What a server that needs more before it answers gets, when it is asked again.
pub fn asked_again(params: Option<&str>, responses: Option<&str>, state: Option<&str>) -> String {
    let fields = serde_json::from_str::<Fields>(params.unwrap_or("{}")).unwrap_or_default();
    let added = ["inputResponses", "requestState"];
    let others = fields.0.iter().filter(|(key, _)| !added.contains(&key.as_str()));
    let others = others.map(|(key, raw)| (key.as_str(), raw.get()));
    let responses = responses.map(|json| ("inputResponses", json));
    let state = state.map(|json| ("requestState", json));
    object(others.chain(responses).chain(state))
}

/// An object of JSON texts.
fn object<'t>(fields: impl Iterator<Item = (&'t str, &'t str)>) -> String {
    let mut text = String::from("{");
    for (at, (key, json)) in fields.enumerate() {
        let comma = if at > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{}:{json}", Value::from(key));
    }
    text.push('}');
    text
}

/// The members of an object in their order, as they are written.
#[derive(Debug, Default)]
struct Fields(Vec<(String, Box<RawValue>)>);

impl<'de> serde::Deserialize<'de> for Fields {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> serde::de::Visitor<'de> for Members {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope() -> Envelope {
        Envelope { client_info: r#"{"name":"c"}"#.to_owned(), capabilities: "{}".to_owned() }
    }

    #[test]
    fn a_request_says_who_asks_and_keeps_what_the_document_says() {
        let stamped = envelope().stamp(Some(r#"{"_meta":{"progressToken":1.00},"name":"x"}"#));
        assert_eq!(
            stamped,
            concat!(
                r#"{"name":"x","_meta":{"progressToken":1.00,"#,
                r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientInfo":{"name":"c"},"#,
                r#""io.modelcontextprotocol/clientCapabilities":{}}}"#
            )
        );
        let forged = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"1"}}"#;
        assert!(envelope().stamp(Some(forged)).contains(r#"protocolVersion":"1""#));
        assert_eq!(envelope().stamp(Some("[1]")), "[1]");
        assert_eq!(envelope().stamp(Some(r#"{"_meta":3}"#)), r#"{"_meta":3}"#);
    }

    #[test]
    fn headers_repeat_the_request_and_survive_any_name() {
        let headers = headers("tools/call", Some(r#"{"name":"grüße"}"#));
        assert_eq!(headers["mcp-method"], "tools/call");
        assert_eq!(headers["mcp-name"], "=?base64?Z3LDvMOfZQ==?=");
        assert_eq!(encoded("plain name"), "plain name");
        assert_eq!(encoded(" edge"), "=?base64?IGVkZ2U=?=");
    }

    #[test]
    fn a_request_is_asked_again_with_what_was_missing() {
        let again =
            asked_again(Some(r#"{"name":"x","requestState":"old"}"#), Some(r#"{"a":{}}"#), Some("\"s\""));
        assert_eq!(again, r#"{"name":"x","inputResponses":{"a":{}},"requestState":"s"}"#);
    }
}
