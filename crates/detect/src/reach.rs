//! How far each actor got.

use sortie_oatf::model::Attack;
use sortie_trace::{Message, PhaseEntered, Sender};

use crate::outcome::{ActorSummary, PhaseSummary};

/// The actors of a document, before anything has happened.
pub(crate) fn actors(attack: &Attack) -> Vec<ActorSummary> {
    let phase = |name: &Option<String>| PhaseSummary {
        name: name.clone().unwrap_or_default(),
        entered: false,
        served: 0,
    };
    let actors = attack.execution.actors.iter().flatten().map(|actor| ActorSummary {
        name: actor.name.clone(),
        mode: actor.mode.clone(),
        connected: false,
        phases: actor.phases.iter().map(|own| phase(&own.name)).collect(),
    });
    actors.collect()
}

/// Takes note of a phase.
pub(crate) fn entered(actors: &mut [ActorSummary], record: &PhaseEntered) {
    if let Some((_, Some(phase))) = find(actors, (&record.actor, &record.mode), &record.phase) {
        phase.entered = true;
    }
}

/// Takes note of a message.
pub(crate) fn said(actors: &mut [ActorSummary], message: &Message) {
    let Some((connected, phase)) = find(actors, (&message.actor, &message.mode), &message.phase) else {
        return;
    };
    match message.sender {
        Sender::Agent => *connected = true,
        Sender::Actor => {
            if let Some(phase) = phase {
                phase.entered = true;
                phase.served += 1;
            }
        }
    }
}

/// The actor, which must be of the same mode too: a trace of another document may have one of that name.
fn find<'a>(
    actors: &'a mut [ActorSummary],
    (name, mode): (&str, &str),
    phase: &str,
) -> Option<(&'a mut bool, Option<&'a mut PhaseSummary>)> {
    let actor = actors.iter_mut().find(|actor| actor.name == name && actor.mode == mode)?;
    Some((&mut actor.connected, actor.phases.iter_mut().find(|candidate| candidate.name == phase)))
}
