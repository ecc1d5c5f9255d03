//! A client that speaks in lines, and a server at a URL.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::conversation::Conversation;
use super::frames::{FramePiece, LineFrames, split_ending};
use super::mirror::HeaderMirror;
use super::stdio::{LineSink, as_line, write_later};
use super::tap::{Onward, RelayFault, RelaySide, Tap};
use crate::http::Client;
use crate::jsonrpc::{self, Incoming};
use crate::mcp::client::{AskError, Connection, Happened, Outgoing};
use crate::{Limits, Members};

/// How long hanging up may take.
const CLOSING: Duration = Duration::from_secs(2);

/// How long a server may take for what is asked already, once the client says nothing more.
const FINISHING: Duration = Duration::from_millis(500);

struct Lines<'r, T: Tap, W> {
    conversation: &'r Arc<Conversation<T>>,
    client: Arc<LineSink<W>>,
    link: crate::mcp::client::Link,
    mirror: HeaderMirror,
    limits: Limits,
}

/// Relays between two streams and a URL, until one side has gone or `stop`.
pub(super) async fn relay<T: Tap, W: AsyncWrite + Unpin + Send + 'static>(
    reader: impl AsyncRead + Unpin,
    writer: W,
    client: Client,
    url: &str,
    conversation: &Arc<Conversation<T>>,
    limits: Limits,
    stop: CancellationToken,
) {
    let Connection { link, mut happened, .. } = Connection::http(client, url, limits);
    let relay = Lines {
        conversation,
        client: Arc::new(LineSink::new(writer)),
        link,
        mirror: HeaderMirror::default(),
        limits,
    };
    let mut lines = LineFrames::new(reader, &limits);
    let up = relay.up(&mut lines);
    let down = async {
        while let Some(happened) = happened.recv().await {
            if !relay.down(happened).await {
                return;
            }
        }
    };
    tokio::pin!(up, down);
    tokio::select! {
        () = &mut up => {
            let _ = tokio::time::timeout(FINISHING, down).await;
            conversation.client_gone();
        }
        () = &mut down => conversation.client_gone(),
        () = stop.cancelled() => {}
    }
    relay.link.close(CLOSING).await;
}

impl<T: Tap, W: AsyncWrite + Unpin + Send + 'static> Lines<'_, T, W> {
    /// Sends what the client says, until it says nothing more.
    async fn up(&self, lines: &mut LineFrames<impl AsyncRead + Unpin>) {
        // What cannot be read any more has ended.
        while let Ok(Some(piece)) = lines.next().await {
            match piece {
                FramePiece::Whole(line) => {
                    let (text, _) = split_ending(&line);
                    if !text.trim_ascii().is_empty() {
                        self.send(text).await;
                    }
                }
                FramePiece::Part { last, .. } => {
                    if last {
                        let why = format!(
                            "a message longer than {} bytes does not cross",
                            self.limits.message_bytes
                        );
                        self.tell(&jsonrpc::error(None, -32600, &why, None)).await;
                    }
                }
            }
        }
    }

    async fn send(&self, text: Bytes) {
        let mut crossed = self.conversation.cross(RelaySide::Client, &text);
        let (back, onward) = (crossed.back.take(), std::mem::take(&mut crossed.onward));
        let bytes = match onward {
            Onward::Same => text,
            Onward::Changed(bytes) => bytes,
            Onward::Nothing | Onward::Answered(_) => {
                if let Some(answer) = back {
                    let _ = write_later(&self.client, as_line(&answer), crossed).await;
                }
                return;
            }
        };
        crossed.wait().await;
        let headers = match jsonrpc::read(&bytes, &self.limits) {
            Ok(Incoming::Request { method, params, .. } | Incoming::Notification { method, params }) => {
                self.mirror.headers(&method, params.as_ref().map_or("{}", |params| params.get()))
            }
            _ => http::HeaderMap::new(),
        };
        let outgoing = Outgoing { bytes, headers };
        if let Some(key) = crossed.asks.first() {
            self.link.request(key.clone(), outgoing);
        } else {
            if let Err(error) = self.link.tell(outgoing).await {
                self.lost(&error);
            }
            if crossed.method.as_deref() == Some("notifications/initialized") {
                // From now on the server may speak without being asked.
                self.link.listen().await;
            }
        }
    }

    /// Tells the client what came. False when nobody reads it.
    async fn down(&self, happened: Happened) -> bool {
        match happened {
            Happened::Message { bytes, message, .. } => {
                if let Ok(Incoming::Response { result, .. }) = &message {
                    self.learn(result.get());
                }
                let mut crossed = self.conversation.cross(RelaySide::Server, &bytes);
                if let Some(answer) = crossed.back.take() {
                    let _ = self.link.tell(Outgoing { bytes: answer, headers: http::HeaderMap::new() }).await;
                }
                crossed.wait().await;
                match std::mem::take(&mut crossed.onward) {
                    Onward::Same => self.tell(&bytes).await,
                    Onward::Changed(bytes) => self.tell(&bytes).await,
                    Onward::Nothing | Onward::Answered(_) => true,
                }
            }
            Happened::TooLong { limit, within } => {
                self.conversation.fault(&RelayFault::TooLong(limit));
                let why = format!("the answer is longer than {limit} bytes");
                self.refuse(within.as_deref(), &why).await
            }
            Happened::Ended { within, how } => {
                if !self.conversation.is_waiting(&within) {
                    return true;
                }
                self.lost(&how);
                self.refuse(Some(&within), &how.to_string()).await
            }
            Happened::Gone { reason } => {
                self.conversation.fault(&RelayFault::ServerGone(reason));
                false
            }
        }
    }

    fn lost(&self, error: &AskError) {
        let fault = match error {
            AskError::Failed(error) => RelayFault::Unreachable(error.to_string()),
            other => RelayFault::NoAnswer(other.to_string()),
        };
        self.conversation.fault(&fault);
    }

    /// Answers a request that the server does not answer.
    async fn refuse(&self, key: Option<&str>, why: &str) -> bool {
        match key.and_then(|key| self.conversation.refuse(key, why)) {
            Some(answer) => self.tell(&answer).await,
            None => true,
        }
    }

    /// What of an answer decides how later requests are sent: the revision, and the headers of tools.
    fn learn(&self, result: &str) {
        self.mirror.learn(result);
        if result.contains("protocolVersion")
            && let Some(version) = Members::read(result).and_then(|result| result.string("protocolVersion"))
        {
            self.link.agree_on(&version);
        }
    }

    async fn tell(&self, message: &[u8]) -> bool {
        self.client.write_line(message).await.is_ok()
    }
}
