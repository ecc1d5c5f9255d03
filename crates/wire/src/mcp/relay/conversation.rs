//! One client and one server: which answer belongs to which request.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::tap::{Crossing, Onward, Overlong, Passage, RelayFault, RelaySide, Tap};
use crate::jsonrpc::{self, Incoming, Kind, id_key};
use crate::{Limits, Lock, Members};

/// How many requests of one side may wait for an answer. Those beyond it pass too, but their answers belong to nothing.
const MAX_WAITING: usize = 4096;

/// How many answered requests are remembered, to tell a second answer from one to nobody.
const MAX_ANSWERED: usize = 256;

/// A request whose answer is a stream that nobody has to end (2026-07-28).
const SUBSCRIPTION: &str = "subscriptions/listen";

/// What one client and one server say to each other.
#[derive(Debug)]
pub(super) struct Conversation<T: Tap> {
    pub(super) name: String,
    tap: Arc<T>,
    limits: Limits,
    waiting: Lock<Waiting<T::Asked>>,
}

#[derive(Debug)]
struct Waiting<A> {
    /// By who asked, and the key of the id.
    requests: HashMap<(RelaySide, String), Arc<Request<A>>>,
    answered: VecDeque<(RelaySide, String)>,
}

/// A request that has not been answered.
#[derive(Debug)]
pub(super) struct Request<A> {
    pub(super) method: String,
    /// As it is written.
    pub(super) id: Box<RawValue>,
    asked: A,
    since: Instant,
    /// It need not be answered: its sender has taken it back, or it is a subscription, which lasts as long as its sender wants.
    optional: AtomicBool,
    /// The token under which progress is told.
    progress: Option<String>,
}

impl<A> Request<A> {
    fn is_optional(&self) -> bool {
        self.optional.load(Ordering::Relaxed)
    }
}

/// What becomes of something that was sent. Phases end when this is dropped, so that is done once it is on its way.
#[derive(Debug)]
pub(super) struct Crossed<A> {
    pub(super) onward: Onward,
    pub(super) delay: Duration,
    /// What goes back to whoever sent it, in the place of an answer.
    pub(super) back: Option<Bytes>,
    /// The keys of the requests that it asks, as far as they go on.
    pub(super) asks: Vec<String>,
    /// The keys of the requests that it answers.
    pub(super) answers: Vec<String>,
    /// The method, when it is one request or notification.
    pub(super) method: Option<String>,
    pub(super) done: Vec<Arc<Request<A>>>,
}

impl<A> Crossed<A> {
    /// Waits until its time has come. Nearly always that is now, and a timer would take a millisecond.
    pub(super) async fn wait(&self) {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
    }

    /// Whether a request does not go on.
    pub(super) fn has_request(&self) -> bool {
        !self.done.is_empty() && self.answers.is_empty()
    }

    pub(super) fn new() -> Self {
        Self {
            onward: Onward::Same,
            delay: Duration::ZERO,
            back: None,
            asks: Vec::new(),
            answers: Vec::new(),
            method: None,
            done: Vec::new(),
        }
    }
}

impl<T: Tap> Conversation<T> {
    pub(super) fn new(name: String, tap: Arc<T>, limits: Limits) -> Self {
        let waiting = Waiting { requests: HashMap::new(), answered: VecDeque::new() };
        Self { name, tap, limits, waiting: Lock::new(waiting) }
    }

    /// One side says something: a message, a batch, or what is neither.
    pub(super) fn cross(&self, side: RelaySide, bytes: &Bytes) -> Crossed<T::Asked> {
        let message = jsonrpc::read(bytes, &self.limits);
        if let Ok(Incoming::Batch(items)) = &message {
            return self.cross_batch(side, items);
        }
        let mut crossed = Crossed::new();
        let passage = self.cross_one(side, bytes, message.ok().as_ref(), &mut crossed);
        crossed.delay = passage.delay;
        crossed.onward = match passage.onward {
            Onward::Answered(answer) => {
                crossed.back = Some(answer);
                Onward::Nothing
            }
            onward => onward,
        };
        crossed
    }

    /// The messages of a batch, each for itself. It is written anew if one of them is changed.
    fn cross_batch(&self, side: RelaySide, items: &[Box<RawValue>]) -> Crossed<T::Asked> {
        let mut crossed = Crossed::new();
        let (mut kept, mut back, mut same) = (Vec::new(), Vec::new(), true);
        for item in items {
            let bytes = Bytes::copy_from_slice(item.get().as_bytes());
            let message = jsonrpc::read(&bytes, &self.limits);
            let passage = self.cross_one(side, &bytes, message.ok().as_ref(), &mut crossed);
            crossed.delay = crossed.delay.max(passage.delay);
            same &= passage.onward == Onward::Same;
            match passage.onward {
                Onward::Same => kept.push(bytes),
                Onward::Changed(bytes) => kept.push(bytes),
                Onward::Answered(answer) => back.push(answer),
                Onward::Nothing => {}
            }
        }
        crossed.method = None;
        crossed.back = (!back.is_empty()).then(|| jsonrpc::batch(&back));
        crossed.onward = match kept.as_slice() {
            _ if same => Onward::Same,
            [] => Onward::Nothing,
            kept => Onward::Changed(jsonrpc::batch(kept)),
        };
        crossed
    }

    fn cross_one(
        &self,
        side: RelaySide,
        bytes: &Bytes,
        message: Option<&Incoming>,
        crossed: &mut Crossed<T::Asked>,
    ) -> Passage {
        let crossing = Crossing {
            connection: &self.name,
            side,
            method: message.and_then(Incoming::method).unwrap_or_default(),
            kind: message.map_or(Kind::Request, Incoming::kind),
            id: message.and_then(Incoming::id),
            body: message.and_then(Incoming::body),
            bytes,
        };
        crossed.method = message.and_then(Incoming::method).map(str::to_owned);
        match (message, crossing.id) {
            (Some(Incoming::Request { id, method, .. }), _) => self.request(&crossing, id, method, crossed),
            (Some(Incoming::Response { .. } | Incoming::Error { .. }), Some(id)) => {
                self.answer(&crossing, id, crossed)
            }
            _ => {
                self.note_cancelled(&crossing);
                self.tap.other(&crossing)
            }
        }
    }

    fn request(
        &self,
        crossing: &Crossing<'_>,
        id: &RawValue,
        method: &str,
        crossed: &mut Crossed<T::Asked>,
    ) -> Passage {
        let (asked, passage) = self.tap.request(crossing);
        let request = Arc::new(Request {
            method: method.to_owned(),
            id: id.to_owned(),
            asked,
            since: Instant::now(),
            optional: AtomicBool::new(method == SUBSCRIPTION),
            progress: crossing.body.and_then(progress_token),
        });
        let key = id_key(id.get());
        if matches!(passage.onward, Onward::Same | Onward::Changed(_)) {
            let mut waiting = self.waiting.lock();
            if waiting.requests.len() < MAX_WAITING {
                waiting.requests.insert((crossing.side, key.clone()), request.clone());
            }
            crossed.asks.push(key);
        } else {
            crossed.done.push(request);
        }
        passage
    }

    fn answer(&self, crossing: &Crossing<'_>, id: &RawValue, crossed: &mut Crossed<T::Asked>) -> Passage {
        let key = id_key(id.get());
        let Some(request) = self.take((crossing.side.other(), key.clone())) else {
            self.tap.fault(&self.name, &self.unasked(crossing.side, id, key));
            return self.tap.other(crossing);
        };
        let crossing = Crossing { method: &request.method, ..*crossing };
        let passage = self.tap.answer(&crossing, &request.asked);
        crossed.answers.push(key);
        crossed.done.push(request);
        passage
    }

    fn take(&self, key: (RelaySide, String)) -> Option<Arc<Request<T::Asked>>> {
        let mut waiting = self.waiting.lock();
        let request = waiting.requests.remove(&key)?;
        if waiting.answered.len() == MAX_ANSWERED {
            waiting.answered.pop_front();
        }
        waiting.answered.push_back(key);
        Some(request)
    }

    fn unasked(&self, side: RelaySide, id: &RawValue, key: String) -> RelayFault {
        let twice = self.waiting.lock().answered.contains(&(side.other(), key));
        let id = id.get().to_owned();
        match side {
            RelaySide::Server if twice => RelayFault::AnsweredTwice { id },
            RelaySide::Server => RelayFault::AnsweredNobody { side: "the server", id },
            RelaySide::Client => RelayFault::AnsweredNobody { side: "the client", id },
        }
    }

    /// A request that its sender takes back need not be answered.
    fn note_cancelled(&self, crossing: &Crossing<'_>) {
        if crossing.method == "notifications/cancelled"
            && let Some(body) = crossing.body
            && let Some(id) =
                Members::read(body.get()).and_then(|params| Some(id_key(params.get("requestId")?)))
            && let Some(request) = self.waiting.lock().requests.get(&(crossing.side, id))
        {
            request.optional.store(true, Ordering::Relaxed);
        }
    }

    /// Whether an answer to this request of the client may be changed.
    pub(super) fn may_change(&self, key: &str) -> bool {
        let request = self.waiting.lock().requests.get(&(RelaySide::Client, key.to_owned())).cloned();
        request.is_some_and(|request| self.tap.may_change(&request.asked))
    }

    /// Whether a request of the client has not been answered.
    pub(super) fn is_waiting(&self, key: &str) -> bool {
        self.waiting.lock().requests.contains_key(&(RelaySide::Client, key.to_owned()))
    }

    /// The request of the client whose progress is told under a token.
    pub(super) fn request_with_progress(&self, params: &RawValue) -> Option<String> {
        let token = id_key(Members::read(params.get())?.get("progressToken")?);
        let waiting = self.waiting.lock();
        let mut requests = waiting.requests.iter();
        let found = requests.find(|((side, _), request)| {
            *side == RelaySide::Client && request.progress.as_deref() == Some(&token)
        });
        found.map(|((_, key), _)| key.clone())
    }

    /// What answered a request of the client is not a message: a page of an error, or nothing at all.
    pub(super) fn answered_otherwise(&self, key: &str, bytes: &[u8]) -> Option<Arc<Request<T::Asked>>> {
        let request = self.take((RelaySide::Client, key.to_owned()))?;
        let crossing = self.refusal(&request, bytes);
        // What is not a message cannot be changed.
        let _ = self.tap.other(&crossing);
        Some(request)
    }

    /// The server does not answer a request of the client any more.
    pub(super) fn unanswered(&self, key: &str) {
        if let Some(request) =
            self.take((RelaySide::Client, key.to_owned())).filter(|request| !request.is_optional())
        {
            let (method, id) = (request.method.clone(), request.id.get().to_owned());
            self.fault(&RelayFault::Unanswered { method, id });
        }
    }

    /// The client does not wait for the answer to a request any more.
    pub(super) fn client_left(&self, key: &str) {
        if let Some(request) =
            self.take((RelaySide::Client, key.to_owned())).filter(|request| !request.is_optional())
        {
            self.fault(&RelayFault::ClientGone { method: request.method.clone() });
        }
    }

    /// The relay itself answers a request of the client, since the server does not. Gives what the client is told.
    pub(super) fn refuse(&self, key: &str, why: &str) -> Option<Bytes> {
        let request = self.take((RelaySide::Client, key.to_owned()))?;
        let answer = jsonrpc::error(Some(request.id.get()), -32603, why, None);
        let _ = self.tap.other(&self.refusal(&request, &answer));
        Some(answer)
    }

    /// A message has gone on that was too long to be looked at. `key` is the request that it answers, where that is known.
    pub(super) fn overlong(&self, side: RelaySide, key: Option<&str>, seen: &Measured) {
        let request = key.and_then(|key| self.take((side.other(), key.to_owned())));
        let crossing = Crossing {
            connection: &self.name,
            side,
            method: request.as_ref().map_or("", |request| &request.method),
            kind: if side == RelaySide::Server { Kind::Response } else { Kind::Request },
            id: request.as_ref().map(|request| &*request.id),
            body: None,
            bytes: &seen.prefix,
        };
        let overlong = Overlong { crossing, length: seen.length, sha256: &seen.sha256() };
        self.tap.overlong(&overlong, request.as_ref().map(|request| &request.asked));
    }

    pub(super) fn fault(&self, fault: &RelayFault) {
        self.tap.fault(&self.name, fault);
    }

    /// The client has gone: what it waited for is not answered any more.
    pub(super) fn client_gone(&self) {
        for request in self.abandon() {
            self.fault(&RelayFault::ClientGone { method: request.method.clone() });
        }
    }

    /// The end: what the server has not answered for so long is its fault.
    pub(super) fn end(&self, patience: Duration) {
        for request in self.abandon() {
            if request.since.elapsed() >= patience {
                let (method, id) = (request.method.clone(), request.id.get().to_owned());
                self.fault(&RelayFault::Unanswered { method, id });
            }
        }
    }

    fn abandon(&self) -> Vec<Arc<Request<T::Asked>>> {
        let mut waiting = self.waiting.lock();
        let requests = waiting.requests.drain();
        let of_client = requests.filter(|((side, _), _)| *side == RelaySide::Client);
        let mut requests: Vec<_> = of_client.map(|(_, request)| request).collect();
        requests.retain(|request| !request.is_optional());
        requests.sort_by_key(|request| request.since);
        requests
    }

    fn refusal<'c>(&'c self, request: &'c Request<T::Asked>, bytes: &'c [u8]) -> Crossing<'c> {
        Crossing {
            connection: &self.name,
            side: RelaySide::Server,
            method: &request.method,
            kind: Kind::Error,
            id: Some(&request.id),
            body: None,
            bytes,
        }
    }
}

fn progress_token(params: &RawValue) -> Option<String> {
    // Most requests have none, and are not read again.
    if !params.get().contains("progressToken") {
        return None;
    }
    let meta = Members::read(params.get())?.object("_meta")?;
    meta.get("progressToken").map(id_key)
}

/// How much of the beginning of a message is kept that is too long to be looked at.
const KEPT: usize = 64 * 1024;

/// A message that goes by in parts: its beginning, its length and its digest.
pub(super) struct Measured {
    pub(super) prefix: BytesMut,
    pub(super) length: u64,
    digest: ring::digest::Context,
}

impl Measured {
    pub(super) fn new() -> Self {
        let digest = ring::digest::Context::new(&ring::digest::SHA256);
        Self { prefix: BytesMut::new(), length: 0, digest }
    }

    pub(super) fn take(&mut self, part: &[u8]) {
        let room = KEPT.saturating_sub(self.prefix.len());
        self.prefix.extend_from_slice(&part[..room.min(part.len())]);
        self.length += part.len() as u64;
        self.digest.update(part);
    }

    fn sha256(&self) -> String {
        let digest = self.digest.clone().finish();
        digest.as_ref().iter().fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = std::fmt::Write::write_fmt(&mut text, format_args!("{byte:02x}"));
            text
        })
    }
}
