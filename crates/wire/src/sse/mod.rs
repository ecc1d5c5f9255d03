//! Server-sent events, as the [HTML standard](https://html.spec.whatwg.org/multipage/server-sent-events.html) has them.

mod decode;
mod encode;

pub use decode::{Decoder, TooLong};
pub use encode::{comment, encode};

use bytes::Bytes;

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// What this event names as its id. An empty one takes back the id before it.
    pub id: Option<String>,
    /// Its type; `None` stands for `message`. What is not UTF-8 is U+FFFD here and in the id, and stays in the data.
    pub event: Option<String>,
    /// Its lines, joined by `\n`, as the bytes they were.
    pub data: Bytes,
    /// How many milliseconds to wait before connecting again.
    pub retry: Option<u64>,
}
