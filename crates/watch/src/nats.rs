//! A durable consumer of a JetStream stream: a message is acknowledged when its findings are written.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, AckKind, Message};
use async_nats::{ConnectOptions, Event};
use futures_util::StreamExt as _;
use sortie_scan::RowError;
use sortie_spans::ExportItem;
use tokio_util::sync::CancellationToken;

use crate::arrival::{Arrival, ArrivalContent, Inbox};
use crate::watch::WatchError;

/// How many messages are delivered before the first is acknowledged.
const PENDING: i64 = 1024;
/// How many messages, and bytes of them, are asked for at once.
const PULLED: usize = 256;
const PULLED_BYTES: usize = 4 << 20;
/// How long the server waits for an acknowledgement before it delivers a message again.
const ACK_WAIT: Duration = Duration::from_secs(30);
/// The header that names a session.
const SESSION: &str = "Sortie-Session";
/// The longest name of a session.
const MAX_SESSION: usize = 512;

/// A JetStream consumer.
#[derive(Clone)]
pub struct NatsInput {
    /// The server: `nats://HOST:PORT`, or `tls://`.
    pub url: String,
    /// The stream, which is there.
    pub stream: String,
    /// The durable consumer, which is made if it is not there.
    pub consumer: String,
    /// What the server asks for.
    pub token: Option<String>,
}

impl fmt::Debug for NatsInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsInput").field("stream", &self.stream).finish_non_exhaustive()
    }
}

pub(crate) type Note = Arc<dyn Fn(&str) + Send + Sync>;

pub(crate) struct Consumer {
    consumer: PullConsumer,
    inbox: Inbox,
    source: Arc<str>,
    note: Note,
}

impl Consumer {
    pub(crate) async fn open(input: NatsInput, inbox: Inbox, note: Note) -> Result<Self, WatchError> {
        let failed = |error: &dyn fmt::Display| WatchError::Nats(format!("NATS: {error}"));
        let told = Arc::clone(&note);
        let mut options = ConnectOptions::new()
            .name("sortie watch")
            .connection_timeout(Duration::from_secs(5))
            .event_callback(move |event| {
                match event {
                    Event::Connected | Event::Disconnected => told(&format!("NATS: {event}")),
                    _ => {}
                }
                async {}
            });
        if let Some(token) = input.token {
            options = options.token(token);
        }
        let client = options.connect(&input.url).await.map_err(|error| failed(&error))?;
        let stream = jetstream::new(client).get_stream(&input.stream).await.map_err(|error| failed(&error))?;
        let config = pull::Config {
            durable_name: Some(input.consumer.clone()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: ACK_WAIT,
            max_ack_pending: PENDING,
            ..pull::Config::default()
        };
        let made = stream.get_or_create_consumer(&input.consumer, config).await;
        let source = Arc::from(format!("nats:{}", input.stream));
        Ok(Self { consumer: made.map_err(|error| failed(&error))?, inbox, source, note })
    }

    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut was_noted = false;
        while !stop.is_cancelled() {
            // Room first: what is not asked for stays at the server.
            let room = tokio::select! {
                room = self.inbox.room(PULLED_BYTES) => room,
                () = stop.cancelled() => return,
            };
            let Some(room) = room else { return };
            match self.pull(&stop).await {
                Ok(true) => was_noted = false,
                Ok(false) => return,
                Err(reason) => {
                    if !was_noted {
                        (self.note)(&format!("NATS: {reason}; trying again"));
                        was_noted = true;
                    }
                    tokio::select! {
                        () = tokio::time::sleep(Duration::from_millis(500)) => {}
                        () = stop.cancelled() => return,
                    }
                }
            }
            drop(room);
        }
    }

    /// Takes some messages, and says whether anybody wants more.
    async fn pull(&self, stop: &CancellationToken) -> Result<bool, String> {
        let batch = self
            .consumer
            .batch()
            .max_messages(PULLED)
            .max_bytes(PULLED_BYTES)
            .expires(Duration::from_secs(1))
            .messages();
        let mut batch = batch.await.map_err(|error| error.to_string())?;
        loop {
            let next = tokio::select! {
                next = batch.next() => next,
                () = stop.cancelled() => return Ok(false),
            };
            match next {
                None => return Ok(true),
                Some(Ok(message)) => {
                    if !self.hand_on(message).await {
                        return Ok(false);
                    }
                }
                Some(Err(error)) => return Err(error.to_string()),
            }
        }
    }

    async fn hand_on(&self, message: Message) -> bool {
        let room = self.inbox.room(message.payload.len()).await;
        let at = message.info().map_or(0, |info| info.stream_sequence);
        let payload = message.payload.clone();
        let content = if is_trace(&payload) {
            let header = message.headers.as_ref().and_then(|headers| headers.get(SESSION));
            let session = header.map_or(message.subject.as_str(), |value| value.as_str());
            if session.len() > MAX_SESSION || session.contains(['\n', '\r']) {
                self.error(at, "the name of its session is too long, or has line breaks")
            } else {
                ArrivalContent::Lines { session: session.to_owned(), at, lines: payload }
            }
        } else {
            match ExportItem::split(&payload) {
                Ok(items) => ArrivalContent::Spans(items),
                Err(error) => self.error(at, &error.to_string()),
            }
        };
        let runtime = tokio::runtime::Handle::current();
        let (_, acker) = message.split();
        let receipt = Box::new(move || {
            runtime.spawn(async move {
                // A message whose acknowledgement is lost is delivered again.
                let _ = acker.ack_with(AckKind::Ack).await;
            });
        });
        self.inbox.send(Arrival { source: Arc::clone(&self.source), content, receipt: Some(receipt), room })
    }

    fn error(&self, at: u64, reason: &str) -> ArrivalContent {
        ArrivalContent::Error(RowError {
            source: self.source.to_string(),
            session: None,
            at: Some(at),
            indicator: None,
            reason: reason.to_owned(),
        })
    }
}

/// Whether a message is lines of a trace, and no export.
fn is_trace(payload: &[u8]) -> bool {
    let payload = payload.trim_ascii_start();
    payload.starts_with(br#"{"record""#) || !matches!(payload.first(), Some(b'{' | b'[' | 0x0a))
}
