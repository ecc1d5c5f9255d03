//! The listening end.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{ALLOW, CACHE_CONTROL, HOST};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use tokio_util::sync::CancellationToken;

use super::{CARD_PATHS, VERSION_HEADER};
use crate::http::{
    Body, BodyError, Hosts, Listener, ListenerCounts, Peer, RequestBody, closing, read_body, respond,
};
use crate::{Limits, sse};

/// Answers what is asked of an A2A agent.
pub trait AgentService: Send + Sync + 'static {
    /// The agent card, as JSON.
    fn card(&self, caller: Caller<'_>) -> Bytes;

    /// The answer to a JSON-RPC message, or to what should be one.
    fn message(self: &Arc<Self>, caller: Caller<'_>, body: &Bytes)
    -> impl Future<Output = AgentReply> + Send;

    /// The answer to a message that cannot be had: too long, too slow, cut.
    fn unreadable(&self, caller: Caller<'_>, error: &BodyError) -> Bytes;
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'c> {
    /// Which connection of the listener it is: 1, 2, 3, …
    pub connection: u64,
    /// The host and port under which it found us.
    pub host: Option<&'c str>,
    /// The version that it says it speaks; nothing where it says none, as clients of 0.3 do.
    pub version: Option<&'c str>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentReply {
    /// One JSON-RPC response.
    Json(Bytes),
    /// JSON-RPC responses, each an event of a stream.
    Events(Vec<Bytes>),
    /// Nothing: it was a notification.
    Nothing,
    /// The agent broke over it.
    Failed,
}

/// Serves an agent until `stop`. Requests for other hosts, and from pages of others, are refused.
pub async fn serve<S: AgentService>(
    listener: Listener,
    agent: Arc<S>,
    hosts: Hosts,
    limits: Limits,
    stop: CancellationToken,
) -> ListenerCounts {
    let hosts = Arc::new(hosts);
    let handler = move |request: Request<RequestBody>, peer: Peer| {
        let (agent, hosts) = (agent.clone(), hosts.clone());
        async move { answer(request, peer, &agent, &hosts, &limits).await }
    };
    listener.serve(handler, limits, stop).await
}

async fn answer<S: AgentService>(
    request: Request<RequestBody>,
    peer: Peer,
    agent: &Arc<S>,
    hosts: &Hosts,
    limits: &Limits,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    if let Err(foreign) = hosts.check(&head.headers) {
        return closing(respond(foreign.status(), "text/plain", foreign.to_string()));
    }
    let caller = Caller {
        connection: peer.connection,
        host: head.headers.get(HOST).and_then(|host| host.to_str().ok()),
        version: head
            .headers
            .get(VERSION_HEADER)
            .and_then(|version| version.to_str().ok())
            .filter(|version| !version.is_empty()),
    };
    let is_card = CARD_PATHS.iter().any(|path| head.uri.path().ends_with(path));
    match head.method {
        Method::GET | Method::HEAD if is_card => json(agent.card(caller)),
        // A card may lead to any path of ours, so messages are taken at all of them.
        Method::POST => match read_body(body, limits).await {
            Ok(body) => match agent.message(caller, &body).await {
                AgentReply::Json(answer) => json(answer),
                AgentReply::Events(events) => stream(&events),
                AgentReply::Nothing => respond(StatusCode::ACCEPTED, "application/json", Bytes::new()),
                AgentReply::Failed => respond(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", Bytes::new()),
            },
            Err(error) => {
                let answer = agent.unreadable(caller, &error);
                // What is left of the body is not read.
                closing(respond(error.status(), "application/json", answer))
            }
        },
        Method::GET | Method::HEAD if head.uri.path() != "/" => {
            respond(StatusCode::NOT_FOUND, "text/plain", Bytes::new())
        }
        _ => {
            let mut response = respond(StatusCode::METHOD_NOT_ALLOWED, "text/plain", Bytes::new());
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            closing(response)
        }
    }
}

fn json(body: Bytes) -> Response<Body> {
    respond(StatusCode::OK, "application/json", body)
}

/// The events are all there, so the stream is sent at once.
fn stream(events: &[Bytes]) -> Response<Body> {
    let mut body = BytesMut::new();
    for event in events {
        body.extend_from_slice(&sse::encode(None, None, event));
    }
    let mut response = respond(StatusCode::OK, "text/event-stream", body.freeze());
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
