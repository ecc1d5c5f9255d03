//! Plays the cases of a plan: some at once, not too fast, each for itself.

use std::collections::{HashMap, VecDeque};
use std::fs::DirBuilder;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sortie_trace::Redactor;
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::case::Case;
use super::decision::{Attacker, Judge};
use super::discovery::{DISCOVERY, Discovery, check_target};
use super::keeping::Keeper;
use super::plan::Planned;
use super::player::{Player, TRACES, Unfinished, failed, result};
use super::result::CaseResult;
use super::results::{Results, ResultsError};
use crate::event::Watcher;
use crate::targets::{Settings, Target};

/// How cases are played.
#[derive(Clone)]
pub struct Options {
    /// How many cases are played at once. 4.
    pub jobs: usize,
    /// How many cases begin in a second, at most.
    pub rate: Option<f64>,
    /// How often the attacker speaks in a case, where there is one who can go on. 1.
    pub turns: usize,
    /// How the target is approached.
    pub settings: Settings,
    /// What is taken out of everything that is kept.
    pub redactor: Redactor,
    /// Decides what checks do not.
    pub judge: Option<Arc<dyn Judge>>,
    /// Fills placeholders, and writes further turns.
    pub attacker: Option<Arc<dyn Attacker>>,
    /// The folder of a run that is replayed: its traces are decided again, and the target is not asked.
    pub replay: Option<PathBuf>,
    /// Start a process that serves MCP anew for each case.
    pub fresh_server: bool,
    /// Sees every record of every trace.
    pub watcher: Arc<dyn Watcher>,
    /// Sees every result, once it is on disk.
    pub seen: Arc<dyn Fn(&CaseResult) + Send + Sync>,
    /// Cancelled when the user does not want to wait.
    pub end: CancellationToken,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            jobs: 4,
            rate: None,
            turns: 1,
            settings: Settings::default(),
            redactor: Redactor::default(),
            judge: None,
            attacker: None,
            replay: None,
            fresh_server: false,
            watcher: Arc::new(()),
            seen: Arc::new(|_| {}),
            end: CancellationToken::new(),
        }
    }
}

/// What came of a plan.
#[derive(Clone, Debug)]
pub struct Played {
    /// What came of every case that came to an end, in the order of the plan.
    pub results: Vec<CaseResult>,
    /// The ids of those that did not: the run was interrupted, or a budget was used up.
    pub unfinished: Vec<String>,
    /// Why the run ended before its time, where a judge or an attacker said so.
    pub stopped: Option<String>,
}

/// Plays a plan in a folder. What `results` already has is not played again.
///
/// What goes wrong with a case is its result. An error means that results cannot be kept, and that nothing more is played.
pub async fn run(
    target: &Target,
    discovery: &Discovery,
    planned: &[Planned],
    mut results: Results,
    folder: &Path,
    options: Options,
) -> Result<Played, ResultsError> {
    prepare(folder, target, discovery, &options.redactor)?;
    let unplayed: Vec<_> = planned.iter().filter_map(CaseResult::unplayed).collect();
    let new: Vec<_> = unplayed.iter().filter(|result| results.get(&result.id).is_none()).cloned().collect();
    results.add(&new)?;
    for result in &unplayed {
        (options.seen)(result);
    }
    let mut queue = Queue::new(planned, &results);
    let mut keeper = Keeper::new(results);
    let jobs = options.jobs.max(1);
    let pause =
        options.rate.filter(|rate| *rate > 0.0).map(|rate| Duration::from_secs_f64((1.0 / rate).min(3600.0)));
    let end = options.end.clone();
    let seen = options.seen.clone();
    let player = Arc::new(Player::new(target, discovery, folder, options));
    let mut playing: JoinSet<Result<CaseResult, Unfinished>> = JoinSet::new();
    let mut by_task: HashMap<Id, Case> = HashMap::new();
    let mut next_start = Instant::now();
    let mut stopped = None;
    loop {
        // A disk that cannot keep up must not fill the memory.
        let may_start = playing.len() < jobs
            && keeper.waiting() < 4 * jobs
            && !end.is_cancelled()
            && stopped.is_none()
            && queue.has_ready();
        if !may_start && playing.is_empty() && keeper.is_done() {
            break;
        }
        tokio::select! {
            biased;
            Some(done) = playing.join_next_with_id() => {
                let (id, result) = match done {
                    Ok((id, Ok(result))) => (id, Some(result)),
                    Ok((id, Err(Unfinished::Interrupted))) => (id, None),
                    Ok((id, Err(Unfinished::Stop(why)))) => {
                        stopped.get_or_insert(why);
                        (id, None)
                    }
                    Err(broken) => (broken.id(), by_task.get(&broken.id()).map(panicked)),
                };
                if let Some(case) = by_task.remove(&id) {
                    queue.finished(&case.rubric.evaluator.id);
                }
                if let Some(result) = result {
                    keeper.add(result);
                }
            }
            kept = keeper.kept() => {
                for result in kept? {
                    seen(&result);
                }
            }
            // So that nobody waits for the next one to begin.
            () = end.cancelled(), if may_start => {}
            () = tokio::time::sleep_until(next_start), if may_start => {
                if let Some(case) = queue.next() {
                    next_start = Instant::now().max(next_start) + pause.unwrap_or_default();
                    let (player, played) = (player.clone(), case.clone());
                    let handle = playing.spawn(async move { player.play(&played).await });
                    by_task.insert(handle.id(), case);
                }
            }
        }
    }
    player.close().await;
    let results = keeper.into_results();
    let (mut came, mut unfinished) = (Vec::new(), Vec::new());
    for planned in planned {
        match results.as_ref().and_then(|results| results.get(planned.id())) {
            Some(result) => came.push(result.clone()),
            None => unfinished.push(planned.id().to_owned()),
        }
    }
    Ok(Played { results: came, unfinished, stopped })
}

fn prepare(
    folder: &Path,
    target: &Target,
    discovery: &Discovery,
    redactor: &Redactor,
) -> Result<(), ResultsError> {
    let io = |path: PathBuf| move |source| ResultsError::Io { path, source };
    let traces = folder.join(TRACES);
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(&traces).map_err(io(traces.clone()))?;
    let path = folder.join(DISCOVERY);
    if path.exists() {
        let before = Discovery::read(&path).map_err(io(path.clone()))?;
        check_target(before.target(), target, redactor)
            .map_err(|error| ResultsError::OtherTarget(error.to_string()))?;
    }
    discovery.keep(&path).map_err(io(path))?;
    let path = folder.join("discovered.json");
    let text = discovery.offer.to_json().to_string();
    std::fs::write(&path, redactor.json(&text).as_bytes()).map_err(io(path))
}

fn panicked(case: &Case) -> CaseResult {
    let decided = failed("playing it broke down; this is a fault of sortie's".to_owned());
    result(case, sortie_evaluators::Values::new(), decided, None, None, &Redactor::default())
}

/// Cases that wait, and what they wait for.
struct Queue {
    waiting: VecDeque<Case>,
    /// How many cases of an evaluator are not finished.
    unfinished: HashMap<String, usize>,
}

impl Queue {
    fn new(planned: &[Planned], results: &Results) -> Self {
        let mut queue = Self { waiting: VecDeque::new(), unfinished: HashMap::new() };
        for planned in planned {
            if let Planned::Ready(case) = planned
                && results.get(&case.id).is_none()
            {
                *queue.unfinished.entry(case.rubric.evaluator.id.clone()).or_default() += 1;
                queue.waiting.push_back((**case).clone());
            }
        }
        queue
    }

    /// The first that waits for nobody. Evaluators that wait for each other were refused when they were loaded; should
    /// there be any, they are played rather than waited for without end.
    fn position(&self) -> Option<usize> {
        let free = |case: &Case| {
            let own = &case.rubric.evaluator.id;
            let mut first = case.rubric.evaluator.depends_on.iter().filter(|id| *id != own);
            first.all(|id| self.unfinished.get(id).is_none_or(|count| *count == 0))
        };
        let nobody_plays = || self.unfinished.values().sum::<usize>() == self.waiting.len();
        self.waiting
            .iter()
            .position(free)
            .or_else(|| (!self.waiting.is_empty() && nobody_plays()).then_some(0))
    }

    fn has_ready(&self) -> bool {
        self.position().is_some()
    }

    fn next(&mut self) -> Option<Case> {
        self.position().and_then(|at| self.waiting.remove(at))
    }

    fn finished(&mut self, evaluator: &str) {
        if let Some(count) = self.unfinished.get_mut(evaluator) {
            *count = count.saturating_sub(1);
        }
    }
}
