//! Where messages go that are not simply the answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use super::log::Log;
use crate::Lock;

/// Where messages go: the stream of one exchange, or one on which anything may be said.
#[derive(Clone, Debug)]
pub struct Outlet(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// The events of one exchange: the answer ends them.
    Exchange(Arc<Log>),
    Events(Arc<Log>),
    Lines(mpsc::Sender<Bytes>),
    /// Only an answer fits.
    Answer(Arc<Lock<Option<oneshot::Sender<Bytes>>>>),
}

/// A message was not taken.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Unsent {
    /// The client takes nothing but an answer here.
    #[error("there is no stream")]
    NoStream,
    /// Nobody reads, or not fast enough.
    #[error("nobody reads")]
    Gone,
}

impl Outlet {
    pub(super) fn exchange(log: Arc<Log>) -> Self {
        Self(Kind::Exchange(log))
    }

    pub(super) fn events(log: Arc<Log>) -> Self {
        Self(Kind::Events(log))
    }

    pub(super) fn lines(lines: mpsc::Sender<Bytes>) -> Self {
        Self(Kind::Lines(lines))
    }

    pub(super) fn only_answer() -> (Self, oneshot::Receiver<Bytes>) {
        let (sender, receiver) = oneshot::channel();
        (Self(Kind::Answer(Arc::new(Lock::new(Some(sender))))), receiver)
    }

    /// Says something that is not the answer.
    pub fn say(&self, message: Bytes) -> Result<(), Unsent> {
        match &self.0 {
            Kind::Exchange(log) | Kind::Events(log) => log.say(message).map_err(|_| Unsent::Gone),
            Kind::Lines(lines) => lines.try_send(message).map_err(|_| Unsent::Gone),
            Kind::Answer(_) => Err(Unsent::NoStream),
        }
    }

    /// Says the answer, after which an exchange is over.
    pub fn answer(&self, message: Bytes) -> Result<(), Unsent> {
        match &self.0 {
            Kind::Exchange(log) => {
                let said = log.say(message).map_err(|_| Unsent::Gone);
                log.end();
                said
            }
            Kind::Answer(sender) => {
                let sender = sender.lock().take();
                sender.ok_or(Unsent::Gone)?.send(message).map_err(|_| Unsent::Gone)
            }
            Kind::Events(_) | Kind::Lines(_) => self.say(message),
        }
    }

    /// Ends an exchange without an answer.
    pub fn hang_up(&self) {
        match &self.0 {
            Kind::Exchange(log) => log.end(),
            Kind::Answer(sender) => drop(sender.lock().take()),
            Kind::Events(_) | Kind::Lines(_) => {}
        }
    }

    /// Closes the connection in the middle of an exchange; the client takes the stream up again after `retry`. Where
    /// streams cannot be taken up, nothing happens.
    pub fn pause(&self, retry: Duration) {
        if let Kind::Exchange(log) = &self.0 {
            log.pause(retry);
        }
    }

    /// Whether anything but an answer can be said.
    pub fn is_stream(&self) -> bool {
        !matches!(self.0, Kind::Answer(_))
    }

    /// Whether someone reads now.
    pub fn is_open(&self) -> bool {
        match &self.0 {
            Kind::Exchange(log) | Kind::Events(log) => log.has_reader(),
            Kind::Lines(lines) => !lines.is_closed(),
            Kind::Answer(_) => false,
        }
    }

    /// Waits until nobody will ever read what is said here.
    pub async fn abandoned(&self) {
        match &self.0 {
            Kind::Exchange(log) | Kind::Events(log) => log.abandoned().await,
            Kind::Lines(lines) => lines.closed().await,
            Kind::Answer(_) => std::future::pending().await,
        }
    }
}
