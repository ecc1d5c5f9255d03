//! Where everything that happens comes together: one order, one trace, one verdict, and whoever watches.

use std::io::Write;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use serde_json::Value;
use sortie_detect::{Detector, Place};
use sortie_oatf::model::Mode;
use sortie_trace::time::parse_time;
use sortie_trace::{
    ActorFailed, ActorFailure, AgentExit, Deriver, Header, Listening, Message, Note, Observed, PhaseEnd,
    PhaseEntered, Record, Redactor, Sender, StopReason, Stopped, Transcriber, WriteError, Writer,
    agent_answer,
};
use sortie_wire::Lock;
use tokio::sync::watch;

/// How many warnings are kept; the rest are counted.
const MAX_WARNINGS: usize = 100;

/// Writes the trace of a document or of a case of an evaluator, shows it to what decides and to whoever watches. All of that
/// happens before a call returns, so that what the trace says is never behind what the peer was told.
pub struct Recorder {
    /// A panic of a watcher leaves nothing half done that matters more than the trace.
    inner: Lock<Inner>,
    /// Whether the trace may say less than was said.
    redacts: bool,
    watcher: Arc<dyn Watcher>,
    pulse: watch::Sender<RunStatus>,
}

/// How the run is doing, for whoever decides when it ends.
#[derive(Clone, Debug)]
pub struct RunStatus {
    /// When something was last said. Whoever waits for a change is not told about this one, which is all the time.
    pub last_message: Instant,
    /// Whether anyone has ever spoken to an actor.
    pub heard: bool,
    /// Whether the verdict would be `exploited` now.
    pub exploited: bool,
    /// Whether an actor cannot go on.
    pub failed: bool,
    /// Why the trace cannot go on. The run has to end.
    pub broken: Option<String>,
}

struct Inner {
    writer: Writer<Box<dyn Write + Send>>,
    observer: Observer,
    /// Copies of the records, while somebody wants them.
    copies: Option<Vec<Record>>,
    warnings: Vec<String>,
    more_warnings: u64,
    /// The run has ended: what comes now is not part of it.
    closed: bool,
}

/// What sees the records as they are written, and decides by them.
enum Observer {
    /// The indicators of a document.
    Indicators(Box<(Deriver, Detector)>),
    /// The transcript, which checks and judges decide by.
    Transcript(Box<Transcriber>),
}

impl Inner {
    fn detector(&self) -> Option<&Detector> {
        match &self.observer {
            Observer::Indicators(indicators) => Some(&indicators.1),
            Observer::Transcript(_) => None,
        }
    }
}

/// A message as indicators see it, and what keeps that from being complete.
pub(crate) type MessageView = (Value, Vec<Note>);

impl Recorder {
    /// Begins a trace: writes its header, into a file that was just created or anything else that can be written to. With a
    /// detector it is that of a document, without one that of a case of an evaluator, or of a look at a target.
    pub fn begin(
        out: Box<dyn Write + Send>,
        header: Header,
        redactor: Redactor,
        limit: u64,
        detector: impl Into<Option<Detector>>,
        watcher: Arc<dyn Watcher>,
    ) -> Result<Self, WriteError> {
        // What is evaluated is what a reader of the trace will evaluate.
        let mut redacted = header.clone();
        redactor.redact_header(&mut redacted);
        let transcriber = Transcriber::new(&redacted);
        let record = Record::Header(Box::new(redacted));
        let redacts = !redactor.is_empty();
        let writer = Writer::begin_with(out, header, redactor, limit)?;
        let observer = match detector.into() {
            Some(mut detector) => {
                detector.lifecycle(&record);
                let deriver = Deriver::new().with_transcripts(detector.reads_transcript());
                Observer::Indicators(Box::new((deriver, detector)))
            }
            None => Observer::Transcript(Box::new(transcriber)),
        };
        watcher.event(&RunEvent::Recorded(&record));
        let inner =
            Inner { writer, observer, copies: None, warnings: Vec::new(), more_warnings: 0, closed: false };
        let pulse = RunStatus {
            last_message: Instant::now(),
            heard: false,
            exploited: false,
            failed: false,
            broken: None,
        };
        Ok(Self { inner: Lock::new(inner), redacts, watcher, pulse: watch::Sender::new(pulse) })
    }

    /// Something was said. What an actor has made of it already is taken over where the trace would say the same, and
    /// given back.
    pub(crate) fn message(&self, message: Message, seen: Option<MessageView>) -> Option<MessageView> {
        let usable = !self.redacts && Mode::of(&message.mode).is_server();
        let (usable, rest) = if usable { (seen, None) } else { (None, seen) };
        rest.or(self.append(Record::Message(Box::new(message)), usable))
    }

    /// Writes a record that happens now, and gives it as it was written.
    pub fn record(&self, mut record: Record) -> Result<Record, WriteError> {
        self.write(SystemTime::now(), &mut record, &mut None)?;
        Ok(record)
    }

    /// Writes a record that happened before, with its own time.
    pub(crate) fn repeat(&self, mut record: Record) -> Result<(), WriteError> {
        let time = parse_time(record.time()).unwrap_or_else(SystemTime::now);
        self.write(time, &mut record, &mut None)
    }

    pub(crate) fn start_copies(&self) {
        self.inner.lock().copies = Some(Vec::new());
    }

    /// The copies so far; no more are made.
    pub(crate) fn take_copies(&self) -> Vec<Record> {
        self.inner.lock().copies.take().unwrap_or_default()
    }

    /// What was said in a case so far, as checks and judges see it; `None` for a document.
    pub fn transcriber(&self) -> Option<Transcriber> {
        self.with_transcriber(Clone::clone)
    }

    pub(crate) fn with_transcriber<T>(&self, look: impl FnOnce(&Transcriber) -> T) -> Option<T> {
        match &self.inner.lock().observer {
            Observer::Transcript(transcriber) => Some(look(transcriber)),
            Observer::Indicators(_) => None,
        }
    }

    /// An actor entered a phase.
    pub fn phase(&self, actor: &str, mode: &str, phase: &str, index: usize, because: Option<PhaseEnd>) {
        let (actor, mode, phase) = (actor.to_owned(), mode.to_owned(), phase.to_owned());
        let entered = PhaseEntered { seq: 0, time: String::new(), actor, mode, phase, index, because };
        self.append(Record::Phase(entered), None);
    }

    /// A server actor accepts connections.
    pub fn listening(&self, actor: &str, url: &str) {
        let (actor, url) = (actor.to_owned(), url.to_owned());
        self.append(Record::Listening(Listening { seq: 0, time: String::new(), actor, url }), None);
    }

    /// An actor cannot go on.
    pub fn actor_failed(&self, actor: &str, failure: ActorFailure, message: &str) {
        let (actor, message) = (actor.to_owned(), message.to_owned());
        let failed = ActorFailed { seq: 0, time: String::new(), actor, failure, message };
        self.append(Record::ActorFailed(failed), None);
    }

    /// The agent's process ended.
    pub fn agent_exit(&self, code: Option<i32>, signal: Option<i32>) {
        self.append(Record::AgentExit(AgentExit { seq: 0, time: String::new(), code, signal }), None);
    }

    /// What the agent said in the end to whoever started it.
    pub fn agent_answer(&self, text: &str) {
        self.append(agent_answer::record(text), None);
    }

    /// The run ended, for a reason that `message` explains where no record does. What happens later is not recorded.
    pub fn stopped(&self, because: StopReason, message: Option<&str>) {
        let message = message.map(str::to_owned);
        self.append(Record::Stopped(Stopped { seq: 0, time: String::new(), because, message }), None);
        self.inner.lock().closed = true;
    }

    /// Something a person should know. The same sentence is kept once.
    pub fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let mut inner = self.inner.lock();
        if inner.warnings.contains(&text) {
            return;
        }
        if inner.warnings.len() == MAX_WARNINGS {
            inner.more_warnings += 1;
            return;
        }
        self.watcher.event(&RunEvent::Warning(&text));
        inner.warnings.push(text);
    }

    /// A `log` action of the document.
    pub fn log(&self, actor: &str, level: &str, text: &str) {
        // Under the lock, so that whoever watches sees one order.
        let _inner = self.inner.lock();
        self.watcher.event(&RunEvent::Logged { actor, level, text });
    }

    /// Whether anyone has ever spoken to an actor of that name.
    pub fn is_connected(&self, actor: &str) -> bool {
        let inner = self.inner.lock();
        let actors = inner.detector().map(Detector::actors);
        actors.is_some_and(|actors| actors.iter().any(|reached| reached.name == actor && reached.connected))
    }

    /// How the run is doing, now and whenever that changes.
    pub fn pulse(&self) -> watch::Receiver<RunStatus> {
        self.pulse.subscribe()
    }

    /// Lets whoever decides when the run ends look again.
    pub(crate) fn wake(&self) {
        self.pulse.send_modify(|_| {});
    }

    /// What is to be made of everything so far, with the warnings of the run; `None` for a case of an evaluator.
    ///
    /// `scored` is a detector that has seen the trace since, and knows more.
    pub fn run(&self, place: Place, scored: Option<&Detector>) -> Option<sortie_detect::Outcome> {
        let inner = self.inner.lock();
        let mut run = scored.or(inner.detector())?.outcome(place);
        run.warnings.extend(inner.warnings.iter().cloned());
        if inner.more_warnings > 0 {
            run.warnings.push(format!("{} more warnings were not kept", inner.more_warnings));
        }
        if let Some(broken) = &self.pulse.borrow().broken {
            run.warnings.push(format!("the trace is not whole: {broken}"));
        }
        Some(run)
    }

    /// Writes a record that happens now. Where it cannot be written, the run has to end, and [`RunStatus`] says why.
    fn append(&self, mut record: Record, mut seen: Option<MessageView>) -> Option<MessageView> {
        let _ = self.write(SystemTime::now(), &mut record, &mut seen);
        seen
    }

    fn write(
        &self,
        time: SystemTime,
        record: &mut Record,
        seen: &mut Option<MessageView>,
    ) -> Result<(), WriteError> {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        if inner.closed {
            return Ok(());
        }
        if let Err(error) = inner.writer.append(time, record) {
            // What is not in the trace did not happen: evaluating it would give another verdict than the trace does.
            self.pulse.send_if_modified(|pulse| {
                let first = pulse.broken.is_none();
                pulse.broken.get_or_insert_with(|| error.to_string());
                first
            });
            return Err(error);
        }
        if let (Some(copies), Record::Message(_)) = (&mut inner.copies, &*record) {
            copies.push(record.clone());
        }
        if let Observer::Indicators(indicators) = &mut inner.observer {
            indicators.1.lifecycle(record);
        }
        self.watcher.event(&RunEvent::Recorded(record));
        let message = match record {
            Record::Message(message) => message,
            Record::ActorFailed(_) => {
                self.pulse.send_modify(|pulse| pulse.failed = true);
                return Ok(());
            }
            _ => return Ok(()),
        };
        let (deriver, detector) = match &mut inner.observer {
            Observer::Indicators(indicators) => (&mut indicators.0, &mut indicators.1),
            Observer::Transcript(transcriber) => {
                transcriber.observe(message);
                return Ok(());
            }
        };
        let mut matched = Vec::new();
        if detector.looks_at(message) {
            let mut observed = match seen.take() {
                Some((value, notes)) => Observed::new(message, value, notes),
                None => deriver.observe(message),
            };
            matched = detector.observe(&observed);
            *seen = Some((std::mem::take(&mut observed.message), observed.notes));
        } else {
            deriver.skip(message);
        }
        for &index in &matched {
            let indicator = detector.indicator_id(index).unwrap_or_default();
            self.watcher.event(&RunEvent::Matched { indicator, message });
        }
        self.pulse.send_if_modified(|pulse| {
            let before = (pulse.heard, pulse.exploited);
            pulse.last_message = Instant::now();
            pulse.heard |= message.sender == Sender::Agent;
            pulse.exploited = (pulse.exploited || !matched.is_empty()) && detector.is_exploited();
            before != (pulse.heard, pulse.exploited)
        });
        Ok(())
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("pulse", &*self.pulse.borrow()).finish_non_exhaustive()
    }
}

/// Something that happened. The trace, the detector and the display see the same, in the same order.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunEvent<'e> {
    /// A record that is now in the trace.
    Recorded(&'e Record),
    /// An indicator matched that had not before, in this message.
    Matched {
        /// Its id.
        indicator: &'e str,
        /// The message.
        message: &'e Message,
    },
    /// Something a person should know, and that is in the report too.
    Warning(&'e str),
    /// A `log` action of the document.
    Logged {
        /// The actor.
        actor: &'e str,
        /// `info`, `warn`, `error`, `debug`.
        level: &'e str,
        /// The text, its templates filled.
        text: &'e str,
    },
}

/// Watches a run. It is called in the order in which things happen, and must not block.
pub trait Watcher: Send + Sync {
    /// Something happened.
    fn event(&self, event: &RunEvent<'_>);
}

/// Watches nothing.
impl Watcher for () {
    fn event(&self, _: &RunEvent<'_>) {}
}
