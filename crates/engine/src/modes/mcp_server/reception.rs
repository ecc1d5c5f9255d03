//! Hears messages, and answers them.

use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sortie_trace::{Direction, Kind};
use sortie_wire::jsonrpc::{self, Incoming, Malformed, id_key};
use sortie_wire::mcp::server::{Arrival, Outlet, Reply, Service, ServiceAnswer, Transport};

use super::dispatch::{Outcome, Refusal, dispatch};
use super::modern;
use super::peer::Peer;
use super::server::Server;
use super::talk::Call;
use crate::actor::{HeardMessage, Spoken};
use sortie_wire::mcp::revision;

#[derive(Clone, Copy)]
pub(super) struct Post<'p> {
    pub(super) peer: &'p Arc<Peer>,
    pub(super) bytes: &'p [u8],
    /// Params, result or error, when it is a message.
    pub(super) body: Option<&'p RawValue>,
    pub(super) headers: Option<&'p HeaderMap>,
}

pub(super) struct Asking {
    pub(super) id: Box<RawValue>,
    pub(super) id_value: Value,
    pub(super) method: String,
    pub(super) modern: bool,
}

impl Service for Server {
    type Peer = Peer;

    fn open(self: &Arc<Self>, name: &str, transport: Transport) -> Arc<Peer> {
        self.add(name, transport)
    }

    fn close(self: &Arc<Self>, peer: &Arc<Peer>) {
        self.remove(peer);
    }

    fn begins_session(&self, message: &Incoming) -> bool {
        let initializes = matches!(message, Incoming::Request { method, .. } if method == "initialize");
        initializes && !self.is_modern_forced()
    }

    fn speaks(&self, peer: &Peer, version: &str) -> bool {
        revision::has_handshake(version)
            || (version == revision::STATELESS && self.is_modern_spoken(&peer.actor.phase()))
            || peer.version().is_some_and(|agreed| agreed == version)
    }

    fn primes(&self, peer: &Peer) -> bool {
        peer.version().as_deref() == Some(revision::LATEST)
    }

    fn has_unsaid(&self, peer: &Peer) -> bool {
        peer.has_unsaid()
    }

    fn listening(self: &Arc<Self>, peer: &Arc<Peer>, outlet: Outlet) {
        peer.listens_on(outlet);
        self.flush(peer);
    }

    fn hear(self: &Arc<Self>, peer: &Arc<Peer>, arrival: Arrival<'_>) -> Reply {
        let post = Post::new(peer, &arrival);
        match &arrival.message {
            Ok(Incoming::Batch(items)) => self.batch(post, items),
            message => self.one(post, message),
        }
    }

    /// An address of the document's that stands for one of others.
    fn fetch(self: &Arc<Self>, path: &str) -> Option<Bytes> {
        let phase = self.actor.phase();
        let (url, served) = self.plan(&phase).fetch.iter().find(|(url, _)| url.path() == path)?;
        let (asked, surfaces) = (json!({"url": url.as_str()}), &["fetch"]);
        let request = asked.to_string();
        let spoken = Spoken::new(surfaces, Kind::Request, "fetch", request.as_bytes());
        let heard = self.actor.heard(surfaces, spoken);
        let served = self.actor.fill(served, Some(&asked), None).ok()?.into_owned();
        self.actor.said(&heard.phase, Spoken::new(surfaces, Kind::Response, "fetch", served.as_bytes()));
        Some(served.into())
    }

    fn refuse(self: &Arc<Self>, name: &str, arrival: Arrival<'_>, answer: &Bytes) {
        let peer = Arc::new(Peer::new(name, Transport::Single, self.actor.clone()));
        let post = Post::new(&peer, &arrival);
        let (method, kind, id) = outline(&arrival.message);
        let heard = post.heard(&[], method, kind, id.as_ref());
        Self::said(&peer, &heard.phase, method, Kind::Error, id.as_ref(), answer);
    }
}

impl Server {
    fn one(self: &Arc<Self>, post: Post<'_>, message: &Result<Incoming, Malformed>) -> Reply {
        if let Some(reply) = self.unspoken(post, message) {
            return reply;
        }
        match message {
            Ok(Incoming::Request { id, method, .. }) => self.request(post, id, method),
            Ok(Incoming::Notification { method, .. }) => self.notification(post, method),
            Ok(Incoming::Response { id, .. }) => self.answered(post, Some(id), Kind::Response),
            Ok(Incoming::Error { id, .. }) => self.answered(post, id.as_deref(), Kind::Error),
            Ok(Incoming::Batch(_)) => {
                Self::malformed(post, &jsonrpc::error(None, -32600, "a batch within a batch", None), None)
            }
            Err(malformed) => {
                let id = malformed.id.as_ref().and_then(|id| serde_json::from_str(id.get()).ok());
                Self::malformed(post, &malformed.answer(), id.as_ref())
            }
        }
    }

    /// Refuses a message whose `MCP-Protocol-Version` nobody speaks.
    fn unspoken(&self, post: Post<'_>, message: &Result<Incoming, Malformed>) -> Option<Reply> {
        let version = post.headers?.get("mcp-protocol-version")?.to_str().unwrap_or_default();
        // Handshakes decide on the version themselves, and what needs none is refused in its own way.
        let asks = |wanted: &str| matches!(message, Ok(Incoming::Request { method, .. }) if method == wanted);
        let modern = || modern::claims(post.body) && self.is_modern_spoken(&post.peer.actor.phase());
        if self.speaks(post.peer, version) || asks("initialize") || asks(modern::DISCOVER) || modern() {
            return None;
        }
        let (method, kind, id) = outline(message);
        let heard = post.heard(&[], method, kind, id.as_ref());
        let text = id.as_ref().map(Value::to_string);
        let answer = jsonrpc::error(text.as_deref(), -32600, "Unsupported MCP-Protocol-Version", None);
        Self::said(post.peer, &heard.phase, method, Kind::Error, id.as_ref(), &answer);
        Some(refusing(answer, StatusCode::BAD_REQUEST))
    }

    fn request(self: &Arc<Self>, post: Post<'_>, id: &RawValue, method: &str) -> Reply {
        let peer = post.peer;
        let id_value = serde_json::from_str(id.get()).unwrap_or_default();
        let modern = self.is_modern(post, method);
        let events = self.events(modern, method);
        let heard = post.heard(&events, method, Kind::Request, Some(&id_value));
        let asking = Asking { id: id.to_owned(), id_value, method: method.to_owned(), modern };
        if asking.method != "initialize" && peer.is_ready_now() {
            self.welcome(peer);
        }
        match self.outcome(post, &asking, &heard) {
            Ok(Outcome::Result(result)) => {
                let plan = self.plan(&heard.phase);
                let result = plan.leading_here(result, self.base.as_deref());
                let result =
                    if modern { modern::completed(&asking.method, result, &plan.cache) } else { result };
                let answer = jsonrpc::result(asking.id.get(), &result);
                asking.said(peer, &heard, Kind::Response, &answer);
                answering(answer, StatusCode::OK, heard)
            }
            Ok(Outcome::Talk { questions }) => {
                let call = Call { server: self.clone(), peer: peer.clone(), heard, asking, questions };
                Reply::Talk(Box::new(move |outlet| Box::pin(call.talk(outlet))))
            }
            Ok(Outcome::Listen) => {
                let call =
                    Call { server: self.clone(), peer: peer.clone(), heard, asking, questions: Vec::new() };
                Reply::Talk(Box::new(move |outlet| Box::pin(call.listen(outlet))))
            }
            Err(refusal) => {
                let answer = asking.refused(&refusal);
                asking.said(peer, &heard, Kind::Error, &answer);
                answering(answer, asking.status(&refusal), heard)
            }
        }
    }

    fn outcome<'s>(
        &'s self,
        post: Post<'_>,
        asking: &Asking,
        heard: &HeardMessage,
    ) -> Result<Outcome<'s>, Refusal> {
        let peer = post.peer;
        let plan = self.plan(&heard.phase);
        let params = &heard.content;
        if asking.modern {
            modern::check(post.headers, &asking.method, params)?;
            match asking.method.as_str() {
                modern::DISCOVER => return Ok(Outcome::Result(plan.identity.discover(&peer.actor, params)?)),
                modern::LISTEN => return Ok(Outcome::Listen),
                _ => {}
            }
        } else if asking.method == "initialize" {
            if self.is_modern_forced() {
                return Err(modern::unsupported(params.get("protocolVersion")));
            }
            let (version, result) = plan.identity.initialize(&peer.actor, &self.options.wire, params)?;
            let capabilities = params.get("capabilities").cloned().unwrap_or_default();
            peer.agreed(serde_json::from_str::<String>(&version).ok().as_deref(), capabilities);
            return Ok(Outcome::Result(result.into()));
        } else if self.is_modern_forced() {
            return Err(modern::unsupported(None));
        }
        dispatch(plan, &peer.actor, asking.modern, &asking.method, params)
    }

    /// Whether a request is one of the wire without handshakes.
    fn is_modern(&self, post: Post<'_>, method: &str) -> bool {
        if method != modern::DISCOVER {
            // Who has shaken hands speaks a revision with handshakes, unless a header says otherwise.
            let header = post.headers.and_then(|headers| headers.get("mcp-protocol-version"));
            let named = header.is_some_and(|version| version == revision::STATELESS);
            let claims = || !post.peer.has_agreed() && modern::claims(post.body);
            if !named && !claims() {
                return false;
            }
        }
        self.is_modern_spoken(&post.peer.actor.phase())
    }

    fn notification(self: &Arc<Self>, post: Post<'_>, method: &str) -> Reply {
        let heard = post.heard(&[method], method, Kind::Notification, None);
        match method {
            "notifications/initialized" if post.peer.is_ready_now() => self.welcome(post.peer),
            "notifications/cancelled" => {
                if let Some(id) = heard.content.get("requestId") {
                    post.peer.cancel(&id_key(&id.to_string()));
                }
            }
            _ => {}
        }
        Reply::Accepted
    }

    /// A peer answers a question of ours. What answers nothing that we asked is written down all the same.
    fn answered(&self, post: Post<'_>, id: Option<&RawValue>, kind: Kind) -> Reply {
        let peer = post.peer;
        let value = id.and_then(|id| serde_json::from_str(id.get()).ok());
        let asked = id.and_then(|id| self.pending.answered(&id_key(id.get()), &peer.name));
        let Some(asked) = asked else {
            post.heard(&[], "", kind, value.as_ref());
            return Reply::Accepted;
        };
        let surfaces = [asked.method.as_str()];
        let spoken = post.spoken(&surfaces, kind, value.as_ref());
        let heard = peer.actor.heard_in(&asked.phase, &[], spoken);
        if let Some(waiting) = asked.waiting {
            // Who does not wait any more has gone on without.
            let _ = waiting.send(heard.content.clone());
        }
        Reply::Accepted
    }

    fn malformed(post: Post<'_>, answer: &Bytes, id: Option<&Value>) -> Reply {
        let heard = post.heard(&[], "", Kind::Request, id);
        Self::said(post.peer, &heard.phase, "", Kind::Error, id, answer);
        refusing(answer.clone(), StatusCode::BAD_REQUEST)
    }

    /// Several messages at once, where the revision has that.
    fn batch(self: &Arc<Self>, post: Post<'_>, items: &[Box<RawValue>]) -> Reply {
        let agreed = post.peer.version().map_or_else(
            || {
                // Who says nothing speaks the revision that did not have to say it.
                let header = post.headers.and_then(|headers| headers.get("mcp-protocol-version"));
                let single = post.peer.transport == Transport::Single;
                single && header.is_none_or(|header| header == revision::WITH_BATCHES)
            },
            |agreed| agreed == revision::WITH_BATCHES,
        );
        if !agreed {
            let why = "Batches are not part of this protocol version";
            return Self::malformed(post, &jsonrpc::error(None, -32600, why, None), None);
        }
        let replies = items.iter().map(|item| {
            let bytes = item.get().as_bytes();
            let message = jsonrpc::read(bytes, &self.options.limits);
            self.one(Post { bytes, body: body(&message), ..post }, &message)
        });
        Reply::Several(replies.collect())
    }
}

impl<'p> Post<'p> {
    fn new(peer: &'p Arc<Peer>, arrival: &'p Arrival<'_>) -> Self {
        Self { peer, bytes: arrival.bytes, body: body(&arrival.message), headers: arrival.headers }
    }

    /// Writes down that it was heard, which may end the phase.
    pub(super) fn heard(
        &self,
        events: &[&str],
        method: &str,
        kind: Kind,
        id: Option<&Value>,
    ) -> HeardMessage {
        let surfaces = [method];
        let surfaces: &[&str] = if method.is_empty() { &[] } else { &surfaces };
        let spoken = self.spoken(surfaces, kind, id);
        match self.body.map(RawValue::get) {
            _ if spoken.direction == Direction::Response => self.peer.actor.heard(events, spoken),
            // Its envelope was read already, and is not read again.
            Some(body) => self.peer.actor.heard_body(events, spoken, body),
            // Without params there are none to look at.
            None if !method.is_empty() => self.peer.actor.heard_body(events, spoken, "{}"),
            None => self.peer.actor.heard(events, spoken),
        }
    }

    fn spoken<'s>(&'s self, surfaces: &'s [&'s str], kind: Kind, id: Option<&'s Value>) -> Spoken<'s> {
        Spoken { id, ..Spoken::new(surfaces, kind, &self.peer.name, self.bytes) }
    }
}

impl Asking {
    pub(super) fn said(&self, peer: &Peer, heard: &HeardMessage, kind: Kind, answer: &Bytes) {
        Server::said(peer, &heard.phase, &self.method, kind, Some(&self.id_value), answer);
    }

    pub(super) fn refused(&self, refusal: &Refusal) -> Bytes {
        jsonrpc::error(Some(self.id.get()), refusal.code, &refusal.message, refusal.data.as_deref())
    }

    /// What HTTP says to a refusal. With a handshake it says nothing, but to clients that ask whether they need one.
    fn status(&self, refusal: &Refusal) -> StatusCode {
        match refusal.code {
            _ if !self.modern && self.method == modern::DISCOVER => StatusCode::BAD_REQUEST,
            modern::UNSUPPORTED => StatusCode::BAD_REQUEST,
            _ if !self.modern => StatusCode::OK,
            -32601 => StatusCode::NOT_FOUND,
            -32603 => StatusCode::OK,
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

/// An answer. When it ends the phase, the next one begins once it is on its way.
fn answering(message: Bytes, status: StatusCode, heard: HeardMessage) -> Reply {
    let then: Option<Box<dyn Any + Send>> = if heard.has_fired() { Some(Box::new(heard)) } else { None };
    Reply::Answer(ServiceAnswer { message, status, then })
}

fn refusing(message: Bytes, status: StatusCode) -> Reply {
    Reply::Answer(ServiceAnswer { message, status, then: None })
}

fn body(message: &Result<Incoming, Malformed>) -> Option<&RawValue> {
    message.as_ref().ok().and_then(Incoming::body)
}

/// What a message that nobody deals with is: its method, its kind, its id.
fn outline(message: &Result<Incoming, Malformed>) -> (&str, Kind, Option<Value>) {
    let (method, kind, id) = match message {
        Ok(message) => (message.method().unwrap_or_default(), message.kind(), message.id()),
        Err(malformed) => ("", Kind::Request, malformed.id.as_deref()),
    };
    (method, kind, id.and_then(|id| serde_json::from_str(id.get()).ok()))
}
