//! Streamable HTTP, and the pair of HTTP and SSE that came before it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::Url;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::link::{Happened, Outgoing};
use super::session::AskError;
use crate::http::{Answer, Client, ClientError, EventStream, Response, StreamError};
use crate::jsonrpc::{self, Incoming, Malformed, id_key};
use crate::sse::Event;
use crate::{Limits, Lock};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How long we wait for the head of a stream that a server need not offer.
const LISTEN_PATIENCE: Duration = Duration::from_secs(2);
/// How long an older server may take to say where its messages go.
const ENDPOINT_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub(in crate::mcp) struct HttpLink {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    client: Client,
    limits: Limits,
    url: String,
    happened: mpsc::Sender<Happened>,
    closed: CancellationToken,
    agreed: Lock<Agreed>,
}

#[derive(Debug, Default)]
struct Agreed {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// Where messages are sent to, when the server is of the older kind.
    endpoint: Option<String>,
}

#[derive(Default)]
struct Read {
    /// The answer that was waited for was among its events.
    answered: bool,
    events: usize,
    /// The stream can be taken up again from here.
    last_id: Option<String>,
    retry: Option<u64>,
    broken: Option<String>,
}

impl HttpLink {
    pub(super) fn new(client: Client, url: &str, limits: Limits, happened: mpsc::Sender<Happened>) -> Self {
        let inner = Inner {
            client,
            limits,
            url: url.to_owned(),
            happened,
            closed: CancellationToken::new(),
            agreed: Lock::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    pub(super) fn request(&self, key: String, outgoing: Outgoing) -> AbortHandle {
        let this = self.clone();
        self.spawn(async move {
            if let Some(how) = this.exchange(&key, outgoing).await {
                this.hand_on(Happened::Ended { within: key, how }).await;
            }
        })
    }

    pub(super) async fn tell(&self, outgoing: Outgoing) -> Result<(), AskError> {
        let response = self.post(outgoing).await?;
        if !response.status.is_success() {
            return Err(AskError::Status(response.status, Bytes::new()));
        }
        if let Answer::Events(events) = response.body {
            // Nothing is to come here. What comes nevertheless is heard.
            let this = self.clone();
            self.spawn(async move {
                this.read(events, None, None).await;
            });
        }
        Ok(())
    }

    pub(super) fn agree_on(&self, version: &str) {
        self.inner.agreed.lock().version = HeaderValue::from_str(version).ok();
    }

    pub(super) async fn listen(&self) {
        if self.inner.agreed.lock().endpoint.is_some() {
            return;
        }
        let (open, opened) = oneshot::channel();
        let this = self.clone();
        self.spawn(async move { this.listen_on(open).await });
        // Whether it is open, not offered or slow, we go on.
        let _ = tokio::time::timeout(LISTEN_PATIENCE, opened).await;
    }

    /// Reads the stream of the server's own messages, again and again.
    async fn listen_on(&self, open: oneshot::Sender<()>) {
        let mut open = Some(open);
        let mut pace = Pace::default();
        let mut last_id = None;
        loop {
            let response = self.get(last_id.as_deref()).await;
            drop(open.take());
            let read = match response {
                Ok(Response { status, body: Answer::Events(events), .. }) if status.is_success() => {
                    self.read(events, None, None).await
                }
                // It offers no such stream.
                Ok(_) => return,
                Err(_) => Read::default(),
            };
            last_id = read.last_id.or(last_id);
            if !pace.wait(read.events > 0, read.retry).await {
                return;
            }
        }
    }

    pub(super) async fn fall_back(&self) -> bool {
        let Ok(Response { status, body: Answer::Events(mut events), .. }) = self.get(None).await else {
            return false;
        };
        if !status.is_success() {
            return false;
        }
        let Ok(Some(Ok(first))) = tokio::time::timeout(ENDPOINT_PATIENCE, events.next()).await else {
            return false;
        };
        if first.event.as_deref() != Some("endpoint") {
            return false;
        }
        let Some(endpoint) = same_origin(&self.inner.url, &first.data) else { return false };
        self.inner.agreed.lock().endpoint = Some(endpoint);
        let this = self.clone();
        self.spawn(async move {
            let read = this.read(events, None, None).await;
            let reason = read.broken.unwrap_or_else(|| "the stream of its messages has ended".to_owned());
            this.hand_on(Happened::Gone { reason }).await;
        });
        true
    }

    pub(super) async fn close(&self, patience: Duration) {
        let headers = self.headers();
        self.inner.closed.cancel();
        if headers.contains_key(SESSION) {
            let delete = self.inner.client.send(Method::DELETE, &self.inner.url, headers, None);
            // A server need not let clients end sessions.
            let _ = tokio::time::timeout(patience, delete).await;
        }
    }

    /// Sends a request and hands on what comes. `None` when its answer will come elsewhere.
    async fn exchange(&self, key: &str, outgoing: Outgoing) -> Option<AskError> {
        let response = match self.post(outgoing).await {
            Ok(response) => response,
            Err(error) => return Some(error.into()),
        };
        if !response.status.is_success() {
            return Some(self.refusal(key, response).await);
        }
        {
            let mut agreed = self.inner.agreed.lock();
            if agreed.session.is_none() {
                agreed.session = response.headers.get(SESSION).cloned();
            }
            if agreed.endpoint.is_some() {
                return None;
            }
        }
        match response.body {
            Answer::Bytes(bytes) => {
                if !bytes.is_empty() {
                    let message = jsonrpc::read(&bytes, &self.inner.limits);
                    self.message(bytes, message, Some(key)).await;
                }
                Some(AskError::NoAnswer)
            }
            Answer::Events(events) => Some(self.answer_in(events, key).await),
        }
    }

    /// Reads a stream until it has the answer, and takes it up again when it ends before.
    async fn answer_in(&self, events: Box<EventStream>, key: &str) -> AskError {
        let mut pace = Pace::default();
        let mut read = self.read(events, Some(key), None).await;
        while let (false, Some(last_id)) = (read.answered, read.last_id.clone()) {
            if !pace.wait(read.events > 0, read.retry).await {
                break;
            }
            read = match self.get(Some(&last_id)).await {
                Ok(Response { status, body: Answer::Events(events), .. }) if status.is_success() => {
                    self.read(events, Some(key), Some(last_id)).await
                }
                // It does not keep what was missed.
                Ok(_) => break,
                Err(error) => {
                    Read { events: 0, last_id: Some(last_id), broken: Some(error.to_string()), ..read }
                }
            };
        }
        match read.broken {
            Some(reason) if !read.answered => ClientError::Broken(reason).into(),
            _ => AskError::NoAnswer,
        }
    }

    /// An error of HTTP may carry one of JSON-RPC.
    async fn refusal(&self, key: &str, response: Response) -> AskError {
        let body = match response.body {
            Answer::Bytes(bytes) => bytes,
            Answer::Events(_) => Bytes::new(),
        };
        let message = jsonrpc::read(&body, &self.inner.limits);
        if message.is_ok() {
            self.message(body.clone(), message, Some(key)).await;
        }
        AskError::Status(response.status, body)
    }

    /// Hands on the events of a stream until it ends. `last_id` is where it was taken up.
    async fn read(
        &self,
        mut events: Box<EventStream>,
        within: Option<&str>,
        last_id: Option<String>,
    ) -> Read {
        let mut read = Read { last_id, ..Read::default() };
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => self.event(event, within, &mut read).await,
                Err(StreamError::TooLong(too_long)) => {
                    let within = within.map(ToOwned::to_owned);
                    self.hand_on(Happened::TooLong { limit: too_long.0, within }).await;
                }
                Err(StreamError::Broken(reason)) => read.broken = Some(reason),
            }
        }
        // Servers forget the empty line after their last event.
        if let Some(event) = events.decoder().unfinished() {
            self.event(event, within, &mut read).await;
        }
        let decoder = events.decoder();
        read.last_id = decoder.last_id().map(ToOwned::to_owned).or(read.last_id);
        read.retry = decoder.retry();
        read
    }

    async fn event(&self, event: Event, within: Option<&str>, read: &mut Read) {
        read.events += 1;
        // Without data it only says from where the stream can be taken up.
        if !event.data.is_empty() {
            let message = jsonrpc::read(&event.data, &self.inner.limits);
            read.answered |= within.is_some_and(|key| self.answers(&message, key));
            self.message(event.data, message, within).await;
        }
    }

    async fn message(&self, bytes: Bytes, message: Result<Incoming, Malformed>, within: Option<&str>) {
        self.hand_on(Happened::Message { bytes, message, within: within.map(ToOwned::to_owned) }).await;
    }

    fn answers(&self, message: &Result<Incoming, Malformed>, key: &str) -> bool {
        match message {
            Ok(Incoming::Response { id, .. } | Incoming::Error { id: Some(id), .. }) => {
                id_key(id.get()) == key
            }
            Ok(Incoming::Batch(items)) => items
                .iter()
                .any(|item| self.answers(&jsonrpc::read(item.get().as_bytes(), &self.inner.limits), key)),
            _ => false,
        }
    }

    async fn hand_on(&self, happened: Happened) {
        // Nobody listens any more when the run has ended.
        let _ = self.inner.happened.send(happened).await;
    }

    async fn post(&self, outgoing: Outgoing) -> Result<Response, ClientError> {
        let mut headers = self.headers();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.extend(outgoing.headers);
        let endpoint = self.inner.agreed.lock().endpoint.clone();
        let url = endpoint.as_deref().unwrap_or(&self.inner.url);
        self.inner.client.post(url, headers, outgoing.bytes).await
    }

    async fn get(&self, last_id: Option<&str>) -> Result<Response, ClientError> {
        let mut headers = self.headers();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last_id) = last_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT_ID, last_id);
        }
        self.inner.client.get(&self.inner.url, headers).await
    }

    fn headers(&self) -> HeaderMap {
        let agreed = self.inner.agreed.lock();
        let session = agreed.session.clone().map(|session| (SESSION, session));
        let version = agreed.version.clone().map(|version| (VERSION, version));
        session.into_iter().chain(version).collect()
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let closed = self.inner.closed.clone();
        tokio::spawn(async move {
            let _ = closed.run_until_cancelled(work).await;
        })
        .abort_handle()
    }
}

/// What a server that says nothing of it gets.
const DEFAULT_RETRY: u64 = 1_000;
/// A server may ask for patience, but not for more than this.
const MAX_RETRY: u64 = 60_000;
/// How often in a row a stream may bring nothing.
const MAX_IN_VAIN: u32 = 5;

/// The pace at which one stream is taken up again.
#[derive(Debug, Default)]
struct Pace {
    in_vain: u32,
    retry: Option<u64>,
}

impl Pace {
    /// Waits for as long as the server asked for. False when it is time to give up: too many attempts brought nothing.
    async fn wait(&mut self, brought_something: bool, retry: Option<u64>) -> bool {
        let Some(pause) = self.next(brought_something, retry) else { return false };
        tokio::time::sleep(pause).await;
        true
    }

    fn next(&mut self, brought_something: bool, retry: Option<u64>) -> Option<Duration> {
        self.retry = retry.or(self.retry);
        self.in_vain = if brought_something { 0 } else { self.in_vain + 1 };
        let pause = self.retry.unwrap_or(DEFAULT_RETRY).min(MAX_RETRY);
        (self.in_vain < MAX_IN_VAIN).then(|| Duration::from_millis(pause))
    }
}

/// Where an older server wants its messages. A server elsewhere is not the one that the user named, and must not get its
/// credentials.
fn same_origin(url: &str, endpoint: &[u8]) -> Option<String> {
    let base = Url::parse(url).ok()?;
    let endpoint = base.join(std::str::from_utf8(endpoint).ok()?.trim()).ok()?;
    (endpoint.origin() == base.origin()).then(|| endpoint.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_server_cannot_send_us_elsewhere() {
        let base = "http://127.0.0.1:8080/sse";
        assert_eq!(
            same_origin(base, b"/messages?id=1").as_deref(),
            Some("http://127.0.0.1:8080/messages?id=1")
        );
        for elsewhere in
            ["http://127.0.0.1:8081/messages", "//example.com/x", "file:///etc/passwd", "\u{0}http://["]
        {
            assert_eq!(same_origin(base, elsewhere.as_bytes()), None, "{elsewhere}");
        }
    }

    #[test]
    fn an_answer_is_known_by_its_id_however_it_is_spelled() {
        let client = Client::new(crate::http::ClientOptions::default()).unwrap();
        let link = HttpLink::new(client, "http://127.0.0.1/", Limits::default(), mpsc::channel(1).0);
        for (message, answers) in [
            (r#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#, true),
            (r#"[{"jsonrpc":"2.0","id":1,"error":{}}]"#, true),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, false),
            ("garbage", false),
        ] {
            let read = jsonrpc::read(message.as_bytes(), &Limits::default());
            assert_eq!(link.answers(&read, &id_key("1")), answers, "{message}");
        }
    }
    #[test]
    fn a_stream_is_taken_up_when_the_server_wants_and_not_for_ever() {
        let mut pace = Pace::default();
        assert_eq!(pace.next(true, Some(500)), Some(Duration::from_millis(500)));
        assert_eq!(pace.next(false, None), Some(Duration::from_millis(500)));
        assert_eq!(pace.next(true, Some(u64::MAX)), Some(Duration::from_mins(1)));
        let tries = (0..100).take_while(|_| pace.next(false, None).is_some()).count();
        assert_eq!(tries, 4);
    }
}
