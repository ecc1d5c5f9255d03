//! Responses that go on: a bounded channel whose far end is a response's body.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::body::Cut;
use crate::Limits;

/// The long-lived streams of one listener, counted.
#[derive(Clone, Debug)]
pub struct Streams {
    open: Arc<Semaphore>,
    limits: Limits,
}

/// [`Limits::streams`] are open already. The answer is 503.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{0} streams are open already")]
pub struct TooManyStreams(pub usize);

impl Streams {
    /// None open yet.
    pub fn new(limits: &Limits) -> Self {
        Self { open: Arc::new(Semaphore::new(permits(limits.streams))), limits: *limits }
    }

    /// Opens one. It counts as open until its body is dropped, which the listener does when the connection ends.
    pub fn open(&self) -> Result<(StreamSender, StreamBody), TooManyStreams> {
        let counted =
            Arc::clone(&self.open).try_acquire_owned().map_err(|_| TooManyStreams(self.limits.streams))?;
        let (messages, queue) = mpsc::channel(self.limits.queued.max(1));
        let most = permits(self.limits.queued_bytes);
        let room = Arc::new(Semaphore::new(most));
        let sender =
            StreamSender { messages, room: Arc::clone(&room), most, patience: self.limits.write_timeout };
        Ok((sender, StreamBody { queue, room, cut: false, _counted: counted }))
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        permits(self.limits.streams) - self.open.available_permits()
    }
}

/// As many permits as a semaphore can have, and as one acquisition can ask for.
fn permits(limit: usize) -> usize {
    limit.min(Semaphore::MAX_PERMITS).min(u32::MAX as usize)
}

enum Item {
    Data(Bytes, OwnedSemaphorePermit),
    Cut,
}

/// The end of a stream that is written to. The stream ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct StreamSender {
    messages: mpsc::Sender<Item>,
    /// One permit for every byte that may wait.
    room: Arc<Semaphore>,
    most: usize,
    patience: Duration,
}

/// A message was not taken by a stream.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SendError {
    /// The reader has gone.
    #[error("the reader has gone")]
    Gone,
    /// The reader did not make room within [`Limits::write_timeout`], or has not now.
    #[error("the reader is too slow")]
    Slow,
    /// Longer than [`Limits::queued_bytes`], so that it never fits.
    #[error("message longer than the {0} bytes that may wait")]
    TooLong(usize),
}

impl StreamSender {
    /// Sends bytes, and waits until there is room for them.
    pub async fn send(&self, bytes: Bytes) -> Result<(), SendError> {
        let Some(size) = self.size(&bytes)? else { return Ok(()) };
        let queue = async {
            let room = Arc::clone(&self.room).acquire_many_owned(size).await.map_err(|_| SendError::Gone)?;
            self.messages.send(Item::Data(bytes, room)).await.map_err(|_| SendError::Gone)
        };
        tokio::time::timeout(self.patience, queue).await.unwrap_or(Err(SendError::Slow))
    }

    /// Sends bytes if there is room for them now.
    pub fn try_send(&self, bytes: Bytes) -> Result<(), SendError> {
        use tokio::sync::TryAcquireError;
        use tokio::sync::mpsc::error::TrySendError;

        let Some(size) = self.size(&bytes)? else { return Ok(()) };
        let room = Arc::clone(&self.room).try_acquire_many_owned(size).map_err(|error| match error {
            TryAcquireError::Closed => SendError::Gone,
            TryAcquireError::NoPermits => SendError::Slow,
        })?;
        self.messages.try_send(Item::Data(bytes, room)).map_err(|error| match error {
            TrySendError::Closed(_) => SendError::Gone,
            TrySendError::Full(_) => SendError::Slow,
        })
    }

    /// Cuts the connection after what was sent, without the end that HTTP has for a body.
    pub async fn cut(self) {
        // When the reader has gone or does not read, its connection is cut anyway.
        let _ = tokio::time::timeout(self.patience, self.messages.send(Item::Cut)).await;
    }

    /// Waits until the reader has gone.
    pub async fn gone(&self) {
        self.messages.closed().await;
    }

    /// Whether the reader has gone.
    pub fn is_gone(&self) -> bool {
        self.messages.is_closed()
    }

    /// How many bytes take room; `None` for no bytes at all, which HTTP has no chunk for.
    fn size(&self, bytes: &Bytes) -> Result<Option<u32>, SendError> {
        if self.is_gone() {
            return Err(SendError::Gone);
        }
        if bytes.len() > self.most {
            return Err(SendError::TooLong(self.most));
        }
        // `most` fits into 32 bits.
        Ok(u32::try_from(bytes.len()).ok().filter(|size| *size > 0))
    }
}

/// The end of a stream that is a response's body.
#[derive(Debug)]
pub struct StreamBody {
    queue: mpsc::Receiver<Item>,
    room: Arc<Semaphore>,
    cut: bool,
    _counted: OwnedSemaphorePermit,
}

impl StreamBody {
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        if self.cut {
            return Poll::Ready(Some(Err(Cut)));
        }
        match self.queue.poll_recv(context) {
            Poll::Ready(Some(Item::Data(bytes, _room))) => Poll::Ready(Some(Ok(bytes))),
            Poll::Ready(Some(Item::Cut)) => {
                // `hyper` forgets what it has not written yet when a body fails, and writes when one has nothing now.
                self.cut = true;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        // Who waits for room would wait for nothing.
        self.room.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn next(body: &mut StreamBody) -> Option<Result<Bytes, Cut>> {
        std::future::poll_fn(|context| body.poll_next(context)).await
    }

    #[tokio::test]
    async fn what_is_sent_arrives_in_order_and_ends_with_the_last_sender() {
        let (sender, mut body) = Streams::new(&Limits::default()).open().unwrap();
        let other = sender.clone();
        sender.send("a".into()).await.unwrap();
        sender.send(Bytes::new()).await.unwrap();
        drop(sender);
        other.try_send("b".into()).unwrap();
        drop(other);
        assert_eq!(next(&mut body).await, Some(Ok("a".into())));
        assert_eq!(next(&mut body).await, Some(Ok("b".into())));
        assert_eq!(next(&mut body).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_does_not_read_is_too_slow() {
        let messages = Streams::new(&Limits { queued: 2, ..Limits::default() });
        let bytes = Streams::new(&Limits { queued_bytes: 20, ..Limits::default() });
        for streams in [messages, bytes] {
            let (sender, mut body) = streams.open().unwrap();
            for _ in 0..2 {
                sender.send("0123456789".into()).await.unwrap();
            }
            assert_eq!(sender.try_send("x".into()), Err(SendError::Slow));
            assert_eq!(sender.send("x".into()).await, Err(SendError::Slow));
            assert!(next(&mut body).await.is_some());
            sender.send("x".into()).await.unwrap();
        }
    }

    #[tokio::test]
    async fn who_waits_for_a_reader_is_told_that_it_has_gone() {
        let (sender, body) = Streams::new(&Limits { queued_bytes: 1, ..Limits::default() }).open().unwrap();
        sender.send("a".into()).await.unwrap();
        let waiting = tokio::spawn({
            let sender = sender.clone();
            async move { sender.send("b".into()).await }
        });
        tokio::task::yield_now().await;
        drop(body);
        assert_eq!(waiting.await.unwrap(), Err(SendError::Gone));
        sender.gone().await;
        assert_eq!((sender.is_gone(), sender.try_send("c".into())), (true, Err(SendError::Gone)));
    }

    #[tokio::test]
    async fn a_message_that_never_fits_is_refused_at_once() {
        let (sender, _body) = Streams::new(&Limits { queued_bytes: 3, ..Limits::default() }).open().unwrap();
        assert_eq!(sender.send("abcd".into()).await, Err(SendError::TooLong(3)));
        assert_eq!(sender.try_send("abcd".into()), Err(SendError::TooLong(3)));
    }

    #[tokio::test]
    async fn streams_are_counted_while_their_bodies_live() {
        let streams = Streams::new(&Limits { streams: 2, ..Limits::default() });
        let first = streams.open().unwrap();
        let (_sender, body) = streams.open().unwrap();
        assert_eq!(streams.open().unwrap_err(), TooManyStreams(2));
        drop(body);
        assert_eq!(streams.count(), 1);
        assert!(streams.open().is_ok());
        drop(first);
        assert_eq!(streams.count(), 0);
    }

    #[tokio::test]
    async fn a_cut_comes_after_what_was_sent() {
        let (sender, mut body) = Streams::new(&Limits::default()).open().unwrap();
        sender.send("a".into()).await.unwrap();
        sender.cut().await;
        assert_eq!(next(&mut body).await, Some(Ok("a".into())));
        assert_eq!(next(&mut body).await, Some(Err(Cut)));
    }
}
