//! How a client and a server get to know each other.

use std::sync::Arc;

use serde_json::{Value, json};
use sortie_wire::mcp::client::Envelope;
use sortie_wire::mcp::revision::{LATEST as REVISION, STATELESS, UNSUPPORTED};

use super::pending::{Lost, Outcome};
use super::session::Session;
use crate::modes::McpRevision;
use crate::payload::Payload;
use crate::phase::Phase;

const METHOD_NOT_FOUND: i64 = -32601;

/// A word for the trace, and a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) word: &'static str,
    pub(super) message: String,
}

/// Introduces ourselves with what the first phase says.
pub(super) async fn handshake(session: &Arc<Session>, phase: &Arc<Phase>) -> Result<(), Failure> {
    let client = Envelope {
        client_info: filled(
            session,
            phase,
            "client_info",
            &json!({"name": "oatf-client", "version": "1.0.0"}),
        ),
        capabilities: filled(session, phase, "capabilities", &json!({"roots": {"listChanged": true}})),
    };
    match &session.options.wire {
        McpRevision::Version(version) if version == STATELESS => discover(session, phase, client).await,
        McpRevision::Version(version) => initialize(session, phase, client, version, false).await,
        McpRevision::Auto => initialize(session, phase, client, REVISION, true).await,
    }
}

async fn initialize(
    session: &Arc<Session>,
    phase: &Arc<Phase>,
    client: Envelope,
    version: &str,
    may_discover: bool,
) -> Result<(), Failure> {
    let params = format!(
        r#"{{"protocolVersion":{},"capabilities":{},"clientInfo":{}}}"#,
        Value::from(version),
        client.capabilities,
        client.client_info
    );
    let mut outcome = answer(session, phase, "initialize", &params).await;
    // What an older server says to a request that it does not know.
    if matches!(outcome, Outcome::Lost(Lost::Status(400 | 404 | 405, _))) && session.link.fall_back().await {
        outcome = answer(session, phase, "initialize", &params).await;
    }
    let result = match outcome {
        Outcome::Result(result) => result,
        Outcome::Error(error)
            if may_discover && matches!(error["code"].as_i64(), Some(METHOD_NOT_FOUND | UNSUPPORTED)) =>
        {
            return discover(session, phase, client).await;
        }
        other => return Err(failure("initialize", other)),
    };
    let agreed = result["protocolVersion"].as_str();
    if agreed.is_none() {
        session.actor.warn("the target's answer to `initialize` has no `protocolVersion`");
    }
    session.link.agree_on(agreed.unwrap_or(version));
    session.notify(phase, "notifications/initialized", None).await;
    session.link.listen().await;
    Ok(())
}

/// Without sessions there is nothing to begin; what the server can do is asked, so that there is an answer to hear.
async fn discover(session: &Arc<Session>, phase: &Arc<Phase>, client: Envelope) -> Result<(), Failure> {
    // It is set only here.
    let _ = session.envelope.set(client);
    session.actor.warn(&format!(
        "{STATELESS} has no `initialize`: what a document says of it is taken for the answer to `server/discover`"
    ));
    match answer(session, phase, "server/discover", "{}").await {
        Outcome::Result(_) => Ok(()),
        other => Err(failure("server/discover", other)),
    }
}

async fn answer(session: &Arc<Session>, phase: &Arc<Phase>, method: &str, params: &str) -> Outcome {
    let receiver = session.ask(phase, method, Some(params));
    let lost = || Outcome::Lost(Lost::Broken("the connection ended".to_owned()));
    receiver.await.unwrap_or_else(|_| lost())
}

fn failure(method: &str, outcome: Outcome) -> Failure {
    let refused = |message: String| Failure { word: "target_refused", message };
    match outcome {
        Outcome::Lost(why) => failure_of(method, &why, true),
        Outcome::Error(error) => refused(format!("`{method}` was answered with an error: {}", brief(&error))),
        // It does not come here.
        Outcome::Result(_) => refused(format!("`{method}` was answered")),
    }
}

/// What it means for a run that a request has no answer. Before the handshake is over, whatever ends the connection
/// refuses us.
pub(super) fn failure_of(method: &str, why: &Lost, handshake: bool) -> Failure {
    let (refused, message) = match why {
        Lost::Status(status, body) => {
            let body = if body.is_empty() { String::new() } else { format!(": {body}") };
            let refused = handshake || matches!(status, 401 | 403);
            (refused, format!("`{method}` was answered with HTTP status {status}{body}"))
        }
        Lost::Refused(reason) => (handshake, format!("`{method}`: the target is gone: {reason}")),
        Lost::Broken(reason) => (false, format!("`{method}`: {reason}")),
        Lost::TimedOut => (false, format!("`{method}` was not answered in time")),
    };
    Failure { word: if refused { "target_refused" } else { "protocol_error" }, message }
}

fn brief(error: &Value) -> String {
    crate::modes::excerpt::excerpt(error["message"].as_str().unwrap_or("no message").as_bytes())
}

/// A key of the state with its templates filled, or a default.
fn filled(session: &Session, phase: &Phase, key: &str, default: &Value) -> String {
    let payload = phase.key(key).filter(|payload| !payload.value().is_null());
    let payload = payload.unwrap_or_else(|| Payload::plain(default.clone()));
    let filled = session.actor.fill(&payload, None, None);
    filled.map_or_else(|_| default.to_string(), |filled| filled.json.into_owned())
}
