//! How far each actor got.

use std::collections::HashMap;

use sortie_oatf::model::Attack;
use sortie_trace::{Message, PhaseEntered, Sender};

use crate::outcome::{ActorSummary, PhaseSummary};

/// The actors and phases of all documents, each once: a message counts once, however many documents have its actor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stations {
    /// By name and mode, since a trace of another document may have an actor of that name.
    actors: HashMap<(String, String), ActorStation>,
    phases: usize,
}

#[derive(Clone, Debug)]
struct ActorStation {
    at: usize,
    phases: HashMap<String, usize>,
}

/// Where an actor of a document, and each of its phases, counts.
#[derive(Clone, Debug)]
pub(crate) struct ActorPlace {
    actor: Option<usize>,
    phases: Vec<Option<usize>>,
}

/// Where a message counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Station {
    actor: usize,
    phase: Option<usize>,
}

/// What happened at each of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// Whether the agent spoke to an actor.
    connected: Vec<bool>,
    phases: Vec<PhaseProgress>,
}

#[derive(Clone, Copy, Debug, Default)]
struct PhaseProgress {
    entered: bool,
    served: u64,
}

impl Stations {
    /// Adds the actors of a document. Gives where each of its actors and phases counts: of several that are called the same, the first.
    pub(crate) fn add(&mut self, attack: &Attack) -> Vec<ActorPlace> {
        let mut places: Vec<ActorPlace> = Vec::new();
        for actor in attack.execution.actors.iter().flatten() {
            let next = self.actors.len();
            let station = self.actors.entry((actor.name.clone(), actor.mode.clone()));
            let station = station.or_insert_with(|| ActorStation { at: next, phases: HashMap::new() });
            let is_first = !places.iter().any(|place| place.actor == Some(station.at));
            let mut phases = Vec::new();
            for phase in &actor.phases {
                let name = phase.name.clone().unwrap_or_default();
                let at = *station.phases.entry(name).or_insert_with(|| {
                    self.phases += 1;
                    self.phases - 1
                });
                let counts = is_first && !phases.contains(&Some(at));
                phases.push(counts.then_some(at));
            }
            places.push(ActorPlace { actor: is_first.then_some(station.at), phases });
        }
        places
    }

    /// Where messages of an actor count; `None` where no document has one like it.
    fn find(&self, actor: &str, mode: &str, phase: &str) -> Option<Station> {
        let station = self.actors.get(&(actor.to_owned(), mode.to_owned()))?;
        Some(Station { actor: station.at, phase: station.phases.get(phase).copied() })
    }

    /// Where a message counts.
    pub(crate) fn of(&self, message: &Message) -> Option<Station> {
        self.find(&message.actor, &message.mode, &message.phase)
    }

    /// Nothing has happened.
    pub(crate) fn progress(&self) -> Progress {
        Progress {
            connected: vec![false; self.actors.len()],
            phases: vec![PhaseProgress::default(); self.phases],
        }
    }
}

impl Progress {
    /// The actors of a document, and how far each got. `places` is what [`Stations::add`] gave.
    pub(crate) fn actors(&self, attack: &Attack, places: &[ActorPlace]) -> Vec<ActorSummary> {
        let actors = attack.execution.actors.iter().flatten().zip(places);
        let summaries = actors.map(|(actor, place)| {
            let phases = actor.phases.iter().zip(&place.phases).map(|(phase, at)| {
                let own = at.map(|at| self.phases[at]).unwrap_or_default();
                let name = phase.name.clone().unwrap_or_default();
                PhaseSummary { name, entered: own.entered, served: own.served }
            });
            ActorSummary {
                name: actor.name.clone(),
                mode: actor.mode.clone(),
                connected: place.actor.is_some_and(|at| self.connected[at]),
                phases: phases.collect(),
            }
        });
        summaries.collect()
    }

    /// Takes note of a phase.
    pub(crate) fn entered(&mut self, stations: &Stations, record: &PhaseEntered) {
        let station = stations.find(&record.actor, &record.mode, &record.phase);
        if let Some(phase) = station.and_then(|station| station.phase) {
            self.phases[phase].entered = true;
        }
    }

    /// Takes note of a message at a station.
    pub(crate) fn said(&mut self, station: Station, sender: Sender) {
        match (sender, station.phase) {
            (Sender::Agent, _) => self.connected[station.actor] = true,
            (Sender::Actor, Some(phase)) => {
                let phase = &mut self.phases[phase];
                phase.entered = true;
                phase.served += 1;
            }
            (Sender::Actor, None) => {}
        }
    }
}
