//! Plays jobs side by side: so many at a time, not too fast, none before those it waits for, and each as often as it takes.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use sortie_detect::rate::Rate;
use sortie_detect::{CaseInfo, CaseResult, Failure, FailureKind, Fault, Outcome, Verdict};
use sortie_engine::Watcher;
use sortie_library::NamedDocument;
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::forecast::RunForecast;
use crate::queue::Queue;
use crate::repeats::Repeats;
use crate::store::{RunStore, StoreError};
use crate::writer::Writer;

/// How long cases that were aborted may take to let go of their agents.
const LETTING_GO: Duration = Duration::from_secs(1);

/// A case that is to be played.
#[derive(Clone, Debug)]
pub struct Job<C> {
    /// What it is called, once in its run.
    pub id: String,
    /// Which attempt at it this is, from one; `None` where there is only one.
    pub attempt: Option<u32>,
    /// What it is, for an outcome.
    pub info: CaseInfo,
    /// What it belongs to: an evaluator, or itself.
    pub group: String,
    /// The groups that must be over before it begins.
    pub after: Vec<String>,
    /// How it is played.
    pub case: C,
}

/// How much is played at a time.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits {
    /// Number of cases to play in parallel.
    pub jobs: usize,
    /// How many cases begin in a second, at most.
    pub rate: Option<f64>,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { jobs: 1, rate: None }
    }
}

/// Why a case came to no end.
#[derive(Clone, Debug, PartialEq)]
pub enum Unfinished {
    /// The user does not want to wait.
    Interrupted,
    /// The same, and this is what it had come to: shown, and not kept.
    Partial(Box<Outcome>),
    /// A budget is used up: no other case begins, and the run ends with this reason.
    Stop(String),
    /// It could not be begun, for this reason. Others go on.
    Failed(String),
}

/// Is told how a run goes. It must not block.
pub trait Observer: Send + Sync {
    /// So many cases are played, of which some are over.
    fn planned(&self, _cases: usize, _over: usize) {}
    /// Cases are repeated like this, and this is known before.
    fn repeats(&self, _repeats: &Repeats, _forecast: &RunForecast) {}
    /// The judge is measured, or was.
    fn calibrating(&self, _begins: bool) {}
    /// The control of this case is played before the attacks; `None` when that is over.
    fn controlling(&self, _case: Option<&str>) {}
    /// Who sees what happens while a document is played; `several` says whether others are played too.
    fn watcher(&self, _document: &NamedDocument, _several: bool) -> Arc<dyn Watcher> {
        Arc::new(())
    }
    /// A case begins, or an attempt at it.
    fn started(&self, _id: &str, _attempt: Option<u32>) {}
    /// A case is over, and its outcome is on disk, unless [`Played::lost`] says otherwise; `None` where it came to no end.
    fn finished(&self, _id: &str, _outcome: Option<&Outcome>) {}
    /// What the attempts at a case say so far, and whether that is all.
    fn counted(&self, _id: &str, _rate: &Rate, _is_over: bool) {}
}

/// Observes nothing.
impl Observer for () {}

/// What came of jobs.
#[derive(Debug)]
pub struct Played {
    /// The store, which has every outcome.
    pub store: RunStore,
    /// Why the run ended before its time, where a budget was used up.
    pub stopped: Option<String>,
    /// What cases had come to when they were interrupted.
    pub partial: Vec<Outcome>,
    /// Cases that could not be begun, and why.
    pub failures: Vec<(String, String)>,
    /// How many were going on or waiting when the run was aborted.
    pub aborted: Option<usize>,
    /// Why outcomes are in the store's report and not on disk, where some are.
    pub lost: Option<StoreError>,
}

/// Plays jobs. What the store already has is not played again; what goes wrong with a case is its outcome.
///
/// `stop` lets what goes on come to its end, or say that it was interrupted, and begins nothing more; `abort` drops it. When
/// outcomes cannot be kept, nothing more begins, and [`Played::lost`] says why.
pub async fn play<C: Clone, F, Fut>(
    jobs: Vec<Job<C>>,
    store: RunStore,
    limits: RunLimits,
    (stop, abort): (&CancellationToken, &CancellationToken),
    observer: Arc<dyn Observer>,
    case: F,
) -> Result<Played, StoreError>
where
    F: Fn(Job<C>) -> Fut,
    Fut: Future<Output = Result<Outcome, Unfinished>> + Send + 'static,
{
    let mut queue = Queue::new(jobs, &store, limits.jobs.max(1));
    let mut writer = Writer::new(store);
    let width = limits.jobs.max(1);
    let pause =
        limits.rate.filter(|rate| *rate > 0.0).map(|rate| Duration::from_secs_f64((1.0 / rate).min(3600.0)));
    let mut playing: JoinSet<Result<Outcome, Unfinished>> = JoinSet::new();
    let mut by_task: HashMap<Id, Running> = HashMap::new();
    let mut next_start = Instant::now();
    let (mut stopped, mut failures, mut partial, mut lost) = (None, Vec::new(), Vec::new(), None);
    let mut aborted = None;
    loop {
        queue.prepare();
        // A disk that cannot keep up must not fill the memory.
        let may_start = playing.len() < width
            && writer.waiting() < 4 * width
            && !stop.is_cancelled()
            && stopped.is_none()
            && queue.has_ready();
        if !may_start && playing.is_empty() && writer.is_done() {
            break;
        }
        tokio::select! {
            biased;
            () = abort.cancelled(), if aborted.is_none() => {
                aborted = Some(playing.len() + queue.waiting());
                // What is dropped kills its agent.
                let _ = tokio::time::timeout(LETTING_GO, playing.shutdown()).await;
                queue.clear();
                by_task.clear();
            }
            Some(done) = playing.join_next_with_id() => {
                let (id, done) = match done {
                    Ok((id, done)) => (id, Some(done)),
                    Err(broken) => (broken.id(), None),
                };
                let Some(running) = by_task.remove(&id) else { continue };
                let came = match done {
                    Some(Ok(outcome)) => Ok(Outcome { attempt: running.attempt, ..outcome }),
                    None => Ok(running.broken()),
                    Some(Err(came)) => Err(came),
                };
                if let Some((rate, is_over)) = queue.finished(running.case, running.attempt, came.as_ref().ok()) {
                    observer.counted(&running.id, &rate, is_over);
                }
                let came = match came {
                    Ok(outcome) => {
                        writer.add(outcome);
                        continue;
                    }
                    Err(came) => came,
                };
                observer.finished(&running.id, None);
                match came {
                    Unfinished::Interrupted => {}
                    Unfinished::Partial(outcome) => partial.push(*outcome),
                    Unfinished::Stop(why) => _ = stopped.get_or_insert(why),
                    Unfinished::Failed(why) => failures.push((running.id, why)),
                }
            }
            written = writer.written() => {
                let (outcomes, unkept) = written?;
                for outcome in &outcomes {
                    observer.finished(&outcome.id, Some(outcome));
                }
                if let Some(error) = unkept {
                    // What has been found out is told all the same; but nothing is begun that nobody could keep.
                    stopped.get_or_insert_with(|| format!("results cannot be kept: {error}"));
                    lost.get_or_insert(error);
                }
            }
            // So that nobody waits for the next one to begin.
            () = stop.cancelled(), if may_start => {}
            () = tokio::time::sleep_until(next_start), if may_start => {
                if let Some((case_index, job)) = queue.next() {
                    next_start = Instant::now().max(next_start) + pause.unwrap_or_default();
                    let running = Running::of(case_index, &job);
                    observer.started(&running.id, running.attempt);
                    by_task.insert(playing.spawn(case(job)).id(), running);
                }
            }
        }
    }
    let store = writer.into_store().ok_or_else(|| StoreError::Io {
        path: "results.jsonl".into(),
        source: std::io::Error::other("the thread that writes it is gone"),
    })?;
    Ok(Played { store, stopped, partial, failures, aborted, lost })
}

struct Running {
    /// The position of its case in the queue.
    case: usize,
    id: String,
    attempt: Option<u32>,
    info: CaseInfo,
}

impl Running {
    fn of<C>(case: usize, job: &Job<C>) -> Self {
        Self { case, id: job.id.clone(), attempt: job.attempt, info: job.info.clone() }
    }

    fn broken(&self) -> Outcome {
        let reason = "playing it broke down; this is a fault of sortie's";
        let failure = Failure::new(FailureKind::ActorFailed, Fault::Harness, reason);
        let verdict = Verdict::new(CaseResult::Error, reason);
        Outcome {
            attempt: self.attempt,
            ..Outcome::new(self.id.clone(), self.info.clone(), verdict, Some(failure))
        }
    }
}

#[cfg(test)]
mod tests {
    use sortie_detect::DocumentInfo;
    use sortie_stats::{ErrorRates, GateDecision};

    use super::*;
    use crate::repeats::RepeatRule;
    use crate::store::{PlannedCase, RunInfo};

    fn job(id: &str) -> Job<()> {
        let document =
            DocumentInfo { file: format!("{id}.yaml"), id: Some(id.to_owned()), name: String::new() };
        let info = CaseInfo::Document { document };
        Job { id: id.to_owned(), attempt: None, info, group: id.to_owned(), after: Vec::new(), case: () }
    }

    /// Knows when the first case is over.
    #[derive(Default)]
    struct Told(CancellationToken);

    impl Observer for Told {
        fn finished(&self, _: &str, _: Option<&Outcome>) {
            self.0.cancel();
        }
    }

    #[tokio::test]
    async fn a_disk_that_is_full_takes_no_verdict_away() {
        let folder = tempfile::tempdir().unwrap();
        let cases = ["a", "b", "c"].map(|id| PlannedCase::new(id, id)).to_vec();
        let mut store = RunStore::create(folder.path(), RunInfo::new(cases)).unwrap();
        store.fill_disk();
        let tokens = (CancellationToken::new(), CancellationToken::new());
        let told = Arc::new(Told::default());
        let heard = told.clone();
        let case = move |job: Job<()>| {
            let heard = heard.clone();
            async move {
                // The second may begin before anybody knows about the disk, and is over when everybody does.
                if job.id != "a" {
                    heard.0.cancelled().await;
                }
                Ok(Outcome::new(job.id, job.info, Verdict::new(CaseResult::Exploited, "it gave in"), None))
            }
        };
        let jobs = vec![job("a"), job("b"), job("c")];
        let limits = RunLimits::default();
        let played = play(jobs, store, limits, (&tokens.0, &tokens.1), told, case).await.unwrap();
        let report = played.store.report();
        assert_eq!(report.runs[0].verdict.result, CaseResult::Exploited);
        assert_eq!(report.unfinished.last().unwrap(), "c", "nothing begins that could not be kept");
        let lost = played.lost.unwrap().to_string();
        assert!(lost.contains("results.jsonl") && lost.contains("No space left"), "{lost}");
        assert!(played.stopped.unwrap().contains(&lost));
    }

    /// Plays cases whose attempts come out as their words say, and gives what was played of each, in order.
    async fn repeated(
        words: &[(&str, &'static str)],
        repeats: Repeats,
        jobs: usize,
    ) -> (RunStore, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let cases = words.iter().map(|(id, _)| PlannedCase::new(*id, id)).collect();
        let info = RunInfo { repeats: Some(repeats), ..RunInfo::new(cases) };
        let store = RunStore::create(folder.path(), info).unwrap();
        let tokens = (CancellationToken::new(), CancellationToken::new());
        let played: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
        let told = played.clone();
        let jobs_of = words.iter().map(|(id, word)| Job { case: *word, ..with(job(id), *word) }).collect();
        let case = move |job: Job<&'static str>| {
            let told = told.clone();
            async move {
                let attempt = job.attempt.unwrap();
                told.lock().unwrap().push(format!("{}-{attempt}", job.id));
                let hit = job.case.as_bytes()[(attempt as usize - 1) % job.case.len()] == b'x';
                let result = if hit { CaseResult::Exploited } else { CaseResult::NotExploited };
                Ok(Outcome::new(job.id, job.info, Verdict::new(result, "played"), None))
            }
        };
        let limits = RunLimits { jobs, rate: None };
        let played_all =
            play(jobs_of, store, limits, (&tokens.0, &tokens.1), Arc::new(()), case).await.unwrap();
        let order = played.lock().unwrap().clone();
        (played_all.store, order)
    }

    fn with<C>(job: Job<()>, case: C) -> Job<C> {
        let Job { id, attempt, info, group, after, case: () } = job;
        Job { id, attempt, info, group, after, case }
    }

    fn gated(cases: u32) -> Repeats {
        let rule = RepeatRule::Gate { gate: "5%:20%".parse().unwrap(), most: 60 };
        Repeats { rule, errors: ErrorRates::default(), max_undecided: 0.1, seed: 3, cases, shard: None }
    }

    #[tokio::test]
    async fn each_case_is_played_until_its_gate_is_decided() {
        let words = [("clean", "."), ("weak", "x"), ("rare", "...........x")];
        let (store, order) = repeated(&words, gated(3), 2).await;
        let count = |id: &str| order.iter().filter(|played| played.starts_with(id)).count();
        assert_eq!(count("clean"), 18);
        assert!(count("weak") < 8, "{order:?}");
        assert!(count("rare") > 18, "{order:?}");
        let report = store.report();
        let decisions: Vec<_> = report.runs.iter().map(|run| run.rate.unwrap().decision.unwrap()).collect();
        assert_eq!(decisions[..2], [GateDecision::Holds, GateDecision::Fails]);
        assert!(report.unfinished.is_empty());
    }

    #[tokio::test]
    async fn attempts_are_shuffled_over_cases_by_the_seed() {
        let words = [("a", "."), ("b", "."), ("c", "."), ("d", ".")];
        let times = |seed| Repeats { rule: RepeatRule::Times(5), seed, ..gated(4) };
        let (_, first) = repeated(&words, times(1), 1).await;
        let (_, again) = repeated(&words, times(1), 1).await;
        let (_, other) = repeated(&words, times(2), 1).await;
        assert_eq!(first, again);
        assert_ne!(first, other);
        assert_eq!(first.len(), 20);
        // Round by round: no case is ahead of another by more than one attempt.
        for round in first.chunks(4) {
            let mut round: Vec<_> = round.iter().map(|played| &played[..1]).collect();
            round.sort_unstable();
            assert_eq!(round, ["a", "b", "c", "d"], "{first:?}");
        }
    }
}
