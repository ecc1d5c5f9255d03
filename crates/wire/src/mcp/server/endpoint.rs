//! The HTTP endpoint: which request is answered by whom.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, HeaderName};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use tokio_util::sync::CancellationToken;

use super::log::Log;
use super::service::{Service, Transport};
use super::sessions::{Session, Sessions};
use super::{http_sse, post};
use crate::http::{
    Body, Hosts, Listener, Peer, RequestBody, StreamBody, StreamSender, Streams, TooManyStreams, read_body,
    respond,
};
use crate::{Limits, Lock, jsonrpc};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// How often an idle stream shows that it is alive: well within the patience of clients and proxies.
const STIR: Duration = Duration::from_secs(15);

/// When a listener ends.
#[derive(Clone, Debug)]
pub struct Ends {
    /// It stops to accept, and ends its streams.
    pub stop: CancellationToken,
    /// What may be said between `stop` and the end of the streams, such as the end of a subscription.
    pub farewell: Duration,
}

pub(super) struct Endpoint<S: Service> {
    pub(super) service: Arc<S>,
    pub(super) sessions: Sessions<S::Peer>,
    pub(super) streams: Streams,
    pub(super) limits: Limits,
    pub(super) stop: CancellationToken,
    hosts: Hosts,
    fleeting: Lock<Vec<Weak<Log>>>,
}

/// Answers at `/mcp` (Streamable HTTP) and at `/sse` and `/messages` (the older pair), until it is told to stop.
pub async fn serve<S: Service>(
    listener: Listener,
    hosts: Hosts,
    limits: Limits,
    service: Arc<S>,
    ends: Ends,
) {
    let endpoint = Arc::new(Endpoint {
        service,
        sessions: Sessions::default(),
        streams: Streams::new(&limits),
        limits,
        stop: ends.stop.clone(),
        hosts,
        fleeting: Lock::default(),
    });
    let ended = CancellationToken::new();
    let keeper = tokio::spawn(keep(endpoint.clone(), ends, ended.clone()));
    let handler = move |request: Request<RequestBody>, peer: Peer| {
        let endpoint = endpoint.clone();
        async move { endpoint.answer(request, peer).await }
    };
    listener.serve(handler, limits, ended).await;
    // It has ended: that is why the listener did.
    let _ = keeper.await;
}

/// Keeps idle streams alive, and ends all of them in the end.
async fn keep<S: Service>(endpoint: Arc<Endpoint<S>>, ends: Ends, ended: CancellationToken) {
    loop {
        tokio::select! {
            () = ends.stop.cancelled() => break,
            () = tokio::time::sleep(STIR) => {
                endpoint.sessions.stir();
                endpoint.fleeting.lock().iter().filter_map(Weak::upgrade).for_each(|log| log.stir());
            }
        }
    }
    tokio::time::sleep(ends.farewell).await;
    endpoint.sessions.end();
    ended.cancel();
}

impl<S: Service> Endpoint<S> {
    async fn answer(self: Arc<Self>, request: Request<RequestBody>, peer: Peer) -> Response<Body> {
        if let Err(foreign) = self.hosts.check(request.headers()) {
            return refusal(foreign.status(), &foreign.to_string());
        }
        let path = request.uri().path();
        let answer = match (path.strip_suffix('/').unwrap_or(path), request.method()) {
            ("/mcp", &Method::POST) => post::answer(&self, request, peer).await,
            ("/mcp", &Method::GET) => http_sse::get(&self, &request),
            ("/mcp", &Method::DELETE) => Ok(self.delete(&request)),
            ("/sse", &Method::GET) => http_sse::open(&self, &request),
            ("/messages", &Method::POST) => http_sse::post(&self, request, peer).await,
            ("/mcp", _) => Ok(not_allowed("GET, POST, DELETE")),
            ("/sse", _) => Ok(not_allowed("GET")),
            ("/messages", _) => Ok(not_allowed("POST")),
            (_, &Method::GET) if let Some(json) = self.service.fetch(path) => {
                Ok(respond(StatusCode::OK, "application/json", json))
            }
            _ => Ok(refusal(StatusCode::NOT_FOUND, "nothing is served here; MCP is at /mcp")),
        };
        answer.unwrap_or_else(|refused| *refused)
    }

    fn delete(&self, request: &Request<RequestBody>) -> Response<Body> {
        match self.session(request.headers()) {
            Named::Session(session) => {
                self.end(&session.id);
                status(StatusCode::NO_CONTENT)
            }
            Named::Unknown => unknown_session(),
            Named::Nobody => refusal(StatusCode::BAD_REQUEST, "no Mcp-Session-Id"),
        }
    }

    /// All of a request's body, or the refusal.
    pub(super) async fn read(&self, body: RequestBody) -> Result<Bytes, Box<Response<Body>>> {
        let read = read_body(body, &self.limits).await;
        read.map_err(|error| Box::new(refusal(error.status(), &error.to_string())))
    }

    pub(super) fn session(&self, headers: &HeaderMap) -> Named<S::Peer> {
        let Some(id) = headers.get(SESSION) else { return Named::Nobody };
        let session = id.to_str().ok().and_then(|id| self.sessions.get(id));
        session.map_or(Named::Unknown, Named::Session)
    }

    pub(super) fn fleeting_stream(&self) -> Arc<Log> {
        let log = Log::fleeting(&self.limits);
        let mut fleeting = self.fleeting.lock();
        fleeting.retain(|log| log.strong_count() > 0);
        fleeting.push(Arc::downgrade(&log));
        log
    }

    /// Begins a session, whose answers go to `answers` in the older transport. `None` when there is no randomness for its id.
    pub(super) fn begin(&self, answers: Option<Arc<Log>>) -> Option<Arc<Session<S::Peer>>> {
        let transport = if answers.is_some() { Transport::HttpSse } else { Transport::Session };
        let peer = self.service.open(&self.sessions.name(), transport);
        let (session, evicted) = self.sessions.add(peer, answers)?;
        if let Some(evicted) = evicted {
            self.service.close(&evicted.peer);
        }
        Some(session)
    }

    pub(super) fn end(&self, id: &str) {
        if let Some(session) = self.sessions.remove(id) {
            self.service.close(&session.peer);
        }
    }

    /// A body to answer with, and the refusal when there are too many streams already.
    pub(super) fn open_stream(&self) -> Result<(StreamSender, StreamBody), Box<Response<Body>>> {
        let refused = |why: TooManyStreams| refusal(StatusCode::SERVICE_UNAVAILABLE, &why.to_string());
        self.streams.open().map_err(|error| Box::new(refused(error)))
    }
}

/// An answer; a refusal is one too, and comes sooner.
pub(super) type Answered = Result<Response<Body>, Box<Response<Body>>>;

pub(super) enum Named<P> {
    Nobody,
    Unknown,
    Session(Arc<Session<P>>),
}

pub(super) fn whole(message: Bytes, status: StatusCode) -> Response<Body> {
    respond(status, "application/json", message)
}

pub(super) fn events(body: StreamBody) -> Response<Body> {
    let mut response = respond(StatusCode::OK, "text/event-stream", body);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

pub(super) fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// What HTTP refuses, as a JSON-RPC error without an id.
pub(super) fn refusal(status: StatusCode, message: &str) -> Response<Body> {
    whole(jsonrpc::error(None, -32600, message, None), status)
}

pub(super) fn unknown_session() -> Response<Body> {
    refusal(StatusCode::NOT_FOUND, "no such session")
}

fn not_allowed(methods: &'static str) -> Response<Body> {
    let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}
