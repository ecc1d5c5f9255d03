//! One stream of events, which a client may lose and take up again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use crate::http::{SendError, StreamSender};
use crate::sse::Event;
use crate::{Limits, Lock};

/// How many events are kept of one stream for a client that takes it up again.
const KEPT: usize = 256;

const KEPT_BYTES: usize = 1 << 20;

/// How many bytes of events are kept of all streams of a listener together. From half of that on only what nobody has
/// seen yet is kept.
const KEPT_OF_ALL: usize = 32 << 20;

/// How long a client waits before it takes up a stream, unless it is told otherwise.
pub(super) const RETRY: Duration = Duration::from_secs(1);

/// One stream of events.
///
/// Its ids are `stream.position`, so that an id alone says where to go on.
#[derive(Debug)]
pub(super) struct Log {
    number: u64,
    /// It began with a GET, and carries what nobody asked for.
    pub(super) standalone: bool,
    resumable: bool,
    limits: Limits,
    /// How many bytes all streams of the listener keep.
    all: Arc<AtomicUsize>,
    inner: Lock<Inner>,
    /// Cancelled when nothing more is said, or nobody will ever read it.
    over: CancellationToken,
}

#[derive(Debug, Default)]
struct Inner {
    position: u64,
    kept: VecDeque<(u64, Bytes)>,
    kept_bytes: usize,
    reader: Option<StreamSender>,
    ended: bool,
}

impl Log {
    /// A stream that can be taken up again.
    pub(super) fn resumable(
        number: u64,
        standalone: bool,
        limits: &Limits,
        all: &Arc<AtomicUsize>,
    ) -> Arc<Self> {
        Self::new(number, standalone, true, limits, all.clone())
    }

    /// A stream that is over when its reader has gone.
    pub(super) fn fleeting(limits: &Limits) -> Arc<Self> {
        Self::new(0, false, false, limits, Arc::default())
    }

    fn new(
        number: u64,
        standalone: bool,
        resumable: bool,
        limits: &Limits,
        all: Arc<AtomicUsize>,
    ) -> Arc<Self> {
        Arc::new(Self {
            number,
            standalone,
            resumable,
            limits: *limits,
            all,
            inner: Lock::default(),
            over: CancellationToken::new(),
        })
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Begins to write to a reader. `primed` gives it an id before anything is said.
    pub(super) fn open(&self, reader: StreamSender, primed: bool) {
        let mut inner = self.inner.lock();
        inner.reader = Some(reader);
        if primed && self.resumable {
            let event = self.event(&mut inner, Bytes::new(), Some(RETRY));
            self.push(&mut inner, event);
        }
    }

    /// Writes what came after `position` to a reader, and goes on there.
    pub(super) fn resume(&self, reader: StreamSender, position: u64) {
        let mut inner = self.inner.lock();
        inner.reader = Some(reader);
        let missed: Vec<Bytes> =
            inner.kept.iter().filter(|(at, _)| *at > position).map(|(_, event)| event.clone()).collect();
        for event in missed {
            let _ = inner.write(event);
        }
        if inner.ended {
            inner.reader = None;
        }
    }

    /// Says something. Without a reader it is kept for one that comes back, if the stream can be taken up.
    pub(super) fn say(&self, data: Bytes) -> Result<(), SendError> {
        let mut inner = self.inner.lock();
        if inner.ended {
            return Err(SendError::Gone);
        }
        if data.len() > self.limits.queued_bytes {
            return Err(SendError::TooLong(self.limits.queued_bytes));
        }
        let event = self.event(&mut inner, data, None);
        if self.resumable {
            self.push(&mut inner, event);
            return Ok(());
        }
        inner.write(event.1)
    }

    /// An event of another type than `message`, which is neither kept nor numbered.
    pub(super) fn say_as(&self, name: &str, data: &str) {
        let event = Event { event: Some(name.to_owned()), data: data.to_owned().into(), ..Event::default() };
        let _ = self.inner.lock().write(event.encode());
    }

    pub(super) fn stir(&self) {
        let _ = self.inner.lock().write(crate::sse::comment(""));
    }

    /// Closes the connection, and not the stream: the client is told when to come back.
    pub(super) fn pause(&self, retry: Duration) {
        let mut inner = self.inner.lock();
        if inner.ended || !self.resumable {
            return;
        }
        let event = self.event(&mut inner, Bytes::new(), Some(retry));
        self.push(&mut inner, event);
        inner.reader = None;
    }

    pub(super) fn end(&self) {
        let mut inner = self.inner.lock();
        inner.ended = true;
        inner.reader = None;
        self.over.cancel();
    }

    pub(super) fn has_reader(&self) -> bool {
        self.inner.lock().reader.as_ref().is_some_and(|reader| !reader.is_gone())
    }

    pub(super) fn has_ended(&self) -> bool {
        self.inner.lock().ended
    }

    /// Waits until nobody will ever read what is said.
    pub(super) async fn abandoned(&self) {
        if self.resumable {
            self.over.cancelled().await;
            return;
        }
        let reader = self.inner.lock().reader.clone();
        if let Some(reader) = reader {
            reader.gone().await;
        }
    }

    /// Writes an event and keeps it. The oldest give way.
    fn push(&self, inner: &mut Inner, (position, event): (u64, Bytes)) {
        let seen = inner.write(event.clone()).is_ok();
        let size = event.len();
        let all = self.all.load(Ordering::Relaxed);
        if all + size > KEPT_OF_ALL || (seen && all + size > KEPT_OF_ALL / 2) {
            return;
        }
        self.all.fetch_add(size, Ordering::Relaxed);
        inner.kept_bytes += size;
        inner.kept.push_back((position, event));
        while inner.kept.len() > KEPT || (inner.kept_bytes > KEPT_BYTES && inner.kept.len() > 1) {
            inner.drop_oldest(&self.all);
        }
    }

    fn event(&self, inner: &mut Inner, data: Bytes, retry: Option<Duration>) -> (u64, Bytes) {
        inner.position += 1;
        let id = self.resumable.then(|| format!("{}.{}", self.number, inner.position));
        let retry = retry.map(|retry| u64::try_from(retry.as_millis()).unwrap_or(u64::MAX));
        let event = Event { id, event: Some("message".to_owned()), data, retry };
        (inner.position, event.encode())
    }
}

impl Inner {
    fn write(&mut self, event: Bytes) -> Result<(), SendError> {
        let Some(reader) = &self.reader else { return Err(SendError::Gone) };
        let written = reader.try_send(event);
        if written.is_err() {
            // A reader that is too slow loses its connection. It can come back for what is kept.
            self.reader = None;
        }
        written
    }

    fn drop_oldest(&mut self, all: &AtomicUsize) {
        if let Some((_, event)) = self.kept.pop_front() {
            self.kept_bytes -= event.len();
            all.fetch_sub(event.len(), Ordering::Relaxed);
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let kept = self.inner.lock().kept_bytes;
        self.all.fetch_sub(kept, Ordering::Relaxed);
    }
}

/// Where a client was, by the id of the last event it has seen.
pub(super) fn place(last_event_id: &str) -> Option<(u64, u64)> {
    let (number, position) = last_event_id.split_once('.')?;
    Some((number.parse().ok()?, position.parse().ok()?))
}
