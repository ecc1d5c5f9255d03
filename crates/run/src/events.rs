//! The stream of events of a run as JSON Lines, for other tools (`docs/schema/events-v1.json`).

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::Serialize;
use sortie_detect::rate::Rate;
use sortie_detect::{CaseResult, Outcome, Standing};
use sortie_engine::Watcher;
use sortie_library::NamedDocument;
use sortie_trace::time::format_time;

use crate::Observer;
use crate::forecast::RunForecast;
use crate::repeats::Repeats;

/// The version of the lines. A change that could break a reader makes it 2.
pub const VERSION: u32 = 1;

/// What happened.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event<'e> {
    Begun { version: u32, written_by: &'e str },
    Repeats { cases: u32, most: u32, seed: u64 },
    Planned { cases: usize, over: usize },
    Calibrating { begins: bool },
    Controlling { case: Option<&'e str> },
    Started { case: &'e str, attempt: Option<u32> },
    Finished(Finished<'e>),
    Counted { case: &'e str, rate: &'e Rate, is_over: bool },
}

#[derive(Serialize)]
struct Finished<'e> {
    case: &'e str,
    attempt: Option<u32>,
    result: Option<CaseResult>,
    standing: Option<Standing>,
    reason: Option<&'e str>,
    trace: Option<&'e str>,
}

#[derive(Serialize)]
struct Line<'e> {
    time: String,
    #[serde(flatten)]
    event: Event<'e>,
}

/// Writes every event to a file, a line each, and tells another observer. Each line reaches the file as it happens.
pub struct EventLog {
    file: Mutex<(File, Option<io::Error>)>,
    next: Arc<dyn Observer>,
}

impl EventLog {
    /// Begins a file, in place of what is there.
    pub fn create(path: &Path, next: Arc<dyn Observer>) -> io::Result<Arc<Self>> {
        let log = Self { file: Mutex::new((File::create(path)?, None)), next };
        log.write(Event::Begun { version: VERSION, written_by: sortie_detect::SOURCE });
        Ok(Arc::new(log))
    }

    fn write(&self, event: Event<'_>) {
        let line = Line { time: format_time(SystemTime::now()), event };
        let mut held = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, lost) = &mut *held;
        if lost.is_some() {
            return;
        }
        let written = serde_json::to_vec(&line).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            file.write_all(&line)
        });
        *lost = written.err();
    }

    /// Why lines are missing, where some are.
    pub fn lost(&self) -> Option<io::Error> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).1.take()
    }
}

impl Observer for EventLog {
    fn repeats(&self, repeats: &Repeats, forecast: &RunForecast) {
        self.write(Event::Repeats { cases: repeats.cases, most: repeats.most(), seed: repeats.seed });
        self.next.repeats(repeats, forecast);
    }

    fn planned(&self, cases: usize, over: usize) {
        self.write(Event::Planned { cases, over });
        self.next.planned(cases, over);
    }

    fn calibrating(&self, begins: bool) {
        self.write(Event::Calibrating { begins });
        self.next.calibrating(begins);
    }

    fn controlling(&self, case: Option<&str>) {
        self.write(Event::Controlling { case });
        self.next.controlling(case);
    }

    fn watcher(&self, document: &NamedDocument, several: bool) -> Arc<dyn Watcher> {
        self.next.watcher(document, several)
    }

    fn started(&self, id: &str, attempt: Option<u32>) {
        self.write(Event::Started { case: id, attempt });
        self.next.started(id, attempt);
    }

    fn finished(&self, id: &str, outcome: Option<&Outcome>) {
        self.write(Event::Finished(Finished {
            case: id,
            attempt: outcome.and_then(|outcome| outcome.attempt),
            result: outcome.map(|outcome| outcome.verdict.result),
            standing: outcome.and_then(|outcome| outcome.standing),
            reason: outcome.and_then(|outcome| outcome.verdict.reason.as_deref()),
            trace: outcome.and_then(|outcome| outcome.trace.as_deref()),
        }));
        self.next.finished(id, outcome);
    }

    fn counted(&self, id: &str, rate: &Rate, is_over: bool) {
        self.write(Event::Counted { case: id, rate, is_over });
        self.next.counted(id, rate, is_over);
    }
}
