//! Lines on standard error, and below them how far a run is.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use sortie_detect::Outcome;
use sortie_detect::rate::Rate;

use crate::human::rate::{counts as rate_counts, interval as rate_interval};

/// How many lines may wait for a terminal that is slow. A run does not wait for one.
const MAX_WAITING: usize = 4096;

/// How long a line that counts may be, on terminals that are wide enough.
pub const LINE: usize = 79;

/// How many cases that are repeated have a row.
const MAX_ROWS: usize = 8;

/// What a lock holds: a thread that panicked has left it whole.
pub fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes lines to standard error, in a thread of its own, and below them how far the run is.
pub struct Display {
    /// The sender of lines, and the thread that writes them, until the end.
    writer: Mutex<Option<(SyncSender<String>, JoinHandle<()>)>>,
    left_out: AtomicU64,
    /// How far the run is; nowhere but on a terminal.
    pub status: Option<Status>,
}

impl Display {
    /// Writes to `out`; without a status, lines alone.
    pub fn new(status: Option<Status>, mut out: impl Write + Send + 'static) -> Arc<Self> {
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
    pub fn line(&self, text: &str) -> bool {
        let status = self.status.as_ref().map(|status| (status.clear(), status.line()));
        let (clear, status) = status.unwrap_or_default();
        let shown = self.send(format!("{clear}{text}\n{status}"));
        if !shown {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        shown
    }

    /// Changes how far the run is. A line that is not shown is soon replaced by the next.
    pub fn update(&self, change: impl FnOnce(&mut State)) {
        if let Some(status) = &self.status {
            change(&mut locked(&status.state));
            self.send(format!("{}{}", status.clear(), status.line()));
        }
    }

    /// Takes the last line away, and waits until everything is shown. Gives how much was not.
    pub fn finish(&self) -> u64 {
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

/// How many cases are over and which one has gone on for longest, on one line of a terminal; where cases are repeated, a row for
/// each that goes on.
pub struct Status {
    width: usize,
    /// What there is to show.
    pub state: Mutex<State>,
    /// How many lines are shown.
    lines: AtomicUsize,
}

/// How far a run is.
#[derive(Default)]
pub struct State {
    /// How many cases there are.
    pub all: usize,
    /// How many of them are over.
    pub ended: usize,
    going_on: Vec<String>,
    /// Where cases are repeated.
    repeats: Option<RepeatState>,
}

/// What is known of cases that are repeated.
#[derive(Default)]
struct RepeatState {
    most: u32,
    attempts: u64,
    rates: HashMap<String, Rate>,
}

impl State {
    /// Cases are played up to so often.
    pub fn repeats(&mut self, most: u32) {
        self.repeats = Some(RepeatState { most, ..RepeatState::default() });
    }

    /// Whether cases are played several times.
    pub fn is_repeated(&self) -> bool {
        self.repeats.is_some()
    }

    /// What the attempts at a case say so far.
    pub fn counted(&mut self, id: &str, rate: &Rate, is_over: bool) {
        let Some(repeats) = &mut self.repeats else { return };
        repeats.attempts += 1;
        if is_over {
            repeats.rates.remove(id);
            self.ended += 1;
        } else {
            repeats.rates.insert(id.to_owned(), *rate);
        }
    }

    /// A row for each case that goes on: what is known of it, and how many attempts it may take.
    fn rows(&self) -> Vec<String> {
        let Some(repeats) = &self.repeats else { return Vec::new() };
        let mut named: Vec<&String> = self.going_on.iter().collect();
        named.dedup();
        let rows = named.into_iter().take(MAX_ROWS).map(|id| match repeats.rates.get(id) {
            Some(rate) => {
                let left = repeats.most.saturating_sub(rate.n + rate.undecided);
                format!("  {id}: {}, {}; up to {left} more", rate_counts(rate), rate_interval(&rate.anytime))
            }
            None => format!("  {id}: first attempt"),
        });
        rows.collect()
    }

    /// A case or an attempt at it begins.
    pub fn started(&mut self, id: &str) {
        self.going_on.push(id.to_owned());
    }

    /// It is over.
    pub fn finished(&mut self, id: &str, outcome: Option<&Outcome>) {
        if let Some(at) = self.going_on.iter().position(|one| one == id) {
            self.going_on.remove(at);
        }
        // What does not apply is not played, and nobody waits for it.
        if outcome.is_some_and(|outcome| outcome.standing.is_none()) {
            self.all = self.all.saturating_sub(1);
        } else if self.repeats.is_none() {
            self.ended += 1;
        }
    }
}

impl Status {
    /// Nothing is known yet. `width` is that of the terminal.
    pub fn new(width: Option<usize>) -> Self {
        // The last column stays free: some terminals begin a new line there.
        let width = width.map_or(LINE, |width| width.saturating_sub(1).min(LINE));
        Self { width, state: Mutex::default(), lines: AtomicUsize::new(0) }
    }

    /// Takes away what is shown.
    fn clear(&self) -> String {
        let above = self.lines.swap(0, Ordering::Relaxed).saturating_sub(1);
        // One line up, and away with it.
        format!("\r{:width$}\r{}", "", "\x1b[1A\x1b[2K".repeat(above), width = self.width)
    }

    fn line(&self) -> String {
        let (line, rows) = {
            let state = locked(&self.state);
            (self.first_line(&state), state.rows())
        };
        let shown: Vec<String> =
            std::iter::once(line).chain(rows.into_iter().map(|row| self.cut(&row))).collect();
        self.lines.store(shown.len(), Ordering::Relaxed);
        shown.join("\n")
    }

    fn first_line(&self, state: &State) -> String {
        if state.all == 0 {
            return String::new();
        }
        if let Some(repeats) = &state.repeats {
            return self
                .cut(&format!("{} of {} decided, {} attempts", state.ended, state.all, repeats.attempts));
        }
        let mut line = format!("{} of {}", state.ended, state.all);
        // Writing to memory cannot fail.
        let _ = match state.going_on.as_slice() {
            [] => Ok(()),
            [only] => write!(line, ": {only}"),
            [first, others @ ..] => write!(line, ": {first}, and {} more", others.len()),
        };
        self.cut(&line)
    }

    fn cut(&self, line: &str) -> String {
        let line = crate::line(line);
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
            *locked(&status.state) = State { all: 3, ended, going_on, repeats: None };
            status.line()
        };
        let (first, second) = ("refuser/SRT-001", "gullible/SRT-002");
        assert_eq!(line(80, 1, &[first, second]), "1 of 3: refuser/SRT-001, and 1 more");
        assert_eq!(line(20, 1, &[first]), "1 of 3: refuser/SR…");
        assert_eq!(line(80, 3, &[]), "3 of 3");
    }

    #[test]
    fn cases_that_are_repeated_have_a_row_each_and_rows_are_taken_away_again() {
        let status = Status::new(Some(80));
        let rate = |hits, n| Rate::new(sortie_stats::Counts::new(hits, n), 0, 0.95, None);
        {
            let mut state = locked(&status.state);
            state.all = 3;
            state.repeats(60);
            state.started("SRT-001");
            state.started("SRT-002");
            state.counted("SRT-001", &rate(1, 9), false);
            state.counted("SRT-003", &rate(0, 18), true);
        }
        let lines: Vec<String> = status.line().lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "1 of 3 decided, 2 attempts");
        assert!(lines[1].starts_with("  SRT-001: 1 of 9 attempts exploited (11.1 %), 0.1 % to"), "{lines:?}");
        assert_eq!(lines[2], "  SRT-002: first attempt");
        assert_eq!(status.clear().matches("\x1b[1A").count(), 2);
        assert_eq!(status.clear().matches("\x1b[1A").count(), 0, "nothing is shown any more");
    }
}
