//! Standard input and output: one peer, one message on a line.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::http_sse::say;
use super::service::{Arrival, Outlet, Service, Transport};
use crate::Limits;
use crate::jsonrpc::{self, Malformed, MalformedReason};
use crate::stdio::{Line, Lines, write_line};

/// How long what is being answered may take once the peer says nothing more.
const FINISHING: Duration = Duration::from_millis(500);

/// Answers what comes in lines, until there are no more or it is told to stop.
pub async fn serve_stdio<S: Service>(
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    limits: Limits,
    service: Arc<S>,
    stop: CancellationToken,
) {
    let (sender, queue) = mpsc::channel(limits.queued.max(1));
    let hurry = CancellationToken::new();
    let mut written = tokio::spawn(write(writer, queue, limits, hurry.clone()));
    let outlet = Outlet::lines(sender);
    let peer = service.open("stdio", Transport::Stdio);
    service.listening(&peer, outlet.clone());
    let mut lines = Lines::new(reader, &limits);
    loop {
        let line = tokio::select! {
            line = lines.next() => line,
            () = stop.cancelled() => break,
            // Nobody reads our answers: then nobody is there.
            _ = &mut written => {
                service.close(&peer);
                return;
            }
        };
        // An input that cannot be read any more has ended.
        let Ok(Some(line)) = line else { break };
        let (bytes, message) = match line {
            Line::Frame(bytes) => {
                let message = jsonrpc::read(&bytes, &limits);
                (bytes, message)
            }
            Line::TooLong { prefix } => {
                (prefix, Err(Malformed { fault: MalformedReason::TooLong(limits.message_bytes), id: None }))
            }
        };
        say(service.hear(&peer, Arrival { bytes: &bytes, message, headers: None }), &outlet);
        // One who floods us must not keep the others from their turn.
        tokio::task::yield_now().await;
    }
    service.close(&peer);
    drop(outlet);
    // What is still being answered holds the queue open; that must not hold us. A client that asks us to end kills those that
    // take long: it gets what is said already.
    let until = tokio::time::sleep(FINISHING);
    tokio::pin!(until);
    tokio::select! {
        _ = &mut written => return,
        () = &mut until => return,
        () = stop.cancelled() => hurry.cancel(),
    }
    let _ = tokio::time::timeout(FINISHING, written).await;
}

/// Writes what is queued, until nobody queues anything any more. In a hurry, until nothing is queued.
async fn write(
    mut writer: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<Bytes>,
    limits: Limits,
    hurry: CancellationToken,
) {
    loop {
        let message = tokio::select! {
            biased;
            message = queue.recv() => message,
            () = hurry.cancelled() => None,
        };
        let Some(message) = message else { return };
        if write_line(&mut writer, &message, &limits).await.is_err() {
            return;
        }
    }
}
