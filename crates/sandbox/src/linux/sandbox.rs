//! The program that attacks: it starts servers in sandboxes, and collects what they do there.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::io::{self, BufReader};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::launcher::Launcher;
use crate::layout::{ROOT, VARIABLE, path_values};
use crate::message::{FromInit, Setup, ToInit, read_message, write_message};
use crate::{Activity, ActivityLog, Canaries, SandboxError, SandboxLimits, SandboxReport};

/// How long a sandbox may take to report what happened.
const PATIENCE: Duration = Duration::from_secs(15);

/// The folders that a server sees nothing of, unless its command names something in them.
pub(super) const REPLACED: [&str; 2] = ["/tmp", "/run"];

/// What a server does not see of the home folder of the user.
const SECRETS: [&str; 16] = [
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".password-store",
    ".mozilla",
    ".config/gcloud",
    ".config/gh",
    ".config/google-chrome",
    ".local/share/keyrings",
];

/// Starts servers in sandboxes. Each server has one of its own, with the same content.
#[derive(Debug)]
pub struct Sandbox {
    launcher: Launcher,
    /// The program that is the first process of each sandbox: ours.
    program: PathBuf,
    /// Holds the socket. It is in `/tmp`, which servers see another one of.
    folder: TempDir,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    canaries: Canaries,
    /// Paths that the servers need of what is replaced.
    kept: Mutex<BTreeSet<PathBuf>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    servers: u64,
    log: ActivityLog,
    /// How often everything was asked for.
    syncs: u64,
    /// The sandboxes that have more to report.
    open: BTreeMap<u64, OpenSandbox>,
    /// How many sandboxes there were.
    connections: u64,
    /// How often a sandbox did not report in time.
    unanswered: u64,
}

#[derive(Debug)]
struct OpenSandbox {
    stream: UnixStream,
    /// Up to which question it has answered, or need not answer.
    answered: u64,
    /// Whether it has answered one.
    has_answered: bool,
}

impl State {
    /// A sandbox is gone. One that was ended from outside without being asked before may have had something to say.
    fn gone(&mut self, key: u64) {
        let unasked = self.open.remove(&key).is_some_and(|sandbox| !sandbox.has_answered);
        self.unanswered += u64::from(unasked);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sandbox {
    /// Makes a sandbox on trial, so that nothing is started where there can be none. A run that is taken up has canaries already.
    pub fn prepare(canaries: Option<Canaries>) -> Result<Self, SandboxError> {
        let launchers = Launcher::installed();
        if launchers.is_empty() {
            return Err(SandboxError::NoProgram);
        }
        let failed = |what: &'static str| move |source: io::Error| SandboxError::Io { what, source };
        let canaries = canaries.map_or_else(Canaries::random, Ok)?;
        let folder = tempfile::Builder::new()
            .prefix("sortie-")
            .tempdir_in(REPLACED[0])
            .map_err(failed("the socket of the sandbox has no folder"))?;
        let socket = socket_in(&folder);
        let listener = UnixListener::bind(&socket).map_err(failed("the sandbox has no socket"))?;
        let program = env::current_exe().map_err(failed("where this program is"))?;
        let shared = Arc::new(Shared {
            canaries,
            kept: Mutex::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let accepting = shared.clone();
        std::thread::spawn(move || accept(&listener, &accepting));
        let mut refusals = Vec::new();
        for launcher in launchers {
            match launcher.try_out(&program, &socket) {
                Ok(()) => return Ok(Self { launcher, program, folder, shared }),
                Err(refusal) => refusals.push(refusal.to_string()),
            }
        }
        Err(SandboxError::Refused { why: refusals.join("; ") })
    }

    /// The command line that starts a server in a sandbox. `{sandbox_root}` and the other paths in its words are filled in, and a word
    /// that is a relative path of something becomes an absolute one, since the server is started in another folder.
    pub fn launch(&self, command: &[String]) -> Vec<String> {
        let words: Vec<String> =
            command.iter().enumerate().map(|(at, word)| located(at, &filled(word))).collect();
        let paths = env::var_os("PATH").unwrap_or_default();
        let searched = env::split_paths(&paths).collect::<Vec<_>>();
        let named = words.iter().map(PathBuf::from).chain(searched);
        self.shared.kept().extend(named.filter_map(|path| kept_part(&path)));
        let launcher = self.launcher.words(&self.program, &socket_in(&self.folder));
        let launcher = launcher.into_iter().map(|word| word.to_string_lossy().into_owned());
        launcher.chain(["--".to_owned()]).chain(words).collect()
    }

    /// The environment of a server: what it was given, with the folders of the sandbox.
    pub fn environment(&self, given: &[(String, String)]) -> Vec<(String, String)> {
        let own = [
            ("HOME", "home"),
            ("PWD", "allowed"),
            ("TMPDIR", "tmp"),
            ("XDG_CACHE_HOME", "home/.cache"),
            ("XDG_CONFIG_HOME", "home/.config"),
            ("XDG_DATA_HOME", "home/.local/share"),
        ];
        let own = own.map(|(name, folder)| (name.to_owned(), format!("{ROOT}/{folder}")));
        let is_given = |name: &String| !own.iter().any(|(other, _)| other == name);
        let given = given.iter().filter(|(name, _)| is_given(name)).cloned();
        given.chain(own.clone()).chain([("SORTIE_SANDBOX".to_owned(), VARIABLE.to_owned())]).collect()
    }

    /// The canaries that servers find.
    pub fn canaries(&self) -> &Canaries {
        &self.shared.canaries
    }

    /// What placeholders of evaluators stand for.
    pub fn values(&self) -> BTreeMap<String, String> {
        self.shared.canaries.values()
    }

    /// What servers did up to now that mentions a text. It waits until the sandboxes have reported everything.
    pub fn activity_mentioning(&self, text: &str) -> Result<Vec<Activity>, SandboxError> {
        self.sync()?;
        Ok(self.shared.state().log.mentioning(text))
    }

    /// What a report says about the sandboxes, once nothing more happens in them.
    pub fn report(&self) -> SandboxReport {
        // The report counts how often a sandbox was late.
        let _ = self.sync();
        let state = self.shared.state();
        SandboxReport::new(self.launcher.name, state.servers, &state.log, state.unanswered)
    }

    /// Asks every sandbox to report, and waits until it has, or is gone. To be called before a server is ended: its sandbox ends with
    /// it, and with that what it has not reported.
    pub fn sync(&self) -> Result<(), SandboxError> {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.shared.state();
        state.syncs += 1;
        let asked = state.syncs;
        for sandbox in state.open.values_mut() {
            // Whoever cannot be asked is about to be gone.
            let _ = write_message(&mut sandbox.stream, &ToInit::Sync(asked));
        }
        while state.open.values().any(|sandbox| sandbox.answered < asked) {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                state.unanswered += 1;
                return Err(SandboxError::NoReport { seconds: PATIENCE.as_secs() });
            };
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }
}

fn socket_in(folder: &TempDir) -> PathBuf {
    folder.path().join("socket")
}

/// A word of a command with its placeholders filled.
fn filled(word: &str) -> String {
    path_values()
        .iter()
        .fold(word.to_owned(), |word, (name, value)| word.replace(&format!("{{{name}}}"), value))
}

/// A word that is a relative path of something that exists, as an absolute one. The program itself is one when it has a folder.
fn located(at: usize, word: &str) -> String {
    let path = Path::new(word);
    let may_be_one = path.is_relative() && (at > 0 || path.components().count() > 1);
    if may_be_one && !word.starts_with('-') && path.exists() {
        let absolute =
            std::path::absolute(path).ok().and_then(|path| path.into_os_string().into_string().ok());
        return absolute.unwrap_or_else(|| word.to_owned());
    }
    word.to_owned()
}

/// The uppermost part of a path that has to be kept of a folder that is replaced.
fn kept_part(path: &Path) -> Option<PathBuf> {
    let folder = REPLACED.iter().find(|folder| path.starts_with(folder))?;
    let part = path.strip_prefix(folder).ok()?.components().next()?;
    let kept = Path::new(folder).join(part);
    (kept.exists() && kept != Path::new(ROOT)).then_some(kept)
}

fn hidden() -> Vec<PathBuf> {
    let Some(home) = env::var_os("HOME") else { return Vec::new() };
    let paths = SECRETS.iter().map(|name| Path::new(&home).join(name));
    paths.filter(|path| path.exists()).collect()
}

fn accept(listener: &UnixListener, shared: &Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept() {
        let shared = shared.clone();
        std::thread::spawn(move || {
            let key = {
                let mut state = shared.state();
                state.connections += 1;
                state.connections
            };
            // A sandbox that ends in the middle of a line has ended.
            let _ = listen(stream, key, &shared);
            shared.state().gone(key);
            shared.changed.notify_all();
        });
    }
}

/// Sets a sandbox up, and takes what it reports until it ends.
fn listen(mut stream: UnixStream, key: u64, shared: &Shared) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let setup = Setup {
        canaries: shared.canaries.clone(),
        kept: shared.kept().iter().cloned().collect(),
        hidden: hidden(),
        limits: SandboxLimits::default(),
    };
    write_message(&mut stream, &ToInit::Setup(Box::new(setup)))?;
    let mut lines = BufReader::new(stream.try_clone()?);
    while let Some(message) = read_message(&mut lines)? {
        let mut state = shared.state();
        match message {
            FromInit::Ready => {
                let (stream, answered) = (stream.try_clone()?, state.syncs);
                state.servers += 1;
                state.open.insert(key, OpenSandbox { stream, answered, has_answered: false });
            }
            FromInit::Activity(activity) => state.log.add(activity),
            FromInit::Synced(number) => {
                if let Some(sandbox) = state.open.get_mut(&key) {
                    sandbox.answered = number;
                    sandbox.has_answered = true;
                }
            }
            FromInit::Ended => drop(state.open.remove(&key)),
        }
        drop(state);
        shared.changed.notify_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_commands_are_filled_in_and_made_absolute() {
        assert_eq!(filled("--root={sandbox_root}"), "--root=/tmp/sortie-sandbox/allowed");
        assert_eq!(filled("{unknown}"), "{unknown}");
        let here = env::current_dir().unwrap().join("Cargo.toml");
        assert_eq!(located(1, "Cargo.toml"), here.to_str().unwrap());
        assert_eq!(located(1, "no-such-file"), "no-such-file");
        // A program without a folder is looked for in the PATH.
        assert_eq!(located(0, "src"), "src");
    }

    #[test]
    fn a_sandbox_that_vanishes_without_a_word_may_have_had_something_to_say() {
        let open = |has_answered| {
            let stream = UnixStream::pair().unwrap().0;
            let sandbox = OpenSandbox { stream, answered: 0, has_answered };
            let mut state = State { open: BTreeMap::from([(1, sandbox)]), ..State::default() };
            state.gone(1);
            // Whoever said that everything was told is not open any more.
            state.gone(1);
            (state.open.len(), state.unanswered)
        };
        assert_eq!((open(false), open(true)), ((0, 1), (0, 0)));
    }

    #[test]
    fn what_a_command_names_of_a_replaced_folder_is_kept() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let deep = folder.path().join("node_modules/.bin/server");
        assert_eq!(kept_part(&deep).as_deref(), Some(folder.path()));
        assert_eq!(kept_part(Path::new("/usr/bin/env")), None);
        assert_eq!(kept_part(Path::new("/tmp/sortie-sandbox/allowed")), None);
    }
}
