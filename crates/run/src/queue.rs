//! Cases that wait: which one begins next.
//!
//! Each case is played once, or as often as [`Repeats`] say. Attempts go round by round, every open case once in each, in an order
//! that a seed decides: what changes while a run goes on (a busy machine, a model that is updated) falls on all cases alike.

use std::collections::{HashMap, VecDeque};

use sortie_detect::Outcome;
use sortie_detect::rate::Rate;

use crate::repeats::{CaseProgress, RepeatRule, Repeats, Shuffle};
use crate::scheduler::Job;
use crate::store::RunStore;

/// Jobs that wait, and what they wait for.
pub(crate) struct Queue<C> {
    cases: Vec<WaitingCase<C>>,
    /// Cases of this round, in their order.
    order: VecDeque<usize>,
    /// Cases of the next round.
    next_round: Vec<usize>,
    /// How many cases of a group are not over.
    unfinished: HashMap<String, usize>,
    playing: usize,
    jobs: usize,
    repeats: Option<Repeats>,
    shuffle: Shuffle,
}

struct WaitingCase<C> {
    job: Job<C>,
    progress: CaseProgress,
    /// Whether attempts at it are to be begun.
    open: bool,
}

impl<C: Clone> Queue<C> {
    /// All jobs of which the store does not have everything.
    pub(crate) fn new(jobs: Vec<Job<C>>, store: &RunStore, width: usize) -> Self {
        let repeats = store.repeats().cloned();
        let mut queue = Self {
            cases: Vec::new(),
            order: VecDeque::new(),
            next_round: Vec::new(),
            unfinished: HashMap::new(),
            playing: 0,
            jobs: width,
            shuffle: Shuffle::new(repeats.as_ref().map_or(0, |repeats| repeats.seed)),
            repeats,
        };
        for job in jobs {
            let progress = queue.begun(&job.id, store);
            let open = progress.is_open(queue.repeats.as_ref());
            if open {
                *queue.unfinished.entry(job.group.clone()).or_default() += 1;
                queue.next_round.push(queue.cases.len());
                queue.cases.push(WaitingCase { job, progress, open });
            }
        }
        queue
    }

    fn begun(&self, id: &str, store: &RunStore) -> CaseProgress {
        CaseProgress::new(self.repeats.as_ref(), id, store.attempts(id))
    }

    /// Begins a round when nothing of this one can begin.
    pub(crate) fn prepare(&mut self) {
        if self.position().is_some() || self.next_round.is_empty() {
            return;
        }
        let mut round = std::mem::take(&mut self.next_round);
        // Played once, cases keep the order in which they were asked for.
        if self.repeats.is_some() {
            self.shuffle.shuffle(&mut round);
        }
        self.order.extend(round);
    }

    /// How many attempts at one case may go on at a time. A gate may be decided by each of them, so that what is begun beside it may
    /// be for nothing: it is, where there are more workers than cases.
    fn width(&self) -> usize {
        match self.repeats.as_ref().map(|repeats| repeats.rule) {
            None | Some(RepeatRule::Times(_)) => usize::MAX,
            Some(RepeatRule::Gate { .. } | RepeatRule::Claim(_)) => {
                let open = self.cases.iter().filter(|case| case.open).count();
                self.jobs.div_ceil(open.max(1))
            }
        }
    }

    /// The first that waits for nobody. Groups that wait for each other are refused when they are loaded; should there be any,
    /// they are played rather than waited for without end.
    fn position(&self) -> Option<usize> {
        let width = self.width();
        let free = |at: &usize| {
            let job = &self.cases[*at].job;
            let mut first = job.after.iter().filter(|group| **group != job.group);
            first.all(|group| self.unfinished.get(group).is_none_or(|count| *count == 0))
        };
        let may_begin = |at: &usize| self.cases[*at].open && self.cases[*at].progress.may_begin(width);
        let first = self.order.iter().position(|at| may_begin(at) && free(at));
        first.or_else(|| self.order.iter().position(may_begin).filter(|_| self.playing == 0))
    }

    /// Whether one can begin.
    pub(crate) fn has_ready(&self) -> bool {
        self.position().is_some()
    }

    /// The next attempt, with the position of its case.
    pub(crate) fn next(&mut self) -> Option<(usize, Job<C>)> {
        let at = self.position().and_then(|position| self.order.remove(position))?;
        let case = &mut self.cases[at];
        let attempt = case.progress.begin()?;
        case.open = case.progress.is_open(self.repeats.as_ref());
        self.playing += 1;
        if case.open {
            self.next_round.push(at);
        }
        Some((at, Job { attempt: self.repeats.as_ref().map(|_| attempt), ..case.job.clone() }))
    }

    /// An attempt came to its end; without an outcome where it has none. Where cases are repeated, gives what the attempts at this one
    /// say so far, and whether that is all.
    pub(crate) fn finished(
        &mut self,
        at: usize,
        attempt: Option<u32>,
        outcome: Option<&Outcome>,
    ) -> Option<(Rate, bool)> {
        self.playing = self.playing.saturating_sub(1);
        let case = self.cases.get_mut(at)?;
        case.progress.end(attempt.unwrap_or(1), outcome);
        let was_open = std::mem::replace(&mut case.open, case.progress.is_open(self.repeats.as_ref()));
        // What was waited for may be enough now, and what seemed to be enough may not.
        if case.open && !was_open {
            self.next_round.push(at);
        }
        if !case.open && case.progress.is_idle() {
            let group = case.job.group.clone();
            if let Some(count) = self.unfinished.get_mut(&group) {
                *count = count.saturating_sub(1);
            }
        }
        let case = &self.cases[at];
        let repeats = self.repeats.as_ref().filter(|_| outcome.is_some_and(|one| one.standing.is_some()))?;
        Some((case.progress.rate(repeats), !case.open && case.progress.is_idle()))
    }

    /// How many cases wait for an attempt.
    pub(crate) fn waiting(&self) -> usize {
        self.cases.iter().filter(|case| case.open).count()
    }

    /// Lets nothing more begin.
    pub(crate) fn clear(&mut self) {
        self.order.clear();
        self.next_round.clear();
        self.cases.iter_mut().for_each(|case| case.open = false);
    }
}
