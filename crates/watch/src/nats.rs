//! A durable consumer of a `JetStream` stream: a message is acknowledged when its findings are written.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, AckKind, Message};
use async_nats::{ConnectOptions, Event};
use futures_util::StreamExt as _;
use sortie_scan::{MAX_LINE_BYTES, RowError};
use sortie_spans::ExportItem;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use crate::arrival::{Arrival, ArrivalContent, Inbox, PERMIT_BYTES, permits};
use crate::durable::{Delivery, Durable};
use crate::position::WrittenPosition;

/// How many messages, and bytes of them, are asked for at once.
const PULLED: usize = 256;
const PULLED_BYTES: usize = 4 << 20;
/// How a server says that the next message is larger than what was asked for, or than what is left of it.
const TOO_LARGE: &str = "Exceeds MaxBytes";
/// How long the server may be silent when it was asked for messages, beyond the time that it was given.
const SILENCE: Duration = Duration::from_secs(5);
/// After how long without a message the server is asked whether it has some.
const QUIET: Duration = Duration::from_secs(5);
/// How long is waited before a server is tried again.
const AGAIN: Duration = Duration::from_millis(500);
/// The header that names a session.
const SESSION: &str = "Sortie-Session";
/// The longest name of a session.
const MAX_SESSION: usize = 512;

/// A `JetStream` consumer.
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
    /// Messages that were handed on, and are not written yet.
    unwritten: Arc<AtomicUsize>,
    written: WrittenPosition,
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
pub(crate) struct NatsError(pub(crate) String);

impl NatsError {
    pub(crate) fn new(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl Consumer {
    pub(crate) fn new(input: NatsInput, inbox: Inbox, written: WrittenPosition, note: Note) -> Self {
        let source = Arc::from(format!("nats:{}", input.stream));
        Self { input, inbox, source, unwritten: Arc::default(), written, note }
    }

    /// Consumes until it is stopped. A server that is not there, or not any more, is tried again.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut last = String::new();
        while !stop.is_cancelled() {
            let consumed = tokio::select! {
                consumed = self.consume(&mut last, &stop) => consumed,
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

    /// Consumes by one connection. `last` is why the one before ended, until messages come.
    async fn consume(&self, last: &mut String, stop: &CancellationToken) -> Result<(), NatsError> {
        let lost = CancellationToken::new();
        let client = self.connect(&lost).await?;
        let mut context = jetstream::new(client);
        context.set_timeout(SILENCE);
        let mut durable = Durable::open(&context, &self.input, self.written.get(), &self.note).await?;
        let mut size = PullSize::Many;
        let (mut quiet_since, mut seems_stuck) = (Instant::now(), false);
        loop {
            let end = tokio::select! {
                end = self.pull(&mut durable, size, stop) => end?,
                // The client would connect again; but a server that was killed may know another consumer.
                () = lost.cancelled() => return Err(NatsError("the connection was lost".to_owned())),
            };
            size = match end {
                PullEnd::Stopped => return Ok(()),
                PullEnd::Empty => PullSize::Many,
                PullEnd::Over => {
                    last.clear();
                    (quiet_since, seems_stuck) = (Instant::now(), false);
                    PullSize::Many
                }
                PullEnd::NextIsLarge => PullSize::One,
            };
            let is_written = self.unwritten.load(Ordering::Acquire) == 0;
            if !is_written || quiet_since.elapsed() < QUIET {
                continue;
            }
            // A message may have come just now; the next pull would take it.
            match (durable.is_stuck().await?, seems_stuck) {
                (true, true) => {
                    return Err(NatsError("the server has messages and does not deliver them".to_owned()));
                }
                (true, false) => seems_stuck = true,
                (false, _) => (quiet_since, seems_stuck) = (Instant::now(), false),
            }
        }
    }

    async fn connect(&self, lost: &CancellationToken) -> Result<async_nats::Client, NatsError> {
        let lost = lost.clone();
        let mut options = ConnectOptions::new().name("sortie watch").connection_timeout(SILENCE);
        options = options.event_callback(move |event| {
            if matches!(event, Event::Disconnected) {
                lost.cancel();
            }
            std::future::ready(())
        });
        if let Some(token) = &self.input.token {
            options = options.token(token.clone());
        }
        options.connect(&self.input.url).await.map_err(NatsError::new)
    }

    /// Takes some messages.
    async fn pull(
        &self,
        durable: &mut Durable,
        size: PullSize,
        stop: &CancellationToken,
    ) -> Result<PullEnd, NatsError> {
        let batch = durable.consumer.batch().expires(Duration::from_secs(1));
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
                    let delivery = durable.take(&message)?;
                    taken += 1;
                    // Its part of the room, which is there since the server sends no more than was asked for.
                    let part = room.split(room.num_permits().min(permits(message.payload.len())));
                    if !self.hand_on(message, delivery, part) {
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

    fn hand_on(&self, message: Message, delivery: Delivery, room: Option<OwnedSemaphorePermit>) -> bool {
        let Delivery { position, repeated } = delivery;
        let at = position.sequence;
        let payload = message.payload.clone();
        let content = if payload.len() > MAX_LINE_BYTES {
            self.error(at, &format!("it is longer than {MAX_LINE_BYTES} bytes"))
        } else if is_trace(&payload) {
            let header = message.headers.as_ref().and_then(|headers| headers.get(SESSION));
            let session = header.map_or(message.subject.as_str(), |value| value.as_str());
            if session.len() > MAX_SESSION || session.contains(['\n', '\r']) {
                self.error(at, "the name of its session is too long, or has line breaks")
            } else {
                ArrivalContent::Lines { session: session.to_owned(), at, lines: payload, repeated }
            }
        } else {
            match ExportItem::split(&payload) {
                Ok(items) => ArrivalContent::Spans(items),
                Err(error) => self.error(at, &error.to_string()),
            }
        };
        let runtime = tokio::runtime::Handle::current();
        let (_, acker) = message.split();
        let unwritten = Arc::clone(&self.unwritten);
        unwritten.fetch_add(1, Ordering::AcqRel);
        let receipt = Box::new(move || {
            unwritten.fetch_sub(1, Ordering::AcqRel);
            runtime.spawn(async move {
                // A message whose acknowledgement is lost is delivered again.
                let _ = acker.ack_with(AckKind::Ack).await;
            });
        });
        let (source, position) = (Arc::clone(&self.source), Some(position));
        self.inbox.send(Arrival { source, content, receipt: Some(receipt), position, room })
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
