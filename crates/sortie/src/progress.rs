//! Shows a run as it goes. It only consumes what happens.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use sortie_detect::Outcome;
use sortie_engine::{RunEvent, Watcher};
use sortie_library::NamedDocument;
use sortie_oatf::model::extract_protocol;
use sortie_report::{TraceView, line, style, visible};
use sortie_run::Observer;
use sortie_trace::{Deriver, Record};

use crate::console::Notes;

/// How many lines may wait for a terminal that is slow. A run does not wait for one.
const MAX_WAITING: usize = 4096;

/// How long a line that counts may be, on terminals that are wide enough.
pub(crate) const LINE: usize = 79;

/// What is shown of one run: where actors listen, always; on a terminal also everything that happens.
struct Progress {
    /// The document, where there are several.
    file: Option<String>,
    /// Actors, and the protocol of each.
    protocols: HashMap<String, String>,
    live: Option<Live>,
}

struct Live {
    display: Arc<Display>,
    color: bool,
    width: Option<usize>,
    view: Mutex<(Option<TraceView>, Deriver)>,
}

impl Progress {
    fn new(document: &NamedDocument, several: bool, notes: Notes, display: Option<Arc<Display>>) -> Self {
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
        let protocol = self.protocols.get(actor).map_or("", String::as_str);
        let file = self.file.as_ref().map(|file| format!("  {file}")).unwrap_or_default();
        let line = format!("listening  {actor}  {protocol}  {url}{file}");
        // When nobody reads standard error, the trace still says so.
        let _ = writeln!(std::io::stderr(), "{}", visible(&line));
    }
}

impl Live {
    fn event(&self, event: &RunEvent<'_>, file: Option<&str>) {
        let text = match event {
            RunEvent::Recorded(_) | RunEvent::Matched { .. } => self.viewed(event),
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

    /// What a view of the trace shows of an event.
    fn viewed(&self, event: &RunEvent<'_>) -> String {
        let (view, deriver) = &mut *locked(&self.view);
        let mut text = Vec::new();
        // Writing to memory cannot fail.
        let _ = match (event, view) {
            (RunEvent::Recorded(Record::Header(header)), view) => {
                let new = TraceView::new(self.color, self.width, false, header);
                view.insert(new).header(header, &mut text)
            }
            (RunEvent::Recorded(record), Some(view)) => {
                let observed = match record {
                    Record::Message(message) => Some(deriver.observe(message)),
                    _ => None,
                };
                view.record(record, observed, &mut text)
            }
            (RunEvent::Matched { indicator, .. }, Some(view)) => view.matched(indicator, &mut text),
            _ => Ok(()),
        };
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Writes lines to standard error, in a thread of its own.
struct Display {
    /// The sender of lines, and the thread that writes them, until the end.
    writer: Mutex<Option<(SyncSender<String>, JoinHandle<()>)>>,
    left_out: AtomicU64,
}

impl Display {
    fn new() -> Arc<Self> {
        let (lines, received) = sync_channel::<String>(MAX_WAITING);
        let thread = std::thread::spawn(move || {
            for line in received {
                let _ = std::io::stderr().write_all(line.as_bytes());
            }
        });
        Arc::new(Self { writer: Mutex::new(Some((lines, thread))), left_out: AtomicU64::new(0) })
    }

    fn show(&self, text: String) {
        if let Some((lines, _)) = &*locked(&self.writer)
            && let Err(TrySendError::Full(_)) = lines.try_send(text)
        {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is shown. Gives how much was not.
    fn finish(&self) -> u64 {
        if let Some((lines, thread)) = locked(&self.writer).take() {
            drop(lines);
            let _ = thread.join(); // it has nothing that could panic
        }
        self.left_out.load(Ordering::Relaxed)
    }
}

/// Shows a run: where actors listen, always; on a terminal also what happens in documents, and how many cases are over.
pub(crate) struct RunDisplay {
    notes: Notes,
    display: Option<Arc<Display>>,
    all: AtomicUsize,
    done: AtomicUsize,
}

impl RunDisplay {
    pub(crate) fn new(notes: Notes) -> Arc<Self> {
        let display = notes.terminal.then(Display::new);
        Arc::new(Self { notes, display, all: AtomicUsize::new(0), done: AtomicUsize::new(0) })
    }

    /// Waits until everything is shown. Gives how much was not.
    pub(crate) fn finish(&self) -> u64 {
        self.display.as_ref().map_or(0, |display| display.finish())
    }
}

impl Observer for RunDisplay {
    fn planned(&self, cases: usize, over: usize) {
        self.all.store(cases, Ordering::Relaxed);
        self.done.store(over, Ordering::Relaxed);
    }

    fn calibrating(&self, begins: bool) {
        match (self.notes.terminal, begins) {
            (true, true) => eprint!("the judge is shown fixtures first, whose verdicts are known"),
            (true, false) => eprintln!(),
            _ => {}
        }
    }

    fn watcher(&self, document: &NamedDocument, several: bool) -> Arc<dyn Watcher> {
        Arc::new(Progress::new(document, several, self.notes, self.display.clone()))
    }

    fn finished(&self, id: &str, outcome: Option<&Outcome>) {
        let (all, done) = (self.all.load(Ordering::Relaxed), self.done.fetch_add(1, Ordering::Relaxed) + 1);
        if let Some(display) = self.display.as_ref().filter(|_| all > 1) {
            let came = outcome.map_or("not played to its end", |outcome| outcome.verdict.result.as_str());
            display.show(format!("{done} of {all}: {came}: {}\n", line(id)));
        }
    }
}

/// Counts cases on one line of a terminal, and says which one has gone on for longest.
pub(crate) struct Counter {
    width: usize,
    state: Mutex<State>,
    display: Arc<Display>,
}

#[derive(Default)]
struct State {
    all: usize,
    ended: usize,
    going_on: Vec<String>,
}

impl Counter {
    pub(crate) fn new(width: Option<usize>) -> Self {
        // The last column stays free: some terminals begin a new line there.
        let width = width.map_or(LINE, |width| width.saturating_sub(1).min(LINE));
        Self { width, state: Mutex::default(), display: Display::new() }
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        let mut state = locked(&self.state);
        change(&mut state);
        self.display.show(format!("\r{:width$}\r", self.line(&state), width = self.width));
    }

    fn line(&self, state: &State) -> String {
        let mut line = format!("{} of {}", state.ended, state.all);
        // Writing to memory cannot fail.
        let _ = match state.going_on.as_slice() {
            [] => Ok(()),
            [only] => write!(line, ": {only}"),
            [first, others @ ..] => write!(line, ": {first}, and {} more", others.len()),
        };
        if line.chars().count() > self.width {
            line = line.chars().take(self.width.saturating_sub(1)).chain(['…']).collect();
        }
        line
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        self.display.show(format!("\r{:width$}\r", "", width = self.width));
        self.display.finish();
    }
}

impl Observer for Counter {
    fn planned(&self, cases: usize, over: usize) {
        self.update(|state| (state.all, state.ended) = (cases, over));
    }

    fn started(&self, id: &str) {
        self.update(|state| state.going_on.push(id.to_owned()));
    }

    fn finished(&self, id: &str, _: Option<&Outcome>) {
        self.update(|state| {
            state.ended += 1;
            state.going_on.retain(|one| one != id);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_and_names_what_goes_on_in_the_room_there_is() {
        let line = |width, ended, going_on: &[&str]| {
            let counter = Counter::new(Some(width));
            counter.planned(3, ended);
            for id in going_on {
                counter.started(id);
            }
            let line = counter.line(&counter.state.lock().unwrap());
            counter.finish();
            line
        };
        let (first, second) = ("refuser/SRT-001", "gullible/SRT-002");
        assert_eq!(line(80, 1, &[first, second]), "1 of 3: refuser/SRT-001, and 1 more");
        assert_eq!(line(20, 1, &[first]), "1 of 3: refuser/SR…");
        assert_eq!(line(80, 3, &[]), "3 of 3");
    }
}
