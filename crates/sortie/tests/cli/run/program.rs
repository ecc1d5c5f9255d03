//! A run of the real program, with everything one wants to ask of it.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::fixtures;

/// Nothing here takes longer unless it hangs.
const DEADLINE: Duration = Duration::from_mins(1);

/// The root of the repository.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A document that a run can be made of.
pub(super) fn document(name: &str) -> PathBuf {
    let own = fixtures().join("run").join(name);
    if own.exists() { own } else { root().join("examples").join(name) }
}

/// The command of the agent that the docs show.
pub(super) fn agent(behaviour: &str) -> String {
    format!("'{}' {{mcp_url}} {behaviour}", root().join("docs/examples/agent.sh").display())
}

/// A run that goes on, in a folder of its own.
pub(super) struct Program {
    child: Child,
    stderr: Option<BufReader<std::process::ChildStderr>>,
    heard: String,
    pub(super) folder: TempDir,
    documents: Vec<PathBuf>,
}

/// A run that has ended.
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// The report, if there is one.
    pub(super) report: Option<Value>,
    pub(super) folder: TempDir,
}

/// Starts `sortie run` in an empty folder. The run folder is `run`, the report is `report.json`.
pub(super) fn start<'a>(documents: &[&str], arguments: impl IntoIterator<Item = &'a str>) -> Program {
    start_with(documents, arguments, |_| {})
}

/// The same, with a say in how the process is made.
pub(super) fn start_with<'a>(
    documents: &[&str],
    arguments: impl IntoIterator<Item = &'a str>,
    prepare: impl FnOnce(&mut Command),
) -> Program {
    let folder = tempfile::tempdir().unwrap();
    let documents: Vec<_> = documents.iter().map(|name| document(name)).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sortie"));
    command
        .arg("run")
        .args(&documents)
        .args(["--run-dir", "run", "--format", "json", "--out", "report.json"])
        .args(arguments)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    prepare(&mut command);
    let mut child = command.spawn().unwrap();
    let stderr = child.stderr.take().map(BufReader::new);
    Program { child, stderr, heard: String::new(), folder, documents }
}

/// The same, to its end.
pub(super) fn run<'a>(document: &str, arguments: impl IntoIterator<Item = &'a str>) -> Ended {
    start(&[document], arguments).finish()
}

impl Program {
    /// Where an actor listens, as soon as it does.
    pub(super) fn url_of(&mut self, actor: &str) -> String {
        let stderr = self.stderr.as_mut().unwrap();
        loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "`{actor}` never listened:\n{}", self.heard);
            self.heard.push_str(&line);
            let words: Vec<_> = line.split_whitespace().collect();
            if let ["listening", name, _, url, ..] = words[..]
                && name == actor
            {
                return url.to_owned();
            }
        }
    }

    /// Waits until there is a file with a line in it, and gives that.
    pub(super) fn file(&self, name: &str) -> String {
        self.file_with(name, "")
    }

    /// Waits until a file has a line with this in it.
    pub(super) fn file_with(&self, name: &str, part: &str) -> String {
        let start = Instant::now();
        loop {
            match std::fs::read_to_string(found(self.folder.path(), name)) {
                Ok(text) if text.ends_with('\n') && text.contains(part) => return text,
                _ => assert!(start.elapsed() < DEADLINE, "`{name}` never came"),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends a signal, by its name.
    pub(super) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Its standard input, when it was made with one.
    pub(super) fn stdin(&mut self) -> std::process::ChildStdin {
        self.child.stdin.take().unwrap()
    }

    /// Waits for its end. What the run says must be what its trace says.
    pub(super) fn finish(mut self) -> Ended {
        let read = |mut stream: Box<dyn Read + Send>| {
            std::thread::spawn(move || {
                let mut text = String::new();
                stream.read_to_string(&mut text).unwrap();
                text
            })
        };
        let stdout = read(Box::new(self.child.stdout.take().unwrap()));
        let stderr = read(Box::new(self.stderr.take().unwrap()));
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > DEADLINE {
                self.child.kill().unwrap();
                panic!("it did not end within {DEADLINE:?}");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let (stdout, stderr) = (stdout.join().unwrap(), self.heard + &stderr.join().unwrap());
        let report = std::fs::read_to_string(self.folder.path().join("report.json")).ok();
        let report = report.map(|text| serde_json::from_str(&text).unwrap());
        let ended = Ended { code: status.code(), stdout, stderr, report, folder: self.folder };
        ended.agrees_with_its_traces(&self.documents);
        ended
    }
}

/// A file of a run: `run/NAME`, or that of its one case.
fn found(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let Some((run, file)) = name.split_once('/').filter(|_| !path.exists()) else { return path };
    let cases = std::fs::read_dir(folder.join(run).join("cases")).into_iter().flatten().flatten();
    cases.map(|case| case.path().join(file)).find(|file| file.exists()).unwrap_or(path)
}

impl Ended {
    /// The first run of the report.
    pub(super) fn run(&self) -> &Value {
        let report = self.report.as_ref().unwrap_or_else(|| panic!("no report:\n{}", self.stderr));
        &report["runs"][0]
    }

    /// The verdict, the failure, why it ended, and the exit code.
    pub(super) fn told(&self) -> (&str, Option<&str>, &str, Option<i32>) {
        let run = self.run();
        (
            run["verdict"]["result"].as_str().unwrap(),
            run["failure"]["kind"].as_str(),
            run["stopped_by"].as_str().unwrap(),
            self.code,
        )
    }

    /// A file of the folder.
    pub(super) fn file(&self, name: &str) -> String {
        let path = found(self.folder.path(), name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A live run and its recording are reported alike.
    fn agrees_with_its_traces(&self, documents: &[PathBuf]) {
        let runs = self.report.iter().flat_map(|report| report["runs"].as_array().unwrap());
        for run in runs.filter(|run| run["verdict"]["indicator_verdicts"] != Value::Array(Vec::new())) {
            let file = run["document"]["file"].as_str().unwrap();
            assert!(documents.iter().any(|document| document == Path::new(file)), "{file}");
            let again = Command::new(env!("CARGO_BIN_EXE_sortie"))
                .args(["eval", "--format", "json", file, "--trace", run["trace"].as_str().unwrap()])
                .current_dir(self.folder.path())
                .output()
                .unwrap();
            let report: Value = serde_json::from_slice(&again.stdout)
                .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&again.stderr)));
            for key in ["document", "verdict", "reach", "actors", "stopped_by", "failure"] {
                assert_eq!(report["runs"][0][key], run[key], "{key} differs from that of the trace: {run:#}");
            }
        }
    }
}
