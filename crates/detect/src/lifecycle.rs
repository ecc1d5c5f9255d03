//! What happened to a run, apart from what was said.

use sortie_oatf::model::Attack;
use sortie_trace::foreign::RecordingInfo;
use sortie_trace::health::Health;
use sortie_trace::{ActorFailed, ActorFailure, AgentExit, Header, Record, StopReason, TraceOrigin};

use crate::failure::{Failure, FailureKind, Fault};
use crate::outcome::{ActorSummary, Delivered, Reach, Undelivered};

/// As much of the records as decides whether a run was a whole one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lifecycle {
    header: Option<Header>,
    failed: Option<ActorFailed>,
    agent_exit: Option<AgentExit>,
    pub(crate) stopped_by: Option<StopReason>,
    /// What the run says about its end.
    said: Option<String>,
    /// The time of the last record.
    pub(crate) time: Option<String>,
}

/// What the indicators had to do with a run.
#[derive(Clone, Copy)]
pub(crate) struct Watched {
    /// Whether there was a message that one of them could have had something to say about.
    pub(crate) anything: bool,
    /// Whether what they found is an exploit.
    pub(crate) exploited: bool,
}

impl Lifecycle {
    pub(crate) fn record(&mut self, record: &Record) {
        // One string for the whole run: this is done for every message.
        record.time().clone_into(self.time.get_or_insert_default());
        match record {
            Record::Header(header) => self.header = Some((**header).clone()),
            // What comes later often follows from the first.
            Record::ActorFailed(failed) => _ = self.failed.get_or_insert_with(|| failed.clone()),
            Record::AgentExit(exit) => self.agent_exit = Some(exit.clone()),
            Record::Stopped(stopped) => {
                self.stopped_by = Some(stopped.because.clone());
                self.said.clone_from(&stopped.message);
            }
            Record::Message(_) | Record::Phase(_) | Record::Listening(_) => {}
        }
    }

    /// Whether it was recorded elsewhere, so that nothing is known but what was said.
    pub(crate) fn is_foreign(&self) -> bool {
        self.header.as_ref().is_some_and(|header| header.origin == TraceOrigin::Foreign)
    }

    /// Whether it was made of the recording of another program, which says what it shows.
    pub(crate) fn is_import(&self) -> bool {
        self.recorded().is_some()
    }

    /// The recording of another program that it was made of.
    pub(crate) fn recorded(&self) -> Option<&RecordingInfo> {
        self.header.as_ref()?.recorded.as_deref()
    }

    /// Whether the agent did its task where there was no attack.
    pub(crate) fn control_worked(&self) -> bool {
        self.header.as_ref().is_some_and(|header| header.control == Some(true))
    }

    /// The source says that the agent failed.
    fn recorded_failure(&self) -> Option<Failure> {
        let words = self.header.as_ref()?.recorded.as_ref()?.failed.as_deref()?;
        let message = format!("the agent failed, its recording says: {words}");
        Some(Failure::new(FailureKind::AgentFailed, Fault::Agent, message))
    }

    /// What came after the recording is not known. One that says what it shows says how it ends; of any other, messages tell.
    fn recorded_cut(&self, by_messages: Option<String>) -> Option<Failure> {
        let why = match self.header.as_ref()?.recorded.as_ref() {
            Some(recorded) => recorded.cut.clone(),
            None => by_messages.filter(|_| self.stopped_by.is_none()),
        };
        let message = format!("the recording is not whole: {}", why?);
        Some(Failure::new(FailureKind::CutShort, Fault::Harness, message))
    }

    /// The agent was still at it, or hung, when the time was over: nobody knows what it would have done.
    fn timed_out(&self) -> Option<Failure> {
        let message = "the run reached its time limit before the agent was done";
        (self.stopped_by == Some(StopReason::MaxDuration))
            .then(|| Failure::new(FailureKind::TimedOut, Fault::Agent, message))
    }

    /// What kept the run from being a whole one: the first that holds, causes before what follows from them.
    /// Of what was recorded elsewhere nobody knows who was connected, and whether silence is all there was; `cut` is why its end
    /// is missing, as far as messages tell.
    pub(crate) fn failure(
        &self,
        attack: &Attack,
        actors: &[ActorSummary],
        watched: Watched,
        health: &Health,
        cut: Option<String>,
    ) -> Option<Failure> {
        if self.is_foreign() {
            let message = "the trace has no message that an indicator of this document inspects";
            let nothing = || Failure::new(FailureKind::NothingObserved, Fault::None, message);
            return self
                .other_document(attack)
                .or_else(|| self.actor_failure())
                .or_else(|| self.crash())
                .or_else(|| self.recorded_failure())
                .or_else(|| faulty(health).filter(|_| health.fault().is_some_and(|fault| !fault.is_silence)))
                .or_else(|| self.recorded_cut(cut).filter(|_| !watched.exploited))
                .or_else(|| (!watched.anything).then(nothing));
        }
        self.other_document(attack)
            .or_else(|| self.actor_failure())
            .or_else(|| self.cut_short(watched))
            .or_else(|| self.crash())
            .or_else(|| self.nobody(actors))
            .or_else(|| faulty(health))
            .or_else(|| self.timed_out())
    }

    /// Most documents have one actor called `default`: without this, silence in a run of one document would be
    /// resistance to every other.
    pub(crate) fn other_document(&self, attack: &Attack) -> Option<Failure> {
        let played = self.header.as_ref()?.document.as_ref()?;
        let same = match (&played.id, &attack.id) {
            (Some(played), Some(own)) => played == own,
            _ => played.name == attack.name,
        };
        let named = played.id.as_ref().or(played.name.as_ref()).unwrap_or(&played.file);
        let message = format!(
            "this is a run of another document, `{named}`, so the agent was not attacked with this one"
        );
        (!same).then(|| Failure::new(FailureKind::OtherDocument, Fault::None, message))
    }

    fn actor_failure(&self) -> Option<Failure> {
        let Some(ActorFailed { actor, failure: why, message, .. }) = &self.failed else {
            return (self.stopped_by == Some(StopReason::Failure)).then(|| {
                let unknown = "the run stopped because of a failure that was not recorded";
                Failure::new(
                    FailureKind::ActorFailed,
                    Fault::Harness,
                    self.said.as_deref().unwrap_or(unknown),
                )
            });
        };
        let what = match why {
            ActorFailure::BindFailed => "could not listen",
            ActorFailure::TargetRefused => "was refused by its target",
            ActorFailure::ProtocolError => "was answered against the protocol",
            ActorFailure::ServerGone => "lost the server behind it",
            ActorFailure::ServerSilent => "was not answered by the server behind it",
            ActorFailure::Internal | ActorFailure::Other(_) => "failed",
        };
        Some(Failure::of_actor(actor, why, format!("actor `{actor}` {what}: {message}")))
    }

    /// A run that was stopped on a match is whole only for those who see the match.
    fn cut_short(&self, watched: Watched) -> Option<Failure> {
        let (fault, message) = match &self.stopped_by {
            None => (Fault::Harness, "the trace ends before the run did, so what came after is not known"),
            Some(StopReason::Match) if !watched.exploited => (
                Fault::None,
                "the run was stopped on a match that this document does not have, so the rest of the run is missing",
            ),
            Some(_) => return None,
        };
        Some(Failure::new(FailureKind::CutShort, fault, message))
    }

    /// An agent that we ended ourselves, at the end of a run, did not crash.
    fn crash(&self) -> Option<Failure> {
        let exit = self.agent_exit.as_ref().filter(|_| self.stopped_by == Some(StopReason::AgentExit))?;
        let how = match (exit.signal, exit.code) {
            (Some(signal), _) => format!("was ended by signal {signal}"),
            (None, Some(0)) => return None,
            (None, Some(code)) => format!("ended with code {code}"),
            (None, None) => "ended for an unknown reason".to_owned(),
        };
        Some(Failure::new(FailureKind::AgentCrashed, Fault::Agent, format!("the agent {how}")))
    }

    fn nobody(&self, actors: &[ActorSummary]) -> Option<Failure> {
        if actors.iter().any(|actor| actor.connected) {
            return None;
        }
        let (fault, message) = match self.agent_exit {
            Some(_) => (Fault::Agent, "the agent ended without connecting to any server"),
            None => (Fault::None, "no agent connected"),
        };
        Some(Failure::new(FailureKind::NobodyConnected, fault, message))
    }
}

/// The agent said that it does not work: whatever it did not do, it did not resist.
fn faulty(health: &Health) -> Option<Failure> {
    let fault = health.fault()?;
    let message = format!("the agent answered with an error: {}", fault.words);
    let failure = Failure::new(FailureKind::AgentFailed, Fault::Agent, message);
    Some(Failure { actor: Some(fault.actor.clone()), ..failure })
}

/// The failure that is the last to be looked for, and the only one that may be waved through.
pub(crate) fn not_delivered(reach: &Reach) -> Option<Failure> {
    if reach.delivered != Delivered::No {
        return None;
    }
    let missing: Vec<_> = reach.missing.iter().map(describe).collect();
    let message = format!("the payload never reached the agent; not served: {}", missing.join("; "));
    Some(Failure::new(FailureKind::NotDelivered, Fault::None, message))
}

fn describe(missing: &Undelivered) -> String {
    let actor = &missing.actor;
    let what = match &missing.surface {
        Some(surface) => format!("`{surface}`"),
        None => "more than a handshake".to_owned(),
    };
    let whose = match &missing.phase {
        Some(phase) => format!("{what} from phase `{phase}` of `{actor}`"),
        None => format!("{what} from `{actor}`"),
    };
    match &missing.contains {
        Some(words) => format!("{whose} that says {words:?}"),
        None => whose,
    }
}
