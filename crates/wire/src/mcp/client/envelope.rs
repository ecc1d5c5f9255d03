//! What a 2026-07-28 request carries with it, since there is no handshake that it could refer to.

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::Members;
use crate::mcp::encode_header;
use crate::mcp::revision::STATELESS;

/// Who we are, in every request.
#[derive(Clone, Debug)]
pub struct ClientIdentity {
    /// The client's name and version, as JSON text.
    pub client_info: String,
    /// What the client can do, as JSON text.
    pub capabilities: String,
}

impl ClientIdentity {
    /// Params with `_meta` in them. What the document has put there stays, and what is no object stays as it is.
    pub(super) fn stamp(&self, params: Option<&str>) -> String {
        let params = params.unwrap_or("{}");
        let Some(mut members) = Members::read(params) else { return params.to_owned() };
        let Some(mut meta) = Members::read(members.get("_meta").unwrap_or("{}")) else {
            return params.to_owned();
        };
        meta.set_missing("io.modelcontextprotocol/protocolVersion", &format!("\"{STATELESS}\""));
        meta.set_missing("io.modelcontextprotocol/clientInfo", &self.client_info);
        meta.set_missing("io.modelcontextprotocol/clientCapabilities", &self.capabilities);
        members.set("_meta", &meta.to_string());
        members.to_string()
    }
}

/// The headers of a request, which repeat what is in it.
pub(super) fn headers(method: &str, params: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut put = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(&encode_header(value)) {
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

/// The params of a request that is asked again, since the server needs more before it answers. All are JSON texts.
pub(super) fn asked_again(params: Option<&str>, responses: Option<&str>, state: Option<&str>) -> String {
    let mut members = params.and_then(Members::read).unwrap_or_default();
    if let Some(responses) = responses {
        members.set("inputResponses", responses);
    }
    if let Some(state) = state {
        members.set("requestState", state);
    }
    members.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope() -> ClientIdentity {
        ClientIdentity { client_info: r#"{"name":"c"}"#.to_owned(), capabilities: "{}".to_owned() }
    }

    #[test]
    fn a_request_says_who_asks_and_keeps_what_the_document_says() {
        let stamped = envelope().stamp(Some(r#"{"_meta":{"progressToken":1.00},"name":"x"}"#));
        assert_eq!(
            stamped,
            concat!(
                r#"{"_meta":{"progressToken":1.00,"#,
                r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientInfo":{"name":"c"},"#,
                r#""io.modelcontextprotocol/clientCapabilities":{}},"name":"x"}"#
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
    }

    #[test]
    fn a_request_is_asked_again_with_what_was_missing() {
        let again =
            asked_again(Some(r#"{"name":"x","requestState":"old"}"#), Some(r#"{"a":{}}"#), Some("\"s\""));
        assert_eq!(again, r#"{"name":"x","requestState":"s","inputResponses":{"a":{}}}"#);
    }
}
