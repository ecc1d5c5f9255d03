//! Work that the user may interrupt: Ctrl-C, once and twice; and whatever else asks a process to end.

use std::io::{self, Write as _};

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::Failure;
use crate::progress::LINE;

/// Does work until it is over. The first signal cancels `interrupt`, the second what the work is given.
pub(crate) fn block_on<T>(
    interrupt: &CancellationToken,
    person: bool,
    work: impl AsyncFnOnce(&CancellationToken) -> T,
) -> Result<T, Failure> {
    let fail = |error: io::Error| Failure::new(format!("cannot start: {error}"));
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(fail)?;
    let done = runtime.block_on(async {
        let abort = CancellationToken::new();
        watch(interrupt.clone(), abort.clone(), person)?;
        Ok(work(&abort).await)
    });
    // A thread that reads standard input cannot be stopped, and need not be.
    runtime.shutdown_background();
    done.map_err(fail)
}

/// The first signal cancels `gently`, the second `at_once`. A person is told that there is a second.
fn watch(gently: CancellationToken, at_once: CancellationToken, person: bool) -> io::Result<()> {
    let mut signals = Signals {
        interrupt: signal(SignalKind::interrupt())?,
        terminate: signal(SignalKind::terminate())?,
        hang_up: signal(SignalKind::hangup())?,
    };
    tokio::spawn(async move {
        signals.next().await;
        gently.cancel();
        if person {
            let text = "interrupted: closing; once more to end at once, without a report";
            // Over a line that counts, if there is one. When nobody listens, nobody needs to know.
            let _ = writeln!(io::stderr(), "\r{text:LINE$}");
        }
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
