//! Ctrl-C, once and twice; and whatever else asks a process to end.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The first signal cancels `gently`, the second `at_once`.
pub(super) fn watch(gently: CancellationToken, at_once: CancellationToken) -> io::Result<()> {
    let mut signals = Signals {
        interrupt: signal(SignalKind::interrupt())?,
        terminate: signal(SignalKind::terminate())?,
        hang_up: signal(SignalKind::hangup())?,
    };
    tokio::spawn(async move {
        signals.next().await;
        gently.cancel();
        signals.next().await;
        at_once.cancel();
    });
    Ok(())
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
