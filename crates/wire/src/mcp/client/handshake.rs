//! How a client and a server get to know each other, and what a 2026-07-28 request carries with it, since there is no handshake
//! that it could refer to.

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use thiserror::Error;

use super::METHOD_NOT_FOUND;
use super::handler::Handler;
use super::session::{AskError, RpcAnswer, Session};
use crate::Members;
use crate::mcp::encode_header;
use crate::mcp::revision::{LATEST, McpRevision, STATELESS, UNSUPPORTED};

const INITIALIZE: &str = "initialize";
const DISCOVER: &str = "server/discover";

/// What a server says about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Welcome {
    /// The result of `initialize` or of `server/discover`, as the handler has seen it.
    pub result: Value,
    /// There is no session: requests say who asks (2026-07-28).
    pub stateless: bool,
}

/// A handshake that failed.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("`{method}`: {why}")]
pub struct HandshakeError {
    /// What was asked.
    pub method: &'static str,
    /// Why it failed.
    pub why: HandshakeFailure,
}

/// Why a handshake failed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum HandshakeFailure {
    /// The server answered with this error.
    #[error("answered with an error: {0}")]
    Refused(Value),
    /// There was no answer.
    #[error(transparent)]
    Unanswered(#[from] AskError),
}

impl<H: Handler> Session<H> {
    /// Introduces us, as what `client` says, in the revision that is asked for, or in one that the server speaks.
    pub async fn handshake(
        &self,
        context: &H::Context,
        revision: &McpRevision,
        client: ClientIdentity,
    ) -> Result<Welcome, HandshakeError> {
        let (version, may_discover) = match revision {
            McpRevision::Version(version) if version == STATELESS => {
                return self.discover(context, client).await;
            }
            McpRevision::Version(version) => (version.as_str(), false),
            McpRevision::Auto => (LATEST, true),
        };
        let params = format!(
            r#"{{"protocolVersion":{},"capabilities":{},"clientInfo":{}}}"#,
            Value::from(version),
            client.capabilities,
            client.client_info
        );
        let mut answer = self.ask(context, INITIALIZE, Some(&params)).await;
        // What an older server says to a request that it does not know.
        if matches!(&answer, Err(AskError::Status(status, _)) if matches!(status.as_u16(), 400 | 404 | 405))
            && self.inner.link.fall_back().await
        {
            answer = self.ask(context, INITIALIZE, Some(&params)).await;
        }
        let result = match answer {
            Ok(RpcAnswer::Result(result)) => result,
            Ok(RpcAnswer::Error(error))
                if may_discover && matches!(error["code"].as_i64(), Some(METHOD_NOT_FOUND | UNSUPPORTED)) =>
            {
                return self.discover(context, client).await;
            }
            other => return Err(failed(INITIALIZE, other)),
        };
        self.inner.link.agree_on(result["protocolVersion"].as_str().unwrap_or(version));
        self.notify(context, "notifications/initialized", None).await;
        self.inner.link.listen().await;
        Ok(Welcome { result, stateless: false })
    }

    /// Without sessions there is nothing to begin; what the server can do is asked, so that there is an answer to hear.
    async fn discover(
        &self,
        context: &H::Context,
        client: ClientIdentity,
    ) -> Result<Welcome, HandshakeError> {
        // From now on every request says who asks. A second handshake says the same.
        let _ = self.inner.envelope.set(client);
        match self.ask(context, DISCOVER, Some("{}")).await {
            Ok(RpcAnswer::Result(result)) => Ok(Welcome { result, stateless: true }),
            other => Err(failed(DISCOVER, other)),
        }
    }
}

fn failed(method: &'static str, answer: Result<RpcAnswer, AskError>) -> HandshakeError {
    let why = match answer {
        Ok(RpcAnswer::Result(value) | RpcAnswer::Error(value)) => HandshakeFailure::Refused(value),
        Err(error) => HandshakeFailure::Unanswered(error),
    };
    HandshakeError { method, why }
}

/// Who we are, in every request.
#[derive(Clone, Debug)]
pub struct ClientIdentity {
    /// The client's name and version, as JSON text.
    pub client_info: String,
    /// What the client can do, as JSON text.
    pub capabilities: String,
}

impl ClientIdentity {
    /// Params with `_meta` in them. What the document has put there stays, and what is not an object stays as it is.
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
pub(in crate::mcp) fn headers(method: &str, params: &str) -> HeaderMap {
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
    if let Some(name) = named.and_then(|key| Members::read(params)?.string(key)) {
        put("mcp-name", &name);
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
        let headers = headers("tools/call", r#"{"name":"grüße"}"#);
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
