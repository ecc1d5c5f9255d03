//! How every client actor begins.

use sortie_trace::ActorFailure;
use std::fmt::Display;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::hold::Hold;
use crate::actor::{ActorState, Entered};
use crate::phase::ActorPhase;

/// Reads the script of each phase, and connects. `None` when that cannot be done, which is recorded, or when the run has
/// ended meanwhile.
pub(crate) async fn prepare<S, C, E: Display>(
    actor: &ActorState,
    script: impl Fn(&ActorPhase) -> Result<S, String>,
    connect: impl Future<Output = Result<C, E>>,
) -> Option<(Vec<S>, C)> {
    let scripts = actor
        .phases()
        .iter()
        .map(|phase| script(phase).map_err(|reason| format!("phase `{}`: {reason}", phase.name)));
    let scripts: Result<Vec<S>, String> = scripts.collect();
    let scripts = scripts.map_err(|reason| actor.failed(ActorFailure::Internal, &reason)).ok()?;
    let connected = actor.context().end.run_until_cancelled(connect).await?;
    let connected =
        connected.map_err(|reason| actor.failed(ActorFailure::TargetRefused, &reason.to_string())).ok()?;
    Some((scripts, connected))
}

/// Enters the first phase. What is entered is received; `sends` says of each phase whether its script sends something.
pub(crate) fn begin(
    actor: &Arc<ActorState>,
    hold: &Arc<Hold>,
    sends: Vec<bool>,
) -> mpsc::UnboundedReceiver<Entered> {
    let (sender, entered) = mpsc::unbounded_channel();
    let hold = hold.clone();
    actor.begin(move |entered| {
        hold.enter(entered.phase.index, sends[entered.phase.index] || !entered.actions.is_empty());
        // Nobody listens any more when the run has ended.
        let _ = sender.send(entered);
    });
    entered
}
