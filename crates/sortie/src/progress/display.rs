//! Lines on standard error, and below them how far a run is.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use sortie_detect::Outcome;

/// How many lines may wait for a terminal that is slow. A run does not wait for one.
const MAX_WAITING: usize = 4096;

/// How long a line that counts may be, on terminals that are wide enough.
pub(crate) const LINE: usize = 79;

pub(super) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes lines to standard error, in a thread of its own, and below them how far the run is.
pub(super) struct Display {
    /// The sender of lines, and the thread that writes them, until the end.
    writer: Mutex<Option<(SyncSender<String>, JoinHandle<()>)>>,
    left_out: AtomicU64,
    /// How far the run is; nowhere but on a terminal.
    pub(super) status: Option<Status>,
}

impl Display {
    pub(super) fn new(status: Option<Status>, mut out: impl Write + Send + 'static) -> Arc<Self> {
        let (lines, received) = sync_channel::<String>(MAX_WAITING);
        let thread = std::thread::spawn(move || {
            for line in received {
                // Nothing can be done for someone who has closed it.
                let _ = out.write_all(line.as_bytes());
            }
        });
        Arc::new(Self { writer: Mutex::new(Some((lines, thread))), left_out: AtomicU64::new(0), status })
    }

    fn send(&self, text: String) -> bool {
        match &*locked(&self.writer) {
            Some((lines, _)) => !matches!(lines.try_send(text), Err(TrySendError::Full(_))),
            None => false,
        }
    }

    /// Shows a line that stays, and says whether there was room for it.
    pub(super) fn line(&self, text: &str) -> bool {
        let status = self.status.as_ref().map(|status| (status.clear(), status.line()));
        let (clear, status) = status.unwrap_or_default();
        let shown = self.send(format!("{clear}{text}\n{status}"));
        if !shown {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        shown
    }

    /// Changes how far the run is. A line that is not shown is soon replaced by the next.
    pub(super) fn update(&self, change: impl FnOnce(&mut State)) {
        if let Some(status) = &self.status {
            change(&mut locked(&status.state));
            self.send(format!("{}{}", status.clear(), status.line()));
        }
    }

    /// Takes the last line away, and waits until everything is shown. Gives how much was not.
    pub(super) fn finish(&self) -> u64 {
        if let Some(status) = &self.status {
            self.send(status.clear());
        }
        if let Some((lines, thread)) = locked(&self.writer).take() {
            drop(lines);
            let _ = thread.join(); // it has nothing that could panic
        }
        self.left_out.load(Ordering::Relaxed)
    }
}

/// How many cases are over and which one has gone on for longest, on one line of a terminal.
pub(super) struct Status {
    width: usize,
    pub(super) state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) all: usize,
    pub(super) ended: usize,
    going_on: Vec<String>,
}

impl State {
    pub(super) fn started(&mut self, id: &str) {
        self.going_on.push(id.to_owned());
    }

    pub(super) fn finished(&mut self, id: &str, outcome: Option<&Outcome>) {
        self.going_on.retain(|one| one != id);
        // What does not apply is not played, and nobody waits for it.
        if outcome.is_some_and(|outcome| outcome.standing.is_none()) {
            self.all = self.all.saturating_sub(1);
        } else {
            self.ended += 1;
        }
    }
}

impl Status {
    pub(super) fn new(width: Option<usize>) -> Self {
        // The last column stays free: some terminals begin a new line there.
        Self { width: width.map_or(LINE, |width| width.saturating_sub(1).min(LINE)), state: Mutex::default() }
    }

    fn clear(&self) -> String {
        format!("\r{:width$}\r", "", width = self.width)
    }

    fn line(&self) -> String {
        let state = locked(&self.state);
        if state.all == 0 {
            return String::new();
        }
        let mut line = format!("{} of {}", state.ended, state.all);
        // Writing to memory cannot fail.
        let _ = match state.going_on.as_slice() {
            [] => Ok(()),
            [only] => write!(line, ": {only}"),
            [first, others @ ..] => write!(line, ": {first}, and {} more", others.len()),
        };
        let line = sortie_report::line(&line);
        if line.chars().count() > self.width {
            return line.chars().take(self.width.saturating_sub(1)).chain(['…']).collect();
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_and_names_what_goes_on_in_the_room_there_is() {
        let line = |width, ended, going_on: &[&str]| {
            let status = Status::new(Some(width));
            let going_on = going_on.iter().map(ToString::to_string).collect();
            *locked(&status.state) = State { all: 3, ended, going_on };
            status.line()
        };
        let (first, second) = ("refuser/SRT-001", "gullible/SRT-002");
        assert_eq!(line(80, 1, &[first, second]), "1 of 3: refuser/SRT-001, and 1 more");
        assert_eq!(line(20, 1, &[first]), "1 of 3: refuser/SR…");
        assert_eq!(line(80, 3, &[]), "3 of 3");
    }
}
