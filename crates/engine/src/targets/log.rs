//! Where everything that is said to a target and heard from it is written down.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde_json::Value;
use sortie_trace::{
    ActorFailed, Content, Direction, Header, Kind, Message, PhaseEntered, Record, Redactor, Sender,
    StopReason, Stopped, WriteError, Writer, parse_time,
};

use super::error::TargetError;
use crate::event::{RunEvent, Watcher};

/// The name of whoever attacks, in every record.
pub const ACTOR: &str = "attacker";

/// The one phase that a case of an evaluator has.
pub const PHASE: &str = "attack";

/// The trace of a case: the same records, redacted the same way, as those of a document.
///
/// Whoever hears something goes on with what was written, so that a verdict rests on what the trace says.
pub struct Log {
    writer: Mutex<Writer<Box<dyn Write + Send>>>,
    mode: &'static str,
    protocol: &'static str,
    watcher: Arc<dyn Watcher>,
    /// What was written since it was last asked for, where somebody does.
    taped: Option<Mutex<Taped>>,
}

/// Records as texts, as many as find room.
#[derive(Debug, Default)]
struct Taped {
    records: Vec<String>,
    bytes: usize,
}

/// What one turn may write and still be kept on a tape, in bytes.
const MAX_TAPED: usize = 24 << 20;

/// What a message is, apart from what it says.
#[derive(Clone, Copy, Debug)]
pub(super) struct About<'a> {
    pub(super) surface: &'a str,
    pub(super) kind: Kind,
    pub(super) id: Option<&'a Value>,
    pub(super) connection: &'a str,
}

impl Log {
    /// Begins a trace with its header and its one phase. `protocol` is the kind of the target: `mcp`, `chat`, …
    pub fn begin(
        out: Box<dyn Write + Send>,
        kind: super::target::Kind,
        redactor: Redactor,
        limit: u64,
        watcher: Arc<dyn Watcher>,
    ) -> Result<Self, WriteError> {
        let written_by = concat!("sortie ", env!("CARGO_PKG_VERSION"));
        let header = Header::run(written_by, SystemTime::now());
        watcher.event(&RunEvent::Recorded(&Record::Header(header.clone())));
        let writer = Writer::begin_with(out, header, redactor, limit)?;
        let (mode, protocol) = kind.mode_and_protocol();
        let log = Self { writer: Mutex::new(writer), mode, protocol, watcher, taped: None };
        log.append(Record::Phase(PhaseEntered {
            seq: 0,
            time: String::new(),
            actor: ACTOR.to_owned(),
            mode: mode.to_owned(),
            phase: PHASE.to_owned(),
            index: 0,
            because: None,
        }))?;
        Ok(log)
    }

    /// A trace that nobody keeps, for looking at a target before there is a case.
    pub fn nowhere(kind: super::target::Kind, redactor: Redactor) -> Self {
        let begun = Self::begin(Box::new(std::io::sink()), kind, redactor, u64::MAX, Arc::new(()));
        // Nothing can go wrong with a sink.
        begun.unwrap_or_else(|error| unreachable!("a sink takes everything: {error}"))
    }

    /// The same, and what is written from now on is kept until it is [taken](Self::take_taped).
    pub(crate) fn taped(mut self) -> Self {
        self.taped = Some(Mutex::default());
        self
    }

    /// The records that were written since the last time, each as a text. An error when a target has said too much for a tape.
    pub(crate) fn take_taped(&self) -> Result<Vec<String>, TargetError> {
        let taped = self.taped.as_ref().map(|taped| taped.lock().unwrap_or_else(PoisonError::into_inner));
        let taped = taped.map(|mut taped| std::mem::take(&mut *taped)).unwrap_or_default();
        if taped.bytes > MAX_TAPED {
            let why = format!("a turn took more than {MAX_TAPED} bytes, which are the limit");
            return Err(TargetError::NotKept(why));
        }
        Ok(taped.records)
    }

    /// Something was said or heard in an earlier run, and is written as if it happened now.
    pub(crate) fn repeat(&self, mut record: Record) -> Result<(), WriteError> {
        let time = parse_time(record.time()).unwrap_or_else(SystemTime::now);
        self.lock().append(time, &mut record)?;
        self.watcher.event(&RunEvent::Recorded(&record));
        Ok(())
    }

    /// The rules by which it redacts.
    pub fn redactor(&self) -> Redactor {
        self.lock().redactor().clone()
    }

    /// We say something.
    pub(super) fn said(&self, about: About<'_>, bytes: &[u8]) -> Result<(), TargetError> {
        self.message(about, Sender::Actor, bytes).map(drop)
    }

    /// The target says something. Gives what was written of it.
    pub(super) fn heard(&self, about: About<'_>, bytes: &[u8]) -> Result<Content, TargetError> {
        self.message(about, Sender::Agent, bytes)
    }

    /// It cannot go on.
    pub fn failed(&self, error: &TargetError) {
        // A trace that cannot be written is what `error` is about.
        let _ = self.append(Record::ActorFailed(ActorFailed {
            seq: 0,
            time: String::new(),
            actor: ACTOR.to_owned(),
            failure: error.failure(),
            message: error.to_string(),
        }));
    }

    /// It is over.
    pub fn stopped(&self, because: StopReason) -> Result<(), WriteError> {
        self.append(Record::Stopped(Stopped { seq: 0, time: String::new(), because, message: None }))
            .map(drop)
    }

    fn message(&self, about: About<'_>, sender: Sender, bytes: &[u8]) -> Result<Content, TargetError> {
        let direction = match about.kind {
            Kind::Request | Kind::Notification => Direction::Request,
            Kind::Response | Kind::Error | Kind::Event => Direction::Response,
        };
        let record = Record::Message(Box::new(Message {
            seq: 0,
            time: String::new(),
            actor: ACTOR.to_owned(),
            mode: self.mode.to_owned(),
            phase: PHASE.to_owned(),
            protocol: self.protocol.to_owned(),
            surfaces: if about.surface.is_empty() { Vec::new() } else { vec![about.surface.to_owned()] },
            direction,
            kind: about.kind,
            id: about.id.cloned(),
            connection: about.connection.to_owned(),
            sender,
            content: Content::from_wire(bytes),
        }));
        let record = self.append(record).map_err(|error| TargetError::Trace(error.to_string()))?;
        match record {
            Record::Message(message) => Ok(message.content),
            // It is the record that was given.
            _ => Ok(Content::from_wire(b"")),
        }
    }

    fn append(&self, mut record: Record) -> Result<Record, WriteError> {
        self.lock().append(SystemTime::now(), &mut record)?;
        self.watcher.event(&RunEvent::Recorded(&record));
        if let Some(taped) = &self.taped {
            taped.lock().unwrap_or_else(PoisonError::into_inner).add(&record)?;
        }
        Ok(record)
    }

    fn lock(&self) -> MutexGuard<'_, Writer<Box<dyn Write + Send>>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taped {
    fn add(&mut self, record: &Record) -> Result<(), WriteError> {
        if self.bytes <= MAX_TAPED {
            let text = serde_json::to_string(record).map_err(std::io::Error::from)?;
            self.bytes += text.len();
            self.records.push(text);
        }
        Ok(())
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("mode", &self.mode).finish_non_exhaustive()
    }
}
