//! Work that the user may interrupt: Ctrl-C, once and twice; and whatever else asks a process to end.

use std::future::poll_fn;
use std::io::{self, Write as _};
use std::task::Poll;

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::Failure;
use sortie_report::progress::LINE;

/// Who sends signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalSender {
    /// A person at a terminal, who is told that there is a second signal.
    Person,
    /// A program, which may send a second signal.
    Program,
    /// The client that we serve over standard input and output. It ends its servers with any signals in any order, often within
    /// milliseconds: all of them together are the first.
    StdioClient,
}

impl SignalSender {
    /// Whoever is at a terminal, if there is one.
    pub(crate) fn at(terminal: bool) -> Self {
        if terminal { Self::Person } else { Self::Program }
    }
}

/// Does work until it is over, with so many threads for tasks, or as many as there are cores. The first signal cancels `interrupt`,
/// the second what the work is given.
pub(crate) fn block_on<T>(
    threads: Option<usize>,
    interrupt: &CancellationToken,
    sender: SignalSender,
    work: impl AsyncFnOnce(&CancellationToken) -> T,
) -> Result<T, Failure> {
    let fail = |error: io::Error| Failure::new(format!("cannot start: {error}"));
    let mut runtime = Builder::new_multi_thread();
    threads.map(|threads| runtime.worker_threads(threads));
    let runtime = runtime.enable_all().build().map_err(fail)?;
    let done = runtime.block_on(async {
        let abort = CancellationToken::new();
        watch(interrupt.clone(), abort.clone(), sender)?;
        Ok(work(&abort).await)
    });
    // A thread that reads standard input cannot be stopped, and need not be.
    runtime.shutdown_background();
    done.map_err(fail)
}

/// The first signal cancels `gently`, the second `at_once`, if the sender may send one.
fn watch(gently: CancellationToken, at_once: CancellationToken, sender: SignalSender) -> io::Result<()> {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let mut signals = kinds.into_iter().map(signal).collect::<io::Result<Vec<_>>>()?;
    tokio::spawn(async move {
        next(&mut signals).await;
        gently.cancel();
        if sender == SignalSender::Person {
            let text = "interrupted: closing; once more to end at once, without a report";
            // Over a line that counts, if there is one. When nobody listens, nobody needs to know.
            let _ = writeln!(io::stderr(), "\r{text:LINE$}");
        }
        loop {
            next(&mut signals).await;
            if sender != SignalSender::StdioClient {
                at_once.cancel();
            }
        }
    });
    Ok(())
}

/// Waits for the next of any of them.
async fn next(signals: &mut [Signal]) {
    poll_fn(|context| {
        if signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
}
