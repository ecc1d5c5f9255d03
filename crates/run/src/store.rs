//! The folder of a run.
//!
//! | file | holds |
//! |---|---|
//! | `run.json` | what the run is: the program, when it began, the target, its cases |
//! | `results.jsonl` | an outcome a line, in the order in which cases came to their end |
//! | `cases/CASE/` | the trace of a case, and what its agent wrote |
//! | `report.json` | the report, once the run is over |
//!
//! Lines are written whole and reach the disk before they count. Whatever ends the run in between leaves at most one torn line
//! at the end, which is dropped.

use std::collections::{BTreeMap, HashMap};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sortie_detect::Outcome;
use sortie_engine::cases::case_folder;
use sortie_report::origin::{RunOrigin, StartedAgent};
use sortie_report::{Report, write_json};
use sortie_trace::TracedTarget;

use crate::recovery::recover;
use crate::repeats::{CaseProgress, Repeats, slim};

const VERSION: u32 = 1;

/// How long a line may be: the limits of a transcript, and room for escapes.
const MAX_LINE: u64 = 128 << 20;

/// How long `run.json` and `report.json` may be.
const MAX_FILE: u64 = 1 << 30;

const RUN: &str = "run.json";
const RESULTS: &str = "results.jsonl";
const REPORT: &str = "report.json";

/// Why a run cannot be kept, taken up or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file cannot be written or read.
    #[error("`{}`: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not a folder of a run.
    #[error("`{}` is not a folder of a run: it has no `{RUN}`", .0.display())]
    NoRun(PathBuf),
    /// A file does not hold what it should.
    #[error("`{}`, line {line}: {why}: the file was changed, or is of another version", .path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line, from one.
        line: usize,
        /// Why.
        why: String,
    },
    /// It belongs to a run of other cases.
    #[error("`{}` is of a run of other cases: name the same documents, evaluators, values and target, or begin a new run", .0.display())]
    OtherCases(PathBuf),
    /// It was of another agent.
    #[error("the run in `{}` is of another agent: {}, and now {}: name the same agent, or begin a new run", .folder.display(), named(.found.as_ref().as_ref()), named(.asked.as_ref().as_ref()))]
    OtherAgent {
        /// The folder.
        folder: PathBuf,
        /// The agent of the run.
        found: Box<Option<StartedAgent>>,
        /// The agent that was asked for.
        asked: Box<Option<StartedAgent>>,
    },
    /// Its cases are repeated in another way.
    #[error("the run in `{}` repeats its cases in another way: ask for the same number of attempts, gate, claim, seed and shard, or begin a new run", .0.display())]
    OtherRepeats(PathBuf),
    /// It attacked another target.
    #[error("the run in `{}` attacked another target: name the same target, or begin a new run", .0.display())]
    OtherTarget(PathBuf),
}

fn named(agent: Option<&StartedAgent>) -> String {
    match agent {
        None => "none".to_owned(),
        Some(StartedAgent { command, prompt, version, model }) => {
            let also = |what: &str, text: &Option<String>| {
                text.as_ref().map(|text| format!(" with the {what} `{text}`")).unwrap_or_default()
            };
            let (prompt, version, model) =
                (also("prompt", prompt), also("version", version), also("model", model));
            format!("`{command}`{version}{model}{prompt}")
        }
    }
}

/// What a run is: `run.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Version of the folder.
    pub version: u32,
    /// The program, with its version.
    pub written_by: String,
    /// What it was asked for: the words of the command line, without what is redacted.
    pub asked: Vec<String>,
    /// When it began.
    pub started: String,
    /// What evaluators attack, without credentials; `None` where there are none.
    pub target: Option<TracedTarget>,
    /// The agent under test; `None` where nobody starts one.
    #[serde(default)]
    pub agent: Option<StartedAgent>,
    /// Everything that is attacked, as `[ACTOR=]KIND=SPEC`, without what is redacted.
    #[serde(default)]
    pub targets: Vec<String>,
    /// How its cases are repeated; `None` where each is played once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Repeats>,
    /// Its cases, in the order of the report.
    pub cases: Vec<PlannedCase>,
}

/// A case of a run, as `run.json` has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCase {
    /// What it is called.
    pub id: String,
    /// What tells it from a case of the same name: a hash of what it does.
    pub fingerprint: String,
}

impl PlannedCase {
    /// A case that does this.
    pub fn new(id: impl Into<String>, does: &str) -> Self {
        Self { id: id.into(), fingerprint: fingerprint(does) }
    }
}

impl RunInfo {
    /// A run of these cases.
    pub fn new(cases: Vec<PlannedCase>) -> Self {
        Self { version: VERSION, written_by: sortie_detect::SOURCE.to_owned(), cases, ..Self::default() }
    }

    /// The folders of evaluators that were asked for.
    pub fn evaluator_folders(&self) -> Vec<PathBuf> {
        self.option("--evaluators").map(PathBuf::from).collect()
    }

    /// What an option was given on the command line, as `--option VALUE` or `--option=VALUE`.
    pub(crate) fn option(&self, option: &str) -> impl Iterator<Item = &str> {
        let after = self.asked.windows(2).filter(move |words| words[0] == option);
        let within = self.asked.iter().filter_map(move |word| word.strip_prefix(option)?.strip_prefix('='));
        after.map(|words| words[1].as_str()).chain(within)
    }

    /// What a report says about the run.
    fn origin(&self) -> RunOrigin {
        RunOrigin {
            written_by: self.written_by.clone(),
            started: self.started.clone(),
            seconds: None,
            agent: self.agent.clone(),
            targets: self.targets.clone(),
            evaluators: self.option("--evaluators").map(str::to_owned).collect(),
            fingerprint: self.fingerprint(),
            repeats: self.repeats.as_ref().map(Repeats::origin),
        }
    }

    /// Tells runs apart that cannot be joined or compared: of another program, agent or target, or of other cases.
    pub fn fingerprint(&self) -> String {
        let Self { written_by, agent, targets, target, cases, .. } = self;
        // What serialises once serialises always.
        let text = serde_json::to_string(&(written_by, agent, targets, target, cases)).unwrap_or_default();
        fingerprint(&text)
    }
}

/// 64 bits of FNV-1a, as hexadecimal digits: it tells cases apart, and nobody gains by making two that look the same.
fn fingerprint(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// The folder of a run, and what came of its cases so far.
#[derive(Debug)]
pub struct RunStore {
    folder: PathBuf,
    info: RunInfo,
    file: File,
    done: Outcomes,
}

/// Outcomes by the id of their case and the number of the attempt.
type Outcomes = HashMap<String, BTreeMap<u32, Outcome>>;

impl RunStore {
    /// Begins a run in a folder that holds none.
    pub fn create(folder: &Path, info: RunInfo) -> Result<Self, StoreError> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder).map_err(io_at(folder))?;
        let path = folder.join(RUN);
        let text = json_text(&info).map_err(io_at(&path))?;
        let mut file = private_file(&path).map_err(io_at(&path))?;
        file.write_all(&text).and_then(|()| file.sync_data()).map_err(io_at(&path))?;
        let path = folder.join(RESULTS);
        let file = private_file(&path).map_err(io_at(&path))?;
        Ok(Self { folder: folder.to_owned(), info, file, done: HashMap::new() })
    }

    /// Goes on with a run of the same cases and target. What is over is known.
    pub fn resume(folder: &Path, info: &RunInfo) -> Result<Self, StoreError> {
        let found = load_info(folder)?;
        if found.agent != info.agent {
            let (found, asked) = (Box::new(found.agent), Box::new(info.agent.clone()));
            return Err(StoreError::OtherAgent { folder: folder.to_owned(), found, asked });
        }
        if found.target != info.target || found.targets != info.targets {
            return Err(StoreError::OtherTarget(folder.to_owned()));
        }
        if found.cases != info.cases {
            return Err(StoreError::OtherCases(folder.join(RUN)));
        }
        if found.repeats != info.repeats {
            return Err(StoreError::OtherRepeats(folder.to_owned()));
        }
        let path = folder.join(RESULTS);
        let io = io_at(&path);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(&io)?;
        let (whole, outcomes) = load_outcomes(&file, &path)?;
        file.set_len(whole).map_err(&io)?;
        file.seek(SeekFrom::Start(whole)).map_err(&io)?;
        // What was reported when it was interrupted is not what is to come.
        match std::fs::remove_file(folder.join(REPORT)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_at(&folder.join(REPORT))(error));
            }
            _ => {}
        }
        Ok(Self { folder: folder.to_owned(), info: found, file, done: by_id(outcomes) })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder for a case, which need not be there.
    pub fn case_folder(&self, id: &str) -> PathBuf {
        self.folder.join(case_folder(id))
    }

    /// How its cases are repeated; `None` where each is played once.
    pub fn repeats(&self) -> Option<&Repeats> {
        self.info.repeats.as_ref()
    }

    /// What came of a case, or of the first attempt at it that is over.
    pub fn get(&self, id: &str) -> Option<&Outcome> {
        self.done.get(id)?.values().next()
    }

    /// What came of the attempts at a case that are over, in short.
    pub(crate) fn attempts(&self, id: &str) -> impl Iterator<Item = (u32, Outcome)> {
        self.done.get(id).into_iter().flatten().map(|(attempt, outcome)| (*attempt, slim(outcome)))
    }

    /// Whether a case is over: nothing of it is to be played.
    pub fn is_over(&self, id: &str) -> bool {
        let repeats = self.repeats();
        self.get(id).is_some() && !CaseProgress::new(repeats, id, self.attempts(id)).is_open(repeats)
    }

    /// How many cases are over.
    pub fn len(&self) -> usize {
        self.done.keys().filter(|id| self.is_over(id)).count()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// Keeps outcomes. When this returns they are on disk. When it fails, nothing of them is.
    pub fn add(&mut self, outcomes: &[Outcome]) -> Result<(), StoreError> {
        let mut lines = Vec::new();
        let path = self.folder.join(RESULTS);
        let written = outcomes.iter().try_for_each(|outcome| {
            serde_json::to_writer(&mut lines, outcome)?;
            lines.push(b'\n');
            Ok(())
        });
        let whole = self.file.metadata().map_err(io_at(&path))?.len();
        let written = written.and_then(|()| self.file.write_all(&lines));
        if let Err(error) = written.and_then(|()| self.file.sync_data()) {
            // Half a line must not stand before the next. Where it cannot be taken back, nothing can be written either.
            let _ = self.file.set_len(whole).and_then(|()| self.file.seek(SeekFrom::Start(whole)));
            return Err(io_at(&path)(error));
        }
        self.remember(outcomes);
        Ok(())
    }

    /// Holds outcomes for the report that could not be kept.
    pub(crate) fn remember(&mut self, outcomes: &[Outcome]) {
        for (id, attempts) in by_id(outcomes.to_vec()) {
            self.done.entry(id).or_default().extend(attempts);
        }
    }

    /// Lets all that is written fail, as on a disk that is full.
    #[cfg(test)]
    pub(crate) fn fill_disk(&mut self) {
        self.file = OpenOptions::new().write(true).open("/dev/full").unwrap();
    }

    /// The report of what is over, in the order of the run; the rest is unfinished.
    pub fn report(&self) -> Report {
        report_of(&self.info, |case| self.done.get(&case.id).cloned())
    }

    /// Writes the report of the run, in the place of an earlier one, so that nobody ever sees half of one.
    pub fn write_report(&self, report: &impl Serialize) -> Result<(), StoreError> {
        let path = self.folder.join(REPORT);
        let text = json_text(report).map_err(io_at(&path))?;
        // A file for a while is its owner's alone, and stays so.
        let written = tempfile::NamedTempFile::new_in(&self.folder).and_then(|mut file| {
            file.write_all(&text)?;
            file.persist(&path).map_err(|error| error.error)
        });
        written.map(drop).map_err(io_at(&path))
    }
}

/// The report of a stored run: the one it wrote when it was over. Else one of what is over, and of what the traces of documents
/// say that were being played; the rest is unfinished.
pub fn load_report(folder: &Path) -> Result<Report, StoreError> {
    let info = load_info(folder)?;
    let path = folder.join(REPORT);
    let outcomes = load_results(folder)?;
    if path.exists() {
        let report: Report = load_json(&path)?;
        // A run that was taken up and killed knows more than it reported when it was first interrupted.
        let played = report.runs.iter().map(|run| run.attempts.len().max(1)).sum::<usize>();
        if played >= outcomes.len() {
            return Ok(report);
        }
    }
    let mut done = by_id(outcomes);
    let mut is_cut = false;
    let mut report = report_of(&info, |case| {
        done.remove(&case.id).or_else(|| {
            // A campaign knows enough without an attempt that was cut.
            let recovered = info.repeats.is_none().then(|| recover(folder, case)).flatten();
            is_cut |= recovered.is_some();
            recovered.map(|outcome| BTreeMap::from([(1, outcome)]))
        })
    });
    report.stopped = is_cut.then(|| "the run was killed before it wrote its report".to_owned());
    Ok(report)
}

/// The outcomes of a stored run, in the order in which they came to their end.
pub(crate) fn load_results(folder: &Path) -> Result<Vec<Outcome>, StoreError> {
    let path = folder.join(RESULTS);
    let file = File::open(&path).map_err(io_at(&path))?;
    load_outcomes(&file, &path).map(|(_, outcomes)| outcomes)
}

fn by_id(outcomes: Vec<Outcome>) -> Outcomes {
    let mut by_id = Outcomes::new();
    for outcome in outcomes {
        by_id.entry(outcome.id.clone()).or_default().insert(outcome.attempt.unwrap_or(1), outcome);
    }
    by_id
}

/// The report of what is known: each case once, all attempts at it together.
fn report_of(info: &RunInfo, mut take: impl FnMut(&PlannedCase) -> Option<BTreeMap<u32, Outcome>>) -> Report {
    let (mut runs, mut unfinished) = (Vec::new(), Vec::new());
    for case in &info.cases {
        // A part of a campaign may have no attempt at a case.
        let is_elsewhere =
            info.repeats.as_ref().is_some_and(|repeats| repeats.attempts(&case.id).next().is_none());
        let outcome = take(case).and_then(|attempts| match &info.repeats {
            Some(repeats) => repeats.joined(&attempts),
            None => attempts.into_values().next(),
        });
        match outcome {
            Some(outcome) => runs.push(outcome),
            None if is_elsewhere => {}
            None => unfinished.push(case.id.clone()),
        }
    }
    let rate = info.repeats.as_ref().and_then(|repeats| repeats.over_cases(&runs));
    Report { unfinished, rate, run: Some(info.origin()), ..Report::new(runs) }
}

/// What the run in a folder is. An error where there is none.
pub fn load_info(folder: &Path) -> Result<RunInfo, StoreError> {
    let path = folder.join(RUN);
    if !path.is_file() {
        return Err(StoreError::NoRun(folder.to_owned()));
    }
    let info: RunInfo = load_json(&path)?;
    if info.version != VERSION {
        let why = format!("version {} is not known", info.version);
        return Err(StoreError::Broken { path, line: 1, why });
    }
    Ok(info)
}

fn load_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, StoreError> {
    let mut text = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_FILE).read_to_end(&mut text)).map_err(io_at(path))?;
    serde_json::from_slice(&text).map_err(|error| StoreError::Broken {
        path: path.to_owned(),
        line: error.line(),
        why: error.to_string(),
    })
}

/// The outcomes in lines that are whole, and where these end.
fn load_outcomes(file: &File, path: &Path) -> Result<(u64, Vec<Outcome>), StoreError> {
    let mut reader = BufReader::new(file);
    let (mut outcomes, mut whole) = (Vec::new(), 0);
    loop {
        let mut line = Vec::new();
        let length = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(io_at(path))?;
        let broken =
            |why: String| StoreError::Broken { path: path.to_owned(), line: outcomes.len() + 1, why };
        if line.pop() != Some(b'\n') {
            if length as u64 == MAX_LINE {
                return Err(broken("a line is longer than any outcome".to_owned()));
            }
            return Ok((whole, outcomes));
        }
        let outcome = serde_json::from_slice(&line).map_err(|error| broken(error.to_string()))?;
        whole += length as u64;
        outcomes.push(outcome);
    }
}

fn json_text(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    write_json(&mut text, value)?;
    Ok(text)
}

/// A new file that only its owner may read: what agents say and are told is nobody else's business.
/// A new file that only its owner may read.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn io_at(path: &Path) -> impl Fn(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use sortie_detect::{CaseInfo, CaseResult, DocumentInfo, Verdict};

    use super::*;

    fn outcome(id: &str) -> Outcome {
        let document =
            DocumentInfo { file: "Grüße\n.yaml".to_owned(), id: Some(id.to_owned()), name: String::new() };
        Outcome::new(
            id,
            CaseInfo::Document { document },
            Verdict::new(CaseResult::NotExploited, "none"),
            None,
        )
    }

    fn info() -> RunInfo {
        RunInfo::new(["e/1", "e/2", "e/3", "e/4"].map(|id| PlannedCase::new(id, id)).to_vec())
    }

    /// Cuts the results at every byte: whole lines are kept, the rest is dropped, and writing goes on.
    #[test]
    fn results_that_end_anywhere_are_taken_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = RunStore::create(folder.path(), info()).unwrap();
        for id in ["e/1", "e/2", "e/3"] {
            store.add(&[outcome(id)]).unwrap();
        }
        let path = folder.path().join(RESULTS);
        let whole = std::fs::read(&path).unwrap();
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let mut store = RunStore::resume(folder.path(), &info()).unwrap();
            assert_eq!(store.len(), memchr::memchr_iter(b'\n', &whole[..length]).count(), "{length}");
            store.add(&[outcome("e/4")]).unwrap();
            let again = RunStore::resume(folder.path(), &info()).unwrap();
            assert_eq!((again.len(), again.get("e/4")), (store.len(), Some(&outcome("e/4"))), "{length}");
            let report = load_report(folder.path()).unwrap();
            assert_eq!(report.runs.len() + report.unfinished.len(), 4);
            assert_eq!(report, again.report());
        }
    }

    #[test]
    fn what_was_changed_or_is_of_another_run_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(load_report(folder.path()), Err(StoreError::NoRun { .. })));
        let mut store = RunStore::create(folder.path(), info()).unwrap();
        store.add(&[outcome("e/1")]).unwrap();
        let other = RunInfo::new(vec![PlannedCase::new("e/1", "something else")]);
        assert!(matches!(RunStore::resume(folder.path(), &other), Err(StoreError::OtherCases { .. })));
        let target = TracedTarget {
            kind: "cmd".to_owned(),
            identity: "cmd cat".to_owned(),
            settings: serde_json::Map::new(),
        };
        let elsewhere = RunInfo { target: Some(target), ..info() };
        assert!(matches!(RunStore::resume(folder.path(), &elsewhere), Err(StoreError::OtherTarget { .. })));
        let agent = StartedAgent { command: "other {mcp_url}".to_owned(), ..StartedAgent::default() };
        let other = RunInfo { agent: Some(agent), ..info() };
        let refused = RunStore::resume(folder.path(), &other).unwrap_err().to_string();
        assert!(refused.contains("is of another agent: none, and now `other {mcp_url}`"), "{refused}");
        let other = RunInfo { targets: vec!["a2a=http://127.0.0.1:1/".to_owned()], ..info() };
        assert!(matches!(RunStore::resume(folder.path(), &other), Err(StoreError::OtherTarget { .. })));
        assert!(RunStore::create(folder.path(), info()).is_err(), "it is not written over");
        let path = folder.path().join(RESULTS);
        let text = std::fs::read_to_string(&path).unwrap().replace("not_exploited", "fine");
        std::fs::write(&path, text).unwrap();
        let error = RunStore::resume(folder.path(), &info()).unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("fine"), "{error}");
    }

    #[test]
    fn a_report_is_read_back_to_the_byte() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = RunStore::create(folder.path(), info()).unwrap();
        store.add(&[outcome("e/2"), outcome("e/1")]).unwrap();
        let mut report = store.report();
        assert_eq!(report.runs.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["e/1", "e/2"]);
        report.stopped = Some("interrupted".to_owned());
        store.write_report(&report).unwrap();
        let written = std::fs::read(folder.path().join(REPORT)).unwrap();
        assert_eq!(json_text(&load_report(folder.path()).unwrap()).unwrap(), written);
    }
}
