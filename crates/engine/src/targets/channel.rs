//! What is said to a target and heard from it, on its way into the trace.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sortie_sandbox::Activity;
use sortie_trace::{Content, Header, Kind, PhaseEnd, Record, Redactor, Sender, Transcriber, WriteError};

use super::error::TargetError;
use crate::actor::Spoken;
use crate::recorder::{Recorder, Watcher};
use sortie_evaluators::cases::TargetKind;

/// The name of whoever attacks, in every record.
pub const ACTOR: &str = "attacker";

/// The phase in which the attacker takes a turn, counted from zero. What comes before the first turn belongs to it.
pub fn phase_of_turn(turn: usize) -> String {
    if turn == 0 { "attack".to_owned() } else { format!("turn-{}", turn + 1) }
}

/// Records an exchange with a target of one kind.
///
/// Whoever hears something goes on with what was written, so that a verdict rests on what the trace says.
#[derive(Clone, Debug)]
pub struct Channel {
    recorder: Arc<Recorder>,
    kind: TargetKind,
    /// How many turns the attacker has begun.
    turns: Arc<AtomicUsize>,
    /// Whether what is said now prepares the target, and is no part of the attack.
    is_preparing: Arc<AtomicBool>,
}

impl Channel {
    /// Begins a trace with its header and its first phase.
    pub fn begin(
        out: Box<dyn Write + Send>,
        header: Header,
        kind: TargetKind,
        redactor: Redactor,
        limit: u64,
        watcher: Arc<dyn Watcher>,
    ) -> Result<Self, WriteError> {
        let recorder = Arc::new(Recorder::begin(out, header, redactor, limit, None, watcher)?);
        recorder.phase(ACTOR, kind.mode_and_protocol().0, &phase_of_turn(0), 0, None);
        Ok(Self { recorder, kind, turns: Arc::default(), is_preparing: Arc::default() })
    }

    /// The attacker takes a turn: after the first, each is a phase of its own.
    pub(super) fn begin_turn(&self) {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        if turn > 0 {
            let (mode, because) = (self.kind.mode_and_protocol().0, Some(PhaseEnd::EventMatched));
            self.recorder.phase(ACTOR, mode, &phase_of_turn(turn), turn, because);
        }
    }

    /// What is said from now on prepares the target, or does not.
    pub(super) fn set_preparing(&self, is_preparing: bool) {
        self.is_preparing.store(is_preparing, Ordering::Relaxed);
    }

    /// Where it is written.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    pub(super) fn said(&self, spoken: Spoken<'_>) -> Result<(), TargetError> {
        self.message(Sender::Actor, spoken).map(drop)
    }

    /// The target says something. Gives what was written of it.
    pub(super) fn heard(&self, spoken: Spoken<'_>) -> Result<Content, TargetError> {
        self.message(Sender::Agent, spoken)
    }

    /// The target has made a request to a listener of ours.
    pub(crate) fn contacted(&self, head: &str) -> Result<(), TargetError> {
        let surfaces = [Transcriber::CONTACT];
        let spoken = Spoken::new(&surfaces, Kind::Request, "listener", head.as_bytes());
        self.message(Sender::Agent, spoken).map(drop)
    }

    /// The target has done something in its sandbox.
    pub(crate) fn observed(&self, activity: &Activity) -> Result<(), TargetError> {
        if let Activity::Contact { request } = activity {
            return self.contacted(request);
        }
        let surfaces = [Transcriber::SANDBOX];
        // It is data: names and texts.
        let content = serde_json::to_vec(activity).unwrap_or_default();
        self.message(Sender::Agent, Spoken::new(&surfaces, Kind::Request, "sandbox", &content)).map(drop)
    }

    pub(crate) fn failed(&self, error: &TargetError) {
        self.recorder.actor_failed(ACTOR, error.failure(), &error.to_string());
    }

    /// Whether what the target has answered can be read.
    pub(super) fn check_answers(&self) -> Result<(), TargetError> {
        let problem = self.recorder.with_transcriber(|transcriber| transcriber.problem().cloned());
        match problem.flatten() {
            Some(problem) => Err(TargetError::protocol(&problem.what, problem.problem)),
            None => Ok(()),
        }
    }

    fn message(&self, sender: Sender, spoken: Spoken<'_>) -> Result<Content, TargetError> {
        let (mode, protocol) = self.kind.mode_and_protocol();
        let phase = if self.is_preparing.load(Ordering::Relaxed) {
            Transcriber::PREPARATION.to_owned()
        } else {
            phase_of_turn(self.turns.load(Ordering::Relaxed).saturating_sub(1))
        };
        let message = spoken.message(sender, ACTOR, mode, &phase, protocol);
        let record = self
            .recorder
            .record(Record::Message(Box::new(message)))
            .map_err(|error| TargetError::Trace(error.to_string()))?;
        match record {
            Record::Message(message) => Ok(message.content),
            // It is the record that was given.
            _ => Ok(Content::from_wire(b"")),
        }
    }
}
