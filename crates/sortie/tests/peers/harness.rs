//! The programs that are there, and a run of ours with everything one wants to ask of it.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Nothing here takes longer unless it hangs, on a busy machine too.
const DEADLINE: Duration = Duration::from_mins(15);

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A document of these tests.
pub(crate) fn document(name: &str) -> PathBuf {
    root().join("crates/sortie/tests/peers/documents").join(name)
}

/// Programs that are not ours, where `cargo xtask peers` put them.
pub(crate) struct Peers(PathBuf);

impl Peers {
    /// Fails when they are not there: tests that need them are ignored unless they are asked for.
    pub(crate) fn find() -> Self {
        let folder = PathBuf::from(std::env::var_os("SORTIE_PEERS").unwrap_or_default());
        assert!(
            folder.is_dir(),
            "SORTIE_PEERS must name the folder of the peers, and is `{}`: `cargo xtask test --only peers` sets it",
            folder.display()
        );
        Self(folder)
    }

    /// A program of ours under `peers/`, run by the Python of an environment.
    pub(crate) fn python(&self, environment: &str, script: &str) -> String {
        let python = self.0.join(environment).join("bin/python");
        format!("{} {}", quoted(&python), quoted(&root().join("peers").join(script)))
    }

    /// Something in the folder of the peers.
    pub(crate) fn path(&self, within: &str) -> PathBuf {
        self.0.join(within)
    }

    /// A command of an npm package, run by Node 22.
    pub(crate) fn npm(&self, command: &str) -> String {
        let bin = self.0.join("npm/node_modules/.bin");
        format!("{} {}", quoted(&bin.join("node")), quoted(&bin.join(command)))
    }

    /// A file of an npm package, run by Node 22.
    pub(crate) fn npm_package(&self, package: &str, file: &str) -> String {
        let modules = self.0.join("npm/node_modules");
        format!("{} {}", quoted(&modules.join(".bin/node")), quoted(&modules.join(package).join(file)))
    }

    /// A program of ours under `peers/`, run by Node 22 with the npm packages at hand.
    pub(crate) fn node(&self, script: &str) -> String {
        let node = self.0.join("npm/node_modules/.bin/node");
        format!("{} {}", quoted(&node), quoted(&root().join("peers").join(script)))
    }
}

fn quoted(path: &Path) -> String {
    let path = path.to_str().unwrap();
    assert!(!path.contains('\''), "{path}");
    format!("'{path}'")
}

/// A command as one would type it, split at spaces outside quotes.
fn command(line: &str) -> Command {
    let words: Vec<String> = shlex::split(line).unwrap_or_else(|| panic!("unbalanced quotes: {line}"));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// A server that runs until it is dropped. The first line it prints is where it is.
pub(crate) struct Server {
    pub(crate) url: String,
    child: Child,
}

impl Server {
    pub(crate) fn start(line: &str) -> Self {
        let mut child = command(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        // Ours say what they are before they say where.
        let url = url.split_whitespace().last().unwrap_or_default();
        assert!(url.starts_with("http"), "{line} did not say where it is: {url}");
        Self { url: url.to_owned(), child }
    }

    /// One that is told its port in the environment, and says nothing. It accepts connections when this returns.
    pub(crate) fn on_port(line: &str, port: u16) -> Self {
        let child = command(line)
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        let server = Self { url: format!("http://127.0.0.1:{port}"), child };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < DEADLINE, "{line} accepts nobody");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The script that stands in for a model.
pub(crate) fn model(peers: &Peers, behaviour: &str) -> Server {
    Server::start(&format!("{} --behaviour {behaviour}", peers.python("mcp1", "agents/model.py")))
}

/// A run that ended.
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    /// The one run of the report; nothing where none was played.
    pub(crate) run: Value,
    pub(crate) report: Value,
    pub(crate) stderr: String,
    /// Where the run and its report are, until they are dropped.
    _folder: TempDir,
}

/// A run of one document that is going on.
pub(crate) struct Running {
    child: Child,
    document: PathBuf,
    lenient: bool,
    folder: TempDir,
    stderr: Option<BufReader<std::process::ChildStderr>>,
    heard: String,
}

/// Starts `sortie run DOCUMENT`, with these arguments.
pub(crate) fn start<'a>(document: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Running {
    start_by(Command::new(env!("CARGO_BIN_EXE_sortie")), document, arguments)
}

/// The same with a command that becomes `sortie`.
pub(crate) fn start_by<'a>(
    mut command: Command,
    document: &Path,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Running {
    let arguments: Vec<_> = arguments.into_iter().collect();
    let lenient = arguments.contains(&"--lenient");
    let folder = tempfile::tempdir().unwrap();
    let mut child = command
        .arg("run")
        .arg(document)
        .arg("--run-dir")
        .arg(folder.path().join("run"))
        .arg("--format")
        .arg("json")
        .arg("--out")
        .arg(folder.path().join("report.json"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = child.stderr.take().map(BufReader::new);
    Running { child, document: document.to_owned(), lenient, folder, stderr, heard: String::new() }
}

/// The same, to its end.
pub(crate) fn run<'a>(document: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Finished {
    start(document, arguments).finish()
}

impl Running {
    /// Where an actor listens, as soon as it does.
    pub(crate) fn url_of(&mut self, actor: &str) -> String {
        let stderr = self.stderr.as_mut().unwrap();
        loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "`{actor}` never listened:\n{}", self.heard);
            self.heard.push_str(&line);
            let words: Vec<_> = line.split_whitespace().collect();
            if let ["listening", name, _, url] = words[..]
                && name == actor
            {
                return url.to_owned();
            }
        }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a user does, where no verdict is wanted: nobody can say how long a busy machine is silent.
    pub(crate) fn interrupt(self) -> Finished {
        interrupt(&self.child);
        self.finish()
    }

    /// Kills it as `kill -9` does. Gives its trace, and the folder that it is in for as long as that is held.
    pub(crate) fn kill(mut self) -> (PathBuf, TempDir) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let trace = find_trace(self.folder.path()).expect("a trace");
        (trace, self.folder)
    }

    /// Waits for its end, and evaluates its trace once more: live and recorded must agree.
    pub(crate) fn finish(mut self) -> Finished {
        // Its standard error is read to the end first, so that it never waits for us.
        let mut stderr = self.stderr.take().unwrap();
        let reading = std::thread::spawn(move || {
            let mut rest = String::new();
            stderr.read_to_string(&mut rest).unwrap();
            rest
        });
        let status = wait(&mut self.child, DEADLINE);
        let stderr = self.heard + &reading.join().unwrap();
        let report = std::fs::read_to_string(self.folder.path().join("report.json"))
            .unwrap_or_else(|error| panic!("no report ({error}), {status}:\n{stderr}"));
        let report: Value = serde_json::from_str(&report).unwrap();
        let run = report["runs"][0].clone();
        let finished = Finished { code: status.code(), run, report, stderr, _folder: self.folder };
        finished.agrees_with_its_trace(&self.document, self.lenient);
        finished
    }
}

impl Finished {
    /// `exploited`, `not_exploited`, `partial`, `error`.
    pub(crate) fn verdict(&self) -> &str {
        self.run["verdict"]["result"].as_str().unwrap_or_default()
    }

    /// The word for what went wrong, if anything did.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.run["failure"]["kind"].as_str()
    }

    pub(crate) fn trace(&self) -> PathBuf {
        PathBuf::from(self.run["trace"].as_str().unwrap_or_else(|| panic!("{:#}", self.run)))
    }

    /// The records of the trace.
    pub(crate) fn records(&self) -> Vec<Value> {
        read_records(&self.trace())
    }

    /// What one would look at next.
    pub(crate) fn explained(&self) -> String {
        if self.run.is_null() {
            return format!("{:#}\n--- stderr\n{}", self.report, self.stderr);
        }
        let shown =
            Command::new(env!("CARGO_BIN_EXE_sortie")).args(["trace", "show"]).arg(self.trace()).output();
        let shown =
            shown.map(|shown| String::from_utf8_lossy(&shown.stdout).into_owned()).unwrap_or_default();
        let wrote = |name| std::fs::read_to_string(self.trace().with_file_name(name)).unwrap_or_default();
        let agent = wrote("agent.stderr") + &wrote("agent.stdout");
        format!("{:#}\n--- stderr\n{}\n--- trace\n{shown}\n--- agent\n{agent}", self.run, self.stderr)
    }

    fn agrees_with_its_trace(&self, document: &Path, lenient: bool) {
        if self.run["verdict"]["indicator_verdicts"].as_array().is_none_or(Vec::is_empty) {
            // A document without indicators only simulates, and cannot be evaluated.
            return;
        }
        let again = Command::new(env!("CARGO_BIN_EXE_sortie"))
            .args(["eval", "--format", "json", "--trace"])
            .arg(self.trace())
            .arg(document)
            .args(lenient.then_some("--lenient"))
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&again.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&again.stderr)));
        for key in ["document", "verdict", "reach", "actors", "stopped_by", "failure"] {
            assert_eq!(
                report["runs"][0][key],
                self.run[key],
                "{key} differs from that of the trace\n{}",
                self.explained()
            );
        }
    }
}

/// `sortie wrap` at an address, until it is dropped.
pub(crate) struct Wrapped {
    pub(crate) url: String,
    child: Child,
    folder: TempDir,
}

impl Wrapped {
    /// Before a server, which these arguments name.
    pub(crate) fn start<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_sortie"))
            .args(["wrap", "--listen", "0", "--run-dir"])
            .arg(folder.path().join("run"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut line).unwrap();
        // What else it says waits in the pipe, which has to stay open.
        child.stderr = Some(stderr.into_inner());
        let url = line.split_whitespace().last().unwrap_or_default().to_owned();
        assert!(url.starts_with("http"), "it did not say where it is: {line}");
        Self { url, child, folder }
    }

    /// Ends it as a user does. Gives what it recorded.
    pub(crate) fn end(mut self) -> Vec<Value> {
        interrupt(&self.child);
        wait(&mut self.child, DEADLINE);
        records_below(self.folder.path())
    }
}

impl Drop for Wrapped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The records of the one trace below a folder.
pub(crate) fn records_below(folder: &Path) -> Vec<Value> {
    read_records(&find_trace(folder).expect("a trace"))
}

fn read_records(trace: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(trace).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The trace somewhere below a folder.
fn find_trace(folder: &Path) -> Option<PathBuf> {
    std::fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        if path.is_dir() { find_trace(&path) } else { path.ends_with("trace.jsonl").then_some(path) }
    })
}

fn interrupt(child: &Child) {
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.unwrap().success());
}

/// Waits for a process to end; one that does not is ended, and fails the test.
pub(crate) fn wait(child: &mut Child, deadline: Duration) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it did not end within {deadline:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs a command to its end: its code, and what it printed.
pub(crate) fn output(line: &str) -> (Option<i32>, String, String) {
    let mut child = command(line)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{line}: {error}"));
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = err.read_to_string(&mut text);
        text
    });
    let printing = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = out.read_to_string(&mut text);
        text
    });
    let status = wait(&mut child, DEADLINE);
    (status.code(), printing.join().unwrap(), reading.join().unwrap())
}
