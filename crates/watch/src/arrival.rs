//! What inputs hand to the evaluator, and how much of it may wait.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use bytes::Bytes;
use sortie_scan::RowError;
use sortie_spans::ExportItem;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::position::StreamPosition;

/// How many bytes may wait to be evaluated.
const WAITING_BYTES: usize = 32 << 20;
/// What one permit stands for: the queue has a bound on its length too.
pub(crate) const PERMIT_BYTES: usize = 4096;
const PERMITS: usize = WAITING_BYTES / PERMIT_BYTES;

/// Called when the findings of an arrival are written.
pub(crate) type Receipt = Box<dyn FnOnce() + Send>;

/// Something that arrived.
pub(crate) struct Arrival {
    /// The stream or file.
    pub(crate) source: Arc<str>,
    pub(crate) content: ArrivalContent,
    pub(crate) receipt: Option<Receipt>,
    /// Where it stands in a stream of messages.
    pub(crate) position: Option<StreamPosition>,
    /// Its part of what may wait.
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

pub(crate) enum ArrivalContent {
    /// Lines of a trace whose session is named elsewhere.
    #[cfg_attr(
        not(any(feature = "nats", test)),
        expect(dead_code, reason = "JetStream names sessions elsewhere")
    )]
    Lines {
        session: String,
        at: u64,
        lines: Bytes,
        /// Whether their findings were written before, by what the stream says.
        repeated: bool,
    },
    /// Spans and events.
    Spans(Vec<ExportItem>),
    /// Whole lines of a trace that is followed.
    TraceFile(FileChunk),
    /// Whole lines of a file of exports that is followed.
    SpanFile(FileChunk),
    /// A recording that changed, and has to be read as a whole.
    Recording(PathBuf),
    /// Something that cannot be read.
    Error(RowError),
    /// The rules are to be loaded again.
    Reload,
}

/// A part of a file that is followed.
#[derive(Clone, Debug)]
pub(crate) struct FileChunk {
    pub(crate) path: PathBuf,
    pub(crate) id: FileId,
    /// Where it begins in the file.
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Which file it is, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// Where inputs hand things to the evaluator.
#[derive(Clone)]
pub(crate) struct Inbox {
    sender: Sender<Arrival>,
    room: Arc<Semaphore>,
}

impl Inbox {
    pub(crate) fn new(sender: Sender<Arrival>) -> Self {
        Self { sender, room: Arc::new(Semaphore::new(PERMITS)) }
    }

    /// Waits until so many bytes may wait.
    pub(crate) async fn room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.room)
            .acquire_many_owned(u32::try_from(permits(bytes)).unwrap_or(u32::MAX))
            .await
            .ok()
    }

    /// The same, no longer than this.
    pub(crate) async fn room_within(&self, bytes: usize, patience: Duration) -> Option<OwnedSemaphorePermit> {
        tokio::time::timeout(patience, self.room(bytes)).await.ok().flatten()
    }

    /// Says whether anybody takes it.
    pub(crate) fn send(&self, arrival: Arrival) -> bool {
        self.sender.send(arrival).is_ok()
    }
}

/// What so many bytes need; no more than there is.
pub(crate) fn permits(bytes: usize) -> usize {
    bytes.div_ceil(PERMIT_BYTES).clamp(1, PERMITS)
}
