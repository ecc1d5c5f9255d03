//! How a client and a server get to know each other.

use serde_json::Value;
use thiserror::Error;

use super::METHOD_NOT_FOUND;
use super::envelope::ClientIdentity;
use super::handler::Handler;
use super::session::{AskError, RpcAnswer, Session};
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
            && self.link().fall_back().await
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
        self.link().agree_on(result["protocolVersion"].as_str().unwrap_or(version));
        self.notify(context, "notifications/initialized", None).await;
        self.link().listen().await;
        Ok(Welcome { result, stateless: false })
    }

    /// Without sessions there is nothing to begin; what the server can do is asked, so that there is an answer to hear.
    async fn discover(
        &self,
        context: &H::Context,
        client: ClientIdentity,
    ) -> Result<Welcome, HandshakeError> {
        self.become_stateless(client);
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
