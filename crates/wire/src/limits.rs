//! How much a peer may ask of us.

use std::time::Duration;

/// How much a peer may ask of us. No limit can be left out; each can be raised.
///
/// ```
/// use sortie_wire::Limits;
///
/// let limits = Limits { depth: 20, ..Limits::default() };
/// assert_eq!(limits.message_bytes, 8 << 20);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one message: a body, a line, an event. 8 MiB.
    pub message_bytes: usize,
    /// Arrays and objects inside each other in one message. 100, below the 128 at which `serde_json` stops.
    pub depth: usize,
    /// Open sockets per listener. 1,024; those beyond it are answered 503.
    ///
    /// The system has a limit of open files too, often 1,024 for the whole process: whichever comes first counts.
    pub connections: usize,
    /// Open long-lived streams per listener. 256; the caller answers 503 to those beyond it.
    pub streams: usize,
    /// Messages that wait in one stream for its reader. 1,024.
    pub queued: usize,
    /// Bytes that wait in one stream for its reader. 16 MiB.
    pub queued_bytes: usize,
    /// How long a request's head may take, counted from when we begin to wait for it. 60 s.
    ///
    /// It is also how long a kept-alive connection may be idle, so it is longer than a model thinks between two
    /// calls: closing sooner makes agents reconnect, and some of them fail when a close meets a request.
    pub head_timeout: Duration,
    /// How long a request's body may take, from its head to its last byte. 30 s.
    pub body_timeout: Duration,
    /// How long a reader that does not read may block us. 30 s.
    pub write_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 8 << 20,
            depth: 100,
            connections: 1024,
            streams: 256,
            queued: 1024,
            queued_bytes: 16 << 20,
            head_timeout: Duration::from_mins(1),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
        }
    }
}
