//! Many recordings at once: which documents each is evaluated with, and what comes of all of them together.
//!
//! Files are read, and sessions evaluated, by as many threads as there are cores. Sessions are handed on as they are read, so no
//! more than a few are held at a time, and of what was evaluated only as much as a report shows.

mod collected;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use sortie_detect::ruleset::RulesetSession;
use sortie_detect::{Outcome, Place, Ruleset, SOURCE};
pub use sortie_import::DeclaredServer;
use sortie_import::{
    Format, Formats, ImportError, Input, InputLimits, PendingSession, RecordedSession, RecordingFile,
};
use sortie_library::NamedDocument;
use sortie_oatf::SemanticEvaluator;
use sortie_report::files::FileError;
use sortie_report::imports::{ImportedSession, Imports, PassedOver};

use crate::SetupError;
use collected::{Collected, Evaluated, EvaluatedCase, Order};

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
    /// The format of this name; `auto` for detect the format of each file.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Recognized),
            "sortie" => Some(Self::Own),
            name => Formats::named(name).map(Self::Named),
        }
    }

    /// All names, with what each is.
    pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        let own = [("auto", "detect the format of each file"), ("sortie", "traces of Sortie")];
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
    files: Vec<RecordingFile>,
    servers: Vec<DeclaredServer>,
}

/// Whether a word of a command that takes recordings and documents names a recording: a file that is not YAML, a folder without
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
        let files = RecordingFile::find(&[path.to_owned()]);
        let has_yaml =
            |files: &[RecordingFile]| files.iter().any(|file| file.path.as_deref().is_some_and(is_yaml));
        return files.is_ok_and(|files| !has_yaml(&files));
    }
    path.as_os_str() == "-" || (path.is_file() && !is_yaml(path))
}

impl Recordings {
    /// The files that these paths stand for: themselves, those in folders that are recordings, `-` for standard input.
    pub fn find(paths: &[PathBuf], format: RecordingFormat) -> Result<Self, SetupError> {
        let files = RecordingFile::find(paths).map_err(|error| SetupError::usage(error.to_string()))?;
        Ok(Self { format, files, servers: Vec::new() })
    }

    /// Names the agent's MCP servers, for formats that do not say whose a tool is.
    #[must_use]
    pub fn with_servers(mut self, servers: Vec<DeclaredServer>) -> Self {
        self.servers = servers;
        self
    }

    /// Hands every session to `each`, from several threads at a time; its number tells the file and the session in it.
    fn read<E>(&self, evaluate: &E) -> Result<Vec<PassedOver>, SetupError>
    where
        E: Fn(Order, Item<'_>) -> Result<(), SetupError> + Sync,
    {
        // What may belong to another file of a folder is read after that, unless it was read with it.
        let may_be_companion =
            |file: &RecordingFile| !file.named && file.path.as_deref().is_some_and(Formats::is_companion);
        let files = self.files.iter().enumerate();
        let (companions, files): (Vec<_>, Vec<_>) = files.partition(|(_, file)| may_be_companion(file));
        let mut work = self.read_files(files, evaluate)?;
        let (known, rest): (Vec<_>, Vec<_>) = companions
            .into_iter()
            .partition(|(_, file)| file.path.as_ref().is_some_and(|path| work.companions.contains(path)));
        let why = "it was read with the session that started it";
        let known =
            known.into_iter().map(|(_, file)| PassedOver { file: file.name.clone(), why: why.to_owned() });
        work.passed_over.extend(known);
        work.passed_over.extend(self.read_files(rest, evaluate)?.passed_over);
        Ok(work.passed_over)
    }

    /// Hands the sessions of these files to `each`.
    fn read_files<'f, E>(
        &self,
        files: Vec<(usize, &'f RecordingFile)>,
        evaluate: &E,
    ) -> Result<Work<'f>, SetupError>
    where
        E: Fn(Order, Item<'_>) -> Result<(), SetupError> + Sync,
    {
        let work = Work { files: files.into(), ..Work::default() };
        let shared = Shared { work: Mutex::new(work), changed: Condvar::new() };
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| self.work(&shared, workers, evaluate));
            }
        });
        let mut work = shared.work.into_inner().unwrap_or_else(PoisonError::into_inner);
        match work.failed.take() {
            Some(failed) => Err(failed),
            None => Ok(work),
        }
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
                let done = evaluate(order, shared.finish(session));
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
        file: &RecordingFile,
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
                    shared.pass_over(file, "its format is unknown".to_owned());
                    return Ok(());
                }
            },
        };
        let Some(format) = format else {
            if !is_own && !file.named {
                shared.pass_over(file, "it is not a trace".to_owned());
                return Ok(());
            }
            return evaluate(Order { file: number, session: 0 }, Item::Trace(file, &mut input.into_reader()));
        };
        let mut next = 0;
        let mut failed = None;
        let read = format.read_pending(input, &mut |session| {
            let order = Order { file: number, session: next };
            next += 1;
            let Some(session) = shared.offer(order, session, workers) else { return Ok(()) };
            evaluate(order, shared.finish(session)).map_err(|error| {
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
        let rulesets = Rulesets { documents, semantic, lenient, known: Mutex::default() };
        let collected = Mutex::new(Collected::default());
        let evaluate = |order: Order, item: Item<'_>| {
            let watched = item.watch(&rulesets, match_by)?;
            let evaluated = watched.evaluate(documents, |standings, model| {
                collected.lock().unwrap_or_else(PoisonError::into_inner).lists(order, standings, model)
            });
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
            let evaluated = Evaluated { session: Some(about), cases: Vec::new(), model: None };
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
            0 => "the given paths contain no files".to_owned(),
            files => format!("none of the {files} files is a recording in this format"),
        });
        match passed_over.first() {
            Some(first) => error.with_help(format!("`{}`: {}", first.file, first.why)),
            None => error.with_help("name recordings: files, folders with some in them, or `-`"),
        }
    }
}

/// What is evaluated.
enum Item<'i> {
    Session(Box<RecordedSession>),
    Trace(&'i RecordingFile, &'i mut dyn io::BufRead),
}

/// A recording that was watched with documents.
struct WatchedRecording {
    session: Option<ImportedSession>,
    model: Option<String>,
    trace: Option<String>,
    watched: RulesetSession,
    /// Which documents, in the order of their ruleset.
    chosen: Vec<usize>,
}

/// The documents, compiled into one ruleset for each choice of them that recordings are evaluated with.
struct Rulesets<'r> {
    documents: &'r [NamedDocument],
    semantic: Option<&'r Arc<dyn SemanticEvaluator + Send + Sync>>,
    lenient: bool,
    known: Mutex<HashMap<Vec<usize>, Arc<Ruleset>>>,
}

impl Rulesets<'_> {
    /// The ruleset of the documents at these positions.
    fn of(&self, chosen: &[usize]) -> Arc<Ruleset> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ruleset) = known.get(chosen) {
            return Arc::clone(ruleset);
        }
        let documents = chosen.iter().map(|at| self.documents[*at].compiled.clone());
        let ruleset = Ruleset::new(documents).lenient(self.lenient);
        let ruleset = Arc::new(match self.semantic {
            Some(engine) => ruleset.with_semantic(engine.clone()),
            None => ruleset,
        });
        known.insert(chosen.to_vec(), Arc::clone(&ruleset));
        ruleset
    }
}

impl Item<'_> {
    fn watch(self, rulesets: &Rulesets<'_>, match_by: MatchBy) -> Result<WatchedRecording, SetupError> {
        let documents = rulesets.documents;
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
                Ok(WatchedRecording {
                    session: Some(ImportedSession::of(&session)),
                    model: session.about.get("model").and_then(Value::as_str).map(ToOwned::to_owned),
                    trace: Some(session.file.clone()),
                    watched: rulesets.of(&chosen).replay_records(header, session.into_records()),
                    chosen,
                })
            }
            Self::Trace(file, reader) => {
                let chosen: Vec<usize> = (0..documents.len()).collect();
                let watched = rulesets
                    .of(&chosen)
                    .replay(reader)
                    .map_err(|error| SetupError::usage(format!("cannot read `{}`: {error}", file.name)))?;
                let trace = file.path.as_ref().map(|path| shown(path));
                Ok(WatchedRecording { session: None, model: None, trace, watched, chosen })
            }
        }
    }
}

impl WatchedRecording {
    /// `lists` says which cases a report may show as a whole, of their ids and standings: most recordings are only counted.
    fn evaluate(
        self,
        documents: &[NamedDocument],
        lists: impl FnOnce(&[EvaluatedCase], Option<&str>) -> Vec<bool>,
    ) -> Evaluated {
        let Self { session, model, trace, watched, chosen } = self;
        let cases = chosen.iter().enumerate().map(|(position, document)| {
            let attack = &documents[*document].compiled.document().attack;
            let id = attack.id.clone().or_else(|| attack.name.clone()).unwrap_or_default();
            EvaluatedCase { id, document: *document, standing: watched.standing(position), outcome: None }
        });
        let mut cases: Vec<EvaluatedCase> = cases.collect();
        // Its own verdict is compared with ours.
        let is_compared = session.as_ref().is_some_and(|session| session.about.contains_key("verdict"));
        let listed = lists(&cases, model.as_deref());
        for (position, (case, is_listed)) in cases.iter_mut().zip(listed).enumerate() {
            if is_listed || is_compared {
                let document = documents[case.document].name.clone();
                case.outcome = Some(watched.outcome(position, Place { document, trace: trace.clone() }));
            }
        }
        Evaluated { session, cases, model }
    }
}

#[derive(Default)]
struct Work<'w> {
    files: VecDeque<(usize, &'w RecordingFile)>,
    sessions: VecDeque<(Order, PendingSession)>,
    reading: usize,
    failed: Option<SetupError>,
    passed_over: Vec<PassedOver>,
    /// Files that were read with others.
    companions: HashSet<PathBuf>,
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
    fn offer(&self, order: Order, session: PendingSession, workers: usize) -> Option<PendingSession> {
        let mut work = self.lock();
        if workers == 1 || work.sessions.len() >= workers {
            return Some(session);
        }
        work.sessions.push_back((order, session));
        self.changed.notify_one();
        None
    }

    /// Finishes a session, and notes the files that were read with it.
    fn finish(&self, session: PendingSession) -> Item<'static> {
        let session = session.finish();
        if !session.companions.is_empty() {
            self.lock().companions.extend(session.companions.iter().cloned());
        }
        Item::Session(Box::new(session))
    }

    fn pass_over(&self, file: &RecordingFile, why: String) {
        self.lock().passed_over.push(PassedOver { file: file.name.clone(), why });
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn unreadable(error: &ImportError) -> SetupError {
    SetupError::usage(error.to_string())
}

fn unknown(name: &str) -> SetupError {
    SetupError::usage(format!("unknown format of `{name}`"))
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
