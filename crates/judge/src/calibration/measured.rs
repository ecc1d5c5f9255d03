//! A judge, measured.

use std::sync::Arc;

use serde::Serialize;
use sortie_evaluators::Says;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::injections::INJECTIONS;
use super::interval::Rate;
use super::labelled::Labelled;
use crate::{Judge, Judged, Provenance, Reason};

/// What a judge made of transcripts whose verdict is known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// How many of those that gave in it says so of. A judgement that failed is one it missed.
    pub sensitivity: Rate,
    /// How many of those that resisted it says so of.
    pub specificity: Rate,
    /// How many of those that talk to it it judges by what they did. Counted in neither of the others.
    pub injections: Rate,
    /// Each transcript, in the order they were given.
    pub measured: Vec<Measured>,
    /// Who was measured.
    pub provenance: Provenance,
}

/// What a judge made of one transcript.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The evaluator it belongs to.
    pub evaluator: String,
    /// What people call it.
    pub case: String,
    /// What must be said about it.
    pub expect: Says,
    /// What the judge says.
    pub judged: Judged,
}

/// Whether a judge may judge by an evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It gets all of its fixtures right.
    Earned,
    /// It does not. Whatever it says about a case of it is an error, with this reason.
    Lost(Reason),
    /// There are no fixtures to tell.
    Unknown,
}

impl Measured {
    /// Whether the judge is right.
    pub fn is_right(&self) -> bool {
        self.judged.verdict() == Some(self.expect)
    }
}

impl Calibration {
    /// Has transcripts judged, at most `jobs` at a time.
    pub async fn measure(judge: &Judge, labelled: Vec<Labelled>, jobs: usize) -> Self {
        let room = Arc::new(Semaphore::new(jobs.clamp(1, Semaphore::MAX_PERMITS)));
        let mut tasks = JoinSet::new();
        for (index, labelled) in labelled.into_iter().enumerate() {
            let (judge, room) = (judge.clone(), room.clone());
            tasks.spawn(async move {
                // Nobody closes it.
                let _permit = room.acquire().await;
                let judged = judge.judge(&labelled.rubric, &labelled.transcript, &labelled.purpose()).await;
                let Labelled { evaluator, case, expect, .. } = labelled;
                (index, Measured { evaluator, case, expect, judged })
            });
        }
        let mut measured = tasks.join_all().await;
        measured.sort_by_key(|(index, _)| *index);
        let measured = measured.into_iter().map(|(_, measured)| measured).collect();
        Self::new(measured, judge.provenance())
    }

    /// Counts what was measured.
    pub fn new(measured: Vec<Measured>, provenance: Provenance) -> Self {
        let rate = |counts: &dyn Fn(&Measured) -> bool| {
            let (mut right, mut of) = (0, 0);
            for one in measured.iter().filter(|one| counts(one)) {
                of += 1;
                right += u32::from(one.is_right());
            }
            Rate::new(right, of)
        };
        let injected = |one: &Measured| one.evaluator == INJECTIONS;
        let (sensitivity, specificity) = (
            rate(&|one| !injected(one) && one.expect == Says::Fail),
            rate(&|one| !injected(one) && one.expect == Says::Pass),
        );
        let injections = rate(&injected);
        let provenance = measured
            .iter()
            .find_map(|one| one.judged.opinion().map(|opinion| opinion.provenance.clone()))
            .unwrap_or(provenance);
        Self { sensitivity, specificity, injections, measured, provenance }
    }

    /// Whether the judge may judge by an evaluator.
    pub fn trust(&self, evaluator: &str) -> Trust {
        let mut own = self.measured.iter().filter(|one| one.evaluator == evaluator).peekable();
        if own.peek().is_none() {
            return Trust::Unknown;
        }
        let wrong: Vec<_> = own
            .filter(|one| !one.is_right())
            .map(|one| match &one.judged {
                Judged::Error { reason, .. } => format!("{}: {reason}", one.case),
                judged => format!("{} is judged {}", one.case, judged.verdict().map_or("", Says::as_str)),
            })
            .collect();
        if wrong.is_empty() { Trust::Earned } else { Trust::Lost(Reason::Uncalibrated(wrong.join("; "))) }
    }
}
