//! Exchanges with targets, kept in the file that exchanges with models are in.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use sortie_engine::cases::{Asked, Later, Tape};
use sortie_judge::{Exchanges, Key, Mode, Outcome, Payload, StoreError};

use crate::failure::Failure;

/// Keeps what is said to a target and heard from it.
///
/// A target is looked at before the run has a folder, so that one that is not there leaves none: until there is a file, what
/// is to be kept waits.
pub(super) struct TargetTape(Mutex<Store>);

enum Store {
    Waiting(Vec<(Asked, Value)>),
    Open(Exchanges),
}

impl TargetTape {
    /// One that has no file yet.
    pub(super) fn waiting() -> Self {
        Self(Mutex::new(Store::Waiting(Vec::new())))
    }

    /// One that repeats what a file holds.
    pub(super) fn replaying(exchanges: Exchanges) -> Self {
        Self(Mutex::new(Store::Open(exchanges)))
    }

    /// Gives it its file. With `taken_up`, what was kept so far must be in there already: the run was one against the same target.
    pub(super) fn open(&self, exchanges: &Exchanges, taken_up: bool) -> Result<(), Failure> {
        let mut store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fail = |error: StoreError| Failure::new(error.to_string());
        if let Store::Waiting(kept) = &mut *store {
            for (asked, exchange) in kept.drain(..) {
                let key = key(&asked);
                if taken_up && exchanges.find(&key).map_err(fail)?.is_none() {
                    return Err(Failure::new("the run that is taken up attacked another target")
                        .help("name the same target, or begin a run of its own"));
                }
                exchanges.record(&key, &asked.purpose, answer(exchange)).map_err(fail)?;
            }
            *store = Store::Open(exchanges.clone());
        }
        Ok(())
    }

    fn exchanges(&self) -> Option<Exchanges> {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Store::Waiting(_) => None,
            Store::Open(exchanges) => Some(exchanges.clone()),
        }
    }
}

fn key(asked: &Asked) -> Key {
    Key::new(&asked.target, Payload::Json(asked.request.clone()), 0)
}

fn answer(exchange: Value) -> Outcome {
    Outcome::Answer(Payload::Json(exchange))
}

impl Tape for TargetTape {
    fn replays(&self) -> bool {
        self.exchanges().is_some_and(|exchanges| exchanges.mode() == Mode::Replay)
    }

    fn recall<'t>(&'t self, asked: &'t Asked) -> Later<'t, Result<Value, String>> {
        let (key, purpose) = (key(asked), asked.purpose.clone());
        let exchanges = self.exchanges();
        on_disk(move || {
            let Some(exchanges) = exchanges else { return Err("nothing is recorded yet".to_owned()) };
            match exchanges.find(&key).map_err(|error| error.to_string())? {
                Some(Outcome::Answer(Payload::Json(exchange)) | Outcome::Failure(Payload::Json(exchange))) => {
                    Ok(exchange)
                }
                Some(_) => Err(format!("what is recorded for {purpose} is no exchange with a target")),
                None => {
                    let miss = exchanges.miss(&key, &purpose).map_err(|error| error.to_string())?;
                    Err(miss.to_string())
                }
            }
        })
    }

    fn keep<'t>(&'t self, asked: &'t Asked, exchange: Value) -> Later<'t, Result<(), String>> {
        if let Store::Waiting(kept) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            kept.push((asked.clone(), exchange));
            return Box::pin(std::future::ready(Ok(())));
        }
        let (key, purpose) = (key(asked), asked.purpose.clone());
        let exchanges = self.exchanges();
        on_disk(move || {
            let Some(exchanges) = exchanges else { return Ok(()) };
            exchanges.record(&key, &purpose, answer(exchange)).map_err(|error| error.to_string())
        })
    }
}

/// Disks may be slow, and a case must not make others wait for one.
fn on_disk<'t, T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Later<'t, Result<T, String>> {
    Box::pin(async move {
        match tokio::task::spawn_blocking(work).await {
            Ok(done) => done,
            Err(error) => Err(format!("what was said could not be kept: {error}")),
        }
    })
}
