//! From the first phase to the last.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use sortie_wire::ag_ui::event_name;
use sortie_wire::http::{Client, ClientError, wait_until_accepts};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::run::{Script, Stage};
use crate::actor::{ActorState, Entered, EntryAction};
use crate::modes::client::{Hold, begin, http_options, left_out, prepare};
use crate::modes::{Address, Endpoint};
use crate::run::RunOptions;

/// Plays an actor that is an AG-UI client against a target, until there is nothing more to play or the run ends.
///
/// Whatever goes wrong is recorded, never returned.
pub async fn play(actor: Arc<ActorState>, target: Endpoint, options: RunOptions) {
    let Some((scripts, (client, url))) = prepare(&actor, Script::new, connect(&target, &options)).await
    else {
        return;
    };
    // Every phase has a run to ask for.
    let sends = vec![true; scripts.len()];
    let hold = Arc::new(Hold::default());
    let stage = Arc::new(Stage {
        actor: actor.clone(),
        scripts,
        hold: hold.clone(),
        options,
        refused: CancellationToken::new(),
        client,
        url,
        runs: AtomicUsize::new(0),
    });
    let entered = begin(&actor, &hold, sends);
    // Runs that go on in the background end with this set.
    let mut runs = JoinSet::new();
    let _ = actor.context().end.run_until_cancelled(stage.play(entered, &mut runs)).await;
    runs.shutdown().await;
    stage.hold.forget();
}

async fn connect(target: &Endpoint, options: &RunOptions) -> Result<(Client, String), ClientError> {
    let Address::Url(url) = &target.address else {
        let why = "an AG-UI agent is reached by HTTP, and this target is a process";
        return Err(ClientError::Invalid(why.to_owned()));
    };
    // An agent may think for as long as the run lasts.
    let client = Client::new(http_options(target, options, Duration::from_hours(24))?)?;
    wait_until_accepts(url, Instant::now() + options.connect_timeout).await?;
    Ok((client, url.clone()))
}

impl Stage {
    async fn play(self: &Arc<Self>, mut entered: mpsc::UnboundedReceiver<Entered>, runs: &mut JoinSet<()>) {
        let mut next = entered.recv().await;
        while let Some(present) = next {
            next = self.play_phase(present, &mut entered, runs).await;
        }
    }

    /// Plays a phase until the next one is entered. `None` when nothing more is to come.
    async fn play_phase(
        self: &Arc<Self>,
        Entered { phase, actions }: Entered,
        entered: &mut mpsc::UnboundedReceiver<Entered>,
        runs: &mut JoinSet<()>,
    ) -> Option<Entered> {
        let entries: Vec<_> = actions.iter().filter_map(|action| self.entry_input(action)).collect();
        let count = entries.len() + 1;
        for at in 0..count {
            if let Ok(next) = entered.try_recv() {
                left_out(&self.actor, &phase, count - at);
                return Some(next);
            }
            let body = match entries.get(at) {
                Some(entry) => entry.clone(),
                None => match self.scripts[phase.index].body(&self.actor) {
                    Ok(body) => body,
                    // That was warned about.
                    Err(_) => break,
                },
            };
            let run = self.clone().run(phase.clone(), body, at + 1 == count);
            let (done, is_done) = oneshot::channel::<()>();
            runs.spawn(async move {
                run.await;
                drop(done);
            });
            tokio::select! {
                _ = is_done => {}
                Some(next) = entered.recv() => {
                    left_out(&self.actor, &phase, count - at - 1);
                    return Some(next);
                }
            }
            if self.refused.is_cancelled() {
                return None;
            }
        }
        self.hold.done(phase.index);
        if phase.is_last {
            while runs.join_next().await.is_some() {}
            self.actor.nothing_more();
            return None;
        }
        // Runs of earlier phases, in the background.
        while !runs.is_empty() {
            tokio::select! {
                biased;
                next = entered.recv() => return next,
                () = self.refused.cancelled() => return None,
                _ = runs.join_next() => {}
            }
        }
        if !phase.has_timer() && entered.is_empty() {
            self.actor.give_up(&phase);
            return None;
        }
        tokio::select! {
            next = entered.recv() => next,
            () = self.refused.cancelled() => None,
        }
    }

    /// There is no channel to an agent but the POST that asks for a run, so that is all that can be sent.
    fn entry_input(&self, action: &EntryAction) -> Option<String> {
        match action {
            EntryAction::Send { method, params } if event_name(method) == "run_agent_input" => {
                // Its templates are filled already, and are not filled twice.
                params.as_ref().map(|params| params.text().to_owned())
            }
            EntryAction::Send { method, .. } => {
                let why = "an AG-UI client can send `run_agent_input` only";
                self.actor.warn(&format!("`send` of `{method}` is skipped: {why}"));
                None
            }
            EntryAction::Other { key, .. } => {
                self.actor
                    .warn(&format!("`{key}` is not an entry action of an AG-UI client, and is skipped"));
                None
            }
        }
    }
}
