//! What is known about a campaign before it starts: attempts, time, calls of models and their cost.
//!
//! Nothing is guessed. Time and cost come from an earlier run of the same cases against the same agent and targets, or from a limit
//! of this one. Where neither says anything, nothing is said.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::Value;
use sortie_detect::Cost;
use sortie_report::{ModelUse, Report, counted, line};
use sortie_trace::time::parse_time;

use crate::folders::{RUNS, shell_word};
use crate::models::ModelSetup;
use crate::repeats::Repeats;
use crate::{RunInfo, load_info, load_report};

/// So many earlier runs are looked at, the newest first.
const RUNS_READ: usize = 50;
/// So many attempts of an earlier run are measured.
const ATTEMPTS_READ: usize = 200;
/// A longer first or last line of a trace is not read.
const LINE: u64 = 64 << 10;

/// What is known about an attempt before any is played.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunForecast {
    /// How many attempts are played at once.
    pub jobs: usize,
    /// How long an attempt may take; `None` where nothing limits it.
    pub max_seconds: Option<f64>,
    /// So many attempts are over, in the run that is taken up.
    pub over: usize,
    /// What an earlier run tells; `None` where there is none.
    pub earlier: Option<EarlierRun>,
    /// How often the judge is asked in an attempt at a case of an evaluator, at most.
    pub judge_calls: Option<u32>,
    /// How often the attacker is asked there, at most.
    pub attacker_calls: Option<u32>,
}

/// What an earlier run of the same cases tells about attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EarlierRun {
    /// Its folder.
    pub folder: PathBuf,
    /// How long an attempt took, on average.
    pub seconds: f64,
    /// What models cost for an attempt, on average; `None` unless they were the same ones and their prices were known.
    pub cost: Option<f64>,
}

/// What is to be played, as far as a forecast depends on it.
pub(crate) struct PlannedAttempts<'p> {
    /// What the run is.
    pub(crate) info: &'p RunInfo,
    /// The run that is taken up.
    pub(crate) resume: Option<&'p Path>,
    pub(crate) models: &'p ModelSetup,
    /// Whether cases of evaluators are among it.
    pub(crate) has_evaluators: bool,
    /// How long an attempt may take, where all have a limit.
    pub(crate) limit: Option<Duration>,
    pub(crate) jobs: usize,
}

impl RunForecast {
    pub(crate) fn new(planned: &PlannedAttempts<'_>) -> Self {
        let request = &planned.models.request;
        let calls = |is_there: bool, calls: u32| (is_there && planned.has_evaluators).then_some(calls);
        let turns = request.turns.map_or(1, |turns| u32::try_from(turns.get()).unwrap_or(u32::MAX));
        Self {
            jobs: planned.jobs,
            max_seconds: planned.limit.map(|limit| limit.as_secs_f64()),
            over: planned.resume.map_or(0, attempts_over),
            earlier: earlier(planned),
            judge_calls: calls(
                planned.models.judge.is_some(),
                request.votes.map_or(1, std::num::NonZero::get),
            ),
            attacker_calls: calls(planned.models.attacker.is_some(), turns),
        }
    }

    /// What is known about a campaign, in lines for people: attempts, time, models and cost.
    pub fn lines(&self, repeats: &Repeats) -> Vec<String> {
        let mut lines = vec![format!("attempts: {}", repeats.expected())];
        let counts = repeats.expected_attempts();
        let each = |text: &dyn Fn(f64) -> String| {
            #[allow(clippy::cast_precision_loss)] // nobody plays that many
            let left = |attempts: &f64| (attempts - self.over as f64).max(0.0);
            let texts = counts.iter().map(|(when, attempts)| format!("{}{when}", text(left(attempts))));
            texts.collect::<Vec<_>>().join(", ")
        };
        #[allow(clippy::cast_precision_loss)] // nobody plays that many at once
        let duration =
            |attempts: f64, seconds: f64| shown(attempts * seconds / attempts.clamp(1.0, self.jobs as f64));
        if let Some(earlier) = &self.earlier {
            let times = each(&|attempts| format!("about {}", duration(attempts, earlier.seconds)));
            let (attempt, folder) = (shown(earlier.seconds), line(&shell_word(&earlier.folder)));
            lines.push(format!("time: {times}; an attempt took {attempt} on average in {folder}"));
        }
        if let Some(limit) = self.max_seconds {
            let most = duration(f64::from(repeats.cases) * f64::from(repeats.most()), limit);
            lines.push(format!(
                "time: {most} at most; an attempt ends after {} (`--max-duration`)",
                shown(limit)
            ));
        }
        let calls = [(self.judge_calls, "judge"), (self.attacker_calls, "attacker")];
        let calls = calls.iter().filter_map(|(calls, role)| {
            Some(format!("{} of the {role}", counted((*calls)? as usize, "call", "calls")))
        });
        let calls: Vec<_> = calls.collect();
        if !calls.is_empty() {
            lines.push(format!(
                "models: up to {} for each attempt at a case of an evaluator",
                calls.join(" and ")
            ));
        }
        if let Some(cost) = self.earlier.as_ref().and_then(|earlier| earlier.cost) {
            let amount =
                |attempts: f64| Cost::new(attempts * cost).map_or_else(String::new, |cost| cost.to_string());
            let costs = each(&|attempts| format!("about {}", amount(attempts)));
            lines.push(format!("cost of models: {costs}; by `prices` of sortie.toml, as in the same run"));
        }
        lines
    }
}

/// How many attempts of a run are on disk.
fn attempts_over(folder: &Path) -> usize {
    let report = load_report(folder).unwrap_or_default();
    report.runs.iter().map(|run| run.attempts.len()).sum()
}

/// The newest run that played these cases against the same agent and targets; the run itself, where it is taken up.
fn earlier(planned: &PlannedAttempts<'_>) -> Option<EarlierRun> {
    let mut folders: Vec<PathBuf> = planned.resume.map(Path::to_owned).into_iter().collect();
    let mut stored: Vec<PathBuf> =
        std::fs::read_dir(RUNS).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    // They are called after the time at which they began.
    stored.sort();
    folders.extend(stored.into_iter().rev().take(RUNS_READ));
    folders.into_iter().find_map(|folder| measured(folder, planned))
}

fn measured(folder: PathBuf, planned: &PlannedAttempts<'_>) -> Option<EarlierRun> {
    let (info, own) = (load_info(&folder).ok()?, planned.info);
    let ids = |info: &RunInfo| info.cases.iter().map(|case| case.id.clone()).collect::<BTreeSet<_>>();
    if (&info.agent, &info.targets) != (&own.agent, &own.targets) || !ids(own).is_subset(&ids(&info)) {
        return None;
    }
    let report = load_report(&folder).ok()?;
    let wanted = ids(own);
    let played: Vec<_> = report.runs.iter().filter(|run| run.standing.is_some()).collect();
    let runs = played.iter().filter(|run| wanted.contains(&run.id));
    let traces: Vec<&str> = runs
        .flat_map(|run| {
            let once = run.trace.iter().filter(|_| run.attempts.is_empty());
            run.attempts.iter().filter_map(|attempt| attempt.trace.as_ref()).chain(once).map(String::as_str)
        })
        .collect();
    // Over all of them, and not over the first cases alone.
    let step = traces.len().div_ceil(ATTEMPTS_READ).max(1);
    let files = crate::trace_files::TraceFiles::Run(&folder);
    let seconds: Vec<f64> =
        traces.iter().step_by(step).filter_map(|trace| seconds(&files.find(Path::new(trace))?)).collect();
    #[allow(clippy::cast_precision_loss)] // nobody has that many attempts
    let (mean, attempts) = (seconds.iter().sum::<f64>() / seconds.len() as f64, traces.len() as f64);
    // What all cases cost says nothing about some of them.
    let is_whole = played.iter().all(|run| wanted.contains(&run.id));
    let cost = cost(&report, planned.models).filter(|_| is_whole).map(|cost| cost / attempts);
    (!seconds.is_empty()).then_some(EarlierRun { folder, seconds: mean, cost })
}

/// What models cost in a run, where they were those that are asked now and have prices.
fn cost(report: &Report, asked: &ModelSetup) -> Option<f64> {
    let used = report.models.as_ref()?;
    let is_same = |used: Option<&ModelUse>, asked: Option<&crate::models::KeyedEndpoint>| match (used, asked)
    {
        (None, None) => true,
        (Some(used), Some(asked)) => asked.endpoint.prices.is_some() && used.model == asked.endpoint.model,
        _ => false,
    };
    let same = is_same(used.judge.as_ref(), asked.judge.as_ref())
        && is_same(used.attacker.as_ref(), asked.attacker.as_ref());
    Some(used.spent.cost.units()).filter(|cost| same && *cost > 0.0)
}

/// How long an attempt took: from the header of its trace to the last record.
fn seconds(trace: &Path) -> Option<f64> {
    let mut reader = BufReader::new(File::open(trace).ok()?);
    let mut first = String::new();
    reader.by_ref().take(LINE).read_line(&mut first).ok()?;
    let length = reader.seek(SeekFrom::End(0)).ok()?;
    reader.seek(SeekFrom::Start(length.saturating_sub(LINE))).ok()?;
    let mut end = Vec::new();
    reader.read_to_end(&mut end).ok()?;
    let last = end.trim_ascii_end().rsplit(|byte| *byte == b'\n').next()?;
    let took = time(last)?.duration_since(time(first.as_bytes())?).ok()?;
    Some(took.as_secs_f64())
}

fn time(record: &[u8]) -> Option<SystemTime> {
    parse_time(serde_json::from_slice::<Value>(record).ok()?.get("time")?.as_str()?)
}

/// A time as people say it: two units at most.
fn shown(seconds: f64) -> String {
    let tenths = (seconds * 10.0).round() / 10.0;
    if tenths < 10.0 {
        return format!("{tenths} s");
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // it is finite and above zero; what is longer is cut
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use sortie_detect::{CaseInfo, CaseResult, DocumentInfo, Outcome, Prices, Spent, Verdict};
    use sortie_judge::{EndpointKind, ModelEndpoint};
    use sortie_report::Models;
    use sortie_report::origin::StartedAgent;

    use super::*;
    use crate::models::{KeyedEndpoint, ModelRequest};
    use crate::repeats::{RepeatRequest, RepeatRule};
    use crate::{PlannedCase, RunStore};

    fn repeats(rule: RepeatRule, cases: usize) -> Repeats {
        let request = RepeatRequest {
            rule,
            errors: sortie_stats::ErrorRates::default(),
            max_undecided: 0.1,
            seed: Some(1),
            shard: None,
        };
        request.of_cases(cases, None)
    }

    fn info(agent: &str, cases: &[&str]) -> RunInfo {
        RunInfo {
            agent: Some(StartedAgent { command: agent.to_owned(), ..StartedAgent::default() }),
            ..RunInfo::new(cases.iter().map(|id| PlannedCase::new(*id, "")).collect())
        }
    }

    fn models(prices: Option<Prices>) -> ModelSetup {
        let request = ModelRequest { votes: std::num::NonZero::new(3), ..ModelRequest::default() };
        let endpoint = ModelEndpoint {
            prices,
            ..ModelEndpoint::new(EndpointKind::OpenAi, "http://127.0.0.1:9/v1", "small")
        };
        let mut setup = ModelSetup::default();
        (setup.request, setup.judge) = (request, Some(KeyedEndpoint { endpoint, key: None }));
        setup
    }

    /// A run of two cases, whose attempts took two seconds and four, and whose judge cost 0.3.
    fn stored(folder: &Path) {
        let mut outcomes = Vec::new();
        for (id, took) in [("A-1", "02"), ("A-2", "04")] {
            let own = folder.join(format!("cases/{id}"));
            std::fs::create_dir_all(&own).unwrap();
            let trace = own.join("trace.jsonl");
            let text = format!(
                "{{\"record\":\"header\",\"time\":\"2026-01-01T00:00:00.5Z\"}}\n{{\"record\":\"stopped\",\"time\":\"2026-01-01T00:00:{took}.5Z\"}}\n"
            );
            std::fs::write(&trace, text).unwrap();
            let document = DocumentInfo { file: "a.yaml".into(), id: Some(id.into()), name: id.into() };
            let verdict = Verdict::new(CaseResult::NotExploited, "it said no");
            let trace = Some(trace.display().to_string());
            outcomes
                .push(Outcome { trace, ..Outcome::new(id, CaseInfo::Document { document }, verdict, None) });
        }
        let mut store = RunStore::create(folder, info("clerk", &["A-1", "A-2"])).unwrap();
        store.add(&outcomes).unwrap();
        let mut report = store.report();
        let spent = Spent { calls: 2, cost: Cost::new(0.3).unwrap(), ..Spent::default() };
        let judge = Some(ModelUse { model: "small".to_owned(), ..ModelUse::default() });
        report.models = Some(Models { judge, spent, ..Models::default() });
        store.write_report(&report).unwrap();
    }

    #[test]
    fn an_earlier_run_of_the_same_cases_tells_time_and_cost() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        stored(&run);
        let told = |info: &RunInfo, models: &ModelSetup| {
            let planned = PlannedAttempts {
                info,
                resume: Some(&run),
                models,
                has_evaluators: true,
                limit: None,
                jobs: 4,
            };
            RunForecast::new(&planned)
        };
        let prices = Some(Prices { input_per_million: 1.0, output_per_million: 2.0 });
        let (same, part) = (info("clerk", &["A-1", "A-2"]), info("clerk", &["A-2"]));
        let earlier = told(&same, &models(prices)).earlier.unwrap();
        assert!(
            (earlier.seconds - 3.0).abs() < 1e-9 && (earlier.cost.unwrap() - 0.15).abs() < 1e-9,
            "{earlier:?}"
        );
        let earlier = told(&part, &models(prices)).earlier.unwrap();
        assert!((earlier.seconds - 4.0).abs() < 1e-9 && earlier.cost.is_none(), "{earlier:?}");
        assert_eq!(told(&same, &models(None)).earlier.unwrap().cost, None, "nobody knows the prices");
        assert_eq!(told(&same, &ModelSetup::default()).earlier.unwrap().cost, None, "other models");
        assert_eq!(told(&info("other", &["A-1"]), &models(prices)).earlier, None);
        assert_eq!(told(&info("clerk", &["A-1", "A-3"]), &models(prices)).earlier, None);

        let gate = repeats(RepeatRule::Gate { gate: "5%:20%".parse().unwrap(), most: 60 }, 2);
        let lines = told(&same, &models(prices)).lines(&gate);
        assert_eq!(lines.len(), 4, "{lines:#?}");
        assert!(lines[1].starts_with("time: about 27 s if nothing is exploited, about "), "{lines:#?}");
        assert!(lines[1].contains("; an attempt took 3 s on average in "), "{lines:#?}");
        assert_eq!(lines[2], "models: up to 3 calls of the judge for each attempt at a case of an evaluator");
        assert!(lines[3].starts_with("cost of models: about 5.4"), "{lines:#?}");
    }

    #[test]
    fn nothing_is_said_that_nobody_knows() {
        let ten = repeats(RepeatRule::Times(10), 3);
        let unknown = RunForecast { jobs: 2, ..RunForecast::default() };
        assert_eq!(
            unknown.lines(&ten),
            ["attempts: 3 cases with up to 10 attempts each; 30 attempts in all"]
        );
        let limited = RunForecast { max_seconds: Some(300.0), ..unknown };
        let limit = "time: 1 h 15 min at most; an attempt ends after 5 min (`--max-duration`)";
        assert_eq!(limited.lines(&ten)[1], limit);
    }

    #[test]
    fn times_are_said_in_two_units_at_most() {
        let texts = [0.04, 1.25, 9.96, 61.0, 120.0, 3600.0, 4000.0, 360_000.0].map(shown);
        assert_eq!(texts, ["0 s", "1.3 s", "10 s", "1 min 1 s", "2 min", "1 h", "1 h 6 min", "100 h"]);
    }
}
