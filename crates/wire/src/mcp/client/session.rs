//! A session with a server: requests and their answers, and answers to what the server asks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::handler::{ClientReply, Handler, Received, SessionMessage};
use super::handshake::{ClientIdentity, asked_again, headers};
use super::link::{Connection, Happened, Link, Outgoing};
use super::pending::Pending;
use crate::http::ClientError;
use crate::jsonrpc::{self, Ids, Incoming, Kind, Malformed, MalformedReason, id_key};
use crate::{Limits, Lock, Members};

/// How long a server may take to accept a notification or an answer.
const TELL_PATIENCE: Duration = Duration::from_secs(30);

/// How many answers to requests of the server are on their way at once. Then it waits.
const ANSWERING: usize = 64;

/// How often a server may answer that it needs more before it answers.
const MAX_ROUNDS: usize = 10;

/// How long hanging up may take when nobody waits for it.
const CLOSE_PATIENCE: Duration = Duration::from_secs(3);

/// How long an answer may take.
#[derive(Clone, Copy, Debug)]
pub enum Patience {
    /// So long, all of it.
    Total(Duration),
    /// So long without any sign of life.
    Silence(Duration),
}

/// How a request was answered. What it says is what the [`Handler`] has seen.
#[derive(Clone, Debug, PartialEq)]
pub enum RpcAnswer {
    /// With a result.
    Result(Value),
    /// With an error.
    Error(Value),
}

/// Why a request has no answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AskError {
    /// It was answered with an HTTP status that is none of success, and with this body.
    #[error("answered with HTTP status {}", .0.as_u16())]
    Status(StatusCode, Bytes),
    /// The exchange failed.
    #[error(transparent)]
    Failed(#[from] ClientError),
    /// The exchange is over, and there was no answer.
    #[error("what came is not an answer to it")]
    NoAnswer,
    /// The answer, or what may have been it, is longer than this.
    #[error("a message longer than {0} bytes was passed over")]
    TooLong(usize),
    /// Nothing came in time.
    #[error("not answered in time")]
    TimedOut,
    /// The server is not there any more.
    #[error("{0}")]
    Gone(String),
    /// The server needs more before it answers, and more, and more.
    #[error("the server asks for more again and again")]
    Endless,
}

/// How a server went away.
#[derive(Clone, Debug, Default)]
pub struct Loss {
    /// Why.
    pub reason: String,
    /// Someone waited for an answer.
    pub unanswered: bool,
}

/// A session with a server. What comes is heard as it comes, whether somebody waits or not.
///
/// A session that is dropped and was not [closed](Self::close) hangs up by itself, so that no process stays.
#[derive(Debug)]
pub struct Session<H: Handler> {
    pub(super) inner: Arc<Inner<H>>,
    listening: JoinHandle<()>,
    closed: AtomicBool,
}

#[derive(Debug)]
pub(super) struct Inner<H: Handler> {
    handler: H,
    pub(super) link: Link,
    limits: Limits,
    patience: Patience,
    pending: Pending<H::Context>,
    ids: Ids,
    /// What requests carry, once it is known that there are no sessions.
    pub(super) envelope: OnceLock<ClientIdentity>,
    gone: CancellationToken,
    loss: Lock<Loss>,
    answering: Arc<Semaphore>,
}

impl<H: Handler> Drop for Session<H> {
    fn drop(&mut self) {
        self.listening.abort();
        if !self.closed.load(Ordering::Relaxed)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let link = self.inner.link.clone();
            runtime.spawn(async move { link.close(CLOSE_PATIENCE).await });
        }
    }
}

impl<H: Handler> Session<H> {
    /// Begins to listen. Nothing is sent yet.
    pub fn new(connection: Connection, handler: H, patience: Patience) -> Self {
        let Connection { link, happened, limits } = connection;
        let inner = Arc::new(Inner {
            handler,
            link,
            limits,
            patience,
            pending: Pending(Lock::default()),
            ids: Ids::default(),
            envelope: OnceLock::new(),
            gone: CancellationToken::new(),
            loss: Lock::default(),
            answering: Arc::new(Semaphore::new(ANSWERING)),
        });
        let listening = tokio::spawn(inner.clone().listen(happened));
        Self { inner, listening, closed: AtomicBool::new(false) }
    }

    /// Whoever owns it.
    pub fn handler(&self) -> &H {
        &self.inner.handler
    }

    /// Cancelled when the server is not there any more.
    pub fn gone(&self) -> &CancellationToken {
        &self.inner.gone
    }

    /// How the server went away.
    pub fn loss(&self) -> Loss {
        self.inner.loss.lock().clone()
    }

    /// A request was not answered since nobody is there any more. Everything that somebody waits for is lost.
    pub fn lose(&self, reason: String) {
        self.inner.loss.lock().unanswered = true;
        self.inner.lose(reason);
    }

    /// Sends a request at once; the future is what becomes of it. `params` is JSON text.
    pub fn ask(
        &self,
        context: &H::Context,
        method: &str,
        params: Option<&str>,
    ) -> impl Future<Output = Result<RpcAnswer, AskError>> + Send + use<H> {
        self.inner.clone().ask(context, method, params, &HeaderMap::new())
    }

    /// The same, and a server that needs more before it answers (`input_required`) gets what the handler answers.
    pub fn ask_with_input(
        &self,
        context: &H::Context,
        method: &str,
        params: Option<&str>,
    ) -> impl Future<Output = Result<RpcAnswer, AskError>> + Send + use<H> {
        self.ask_with_headers(context, method, params, HeaderMap::new())
    }

    /// The same with headers that stand in place of those that repeat the request. Pipes have none.
    pub fn ask_with_headers(
        &self,
        context: &H::Context,
        method: &str,
        params: Option<&str>,
        headers: HeaderMap,
    ) -> impl Future<Output = Result<RpcAnswer, AskError>> + Send + use<H> {
        let mut answer = Box::pin(self.inner.clone().ask(context, method, params, &headers));
        let (inner, context) = (self.inner.clone(), context.clone());
        let (method, params) = (method.to_owned(), params.map(ToOwned::to_owned));
        async move {
            for _ in 0..MAX_ROUNDS {
                match answer.await? {
                    RpcAnswer::Result(result) if result["resultType"] == "input_required" => {
                        let more = inner.input(&context, params.as_deref(), &result);
                        answer = Box::pin(inner.clone().ask(&context, &method, Some(&more), &headers));
                    }
                    answer => return Ok(answer),
                }
            }
            Err(AskError::Endless)
        }
    }

    /// Sends a notification, and waits until it was taken. `params` is JSON text.
    pub async fn notify(&self, context: &H::Context, method: &str, params: Option<&str>) {
        self.inner.notify(context, method, params).await;
    }

    /// Hangs up: the server is told, and what was started for it ends. Nothing more is heard.
    pub async fn close(&self, patience: Duration) {
        self.closed.store(true, Ordering::Relaxed);
        self.inner.link.close(patience).await;
        self.listening.abort();
    }
}

impl<H: Handler> Inner<H> {
    fn ask(
        self: Arc<Self>,
        context: &H::Context,
        method: &str,
        params: Option<&str>,
        headers: &HeaderMap,
    ) -> impl Future<Output = Result<RpcAnswer, AskError>> + Send + use<H> {
        let id = self.ids.fresh();
        let key = id_key(&id);
        let mut outgoing = self.outgoing(method, params, |params| jsonrpc::request(&id, method, params));
        for (name, value) in headers {
            outgoing.headers.insert(name, value.clone());
        }
        self.say(context, method, Kind::Request, Some(&number(&id)), &outgoing.bytes);
        let answer = self.pending.insert(key.clone(), method, context.clone());
        let sending = (!self.gone.is_cancelled()).then(|| self.link.request(key.clone(), outgoing));
        if sending.is_none() {
            let mut loss = self.loss.lock();
            loss.unanswered = true;
            self.pending.settle(&key, Err(AskError::Gone(loss.reason.clone())));
        }
        let (context, method) = (context.clone(), method.to_owned());
        async move {
            tokio::select! {
                biased;
                answer = answer => answer.unwrap_or_else(|_| Err(AskError::Gone("the connection ended".to_owned()))),
                () = self.outlast(&key) => {
                    self.pending.give_up(Some(&key), &AskError::TimedOut);
                    sending.inspect(tokio::task::AbortHandle::abort);
                    // A handshake that was not answered cannot be called off.
                    if self.envelope.get().is_none() && method != "initialize" {
                        let params = format!(r#"{{"requestId":{id},"reason":"timeout"}}"#);
                        self.notify(&context, "notifications/cancelled", Some(&params)).await;
                    }
                    Err(AskError::TimedOut)
                }
            }
        }
    }

    fn outgoing(
        &self,
        method: &str,
        params: Option<&str>,
        write: impl Fn(Option<&str>) -> Bytes,
    ) -> Outgoing {
        match self.envelope.get() {
            Some(envelope) => {
                let params = envelope.stamp(params);
                Outgoing { bytes: write(Some(&params)), headers: headers(method, &params) }
            }
            None => Outgoing::plain(write(params)),
        }
    }

    async fn outlast(&self, key: &str) {
        while let Some((since, alive)) = self.pending.times(key) {
            let deadline = match self.patience {
                Patience::Total(time) => since + time,
                Patience::Silence(time) => alive + time,
            };
            if std::time::Instant::now() >= deadline {
                return;
            }
            sleep_until(deadline.into()).await;
        }
        // It is answered, and whoever waits will know.
        std::future::pending::<()>().await;
    }

    async fn notify(&self, context: &H::Context, method: &str, params: Option<&str>) {
        let outgoing = self.outgoing(method, params, |params| jsonrpc::notification(method, params));
        self.say(context, method, Kind::Notification, None, &outgoing.bytes);
        self.tell(method, outgoing).await;
    }

    fn say(&self, context: &H::Context, method: &str, kind: Kind, id: Option<&Value>, bytes: &[u8]) {
        self.handler.said(context, SessionMessage::new(method, kind, id, bytes));
    }

    async fn tell(&self, method: &str, outgoing: Outgoing) {
        let told = timeout(TELL_PATIENCE, self.link.tell(outgoing)).await;
        if let Err(error) = told.unwrap_or(Err(ClientError::TimedOut.into())) {
            self.handler.undelivered(method, &error);
        }
    }

    /// The params of a request that is asked again, with what the server wants to know first (2026-07-28).
    fn input(&self, context: &H::Context, params: Option<&str>, result: &Value) -> String {
        let responses = result["inputRequests"].as_object().map(|requests| {
            let mut responses = Members::default();
            for (key, request) in requests {
                let method = request["method"].as_str().unwrap_or_default();
                // What is refused is left out, and the server will say what it makes of that.
                if let Some(ClientReply::Result(result)) =
                    self.handler.answer(context, method, &request["params"])
                {
                    responses.set(key, &result);
                }
            }
            responses.to_string()
        });
        let state = result.get("requestState").map(Value::to_string);
        asked_again(params, responses.as_deref(), state.as_deref())
    }

    fn lose(&self, reason: String) {
        let mut loss = self.loss.lock();
        if !self.gone.is_cancelled() {
            loss.reason.clone_from(&reason);
        }
        self.gone.cancel();
        drop(loss);
        let unanswered = self.pending.give_up(None, &AskError::Gone(reason));
        self.loss.lock().unanswered |= unanswered;
    }

    /// Hears everything, one after the other, until the connection ends.
    async fn listen(self: Arc<Self>, mut happened: mpsc::Receiver<Happened>) {
        while let Some(happened) = happened.recv().await {
            match happened {
                Happened::Message { bytes, message, within } => match message {
                    Ok(Incoming::Batch(items)) => {
                        for item in items {
                            let bytes = item.get().as_bytes();
                            let read = jsonrpc::read(bytes, &self.limits);
                            self.hear(read, bytes, within.as_deref()).await;
                        }
                    }
                    read => self.hear(read, &bytes, within.as_deref()).await,
                },
                Happened::TooLong { limit, within } => {
                    self.handler.too_long(limit);
                    // It may be the very answer that somebody waits for.
                    self.pending.give_up(within.as_deref(), &AskError::TooLong(limit));
                }
                Happened::Ended { within, how } => self.ended(&within, how),
                Happened::Gone { reason } => self.lose(reason),
            }
        }
    }

    async fn hear(self: &Arc<Self>, read: Result<Incoming, Malformed>, bytes: &[u8], within: Option<&str>) {
        if within.is_some() {
            self.pending.alive(within);
        }
        let incoming = match read {
            Ok(Incoming::Batch(_)) => {
                let nested = Malformed::anonymous(MalformedReason::NotMessage("a batch within a batch"));
                return self.garbage(&nested, within, bytes).await;
            }
            Ok(incoming) => incoming,
            Err(malformed) => return self.garbage(&malformed, within, bytes).await,
        };
        match &incoming {
            Incoming::Response { .. } | Incoming::Error { .. } | Incoming::Batch(_) => {
                self.answered(within, &incoming, bytes);
            }
            Incoming::Notification { method, .. } => {
                if within.is_none() && method == "notifications/progress" {
                    self.pending.alive(None);
                }
                drop(self.heard(within, method, None, &incoming, bytes));
            }
            Incoming::Request { id, method, .. } => {
                if within.is_none() {
                    self.pending.alive(None);
                }
                let number = number(id.get());
                let heard = self.heard(within, method, Some(&number), &incoming, bytes);
                match self.handler.answer(&heard.context, method, &heard.content) {
                    Some(ClientReply::Result(result)) => {
                        let reply = jsonrpc::result(id.get(), &result);
                        self.reply(method, Kind::Response, &number, reply, heard).await;
                    }
                    Some(ClientReply::Error { code, message }) => {
                        let reply = jsonrpc::error(Some(id.get()), code, &message, None);
                        self.reply(method, Kind::Error, &number, reply, heard).await;
                    }
                    None => {}
                }
            }
        }
    }

    /// An answer, to whatever it answers.
    fn answered(&self, within: Option<&str>, incoming: &Incoming, bytes: &[u8]) {
        let id = incoming.id();
        // An error without an id answers what it came with.
        let key = id.map(|id| id_key(id.get())).or_else(|| within.map(ToOwned::to_owned));
        let asked = key.as_deref().and_then(|key| self.pending.get(key));
        let id = id.map_or(Value::Null, |id| number(id.get()));
        let Some((key, (context, method))) = key.zip(asked) else {
            drop(self.heard(within, "", Some(&id), incoming, bytes));
            return;
        };
        let kind = incoming.kind();
        let message = SessionMessage::new(&method, kind, Some(&id), bytes);
        let message = SessionMessage { incoming: Some(incoming), ..message };
        let Received { content, guard, .. } = self.handler.heard(Some(&context), message);
        drop(guard);
        let answer = if kind == Kind::Error { RpcAnswer::Error(content) } else { RpcAnswer::Result(content) };
        self.pending.settle(&key, Ok(answer));
    }

    /// What cannot be read. It is answered when it was meant to be.
    async fn garbage(self: &Arc<Self>, malformed: &Malformed, within: Option<&str>, bytes: &[u8]) {
        // In the place of an answer it is one; a line that a process writes between its messages asks nothing.
        let kind = if within.is_some() { Kind::Error } else { Kind::Notification };
        let message = SessionMessage::new("", kind, None, bytes);
        let message = SessionMessage { malformed: Some(malformed), ..message };
        let context = within.and_then(|key| self.pending.get(key));
        let heard = self.handler.heard(context.as_ref().map(|(context, _)| context), message);
        if let (Some(id), None) = (&malformed.id, within) {
            self.reply("", Kind::Error, &number(id.get()), malformed.answer(), heard).await;
        }
    }

    /// Something came that answers nothing: within a request, where that is known.
    fn heard(
        &self,
        within: Option<&str>,
        method: &str,
        id: Option<&Value>,
        incoming: &Incoming,
        bytes: &[u8],
    ) -> Received<H::Context, H::Guard> {
        let context = within.and_then(|key| self.pending.get(key));
        let message = SessionMessage::new(method, incoming.kind(), id, bytes);
        let message = SessionMessage { incoming: Some(incoming), ..message };
        self.handler.heard(context.as_ref().map(|(context, _)| context), message)
    }

    /// Sends an answer of ours; then what it answers has been dealt with.
    async fn reply(
        self: &Arc<Self>,
        method: &str,
        kind: Kind,
        id: &Value,
        bytes: Bytes,
        heard: Received<H::Context, H::Guard>,
    ) {
        self.say(&heard.context, method, kind, Some(id), &bytes);
        // It is never closed.
        let permit = self.answering.clone().acquire_owned().await;
        let (this, method) = (self.clone(), method.to_owned());
        tokio::spawn(async move {
            this.tell(&method, Outgoing::plain(bytes)).await;
            drop((heard.guard, permit));
        });
    }

    /// Nothing more comes in answer to a request.
    fn ended(&self, key: &str, how: AskError) {
        let Some((context, method)) = self.pending.get(key) else { return };
        if let AskError::Status(_, body) = &how
            && !body.is_empty()
        {
            let message = SessionMessage::new(&method, Kind::Error, None, body);
            drop(self.handler.heard(Some(&context), message));
        }
        let why = match how {
            AskError::Failed(ClientError::TimedOut) => AskError::TimedOut,
            AskError::Failed(ClientError::TooLong(limit)) => {
                self.handler.too_long(limit);
                AskError::TooLong(limit)
            }
            how => how,
        };
        self.pending.settle(key, Err(why));
    }
}

fn number(id: &str) -> Value {
    serde_json::from_str(id).unwrap_or(Value::Null)
}
