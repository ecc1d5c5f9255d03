//! Asynchronous models for synchronous callers.
//!
//! `SemanticEvaluator` and `GenerationProvider` are synchronous, since the format they belong to is pure; models are asked
//! over sockets. A [`Bridge`] is a thread with a runtime of its own: a caller hands it a future and waits. The future never
//! needs the caller's runtime, so that waiting cannot be for oneself, whichever thread one is on.

use std::pin::Pin;
use std::sync::mpsc;
use std::thread;

use thiserror::Error;
use tokio::runtime::{Builder, Handle, RuntimeFlavor};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A thread that asks for others. It ends when the bridge is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Bridge(UnboundedSender<Work>);

/// The thread could not be started, or is gone.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the thread that asks models is not there: {0}")]
pub struct BridgeError(String);

impl Bridge {
    pub(crate) fn new() -> Result<Self, BridgeError> {
        let fail = |error: std::io::Error| BridgeError(error.to_string());
        let runtime = Builder::new_current_thread().enable_all().build().map_err(fail)?;
        let (sender, mut receiver) = unbounded_channel::<Work>();
        let run = move || {
            runtime.block_on(async {
                // Each is a task, so that callers on several threads do not wait for each other.
                while let Some(work) = receiver.recv().await {
                    tokio::spawn(work);
                }
            });
        };
        thread::Builder::new().name("asking-models".to_owned()).spawn(run).map_err(fail)?;
        Ok(Self(sender))
    }

    /// Waits for a future, which the other thread drives. It blocks the calling thread: a runtime with several is told,
    /// and goes on with the others; one with a single thread stands still for as long.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, BridgeError> {
        let (answer, answered) = mpsc::sync_channel(1);
        let work = Box::pin(async move {
            // Nobody waits any more if it fails.
            let _ = answer.send(future.await);
        });
        self.0.send(work).map_err(|_| BridgeError("it has ended".to_owned()))?;
        let wait = || answered.recv().map_err(|_| BridgeError("the question was dropped".to_owned()));
        let many = Handle::try_current().is_ok_and(|own| own.runtime_flavor() == RuntimeFlavor::MultiThread);
        if many { tokio::task::block_in_place(wait) } else { wait() }
    }
}
