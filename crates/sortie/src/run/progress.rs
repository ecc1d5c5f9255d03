//! Shows a run as it goes. It only consumes what happens.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use sortie_detect::Outcome;
use sortie_engine::{RunEvent, Watcher};
use sortie_oatf::model::extract_protocol;
use sortie_run::Observer;
use sortie_trace::{Deriver, Record};

use super::turns::Announcer;
use crate::console::Notes;
use crate::documents::Document;
use crate::render::{TraceView, style, visible};

/// How many lines may wait for a terminal that is slow. A run does not wait for one.
const MAX_WAITING: usize = 4096;

/// How long a line that counts may be, on terminals that are wide enough.
pub(super) const LINE: usize = 79;

/// What is shown of one run: where actors listen, always; on a terminal also everything that happens.
pub(super) struct Progress {
    /// The document, where there are several.
    file: Option<String>,
    /// Actors, and the protocol of each.
    protocols: Vec<(String, String)>,
    live: Option<Live>,
}

struct Live {
    display: Arc<Display>,
    color: bool,
    width: Option<usize>,
    view: Mutex<(Option<TraceView>, Deriver)>,
}

impl Progress {
    pub(super) fn new(
        document: &Document,
        several: bool,
        notes: Notes,
        display: Option<Arc<Display>>,
    ) -> Self {
        let actors = document.compiled.document().attack.execution.actors.iter().flatten();
        let protocols = actors.map(|actor| (actor.name.clone(), extract_protocol(&actor.mode).to_owned()));
        Self {
            file: several.then(|| document.name.clone()),
            protocols: protocols.collect(),
            live: display.map(|display| Live {
                display,
                color: notes.color,
                width: notes.width,
                view: Mutex::new((None, Deriver::new())),
            }),
        }
    }

    fn listening(&self, actor: &str, url: &str) {
        let protocol = self.protocols.iter().find(|(name, _)| name == actor);
        let protocol = protocol.map_or("", |(_, protocol)| protocol);
        let file = self.file.as_ref().map(|file| format!("  {file}")).unwrap_or_default();
        let line = format!("listening  {actor}  {protocol}  {url}{file}");
        // When nobody reads standard error, the trace still says so.
        let _ = writeln!(std::io::stderr(), "{}", visible(&line));
    }
}

impl Live {
    fn event(&self, event: &RunEvent<'_>, file: Option<&str>) {
        let text = match event {
            RunEvent::Recorded(record) => self.record(record),
            RunEvent::Matched { indicator, .. } => self.matched(indicator),
            RunEvent::Warning(text) => {
                let word = style::paint(self.color, style::WARNING, "warning");
                format!("{:17}{word} {}\n", "", line(text))
            }
            RunEvent::Logged { actor, level, text } => {
                format!("{:17}{level} {}: {}\n", "", visible(actor), line(text))
            }
            _ => return,
        };
        let prefix = file.map(|file| format!("{}: ", visible(file))).unwrap_or_default();
        for line in text.lines() {
            self.display.show(format!("{prefix}{line}\n"));
        }
    }

    fn matched(&self, indicator: &str) -> String {
        let (view, _) = &*self.view.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = Vec::new();
        // Writing to memory cannot fail.
        let _ = view.as_ref().map(|view| view.matched(indicator, &mut text));
        String::from_utf8_lossy(&text).into_owned()
    }

    fn record(&self, record: &Record) -> String {
        let (view, deriver) = &mut *self.view.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = Vec::new();
        // Writing to memory cannot fail.
        let _ = match (record, view) {
            (Record::Header(header), view) => {
                let new = TraceView::new(self.color, self.width, false, header);
                view.insert(new).header(header, &mut text)
            }
            (record, Some(view)) => {
                let observed = match record {
                    Record::Message(message) => Some(deriver.observe(message)),
                    _ => None,
                };
                view.record(record, observed, &mut text)
            }
            (_, None) => Ok(()),
        };
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Watcher for Progress {
    fn event(&self, event: &RunEvent<'_>) {
        if let RunEvent::Recorded(Record::Listening(listening)) = event {
            self.listening(&listening.actor, &listening.url);
        } else if let Some(live) = &self.live {
            live.event(event, self.file.as_deref());
        }
    }
}

fn line(text: &str) -> String {
    visible(text).replace('\n', "␊").replace('\t', "␉")
}

/// Writes lines to standard error, in a thread of its own.
pub(super) struct Display {
    lines: Mutex<Option<SyncSender<String>>>,
    left_out: AtomicU64,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Display {
    pub(super) fn new() -> Arc<Self> {
        let (lines, received) = sync_channel::<String>(MAX_WAITING);
        let thread = std::thread::spawn(move || {
            for line in received {
                let _ = std::io::stderr().write_all(line.as_bytes());
            }
        });
        Arc::new(Self {
            lines: Mutex::new(Some(lines)),
            left_out: AtomicU64::new(0),
            thread: Mutex::new(Some(thread)),
        })
    }

    fn show(&self, text: String) {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lines) = &*lines
            && let Err(TrySendError::Full(_)) = lines.try_send(text)
        {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is shown. Gives how much was not.
    pub(super) fn finish(&self) -> u64 {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join(); // it has nothing that could panic
        }
        self.left_out.load(Ordering::Relaxed)
    }
}

/// Counts cases on one line of a terminal, whatever sort they are of.
pub(super) struct CaseCounter {
    all: usize,
    done: AtomicUsize,
    display: Arc<Display>,
}

impl CaseCounter {
    /// So many cases, of which some are over.
    pub(super) fn new(all: usize, done: usize, display: Arc<Display>) -> Self {
        Self { all, done: AtomicUsize::new(done), display }
    }
}

impl Observer for CaseCounter {
    fn started(&self, _: &str) {}

    fn finished(&self, id: &str, outcome: Option<&Outcome>) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.all > 1 {
            let came = outcome.map_or("not played to its end", |outcome| outcome.verdict.result.as_str());
            self.display.show(format!("{done} of {}: {came}: {}\n", self.all, line(id)));
        }
    }
}

/// Counts runs on one line of a terminal, and says which one has gone on for longest.
pub(super) struct Counter {
    names: Vec<String>,
    width: usize,
    state: Mutex<State>,
    display: Arc<Display>,
}

#[derive(Default)]
struct State {
    ended: usize,
    going_on: BTreeSet<usize>,
}

impl Counter {
    /// Runs with these names, on a terminal that is so wide.
    pub(super) fn new(names: Vec<String>, width: Option<usize>) -> Self {
        // The last column stays free: some terminals begin a new line there.
        let width = width.map_or(LINE, |width| width.saturating_sub(1).min(LINE));
        Self { names, width, state: Mutex::default(), display: Display::new() }
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        self.display.show(format!("\r{:width$}\r", self.line(&state), width = self.width));
    }

    fn line(&self, state: &State) -> String {
        let mut line = format!("{} of {}", state.ended, self.names.len());
        if let Some(name) = state.going_on.first().and_then(|first| self.names.get(*first)) {
            line.push_str(": ");
            line.push_str(name);
        }
        if state.going_on.len() > 1 {
            // Writing to memory cannot fail.
            let _ = write!(line, ", and {} more", state.going_on.len() - 1);
        }
        if line.chars().count() > self.width {
            line = line.chars().take(self.width.saturating_sub(1)).chain(['…']).collect();
        }
        line
    }

    /// Takes the line away.
    pub(super) fn finish(&self) {
        self.display.show(format!("\r{:width$}\r", "", width = self.width));
        self.display.finish();
    }
}

impl Announcer for Counter {
    fn begins(&self, index: usize) {
        self.update(|state| {
            state.going_on.insert(index);
        });
    }

    fn ended(&self, index: usize) {
        self.update(|state| {
            state.ended += 1;
            state.going_on.remove(&index);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_and_names_what_goes_on_in_the_room_there_is() {
        let names =
            ["SRT-001 with gullible", "SRT-001 with refuser", "SRT-002 with gullible"].map(str::to_owned);
        let line = |width, ended, going_on: &[usize]| {
            let counter = Counter::new(names.to_vec(), Some(width));
            let line = counter.line(&State { ended, going_on: going_on.iter().copied().collect() });
            counter.finish();
            line
        };
        assert_eq!(line(80, 1, &[1, 2]), "1 of 3: SRT-001 with refuser, and 1 more");
        assert_eq!(line(20, 1, &[1]), "1 of 3: SRT-001 wi…");
        assert_eq!(line(80, 3, &[]), "3 of 3");
    }
}
