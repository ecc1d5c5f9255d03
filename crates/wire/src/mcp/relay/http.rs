//! HTTP on both sides: every request of the client is one to the server, with its method, path, headers and body.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode};
use url::Url;

use super::conversation::{Conversation, Crossed, Measured};
use super::frames::{FrameBoundary, FrameCutter, FramePiece, event_data, replace_data};
use super::mirror::repeat_in_headers;
use super::tap::{Onward, RelayFault, RelaySide, Tap};
use crate::http::{
    Body, BodyPieces, Client, ClientError, Hosts, OpenResponse, Peer, RequestBody, SendError, StreamSender,
    Streams, is_event_stream, read_body, respond,
};
use crate::jsonrpc;
use crate::{Limits, Lock};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// Headers that are between two neighbours and go no further.
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    KEEP_ALIVE,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// How much of an answer is waited for before it is passed on piece by piece. Most answers are shorter, and are recorded before
/// the client has them.
const HELD: usize = 64 * 1024;

/// How often work is polled that may be over at once: a stream of two events takes four.
const TURNS: usize = 8;

/// How many sessions are remembered. The one that was silent for longest gives way.
const MAX_SESSIONS: usize = 1024;

/// A relay of HTTP.
pub(super) struct HttpRelay<T: Tap> {
    tap: Arc<T>,
    client: Client,
    upstream: Url,
    hosts: Hosts,
    limits: Limits,
    streams: Streams,
    sessions: Lock<Sessions<T>>,
    opened: AtomicU64,
}

struct Sessions<T: Tap> {
    by_id: HashMap<String, Arc<Conversation<T>>>,
    /// Least recently begun first.
    order: VecDeque<String>,
}

/// One request of a client, and what it asks.
struct Exchange<T: Tap> {
    conversation: Arc<Conversation<T>>,
    /// The keys of the requests in its body.
    asks: Vec<String>,
    has_session: bool,
    /// Its stream can be taken up again, so that its answer may come elsewhere.
    resumable: bool,
}

/// Whoever still waits when an exchange is over has gone.
impl<T: Tap> Drop for Exchange<T> {
    fn drop(&mut self) {
        for key in self.asks.iter().filter(|_| !self.resumable) {
            self.conversation.client_left(key);
        }
    }
}

impl<T: Tap> HttpRelay<T> {
    pub(super) fn new(tap: Arc<T>, client: Client, upstream: Url, hosts: Hosts, limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            tap,
            client,
            upstream,
            hosts,
            limits,
            streams: Streams::new(&limits),
            sessions: Lock::new(Sessions { by_id: HashMap::new(), order: VecDeque::new() }),
            opened: AtomicU64::new(0),
        })
    }

    pub(super) async fn answer(self: Arc<Self>, request: Request<RequestBody>, peer: Peer) -> Response<Body> {
        if let Err(foreign) = self.hosts.check(request.headers()) {
            return refusal(foreign.status(), &foreign.to_string());
        }
        let (mut parts, body) = request.into_parts();
        let bytes = match read_body(body, &self.limits).await {
            Ok(bytes) => bytes,
            Err(error) => return refusal(error.status(), &error.to_string()),
        };
        let known = parts.headers.get(SESSION).and_then(|id| self.session(id.to_str().ok()?));
        let has_session = known.is_some();
        let begins = !has_session && is_initialize(&bytes);
        let conversation = known.unwrap_or_else(|| {
            let name = if begins {
                format!("session-{}", self.opened.fetch_add(1, Ordering::Relaxed) + 1)
            } else {
                format!("http-{}", peer.connection)
            };
            Arc::new(Conversation::new(name, self.tap.clone(), self.limits))
        });
        let mut exchange = Exchange { conversation, asks: Vec::new(), has_session, resumable: false };
        let onward = if bytes.trim_ascii().is_empty() {
            Some(bytes)
        } else {
            let mut crossed = exchange.conversation.cross(RelaySide::Client, &bytes);
            crossed.wait().await;
            exchange.asks = std::mem::take(&mut crossed.asks);
            match (std::mem::take(&mut crossed.onward), crossed.back.take()) {
                (Onward::Same, _) => Some(bytes),
                (Onward::Changed(bytes), _) => {
                    repeat_in_headers(&bytes, &mut parts.headers, &self.limits);
                    Some(bytes)
                }
                (_, Some(answer)) => {
                    let body = Body::and_then(answer, Box::new(crossed));
                    return respond(StatusCode::OK, "application/json", body);
                }
                // Whoever asked waits for as long as it likes.
                (_, None) if crossed.has_request() => std::future::pending().await,
                (_, None) => None,
            }
        };
        let Some(onward) = onward else { return status(StatusCode::ACCEPTED) };
        let asked = self.ask(&parts.method, &parts.uri, parts.headers, onward).await;
        match asked {
            Ok(response) => self.pass_back(exchange, response, begins).await,
            Err(error) => {
                exchange.conversation.fault(&RelayFault::Unreachable(error.to_string()));
                let why = format!("the wrapped server cannot be reached: {error}");
                exchange.refuse(&why)
            }
        }
    }

    /// The server is asked the same, at the same path.
    async fn ask(
        &self,
        method: &Method,
        uri: &http::Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<OpenResponse, ClientError> {
        let mut url = self.upstream.clone();
        url.set_path(uri.path());
        if uri.path() != self.upstream.path() || uri.query().is_some() {
            url.set_query(uri.query());
        }
        let mut headers = end_to_end(headers);
        // What is compressed could not be looked at.
        for own in [HOST, CONTENT_LENGTH, EXPECT, ACCEPT_ENCODING] {
            headers.remove(own);
        }
        let body = (!body.is_empty() || *method == Method::POST).then_some(body);
        self.client.open(method.clone(), url.as_str(), headers, body).await
    }

    /// The client gets what the server answers.
    async fn pass_back(
        &self,
        mut exchange: Exchange<T>,
        answer: OpenResponse,
        begins: bool,
    ) -> Response<Body> {
        if let (true, Some(id)) = (begins, answer.headers.get(SESSION).and_then(|id| id.to_str().ok())) {
            self.begin(id, &exchange.conversation);
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = answer.status;
        let (events, json) = (is_event_stream(&answer.headers), is_json(&answer.headers));
        exchange.resumable = events && exchange.has_session;
        *response.headers_mut() = end_to_end(answer.headers);
        if events {
            let Ok((sender, body)) = self.streams.open() else {
                return status(StatusCode::SERVICE_UNAVAILABLE);
            };
            let mut passing = Box::pin(exchange.pass_events(answer.body, sender, self.limits));
            if !ends_soon(passing.as_mut()).await {
                tokio::spawn(passing);
            }
            *response.body_mut() = body.into();
            return response;
        }
        let changeable = exchange.asks.iter().any(|key| exchange.conversation.may_change(key));
        let most = if changeable { self.limits.message_bytes } else { HELD.min(self.limits.message_bytes) };
        match collect(answer.body, most).await {
            Collected::Whole(bytes) => {
                let (bytes, crossed) = exchange.pass_whole(bytes, json);
                let Some(bytes) = bytes else { return std::future::pending().await };
                if let Some(crossed) = &crossed {
                    crossed.wait().await;
                }
                // It is written with the length that it has now.
                response.headers_mut().remove(CONTENT_LENGTH);
                *response.body_mut() = Body::and_then(bytes, Box::new(crossed));
            }
            Collected::Begun(held, rest) => {
                let Ok((sender, body)) = self.streams.open() else {
                    return status(StatusCode::SERVICE_UNAVAILABLE);
                };
                tokio::spawn(exchange.pass_pieces((held, rest), json, sender, self.limits));
                *response.body_mut() = body.into();
            }
            Collected::Broken(error) => {
                exchange.conversation.fault(&RelayFault::ServerGone(error.clone()));
                return exchange.refuse(&error);
            }
        }
        response
    }

    fn session(&self, id: &str) -> Option<Arc<Conversation<T>>> {
        self.sessions.lock().by_id.get(id).cloned()
    }

    fn begin(&self, id: &str, conversation: &Arc<Conversation<T>>) {
        let mut sessions = self.sessions.lock();
        if sessions.order.len() == MAX_SESSIONS
            && let Some(oldest) = sessions.order.pop_front()
        {
            sessions.by_id.remove(&oldest);
        }
        if sessions.by_id.insert(id.to_owned(), conversation.clone()).is_none() {
            sessions.order.push_back(id.to_owned());
        }
    }

    /// The end: what sessions still wait for is the server's fault after so long.
    pub(super) fn end(&self, patience: std::time::Duration) {
        for conversation in self.sessions.lock().by_id.values() {
            conversation.end(patience);
        }
    }
}

impl<T: Tap> Exchange<T> {
    /// An answer that is all there. Gives what the client gets, if it gets anything.
    fn pass_whole(&self, bytes: Bytes, json: bool) -> (Option<Bytes>, Option<Crossed<T::Asked>>) {
        if json && !bytes.trim_ascii().is_empty() {
            let mut crossed = self.conversation.cross(RelaySide::Server, &bytes);
            let bytes = match std::mem::take(&mut crossed.onward) {
                Onward::Same => Some(bytes),
                Onward::Changed(bytes) => Some(bytes),
                Onward::Nothing | Onward::Answered(_) => None,
            };
            self.close();
            return (bytes, Some(crossed));
        }
        for key in &self.asks {
            self.conversation.answered_otherwise(key, &bytes);
        }
        (Some(bytes), None)
    }

    /// Passes on a stream of events, block by block.
    async fn pass_events(self, mut body: BodyPieces, sender: StreamSender, limits: Limits) {
        let mut cutter = FrameCutter::new(FrameBoundary::Block, &limits);
        let mut measured = Measured::new();
        loop {
            let piece = tokio::select! {
                piece = body.next() => piece,
                () = sender.gone() => return,
            };
            match piece {
                Some(Ok(bytes)) => cutter.push(&bytes),
                ended => {
                    if let Some(piece) = cutter.finish() {
                        let _ = self.pass_piece(piece, &mut measured, &sender, limits).await;
                    }
                    if let Some(Err(error)) = ended {
                        self.conversation.fault(&RelayFault::StreamCut(error.to_string()));
                        sender.cut().await;
                    }
                    return self.close();
                }
            }
            while let Some(piece) = cutter.next_piece() {
                if self.pass_piece(piece, &mut measured, &sender, limits).await.is_err() {
                    return;
                }
            }
        }
    }

    async fn pass_piece(
        &self,
        piece: FramePiece,
        measured: &mut Measured,
        sender: &StreamSender,
        limits: Limits,
    ) -> Result<(), SendError> {
        let block = match piece {
            FramePiece::Whole(block) => block,
            FramePiece::Part { bytes, last } => {
                measured.take(&bytes);
                if last {
                    let seen = std::mem::replace(measured, Measured::new());
                    self.conversation.overlong(RelaySide::Server, self.only_ask(), &seen);
                }
                return send(sender, bytes).await;
            }
        };
        let data = event_data(&block, &limits);
        if data.is_empty() {
            return send(sender, block).await;
        }
        let mut crossed = self.conversation.cross(RelaySide::Server, &data);
        crossed.wait().await;
        let block = match std::mem::take(&mut crossed.onward) {
            Onward::Same => block,
            Onward::Changed(data) => replace_data(&block, Some(&data)),
            Onward::Nothing | Onward::Answered(_) => replace_data(&block, None),
        };
        send(sender, block).await
    }

    /// Passes on the rest of an answer that nothing changes, and is too long to be waited for.
    async fn pass_pieces(
        self,
        (held, mut rest): (Bytes, BodyPieces),
        json: bool,
        sender: StreamSender,
        limits: Limits,
    ) {
        let mut measured = Measured::new();
        let mut kept = Some(BytesMut::new());
        let mut next: Option<Result<Bytes, ClientError>> = Some(Ok(held));
        while let Some(piece) = next {
            let bytes = match piece {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.conversation.fault(&RelayFault::ServerGone(error.to_string()));
                    return sender.cut().await;
                }
            };
            measured.take(&bytes);
            match &mut kept {
                Some(all) if all.len() + bytes.len() <= limits.message_bytes => all.extend_from_slice(&bytes),
                _ => kept = None,
            }
            if send(&sender, bytes).await.is_err() {
                return;
            }
            next = tokio::select! {
                next = rest.next() => next,
                () = sender.gone() => return,
            };
        }
        match kept {
            // It has gone on already: what would become of it now is too late.
            Some(all) => drop(self.pass_whole(all.freeze(), json)),
            None => self.conversation.overlong(RelaySide::Server, self.only_ask(), &measured),
        }
    }

    /// What the client is told when there is no answer of the server.
    fn refuse(&self, why: &str) -> Response<Body> {
        let mut answer = jsonrpc::error(None, -32603, why, None);
        for key in &self.asks {
            answer = self.conversation.refuse(key, why).unwrap_or(answer);
        }
        respond(StatusCode::BAD_GATEWAY, "application/json", answer)
    }

    fn only_ask(&self) -> Option<&str> {
        match self.asks.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The server has said all that it says here. What it has not answered it does not answer any more.
    fn close(&self) {
        for key in self.asks.iter().filter(|_| !self.resumable) {
            self.conversation.unanswered(key);
        }
    }
}

enum Collected {
    Whole(Bytes),
    /// It is longer than that: its beginning, and the rest.
    Begun(Bytes, BodyPieces),
    Broken(String),
}

async fn collect(mut body: BodyPieces, most: usize) -> Collected {
    let mut first = Bytes::new();
    let mut held = BytesMut::new();
    while let Some(piece) = body.next().await {
        let piece = match piece {
            Ok(piece) => piece,
            Err(error) => return Collected::Broken(error.to_string()),
        };
        // Most bodies come in one piece, which need not be copied.
        if first.is_empty() && held.is_empty() {
            first = piece;
        } else {
            held.extend_from_slice(&std::mem::take(&mut first));
            held.extend_from_slice(&piece);
        }
        if first.len() + held.len() > most {
            let held = if held.is_empty() { first } else { held.freeze() };
            return Collected::Begun(held, body);
        }
    }
    Collected::Whole(if held.is_empty() { first } else { held.freeze() })
}

/// Polls work as often as it takes to pass on an answer that has come already, so that all of it is written at once. Whether
/// the work is over (`cargo xtask bench wrap`).
async fn ends_soon(mut work: Pin<&mut impl Future<Output = ()>>) -> bool {
    let mut turns = TURNS;
    poll_fn(|context| {
        if work.as_mut().poll(context).is_ready() {
            return Poll::Ready(true);
        }
        if turns == 0 {
            return Poll::Ready(false);
        }
        turns -= 1;
        // The task that reads from the server has its turn first.
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Sends bytes in pieces that fit into what may wait.
async fn send(sender: &StreamSender, mut bytes: Bytes) -> Result<(), SendError> {
    while !bytes.is_empty() {
        let piece = bytes.split_to(bytes.len().min(1 << 20));
        sender.send(piece).await?;
    }
    Ok(())
}

/// Whether it could begin a session; whether it does, the server says.
fn is_initialize(body: &[u8]) -> bool {
    memchr::memmem::find(body, b"\"initialize\"").is_some()
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<String> =
        named.flat_map(|names| names.split(',')).map(|name| name.trim().to_owned()).collect();
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
    for name in named {
        headers.remove(name.as_str());
    }
    headers
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn refusal(status: StatusCode, why: &str) -> Response<Body> {
    respond(status, "application/json", jsonrpc::error(None, -32600, why, None))
}
