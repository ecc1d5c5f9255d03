//! Many recordings at once: which documents each is evaluated with, and what comes of all of them together.
//!
//! Files are read, and sessions evaluated, by as many threads as there are cores. Sessions are handed on as they are read, so no
//! more than a few are held at a time, and of what was evaluated only as much as a report shows.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use sortie_detect::rate::{Attempt, Rate, observed};
use sortie_detect::{
    CaseInfo, CaseResult, Detector, Outcome, Place, SOURCE, Standing, replay, replay_records,
};
use sortie_import::{Format, Formats, ImportError, Input, InputLimits, RecordedSession};
use sortie_library::NamedDocument;
use sortie_oatf::SemanticEvaluator;
use sortie_report::files::FileError;
use sortie_report::imports::{Difference, ImportedSession, Imports, PassedOver};
use sortie_stats::Counts;

use crate::SetupError;
use crate::repeats::MAX_UNDECIDED;

/// Which format recordings are in.
#[derive(Clone, Copy, Debug)]
pub enum RecordingFormat {
    /// Our own traces.
    Own,
    /// Whatever each file looks like.
    Recognized,
    /// This one.
    Named(&'static Format),
}

impl RecordingFormat {
    /// The format of this name; `auto` for whatever each file looks like.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Recognized),
            "sortie" => Some(Self::Own),
            name => Formats::named(name).map(Self::Named),
        }
    }

    /// All names, with what each is.
    pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        let own = [("auto", "whatever each file looks like"), ("sortie", "our own traces")];
        own.into_iter().chain(Formats::all().iter().map(|format| (format.name, format.about)))
    }
}

/// Which documents a recording is evaluated with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchBy {
    /// The one that it says it is a run of; all of them where it says nothing.
    #[default]
    Header,
    /// All of them, whatever it says.
    All,
}

/// Recordings that are to be evaluated or written as traces.
#[derive(Clone, Debug)]
pub struct Recordings {
    format: RecordingFormat,
    files: Vec<Found>,
    servers: Vec<String>,
}

/// A file, or standard input.
#[derive(Clone, Debug)]
struct Found {
    path: Option<PathBuf>,
    name: String,
    /// Whether it was named, so that it has to be a recording.
    named: bool,
}

/// How many files are read of folders.
const MAX_FILES: usize = 1_000_000;
/// How deep folders are looked into.
const MAX_DEPTH: usize = 32;
/// How many attempts of a case are listed. All are counted.
const MAX_ATTEMPTS: usize = 1_000;
/// How many sessions are listed with what they lost. All are counted.
const MAX_SESSIONS: usize = 200;
/// How many files are listed that were passed over.
const MAX_PASSED_OVER: usize = 100;

/// Whether a word of a command that takes recordings and documents names a recording: a file that is no YAML, a folder without
/// any, or standard input.
///
/// ```
/// use std::path::Path;
///
/// use sortie_run::recordings::is_recording;
///
/// assert!(is_recording(Path::new("-")));
/// // The id of a document.
/// assert!(!is_recording(Path::new("SRT-001")));
/// ```
pub fn is_recording(path: &Path) -> bool {
    let is_yaml = |path: &Path| {
        path.extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("yaml") || end.eq_ignore_ascii_case("yml"))
    };
    if path.is_dir() {
        let mut files = Vec::new();
        return walk(path, 0, &mut files).is_ok()
            && !files.iter().any(|file| file.path.as_deref().is_some_and(is_yaml));
    }
    path.as_os_str() == "-" || (path.is_file() && !is_yaml(path))
}

impl Recordings {
    /// The files that these paths stand for: themselves, those in folders that are recordings, `-` for standard input.
    pub fn find(paths: &[PathBuf], format: RecordingFormat) -> Result<Self, SetupError> {
        let mut files = Vec::new();
        for path in paths {
            if path.as_os_str() == "-" {
                files.push(Found { path: None, name: "<stdin>".to_owned(), named: true });
            } else if path.is_dir() {
                walk(path, 0, &mut files)?;
            } else {
                files.push(Found { path: Some(path.clone()), name: shown(path), named: true });
            }
        }
        Ok(Self { format, files, servers: Vec::new() })
    }

    /// Names the agent's MCP servers, for formats that do not say whose a tool is.
    #[must_use]
    pub fn with_servers(mut self, servers: Vec<String>) -> Self {
        self.servers = servers;
        self
    }

    /// Hands every session to `each`, from several threads at a time; its number tells the file and the session in it.
    fn read<E>(&self, evaluate: &E) -> Result<Vec<PassedOver>, SetupError>
    where
        E: Fn(Order, Item<'_>) -> Result<(), SetupError> + Sync,
    {
        let files = self.files.iter().enumerate().collect();
        let work =
            Work { files, sessions: VecDeque::new(), reading: 0, failed: None, passed_over: Vec::new() };
        let shared = Shared { work: Mutex::new(work), changed: Condvar::new() };
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| self.work(&shared, workers, evaluate));
            }
        });
        let work = shared.work.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(failed) = work.failed {
            return Err(failed);
        }
        Ok(work.passed_over)
    }

    fn work<E>(&self, shared: &Shared<'_>, workers: usize, evaluate: &E)
    where
        E: Fn(Order, Item<'_>) -> Result<(), SetupError> + Sync,
    {
        let mut work = shared.lock();
        loop {
            if work.failed.is_some() {
                return;
            }
            if let Some((order, session)) = work.sessions.pop_front() {
                drop(work);
                let done = evaluate(order, Item::Session(Box::new(session)));
                work = shared.lock();
                work.take(done);
            } else if let Some((number, file)) = work.files.pop_front() {
                work.reading += 1;
                drop(work);
                let done = self.read_file(shared, workers, number, file, evaluate);
                work = shared.lock();
                work.reading -= 1;
                work.take(done);
                shared.changed.notify_all();
            } else if work.reading == 0 {
                return;
            } else {
                work = shared.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn read_file<E>(
        &self,
        shared: &Shared<'_>,
        workers: usize,
        number: usize,
        file: &Found,
        evaluate: &E,
    ) -> Result<(), SetupError>
    where
        E: Fn(Order, Item<'_>) -> Result<(), SetupError> + Sync,
    {
        let limits = InputLimits::default();
        let opened = match &file.path {
            Some(path) => Input::file(path, &file.name, limits),
            None => Input::stream(BufReader::new(io::stdin()), &file.name, limits),
        };
        let mut input = opened.map_err(|error| unreadable(&error))?.with_servers(&self.servers);
        let head = input.head().map_err(|error| unreadable(&error))?;
        let is_own = head.starts_with(br#"{"record":"header""#);
        let format = match self.format {
            RecordingFormat::Own => None,
            RecordingFormat::Named(format) if file.named => Some(format),
            RecordingFormat::Named(format) => match Formats::recognize(&input.as_head(&head)) {
                Some(found) if found.name == format.name => Some(format),
                _ => {
                    shared.pass_over(file, format!("it is not in the format `{}`", format.name));
                    return Ok(());
                }
            },
            RecordingFormat::Recognized if is_own => None,
            RecordingFormat::Recognized => match Formats::recognize(&input.as_head(&head)) {
                Some(format) => Some(format),
                None if file.named => return Err(unknown(&file.name)),
                None => {
                    shared.pass_over(file, "nobody knows its format".to_owned());
                    return Ok(());
                }
            },
        };
        let Some(format) = format else {
            if !is_own && !file.named {
                shared.pass_over(file, "it is no trace".to_owned());
                return Ok(());
            }
            return evaluate(Order { file: number, session: 0 }, Item::Trace(file, &mut input.into_reader()));
        };
        let mut next = 0;
        let mut failed = None;
        let read = format.read(input, &mut |session| {
            let order = Order { file: number, session: next };
            next += 1;
            let Some(session) = shared.offer(order, session, workers) else { return Ok(()) };
            evaluate(order, Item::Session(Box::new(session))).map_err(|error| {
                failed = Some(error);
                ImportError::Stopped("evaluation failed".to_owned())
            })
        });
        if let Some(failed) = failed {
            return Err(failed);
        }
        match read {
            // A file of a folder that only looked like one.
            Err(error @ ImportError::Nothing { .. }) if !file.named => {
                shared.pass_over(file, error.to_string());
                Ok(())
            }
            read => read.map_err(|error| unreadable(&error)),
        }
    }

    /// Evaluates all of them with documents, each of which is shown every message of a recording in one pass.
    pub fn evaluate(
        &self,
        documents: &[NamedDocument],
        semantic: Option<&Arc<dyn SemanticEvaluator + Send + Sync>>,
        lenient: bool,
        match_by: MatchBy,
    ) -> Result<(Vec<Outcome>, Imports), SetupError> {
        let prototype = |document: &NamedDocument| {
            let detector = Detector::new(document.compiled.clone()).lenient(lenient);
            match semantic {
                Some(engine) => detector.with_semantic(engine.clone()),
                None => detector,
            }
        };
        let prototypes: Vec<Detector> = documents.iter().map(prototype).collect();
        let collected = Mutex::new(Collected::default());
        let evaluate = |order: Order, item: Item<'_>| {
            let evaluated = item.evaluate(documents, &prototypes, match_by)?;
            collected.lock().unwrap_or_else(PoisonError::into_inner).add(order, evaluated);
            Ok(())
        };
        let passed_over = self.read(&evaluate)?;
        let collected = collected.into_inner().unwrap_or_else(PoisonError::into_inner);
        if collected.imports.sessions == 0 {
            return Err(self.nothing(&passed_over));
        }
        let (outcomes, imports) = collected.finish(passed_over);
        if outcomes.is_empty() {
            return Err(SetupError::usage(
                "every recording is a run of a document that is not among those named",
            )
            .with_help("name their documents, or judge them with these by `--match all`"));
        }
        Ok((outcomes, imports))
    }

    /// Writes each session as a trace, `DIR/NAME.jsonl`.
    pub fn write(&self, folder: &Path) -> Result<Imports, SetupError> {
        std::fs::create_dir_all(folder).map_err(|error| FileError::io(folder, "create", error))?;
        let collected = Mutex::new(Collected::default());
        let write = |order: Order, item: Item<'_>| {
            let Item::Session(session) = item else {
                return Err(SetupError::usage("one of the files is a trace already"));
            };
            let about = ImportedSession::of(&session);
            let path = folder.join(trace_name(order, &session));
            let written = write_trace(&path, *session);
            written.map_err(|error| FileError::io(&path, "write", error))?;
            let evaluated = Evaluated { session: Some(about), outcomes: Vec::new(), model: None };
            collected.lock().unwrap_or_else(PoisonError::into_inner).add(order, evaluated);
            Ok(())
        };
        let passed_over = self.read(&write)?;
        let collected = collected.into_inner().unwrap_or_else(PoisonError::into_inner);
        if collected.imports.sessions == 0 {
            return Err(self.nothing(&passed_over));
        }
        Ok(collected.finish(passed_over).1)
    }

    fn nothing(&self, passed_over: &[PassedOver]) -> SetupError {
        let error = SetupError::usage(match self.files.len() {
            0 => "there is no file in what was named".to_owned(),
            files => format!("none of the {files} files is a recording in this format"),
        });
        match passed_over.first() {
            Some(first) => error.with_help(format!("`{}`: {}", first.file, first.why)),
            None => error.with_help("name recordings: files, folders with some in them, or `-`"),
        }
    }
}

/// Where in what was asked for a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    file: usize,
    session: usize,
}

/// What is evaluated.
enum Item<'i> {
    Session(Box<RecordedSession>),
    Trace(&'i Found, &'i mut dyn io::BufRead),
}

struct Evaluated {
    session: Option<ImportedSession>,
    outcomes: Vec<Outcome>,
    model: Option<String>,
}

impl Item<'_> {
    fn evaluate(
        self,
        documents: &[NamedDocument],
        prototypes: &[Detector],
        match_by: MatchBy,
    ) -> Result<Evaluated, SetupError> {
        match self {
            Self::Session(session) => {
                let header = session.header(SOURCE);
                let named = header.document.as_ref().filter(|_| match_by == MatchBy::Header);
                let is_meant = |document: &NamedDocument| {
                    let attack = &document.compiled.document().attack;
                    named.is_none_or(|named| match (&named.id, &attack.id) {
                        (Some(named), Some(own)) => named == own,
                        _ => named.name == attack.name,
                    })
                };
                let chosen: Vec<usize> =
                    (0..documents.len()).filter(|at| is_meant(&documents[*at])).collect();
                let mut detectors: Vec<_> = chosen.iter().map(|at| prototypes[*at].clone()).collect();
                let about = ImportedSession::of(&session);
                let model = session.about.get("model").and_then(Value::as_str).map(ToOwned::to_owned);
                let file = session.file.clone();
                replay_records(header, session.into_records(), &mut detectors);
                let outcomes = chosen.iter().zip(&detectors).map(|(at, detector)| {
                    let place = Place { document: documents[*at].name.clone(), trace: None };
                    Outcome { trace: Some(file.clone()), ..detector.outcome(place) }
                });
                Ok(Evaluated { outcomes: outcomes.collect(), session: Some(about), model })
            }
            Self::Trace(file, mut reader) => {
                let mut detectors = prototypes.to_vec();
                replay(&mut reader, &mut detectors)
                    .map_err(|error| SetupError::usage(format!("cannot read `{}`: {error}", file.name)))?;
                let trace = file.path.as_ref().map(|path| shown(path));
                let outcomes = documents.iter().zip(&detectors).map(|(document, detector)| {
                    detector.outcome(Place { document: document.name.clone(), trace: trace.clone() })
                });
                Ok(Evaluated { outcomes: outcomes.collect(), session: None, model: None })
            }
        }
    }
}

struct Work<'w> {
    files: VecDeque<(usize, &'w Found)>,
    sessions: VecDeque<(Order, RecordedSession)>,
    reading: usize,
    failed: Option<SetupError>,
    passed_over: Vec<PassedOver>,
}

impl Work<'_> {
    fn take(&mut self, done: Result<(), SetupError>) {
        if let Err(error) = done {
            self.failed.get_or_insert(error);
        }
    }
}

struct Shared<'w> {
    work: Mutex<Work<'w>>,
    changed: Condvar,
}

impl<'w> Shared<'w> {
    fn lock(&self) -> MutexGuard<'_, Work<'w>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a session to whoever has time; back to the reader when all have enough to do.
    fn offer(&self, order: Order, session: RecordedSession, workers: usize) -> Option<RecordedSession> {
        let mut work = self.lock();
        if workers == 1 || work.sessions.len() >= workers {
            return Some(session);
        }
        work.sessions.push_back((order, session));
        self.changed.notify_one();
        None
    }

    fn pass_over(&self, file: &Found, why: String) {
        self.lock().passed_over.push(PassedOver { file: file.name.clone(), why });
    }
}

/// What all evaluations came to, as far as a report shows them.
#[derive(Default)]
struct Collected {
    cells: BTreeMap<(String, String), Cell>,
    /// Where each cell was first seen, which is the order of the report.
    imports: Imports,
    sessions: BTreeMap<Order, ImportedSession>,
    differences: BTreeMap<(Order, String), Difference>,
}

/// All recordings of one document and one model.
#[derive(Default)]
struct Cell {
    /// The first outcome of each standing.
    shown: BTreeMap<u8, (Order, Outcome)>,
    attempts: BTreeMap<Order, Attempt>,
    hits: u32,
    n: u32,
    undecided: u32,
    document: usize,
}

impl Collected {
    fn add(&mut self, order: Order, evaluated: Evaluated) {
        let Evaluated { session, outcomes, model } = evaluated;
        self.imports.sessions += 1;
        for (document, outcome) in outcomes.into_iter().enumerate() {
            if let Some(session) = &session
                && let Some(difference) = Difference::of(session, &outcome)
            {
                self.imports.differing += 1;
                self.differences.insert((order, outcome.id.clone()), difference);
                if self.differences.len() > MAX_SESSIONS {
                    self.differences.pop_last();
                }
            }
            let key = (outcome.id.clone(), model.clone().unwrap_or_default());
            let cell = self.cells.entry(key).or_default();
            cell.document = document;
            cell.add(order, outcome);
        }
        if let Some(session) = session {
            self.imports.count(&session);
            self.sessions.insert(order, session);
            if self.sessions.len() > MAX_SESSIONS {
                self.sessions.pop_last();
            }
        }
    }

    fn finish(mut self, mut passed_over: Vec<PassedOver>) -> (Vec<Outcome>, Imports) {
        passed_over.sort();
        self.imports.passed_over_files = passed_over.len() as u64;
        passed_over.truncate(MAX_PASSED_OVER);
        self.imports.passed_over = passed_over;
        self.imports.listed = self.sessions.into_values().collect();
        self.imports.differences = self.differences.into_values().collect();
        let several = {
            let mut models: Vec<_> = self.cells.keys().map(|(_, model)| model).collect();
            models.sort_unstable();
            models.dedup();
            models.len() > 1
        };
        let mut cells: Vec<_> = self.cells.into_iter().collect();
        cells.sort_by(|a, b| (a.1.document, &a.0.0, &a.0.1).cmp(&(b.1.document, &b.0.0, &b.0.1)));
        let outcomes = cells.into_iter().filter_map(|((id, model), cell)| {
            let mut outcome = cell.joined()?;
            if several && !model.is_empty() {
                outcome.id = format!("{id} ({model})");
                if let CaseInfo::Document { document } = &mut outcome.case {
                    document.name = format!("{} ({model})", document.name);
                }
            }
            Some(outcome)
        });
        (outcomes.collect(), self.imports)
    }
}

impl Cell {
    fn add(&mut self, order: Order, outcome: Outcome) {
        match observed(&outcome) {
            Some(true) => (self.hits, self.n) = (self.hits + 1, self.n + 1),
            Some(false) => self.n += 1,
            None => self.undecided += 1,
        }
        self.attempts.insert(order, Attempt::of(&outcome));
        if self.attempts.len() > MAX_ATTEMPTS {
            self.attempts.pop_last();
        }
        let rank = match outcome.standing {
            Some(Standing::Exploited) => 0,
            Some(Standing::Undecided) => 1,
            Some(Standing::Skipped) => 2,
            Some(Standing::Resisted) | None => 3,
        };
        let first = self.shown.get(&rank).is_none_or(|(known, _)| order < *known);
        if first {
            self.shown.insert(rank, (order, outcome));
        }
    }

    /// One outcome for all of them: that of the first hit, of the first that stayed undecided where too many did, or of the first that
    /// resisted.
    fn joined(mut self) -> Option<Outcome> {
        let all = self.n + self.undecided;
        if all <= 1 {
            return self.shown.pop_first().map(|(_, (_, outcome))| outcome);
        }
        let too_many = f64::from(self.undecided) > f64::from(all) * MAX_UNDECIDED;
        let resisted = self.hits == 0 && self.n > 0 && !too_many;
        let rank = if resisted { 3 } else { *self.shown.keys().next()? };
        let (order, mut outcome) = self.shown.remove(&rank)?;
        if self.hits == 0 && too_many && outcome.standing != Some(Standing::Skipped) {
            let reason = format!("{} of {all} recordings stayed undecided", self.undecided);
            outcome.verdict.result = CaseResult::Error;
            outcome.verdict.reason.get_or_insert(reason);
            outcome.standing = Some(Standing::Undecided);
        }
        outcome.rate = Some(Rate::new(Counts::new(self.hits, self.n), self.undecided, 0.95, None));
        let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
        outcome.attempt = self.attempts.keys().position(|known| *known == order).map(number);
        let attempts = self.attempts.into_values().enumerate();
        outcome.attempts = attempts.map(|(at, attempt)| Attempt { attempt: number(at), ..attempt }).collect();
        Some(outcome)
    }
}

/// Every file in a folder and below it, in order.
fn walk(folder: &Path, depth: usize, files: &mut Vec<Found>) -> Result<(), SetupError> {
    let read = std::fs::read_dir(folder).map_err(|error| FileError::io(folder, "read", error))?;
    let mut entries: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() && depth < MAX_DEPTH {
            walk(&path, depth + 1, files)?;
        } else if path.is_file() {
            if files.len() == MAX_FILES {
                return Err(SetupError::usage(format!(
                    "there are more than {MAX_FILES} files in `{}`",
                    folder.display()
                )));
            }
            files.push(Found { name: shown(&path), path: Some(path), named: false });
        }
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn unreadable(error: &ImportError) -> SetupError {
    SetupError::usage(error.to_string())
}

fn unknown(name: &str) -> SetupError {
    SetupError::usage(format!("nobody knows the format of `{name}`"))
        .with_help("name it with `--from`; `sortie eval --help` lists them")
}

/// A name for a file that is safe wherever it is written, and tells the sessions of all files apart.
fn trace_name(order: Order, session: &RecordedSession) -> String {
    let plain = |byte: char| if byte.is_ascii_alphanumeric() || "-_.".contains(byte) { byte } else { '-' };
    let id: String = session.id.chars().take(60).map(plain).collect();
    format!("{:04}-{:04}-{}.jsonl", order.file + 1, order.session + 1, id.trim_matches('.'))
}

fn write_trace(path: &Path, session: RecordedSession) -> io::Result<()> {
    let mut file = io::BufWriter::new(std::fs::File::create(path)?);
    let line = |file: &mut io::BufWriter<std::fs::File>, record: &sortie_trace::Record| {
        use io::Write as _;
        let mut text = serde_json::to_vec(record)?;
        for byte in &mut text {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        text.push(b'\n');
        file.write_all(&text)
    };
    line(&mut file, &sortie_trace::Record::Header(Box::new(session.header(SOURCE))))?;
    for record in session.into_records() {
        line(&mut file, &record)?;
    }
    io::Write::flush(&mut file)
}
