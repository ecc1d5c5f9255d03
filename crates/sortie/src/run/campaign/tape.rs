//! The exchanges with a target go into the same file as those with models.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use sortie_engine::cases::{Asked, Later, Tape};
use sortie_judge::{Exchanges, Key, Mode, Outcome, Payload};

use crate::failure::Failure;

/// The file of exchanges of a run, as a tape. A live run never uses an answer of the target again, whatever the file says about
/// those of models.
pub(super) struct ExchangesTape(pub(super) Exchanges);

impl Tape for ExchangesTape {
    fn replays(&self) -> bool {
        self.0.mode() == Mode::Replay
    }

    fn recall<'t>(&'t self, asked: &'t Asked) -> Later<'t, Result<Value, String>> {
        let (key, purpose) = (key(asked), asked.purpose.clone());
        on_disk(&self.0, move |exchanges| match exchanges.find(&key)? {
            Some(Outcome::Answer(Payload::Json(exchange))) => Ok(Ok(exchange)),
            Some(_) => Ok(Err(format!("what is recorded for {purpose} is no exchange with a target"))),
            None => Ok(Err(exchanges.miss(&key, &purpose)?.to_string())),
        })
    }

    fn keep<'t>(&'t self, asked: &'t Asked, exchange: Value) -> Later<'t, Result<(), String>> {
        let (key, purpose) = (key(asked), asked.purpose.clone());
        on_disk(&self.0, move |exchanges| {
            exchanges.record(&key, &purpose, Outcome::Answer(Payload::Json(exchange))).map(Ok)
        })
    }
}

/// What a target said when it was looked at, before the run had a folder: one that is not there leaves none.
#[derive(Default)]
pub(super) struct FirstLook(Mutex<Vec<(Asked, Value)>>);

impl FirstLook {
    /// Keeps it in the file of the run. With `taken_up`, it must be there already: the run attacked the same target.
    pub(super) fn put(&self, exchanges: &Exchanges, taken_up: bool) -> Result<(), Failure> {
        let fail = |error: sortie_judge::StoreError| Failure::new(error.to_string());
        let seen = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for (asked, exchange) in seen {
            let key = key(&asked);
            if taken_up && exchanges.find(&key).map_err(fail)?.is_none() {
                return Err(Failure::new("the run that is taken up attacked another target")
                    .help("name the same target, or begin a run of its own"));
            }
            let exchange = Outcome::Answer(Payload::Json(exchange));
            exchanges.record(&key, &asked.purpose, exchange).map_err(fail)?;
        }
        Ok(())
    }
}

impl Tape for FirstLook {
    fn replays(&self) -> bool {
        false
    }

    fn recall<'t>(&'t self, _: &'t Asked) -> Later<'t, Result<Value, String>> {
        Box::pin(std::future::ready(Err("nothing is recorded yet".to_owned())))
    }

    fn keep<'t>(&'t self, asked: &'t Asked, exchange: Value) -> Later<'t, Result<(), String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((asked.clone(), exchange));
        Box::pin(std::future::ready(Ok(())))
    }
}

fn key(asked: &Asked) -> Key {
    Key::new(&asked.target, Payload::Json(asked.request.clone()), 0)
}

/// Disks may be slow, and a task must not make others wait for one.
fn on_disk<T: Send + 'static>(
    exchanges: &Exchanges,
    work: impl FnOnce(&Exchanges) -> Result<Result<T, String>, sortie_judge::StoreError> + Send + 'static,
) -> Later<'static, Result<T, String>> {
    let exchanges = exchanges.clone();
    Box::pin(async move {
        match tokio::task::spawn_blocking(move || work(&exchanges)).await {
            Ok(done) => done.map_err(|error| error.to_string())?,
            Err(broken) => Err(broken.to_string()),
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sortie_judge::Bounds;

    use super::*;

    fn asked(says: &str) -> Asked {
        Asked {
            target: "cmd agent".to_owned(),
            purpose: format!("talk/{says}, turn 1"),
            request: json!({"case": format!("talk/{says}"), "turn": 1, "says": says}),
        }
    }

    #[tokio::test]
    async fn what_a_run_keeps_is_all_that_a_replay_has() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exchanges.jsonl");
        let open = |mode| ExchangesTape(Exchanges::open(&path, mode, Bounds::default()).unwrap());
        {
            let tape = open(Mode::Live { reuse: true });
            tape.keep(&asked("hello"), json!({"heard": "first"})).await.unwrap();
            // The run was ended, and the case is played again.
            tape.keep(&asked("hello"), json!({"heard": "second"})).await.unwrap();
        }
        let tape = open(Mode::Replay);
        assert!(tape.replays());
        assert_eq!(tape.recall(&asked("hello")).await, Ok(json!({"heard": "second"})));
        let missing = tape.recall(&asked("hullo")).await.unwrap_err();
        assert_eq!(
            missing,
            "not recorded: talk/hullo, turn 1, asking cmd agent; the request recorded for talk/hello, turn 1 has `talk/hello` at `/case`, this one `talk/hullo`"
        );
    }
}
