//! Documents that are played against a practice agent by the real program.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::documents::{Document, library};

/// Nothing here takes longer unless it hangs.
const DEADLINE: Duration = Duration::from_mins(15);

/// Every agent there is, in the order in which the docs name them.
pub(crate) const AGENTS: [&str; 17] = [
    "gullible",
    "refuser",
    "quoting-refuser",
    "confused",
    "late",
    "encoder",
    "partial",
    "silent",
    "absent",
    "crashing",
    "own-tools",
    "flaky",
    "dead-model",
    "errors",
    "hangs",
    "half-way",
    "permission-denied",
];

/// Agents that wait more than they do, and let others play meanwhile: mostly for what never comes.
const WAITING: [&str; 7] =
    ["silent", "absent", "hangs", "dead-model", "errors", "half-way", "permission-denied"];

/// One document that was played against one agent.
pub(crate) struct Played {
    pub(crate) agent: String,
    pub(crate) document: String,
    /// The run, as its report has it.
    pub(crate) run: Value,
    /// What the agent wrote down.
    pub(crate) log: Vec<Value>,
}

/// The library against every agent, by agent and document. Played once, for all tests.
pub(crate) static LIBRARY: LazyLock<BTreeMap<&str, Vec<Played>>> = LazyLock::new(|| {
    let documents = library();
    let of = |agents: &[&'static str]| -> Vec<(&'static str, Vec<Played>)> {
        agents.iter().map(|agent| (*agent, play(agent, &documents, "library"))).collect()
    };
    let (few, many): (Vec<_>, Vec<_>) = AGENTS.iter().partition(|agent| WAITING.contains(agent));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| of(&few));
        let mut all = of(&many);
        all.extend(first.join().unwrap());
        all.into_iter().collect()
    })
});

/// Plays documents against an agent; what comes of it is kept below `target/tmp/matrix`, under a name.
pub(crate) fn play(agent: &str, documents: &[Document], name: &str) -> Vec<Played> {
    play_with(agent, documents, name, &[])
}

/// The same, with more arguments.
pub(crate) fn play_with(agent: &str, documents: &[Document], name: &str, more: &[&str]) -> Vec<Played> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("matrix").join(name).join(agent);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let report = folder.join("report.json");
    let stderr = folder.join("stderr.txt");
    // Nobody else ends it.
    let hangs: &[&str] = if agent == "hangs" { &["--max-duration", "5s"] } else { &[] };
    let jobs = if WAITING.contains(&agent) { "16" } else { "4" };
    let mut child = Command::new(env!("CARGO_BIN_EXE_sortie"))
        .arg("run")
        .args(documents.iter().map(|document| &document.path))
        .args([
            "--agent",
            &format!("builtin:{agent}"),
            "--controls",
            "off",
            "--jobs",
            jobs,
            "--format",
            "json",
            "--out",
        ])
        .arg(&report)
        .arg("--run-dir")
        .arg(folder.join("runs"))
        .args(hangs)
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&stderr).unwrap())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > DEADLINE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("`{agent}` and {name} came to no end within {DEADLINE:?}: {}", folder.display());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let said = || fs::read_to_string(&stderr).unwrap_or_default();
    assert!(matches!(status.code(), Some(0 | 1 | 3)), "`{agent}` and {name}: {status}\n{}", said());
    let report =
        fs::read_to_string(&report).unwrap_or_else(|error| panic!("no report ({error}): {}", said()));
    let report: Value = serde_json::from_str(&report).unwrap();
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), documents.len(), "`{agent}` and {name}: {}", said());
    runs.iter().zip(documents).map(|(run, document)| Played::new(agent, document, run)).collect()
}

impl Played {
    fn new(agent: &str, document: &Document, run: &Value) -> Self {
        assert_eq!(run["document"]["id"], Value::from(document.id.as_str()));
        let mut played = Self {
            agent: agent.to_owned(),
            document: document.id.clone(),
            run: run.clone(),
            log: Vec::new(),
        };
        // An agent that never comes writes none.
        let log = fs::read_to_string(played.trace().with_file_name("practice.jsonl")).unwrap_or_default();
        played.log = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        played
    }

    /// `exploited`, `not_exploited`, `partial`, `error`.
    pub(crate) fn verdict(&self) -> &str {
        self.run["verdict"]["result"].as_str().unwrap()
    }

    /// Whether the verdict is that the agent gave in, at least in part.
    pub(crate) fn is_exploited(&self) -> bool {
        ["exploited", "partial"].contains(&self.verdict())
    }

    /// The worst tier that matched.
    pub(crate) fn tier(&self) -> Option<&str> {
        self.run["verdict"]["max_tier"].as_str()
    }

    /// What kept the run from being a whole one.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.run["failure"]["kind"].as_str()
    }

    /// The lines of the log that say that it did what somebody else than the user told it.
    pub(crate) fn obeyed(&self) -> Vec<&Value> {
        self.log.iter().filter(|line| line["did"].is_string() && line["because"].is_object()).collect()
    }

    /// Where the things stood that it was told and read.
    pub(crate) fn noticed(&self) -> Vec<&str> {
        let noticed = self.log.iter().filter(|line| line["noticed"].is_string());
        noticed.filter_map(|line| line["source"].as_str()).collect()
    }

    /// Whether it said no to something: a form, a request.
    pub(crate) fn declined(&self) -> bool {
        self.log.iter().any(|line| line["did"] == "refuse" || line["did"] == "elicitation/decline")
    }

    /// Every indicator that matched, and the position of the message it matched in.
    pub(crate) fn matches(&self) -> Vec<(&str, u64)> {
        let verdicts = self.run["verdict"]["indicator_verdicts"].as_array().unwrap().iter();
        let matched = |verdict: &'_ Value| verdict["match"]["seq"].as_u64();
        verdicts
            .filter(|verdict| verdict["result"] == "matched")
            .map(|verdict| (verdict["indicator_id"].as_str().unwrap(), matched(verdict).unwrap_or_default()))
            .collect()
    }

    pub(crate) fn trace(&self) -> PathBuf {
        PathBuf::from(self.run["trace"].as_str().unwrap())
    }

    /// The records of the trace.
    pub(crate) fn records(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.trace()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Which run this is, and what one would look at next.
    pub(crate) fn explained(&self, complaint: &str) -> String {
        let mut text = format!("{} x {}: {complaint}\n", self.document, self.agent);
        let _ = writeln!(text, "  verdict {} at {:?}, {}", self.verdict(), self.tier(), self.run["failure"]);
        for line in self.log.iter().filter(|line| line["noticed"].is_string() || line["did"].is_string()) {
            let _ = writeln!(text, "  log     {line}");
        }
        let _ = writeln!(text, "  trace   {}", self.trace().display());
        text
    }
}

/// Fails with every complaint there is.
#[track_caller]
pub(crate) fn none(complaints: &[String]) {
    assert!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n"));
}
