//! From the first phase to the last.

use std::sync::Arc;
use std::time::Duration;

use sortie_wire::a2a::A2aClient;
use sortie_wire::http::{ClientError, wait_until_accepts};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::session::Session;
use crate::actor::{ActorState, Entered, EntryAction};
use crate::modes::client::{Action, Step, begin, http_options, left_out, prepare};
use crate::modes::{Address, Endpoint, a2a_push};
use crate::run::RunOptions;
use sortie_trace::ActorFailure;

/// How long an answer may take unless something else is asked for.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(5);

/// Plays an actor that is an A2A client against a target, until its last phase has nothing left to send and to hear, or
/// the run ends.
///
/// Whatever goes wrong is recorded, never returned.
pub async fn play(actor: Arc<ActorState>, target: Endpoint, options: RunOptions) {
    let Some((scripts, client)) = prepare(&actor, Action::all, connect(&target, &options)).await else {
        return;
    };
    let session = Session::new(actor.clone(), client, &options);
    let sends = scripts.iter().map(|script| !script.is_empty()).collect();
    let entered = begin(&actor, &session.hold, sends);
    actor.context().end.run_until_cancelled(session.play(&scripts, entered)).await;
}

async fn connect(target: &Endpoint, options: &RunOptions) -> Result<A2aClient, ClientError> {
    let Address::Url(url) = &target.address else {
        let why = "an A2A agent is a server that others reach: give its URL";
        return Err(ClientError::Invalid(why.to_owned()));
    };
    let patience = options.action_timeout.unwrap_or(ANSWER_TIMEOUT);
    let client = A2aClient::new(url, options.a2a_version, http_options(target, options, patience)?)?;
    wait_until_accepts(url, Instant::now() + options.connect_timeout).await?;
    Ok(client)
}

impl Session {
    async fn play(self: &Arc<Self>, scripts: &[Vec<Action>], mut entered: mpsc::UnboundedReceiver<Entered>) {
        let Some(mut present) = entered.recv().await else { return };
        while let Some(next) = self.play_phase(&scripts[present.phase.index], present, &mut entered).await {
            present = next;
        }
        // Streams of earlier phases may still have something to say.
        self.tasks.close();
        tokio::select! {
            () = self.tasks.wait() => {}
            () = self.gone.cancelled() => {}
        }
    }

    /// Plays a phase until the next one is entered. `None` when nothing more is to come.
    async fn play_phase(
        self: &Arc<Self>,
        script: &[Action],
        Entered { phase, actions: entry }: Entered,
        entered: &mut mpsc::UnboundedReceiver<Entered>,
    ) -> Option<Entered> {
        let before = entry.len();
        let count = before + script.len();
        for at in 0..count {
            if let Ok(next) = entered.try_recv() {
                left_out(&self.actor, &phase, count - at);
                return Some(next);
            }
            let is_last = at + 1 == count;
            if is_last {
                self.hold.sent(phase.index);
            }
            let act = match entry.get(at) {
                Some(EntryAction::Other { key, value }) if key == a2a_push::ACTION => {
                    let (session, phase, value) = (self.clone(), phase.clone(), value.clone());
                    self.tasks.spawn(async move { session.notify(&phase, &value).await })
                }
                Some(EntryAction::Other { key, .. }) => {
                    self.actor
                        .warn(&format!("`{key}` is not an entry action of an A2A client, and is skipped"));
                    continue;
                }
                entry => {
                    let step = match entry {
                        Some(entry) => Step::of_entry(entry),
                        None => script[at - before].step(&self.actor),
                    };
                    let Some(step) = step else { continue };
                    let (session, phase) = (self.clone(), phase.clone());
                    self.tasks.spawn(async move { session.act(&phase, step, is_last).await })
                }
            };
            tokio::select! {
                acted = act => {
                    if acted.is_err() {
                        self.actor.failed(ActorFailure::Internal, "an action was not carried out, which is a fault of ours");
                        return None;
                    }
                }
                Some(next) = entered.recv() => {
                    left_out(&self.actor, &phase, count - at - 1);
                    return Some(next);
                }
                () = self.gone.cancelled() => return None,
            }
        }
        self.hold.done(phase.index);
        if phase.is_last {
            return None;
        }
        tokio::select! {
            biased;
            next = entered.recv() => next,
            () = self.gone.cancelled() => None,
            () = self.all_answered(), if !phase.has_timer() => {
                if let Ok(next) = entered.try_recv() {
                    return Some(next);
                }
                self.actor.give_up(&phase);
                None
            }
        }
    }

    /// Waits until no answer is to come.
    async fn all_answered(&self) {
        self.tasks.close();
        self.tails.close();
        self.tasks.wait().await;
        self.tails.wait().await;
    }
}
