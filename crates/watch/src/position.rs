//! How far a stream is written. The state of the watch remembers it, since a server that was killed may not.

use std::sync::{Arc, Mutex, PoisonError};

/// A message of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    /// When the stream was created, in nanoseconds since 1970. A stream that replaces it begins with other messages.
    pub(crate) stream: i64,
    /// The number of the message. A server that loses its last messages gives their numbers to others.
    pub(crate) sequence: u64,
    /// When the server stored the message, in nanoseconds since 1970.
    pub(crate) time: i64,
}

impl StreamPosition {
    /// Whether another message is this one, or an earlier one. A message that got the number of a lost one is later.
    pub(crate) fn covers(self, other: Self) -> bool {
        self.stream == other.stream && other.sequence <= self.sequence && other.time <= self.time
    }

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        [self.stream.to_le_bytes(), self.sequence.to_le_bytes(), self.time.to_le_bytes()].concat()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (stream, rest) = bytes.split_first_chunk()?;
        let (sequence, rest) = rest.split_first_chunk()?;
        Some(Self {
            stream: i64::from_le_bytes(*stream),
            sequence: u64::from_le_bytes(*sequence),
            time: i64::from_le_bytes(rest.try_into().ok()?),
        })
    }
}

/// The last message whose findings are written: the evaluator moves it, and the consumer begins behind it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WrittenPosition(Arc<Mutex<Option<StreamPosition>>>);

impl WrittenPosition {
    pub(crate) fn get(&self) -> Option<StreamPosition> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, position: StreamPosition) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(position);
    }
}
