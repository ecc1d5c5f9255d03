//! A durable consumer of a JetStream stream: a message is acknowledged when its findings are written.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::ConnectOptions;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, AckKind, Message};
use futures_util::StreamExt as _;
use sortie_scan::{MAX_LINE_BYTES, RowError};
use sortie_spans::ExportItem;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use crate::arrival::{Arrival, ArrivalContent, Inbox, PERMIT_BYTES, permits};

/// How many messages are delivered before the first is acknowledged.
const PENDING: i64 = 1024;
/// How many messages, and bytes of them, are asked for at once.
const PULLED: usize = 256;
const PULLED_BYTES: usize = 4 << 20;
/// How a server says that the next message is larger than what was asked for, or than what is left of it.
const TOO_LARGE: &str = "Exceeds MaxBytes";
/// How long the server waits for an acknowledgement before it delivers a message again.
const ACK_WAIT: Duration = Duration::from_secs(10);
/// How long the server may be silent when it was asked for messages, beyond the time that it was given.
const SILENCE: Duration = Duration::from_secs(5);
/// How long is waited before a server is tried again.
const AGAIN: Duration = Duration::from_millis(500);
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
    input: NatsInput,
    inbox: Inbox,
    source: Arc<str>,
    note: Note,
}

/// How much is asked for.
#[derive(Clone, Copy)]
enum PullSize {
    /// Messages of a size that many have.
    Many,
    /// One message, however large.
    One,
}

/// How a pull ends.
enum PullEnd {
    /// Nobody wants more.
    Stopped,
    /// Everything that was there, or that was asked for, came.
    Over,
    /// There was nothing.
    Empty,
    /// Nothing came, since the next message is larger than what was asked for.
    NextIsLarge,
}

/// Why messages do not come.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NatsError(String);

impl Consumer {
    pub(crate) fn new(input: NatsInput, inbox: Inbox, note: Note) -> Self {
        let source = Arc::from(format!("nats:{}", input.stream));
        Self { input, inbox, source, note }
    }

    /// Consumes until it is stopped. A server that is not there, or not any more, is tried again.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut last = String::new();
        while !stop.is_cancelled() {
            let consumed = tokio::select! {
                consumed = self.consume(&stop) => consumed,
                () = stop.cancelled() => return,
            };
            let Err(NatsError(reason)) = consumed else { return };
            if reason != last {
                (self.note)(&format!("NATS: {reason}; trying again"));
                last = reason;
            }
            tokio::select! {
                () = tokio::time::sleep(AGAIN) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    async fn consume(&self, stop: &CancellationToken) -> Result<(), NatsError> {
        let mut consumer = self.connect().await?;
        // What was delivered to nobody who lives comes again after a while, and must come before what is new: a session is read in order.
        wait_for_pending(&mut consumer).await?;
        let mut size = PullSize::Many;
        let mut quiet_since = Some(Instant::now());
        loop {
            size = match self.pull(&consumer, size, stop).await? {
                PullEnd::Stopped => return Ok(()),
                PullEnd::Empty => PullSize::Many,
                PullEnd::Over => {
                    quiet_since = Some(Instant::now());
                    PullSize::Many
                }
                PullEnd::NextIsLarge => PullSize::One,
            };
            // Everything that was delivered before was delivered again by now.
            if quiet_since.is_some_and(|since| since.elapsed() > ACK_WAIT + SILENCE) {
                quiet_since = None;
                self.tell_what_waits(&mut consumer).await;
            }
        }
    }

    /// Says so where a server has messages, and does not deliver them.
    async fn tell_what_waits(&self, consumer: &mut PullConsumer) {
        let Ok(Ok(info)) = tokio::time::timeout(SILENCE, consumer.info()).await else { return };
        if info.num_pending > 0 {
            (self.note)(&format!(
                "NATS: the server has {} messages for the consumer `{}`, and delivered none for {} s; if that lasts, restart the server",
                info.num_pending,
                self.input.consumer,
                (ACK_WAIT + SILENCE).as_secs(),
            ));
        }
    }

    async fn connect(&self) -> Result<PullConsumer, NatsError> {
        let mut options = ConnectOptions::new().name("sortie watch").connection_timeout(SILENCE);
        if let Some(token) = &self.input.token {
            options = options.token(token.clone());
        }
        let text = |error: &dyn fmt::Display| NatsError(error.to_string());
        let client = options.connect(&self.input.url).await.map_err(|error| text(&error))?;
        let mut context = jetstream::new(client);
        context.set_timeout(SILENCE);
        let stream = context.get_stream(&self.input.stream).await.map_err(|error| text(&error))?;
        let config = pull::Config {
            durable_name: Some(self.input.consumer.clone()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: ACK_WAIT,
            max_ack_pending: PENDING,
            ..pull::Config::default()
        };
        stream.get_or_create_consumer(&self.input.consumer, config).await.map_err(|error| text(&error))
    }

    /// Takes some messages.
    async fn pull(
        &self,
        consumer: &PullConsumer,
        size: PullSize,
        stop: &CancellationToken,
    ) -> Result<PullEnd, NatsError> {
        let batch = consumer.batch().expires(Duration::from_secs(1));
        // Room first: what is not asked for stays at the server. A message of any size has all of the room.
        let (batch, bytes) = match size {
            PullSize::Many => {
                (batch.max_messages(PULLED).max_bytes(PULLED_BYTES), PULLED_BYTES + PULLED * PERMIT_BYTES)
            }
            PullSize::One => (batch.max_messages(1), usize::MAX),
        };
        let Some(mut room) = self.inbox.room(bytes).await else { return Ok(PullEnd::Stopped) };
        let batch = tokio::time::timeout(SILENCE, batch.messages()).await;
        let batch = batch.map_err(|_| NatsError("the server does not answer".to_owned()))?;
        let mut batch = batch.map_err(|error| NatsError(error.to_string()))?;
        let mut taken = 0;
        loop {
            let next = tokio::select! {
                next = tokio::time::timeout(SILENCE, batch.next()) => next,
                () = stop.cancelled() => return Ok(PullEnd::Stopped),
            };
            let next = next.map_err(|_| NatsError("the server does not answer".to_owned()))?;
            match next {
                None if taken == 0 => return Ok(PullEnd::Empty),
                None => return Ok(PullEnd::Over),
                Some(Ok(message)) => {
                    taken += 1;
                    // Its part of the room, which is there since the server sends no more than was asked for.
                    let part = room.split(room.num_permits().min(permits(message.payload.len())));
                    if !self.hand_on(message, part) {
                        return Ok(PullEnd::Stopped);
                    }
                }
                Some(Err(error)) => {
                    let reason = error.to_string();
                    return match reason.contains(TOO_LARGE) {
                        true if taken == 0 => Ok(PullEnd::NextIsLarge),
                        true => Ok(PullEnd::Over),
                        false => Err(NatsError(reason)),
                    };
                }
            }
        }
    }

    fn hand_on(&self, message: Message, room: Option<OwnedSemaphorePermit>) -> bool {
        let at = message.info().map_or(0, |info| info.stream_sequence);
        let payload = message.payload.clone();
        let content = if payload.len() > MAX_LINE_BYTES {
            self.error(at, &format!("it is longer than {MAX_LINE_BYTES} bytes"))
        } else if is_trace(&payload) {
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

/// Waits until messages that were delivered and not acknowledged are delivered again first.
async fn wait_for_pending(consumer: &mut PullConsumer) -> Result<(), NatsError> {
    let asked = tokio::time::timeout(SILENCE, consumer.info()).await;
    let info = asked
        .map_err(|_| NatsError("the server does not answer".to_owned()))?
        .map_err(|error| NatsError(error.to_string()))?;
    if info.num_ack_pending > 0 {
        let wait = info.config.ack_wait;
        tokio::time::sleep(wait + Duration::from_millis(500)).await;
    }
    Ok(())
}

/// Whether a message is lines of a trace, and no export.
fn is_trace(payload: &[u8]) -> bool {
    let payload = payload.trim_ascii_start();
    payload.starts_with(br#"{"record""#) || !matches!(payload.first(), Some(b'{' | b'[' | 0x0a))
}
