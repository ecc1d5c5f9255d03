//! Clients that speak HTTP, and a server that is a process: one for each session.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde_json::value::RawValue;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::conversation::{Conversation, Crossed};
use super::frames::{FramePiece, LineFrames, split_ending};
use super::stdio::{LineSink, Process, ServerProcess};
use super::tap::{Onward, RelayFault, RelaySide, Tap};
use crate::jsonrpc::{self, Incoming};
use crate::mcp::revision;
use crate::mcp::server::{Arrival, Outlet, Reply, Service, ServiceAnswer, Transport};
use crate::{Endpoint, Limits, Lock, Members};

/// How many processes serve those who have no session. One does, unless two clients use the same id at the same time.
const MAX_SHARED: usize = 8;

/// How much waits for a client that does not listen yet.
const MAX_UNSAID: usize = 256;

/// Starts processes, and finds the one that a client talks to.
pub(super) struct Gateway<T: Tap> {
    tap: Arc<T>,
    command: Vec<String>,
    endpoint: Endpoint,
    limits: Limits,
    /// For those who have no session.
    shared: Lock<Vec<Arc<Backend<T>>>>,
    /// All that run.
    backends: Lock<Vec<Arc<Backend<T>>>>,
    tasks: TaskTracker,
}

/// Who talks to which process.
pub(super) struct GatewayPeer<T: Tap> {
    name: String,
    /// `None` for one who has no session: each of its requests finds a process.
    backend: Option<Arc<Backend<T>>>,
}

/// A process, and those who wait for what it says.
struct Backend<T: Tap> {
    conversation: Conversation<T>,
    limits: Limits,
    /// Lines for the process, in the order in which they came.
    queue: mpsc::Sender<Bytes>,
    routes: Lock<Routes>,
    /// It is to end.
    closing: CancellationToken,
}

#[derive(Default)]
struct Routes {
    exchanges: HashMap<String, Exchange>,
    /// Where anything may be said.
    standalone: Option<Outlet>,
    /// What nobody could be told.
    unsaid: VecDeque<Bytes>,
    flooded: bool,
    version: Option<String>,
}

/// Somebody waits for an answer.
struct Exchange {
    /// `None` until the connection is ready for it.
    outlet: Option<Outlet>,
    /// What came before that, and whether it is the answer.
    early: Vec<(Bytes, bool)>,
    over: CancellationToken,
}

impl<T: Tap> Gateway<T> {
    pub(super) fn new(tap: Arc<T>, command: Vec<String>, endpoint: Endpoint, limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            tap,
            command,
            endpoint,
            limits,
            shared: Lock::default(),
            backends: Lock::default(),
            tasks: TaskTracker::new(),
        })
    }

    /// Ends all processes, and waits until they have.
    pub(super) async fn end(&self, patience: Duration) {
        self.tasks.close();
        let backends = std::mem::take(&mut *self.backends.lock());
        for backend in backends {
            backend.conversation.end(patience);
            backend.closing.cancel();
        }
        self.tasks.wait().await;
    }

    fn start(&self, name: &str) -> Option<Arc<Backend<T>>> {
        let conversation = Conversation::new(name.to_owned(), self.tap.clone(), self.limits);
        let server = match ServerProcess::start(&self.command, &self.endpoint, &self.limits) {
            Ok(server) => server,
            Err(error) => {
                conversation.fault(&RelayFault::Unreachable(error.to_string()));
                return None;
            }
        };
        let (queue, lines) = mpsc::channel(self.limits.queued.max(1));
        let backend = Arc::new(Backend {
            conversation,
            limits: self.limits,
            queue,
            routes: Lock::default(),
            closing: CancellationToken::new(),
        });
        self.backends.lock().push(backend.clone());
        self.tasks.spawn(write(server.input.clone(), lines, backend.closing.clone()));
        self.tasks.spawn(backend.clone().read(server.process, server.input, server.output));
        Some(backend)
    }

    /// A process for one who has no session: one in which its ids are not in use.
    fn shared(&self, name: &str, keys: &[String]) -> Option<Arc<Backend<T>>> {
        let mut shared = self.shared.lock();
        shared.retain(|backend| !backend.closing.is_cancelled());
        let free = shared.iter().find(|backend| keys.iter().all(|key| !backend.is_busy_with(key)));
        if let Some(backend) = free {
            return Some(backend.clone());
        }
        if shared.len() == MAX_SHARED {
            return None;
        }
        let backend = self.start(name)?;
        shared.push(backend.clone());
        Some(backend)
    }
}

impl<T: Tap> Service for Gateway<T> {
    type Peer = GatewayPeer<T>;

    fn open(self: &Arc<Self>, name: &str, transport: Transport) -> Arc<Self::Peer> {
        let backend = if transport == Transport::Single { None } else { self.start(name) };
        Arc::new(GatewayPeer { name: name.to_owned(), backend })
    }

    fn close(self: &Arc<Self>, peer: &Arc<Self::Peer>) {
        if let Some(backend) = &peer.backend {
            backend.conversation.client_gone();
            backend.closing.cancel();
            self.backends.lock().retain(|known| !Arc::ptr_eq(known, backend));
        }
    }

    fn begins_session(&self, message: &Incoming) -> bool {
        message.method() == Some("initialize")
    }

    fn speaks(&self, _: &Self::Peer, _: &str) -> bool {
        // Whether it does is for the server to say.
        true
    }

    fn primes(&self, peer: &Self::Peer) -> bool {
        let version = |backend: &Arc<Backend<T>>| backend.routes.lock().version.clone();
        peer.backend.as_ref().and_then(version).as_deref() == Some(revision::LATEST)
    }

    fn has_unsaid(&self, peer: &Self::Peer) -> bool {
        peer.backend.as_ref().is_some_and(|backend| !backend.routes.lock().unsaid.is_empty())
    }

    fn listening(self: &Arc<Self>, peer: &Arc<Self::Peer>, outlet: Outlet) {
        if let Some(backend) = &peer.backend {
            let mut routes = backend.routes.lock();
            while let Some(message) = routes.unsaid.pop_front() {
                let _ = outlet.say(message);
            }
            routes.standalone = Some(outlet);
        }
    }

    fn hear(self: &Arc<Self>, peer: &Arc<Self::Peer>, arrival: Arrival<'_>) -> Reply {
        let backend = match &peer.backend {
            Some(backend) => Some(backend.clone()),
            None => self.shared(&peer.name, &keys(&arrival, &self.limits)),
        };
        match backend.filter(|backend| !backend.closing.is_cancelled()) {
            Some(backend) => backend.hear(arrival.bytes),
            None => unavailable(&arrival),
        }
    }

    fn refuse(self: &Arc<Self>, name: &str, arrival: Arrival<'_>, answer: &Bytes) {
        let conversation = Conversation::new(name.to_owned(), self.tap.clone(), self.limits);
        let crossed = conversation.cross(RelaySide::Client, &Bytes::copy_from_slice(arrival.bytes));
        for key in &crossed.asks {
            conversation.answered_otherwise(key, answer);
        }
    }
}

impl<T: Tap> Backend<T> {
    fn is_busy_with(&self, key: &str) -> bool {
        self.routes.lock().exchanges.contains_key(key)
    }

    /// The client says something.
    fn hear(self: Arc<Self>, bytes: &[u8]) -> Reply {
        let bytes = Bytes::copy_from_slice(bytes);
        let mut crossed = self.conversation.cross(RelaySide::Client, &bytes);
        let asks = std::mem::take(&mut crossed.asks);
        for key in &asks {
            let exchange = Exchange { outlet: None, early: Vec::new(), over: CancellationToken::new() };
            self.routes.lock().exchanges.insert(key.clone(), exchange);
        }
        let onward = match std::mem::take(&mut crossed.onward) {
            Onward::Same => Some(bytes),
            Onward::Changed(bytes) => Some(bytes),
            Onward::Nothing | Onward::Answered(_) => None,
        };
        let mut replies = Vec::new();
        if let Some(message) = crossed.back.take() {
            let (delay, done) = (crossed.delay, std::mem::take(&mut crossed.done));
            replies.push(Reply::Talk(Box::new(move |outlet| {
                Box::pin(async move {
                    if !delay.is_zero() {
                        tokio::time::sleep(delay).await;
                    }
                    let _ = outlet.answer(message);
                    drop(done);
                })
            })));
        }
        let asked_nothing = asks.is_empty() && replies.is_empty();
        if onward.is_none() && asked_nothing && crossed.has_request() {
            // It is withheld from the server: whoever asked waits for as long as it likes.
            replies.push(Reply::Talk(Box::new(|outlet| Box::pin(async move { outlet.abandoned().await }))));
        }
        if let Some(line) = onward {
            self.pass_to_server(line, crossed.delay);
        }
        replies.extend(asks.into_iter().map(|key| {
            let backend = self.clone();
            Reply::Talk(Box::new(move |outlet| Box::pin(backend.wait(key, outlet))))
        }));
        match replies.len() {
            0 => Reply::Accepted,
            1 => replies.remove(0),
            _ => Reply::Several(replies),
        }
    }

    fn pass_to_server(self: &Arc<Self>, line: Bytes, delay: Duration) {
        if delay.is_zero() {
            if self.queue.try_send(line).is_err() {
                self.lose("it does not read what it is told");
            }
            return;
        }
        let backend = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            // A process that has ended is found out when its output ends.
            let _ = backend.queue.send(line).await;
        });
    }

    /// Waits on a connection until the request is answered, or nobody waits any more.
    async fn wait(self: Arc<Self>, key: String, outlet: Outlet) {
        let over = {
            let mut routes = self.routes.lock();
            // The process may be gone already.
            let Some(exchange) = routes.exchanges.get_mut(&key) else { return outlet.hang_up() };
            let early = std::mem::take(&mut exchange.early);
            exchange.outlet = Some(outlet.clone());
            let over = exchange.over.clone();
            for (message, is_answer) in early {
                if is_answer {
                    let _ = outlet.answer(message);
                    routes.exchanges.remove(&key);
                } else {
                    let _ = outlet.say(message);
                }
            }
            over
        };
        tokio::select! {
            biased;
            () = over.cancelled() => {}
            () = outlet.abandoned() => {
                if self.routes.lock().exchanges.remove(&key).is_some() {
                    self.conversation.client_left(&key);
                }
            }
        }
    }

    /// Passes on what the process says, until it says nothing more or is to end.
    async fn read(
        self: Arc<Self>,
        mut process: Process,
        input: Arc<LineSink<ChildStdin>>,
        mut output: LineFrames<ChildStdout>,
    ) {
        let gone = loop {
            let piece = tokio::select! {
                biased;
                () = self.closing.cancelled() => break false,
                piece = output.next() => piece,
            };
            match piece {
                Ok(Some(FramePiece::Whole(line))) => {
                    let (text, _) = split_ending(&line);
                    if !text.trim_ascii().is_empty() {
                        self.pass_to_client(text);
                    }
                }
                Ok(Some(FramePiece::Part { last, .. })) => {
                    if last {
                        self.conversation.fault(&RelayFault::TooLong(self.limits.message_bytes));
                        self.refuse_all("the answer is too long");
                    }
                }
                Ok(None) | Err(_) => break true,
            }
        };
        if gone {
            let reason = process.last_words().await;
            self.conversation.fault(&RelayFault::ServerGone(reason.clone()));
            self.refuse_all(&format!("the wrapped server has gone: {reason}"));
        }
        self.closing.cancel();
        input.close().await;
        process.end().await;
    }

    fn pass_to_client(self: &Arc<Self>, text: Bytes) {
        let message = jsonrpc::read(&text, &self.limits);
        let mut crossed = self.conversation.cross(RelaySide::Server, &text);
        if let Some(answer) = crossed.back.take() {
            // A process that does not read is found out by the next request.
            let _ = self.queue.try_send(answer);
        }
        if let Ok(Incoming::Response { result, .. }) = &message {
            self.learn(result);
        }
        let bytes = match std::mem::take(&mut crossed.onward) {
            Onward::Same => text,
            Onward::Changed(bytes) => bytes,
            // Whoever waits for it gets nothing, for as long as it waits.
            Onward::Nothing | Onward::Answered(_) => return,
        };
        let params = match &message {
            Ok(Incoming::Notification { method, params: Some(params) })
                if method == "notifications/progress" =>
            {
                Some(params.clone())
            }
            _ => None,
        };
        if crossed.delay.is_zero() {
            return self.deliver(&crossed, bytes, params.as_deref());
        }
        let backend = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(crossed.delay).await;
            backend.deliver(&crossed, bytes, params.as_deref());
        });
    }

    /// Says it to whom it is for.
    fn deliver(&self, crossed: &Crossed<T::Asked>, bytes: Bytes, progress: Option<&RawValue>) {
        let mut routes = self.routes.lock();
        if let Some(key) = crossed.answers.first() {
            let Some(mut exchange) = routes.exchanges.remove(key) else { return };
            if let Some(outlet) = &exchange.outlet {
                let _ = outlet.answer(bytes);
                exchange.over.cancel();
            } else {
                exchange.early.push((bytes, true));
                routes.exchanges.insert(key.clone(), exchange);
            }
            return;
        }
        let about = progress.and_then(|params| self.conversation.request_with_progress(params));
        let only = if routes.exchanges.len() == 1 { routes.exchanges.keys().next().cloned() } else { None };
        if let Some(exchange) = about.or(only).and_then(|key| routes.exchanges.get_mut(&key)) {
            match &exchange.outlet {
                Some(outlet) if outlet.is_stream() => {
                    let _ = outlet.say(bytes);
                    return;
                }
                None => return exchange.early.push((bytes, false)),
                Some(_) => {}
            }
        }
        let mut open =
            routes.standalone.iter().chain(routes.exchanges.values().filter_map(|one| one.outlet.as_ref()));
        if let Some(outlet) = open.find(|outlet| outlet.is_stream() && outlet.is_open()) {
            let _ = outlet.say(bytes);
            return;
        }
        routes.unsaid.push_back(bytes);
        if routes.unsaid.len() > MAX_UNSAID {
            routes.unsaid.pop_front();
            if !std::mem::replace(&mut routes.flooded, true) {
                self.conversation.fault(&RelayFault::Flood);
            }
        }
    }

    /// The process does not work any more: it is ended, and nobody waits for it.
    fn lose(&self, why: &str) {
        self.conversation.fault(&RelayFault::NoAnswer(why.to_owned()));
        self.refuse_all(why);
        self.closing.cancel();
    }

    fn refuse_all(&self, why: &str) {
        let mut routes = self.routes.lock();
        let keys: Vec<String> = routes.exchanges.keys().cloned().collect();
        for key in keys {
            let Some(answer) = self.conversation.refuse(&key, why) else { continue };
            let Some(exchange) = routes.exchanges.get_mut(&key) else { continue };
            match &exchange.outlet {
                Some(outlet) => {
                    let _ = outlet.answer(answer);
                    exchange.over.cancel();
                    routes.exchanges.remove(&key);
                }
                None => exchange.early.push((answer, true)),
            }
        }
    }

    /// What of an answer decides how streams begin.
    fn learn(&self, result: &RawValue) {
        if result.get().contains("protocolVersion")
            && let Some(version) =
                Members::read(result.get()).and_then(|result| result.string("protocolVersion"))
        {
            self.routes.lock().version = Some(version);
        }
    }
}

/// Writes what is queued, in its order, until the process is to end.
async fn write(
    input: Arc<LineSink<ChildStdin>>,
    mut lines: mpsc::Receiver<Bytes>,
    closing: CancellationToken,
) {
    while let Some(Some(line)) = closing.run_until_cancelled(lines.recv()).await {
        if input.write_line(&line).await.is_err() {
            return;
        }
    }
}

/// The keys of the requests in a message.
fn keys(arrival: &Arrival<'_>, limits: &Limits) -> Vec<String> {
    let key = |message: &Incoming| match message {
        Incoming::Request { id, .. } => Some(jsonrpc::id_key(id.get())),
        _ => None,
    };
    match &arrival.message {
        Ok(Incoming::Batch(items)) => {
            let items = items.iter().filter_map(|item| jsonrpc::read(item.get().as_bytes(), limits).ok());
            items.filter_map(|item| key(&item)).collect()
        }
        Ok(message) => key(message).into_iter().collect(),
        Err(_) => Vec::new(),
    }
}

fn unavailable(arrival: &Arrival<'_>) -> Reply {
    let id = arrival.message.as_ref().ok().and_then(Incoming::id).map(RawValue::get);
    let message = jsonrpc::error(id, -32603, "the wrapped server cannot be started or has gone", None);
    Reply::Answer(ServiceAnswer { message, status: StatusCode::BAD_GATEWAY, then: None })
}
