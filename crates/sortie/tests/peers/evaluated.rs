//! A run of evaluators, with everything one wants to ask of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A run of evaluators that ended.
pub(crate) struct Evaluated {
    pub(crate) code: Option<i32>,
    pub(crate) report: Value,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    folder: TempDir,
}

/// A finding: the evaluator, and the tool that was called, or `-` where none was.
pub(crate) type Finding = (String, String);

/// The ids of the evaluators of a catalogue: `agent` or `mcp`.
pub(crate) fn catalogue(surface: &str) -> Vec<String> {
    let listed = Command::new(env!("CARGO_BIN_EXE_sortie"))
        .args(["evaluators", "list", "--format", "json", "--surface", surface])
        .output()
        .unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let ids =
        listed["evaluators"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned());
    let ids: Vec<_> = ids.collect();
    assert!(ids.len() > 40, "{ids:?}");
    ids
}

/// `sortie run` with these arguments, to its end, in a folder of its own.
pub(crate) fn evaluate<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Evaluated {
    evaluate_with(arguments, [])
}

/// The same, with variables in the environment.
pub(crate) fn evaluate_with<'a, 'b>(
    arguments: impl IntoIterator<Item = &'a str>,
    environment: impl IntoIterator<Item = (&'b str, &'b str)>,
) -> Evaluated {
    evaluate_with_jobs("16", arguments, environment)
}

/// The same, with so many cases at once: as many servers are started where a server is a process.
pub(crate) fn evaluate_with_jobs<'a, 'b>(
    jobs: &str,
    arguments: impl IntoIterator<Item = &'a str>,
    environment: impl IntoIterator<Item = (&'b str, &'b str)>,
) -> Evaluated {
    let folder = tempfile::tempdir().unwrap();
    let ended = Command::new(env!("CARGO_BIN_EXE_sortie"))
        .arg("run")
        .args(arguments)
        .args(["--jobs", jobs, "--format", "json", "--run-dir"])
        .arg(folder.path().join("run"))
        .arg("--out")
        .arg(folder.path().join("report.json"))
        .current_dir(folder.path())
        .envs(environment)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&ended.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
    let report = std::fs::read_to_string(folder.path().join("report.json"))
        .unwrap_or_else(|error| panic!("no report ({error}), {}:\n{stderr}", ended.status));
    let report = serde_json::from_str(&report).unwrap();
    Evaluated { code: ended.status.code(), report, stdout, stderr, folder }
}

impl Evaluated {
    /// The cases of evaluators that were played, or could not be.
    pub(crate) fn cases(&self) -> Vec<&Value> {
        self.runs("evaluator")
    }

    /// The runs of a kind: `document` or `evaluator`.
    pub(crate) fn runs(&self, kind: &str) -> Vec<&Value> {
        self.report["runs"].as_array().unwrap().iter().filter(|run| run["kind"] == kind).collect()
    }

    pub(crate) fn with_verdict(&self, verdict: &str) -> Vec<&Value> {
        self.cases().into_iter().filter(|case| case["verdict"]["result"] == verdict).collect()
    }

    /// How many cases came to a verdict.
    pub(crate) fn decided(&self) -> usize {
        self.with_verdict("exploited").len() + self.with_verdict("not_exploited").len()
    }

    /// Everything that gave in.
    pub(crate) fn findings(&self) -> BTreeSet<Finding> {
        self.with_verdict("exploited").into_iter().map(finding).collect()
    }

    /// Everything whose times decided nothing.
    pub(crate) fn disturbed(&self) -> BTreeSet<Finding> {
        let errors = self.with_verdict("error").into_iter();
        errors.filter(|case| case["failure"]["kind"] == "disturbed").map(finding).collect()
    }

    /// One weakness at one argument is told once, however many cases show it. Gives the weaknesses: their CWE, tool and argument, or `-`.
    pub(crate) fn each_weakness_is_told_once(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let findings = self.report["findings"].as_array().cloned().unwrap_or_default();
        let place = |finding: &Value| format!("{} {}", text(&finding["tool"]), text(&finding["argument"]));
        let told: Vec<_> = findings.iter().map(|finding| (text(&finding["cwe"]), place(finding))).collect();
        let tools: Vec<_> = told.iter().filter(|(_, place)| !place.starts_with("- ")).collect();
        let once: BTreeSet<_> = tools.iter().collect();
        assert_eq!(once.len(), tools.len(), "{told:#?}");
        told
    }

    /// The folder of the run.
    pub(crate) fn run_folder(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// Where the run is, its report, and whatever else it wrote.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Everything was played to a verdict, or says why not.
    pub(crate) fn nothing_is_left_unsaid(&self) {
        let mut errors = self.with_verdict("error");
        // A tool that never worked says why, once; times that other work on the machine disturbed decide nothing.
        errors.retain(|case| {
            case["failure"]["kind"] != "control_failed" && case["failure"]["kind"] != "disturbed"
        });
        assert!(errors.is_empty(), "{errors:#?}\n{}", self.stderr);
        assert!(self.decided() > 0, "nothing was decided\n{}", self.stderr);
        for verdict in ["skipped", "not_applicable"] {
            for case in self.with_verdict(verdict) {
                assert!(
                    case["verdict"]["reason"].as_str().is_some_and(|reason| !reason.is_empty()),
                    "{case:#}"
                );
            }
        }
    }

    /// The records of the trace of a case.
    pub(crate) fn records(&self, case: &Value) -> Vec<Value> {
        let trace = case["trace"].as_str().unwrap_or_else(|| panic!("no trace: {case:#}"));
        let text = std::fs::read_to_string(self.run_folder().join(trace)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Each finding about a call can be seen in its trace: the call that we sent, and in what came back the very words
    /// that the finding rests on. Findings about the list of tools rest on what was discovered.
    pub(crate) fn each_finding_is_in_its_trace(&self) {
        let discovered = std::fs::read_to_string(self.run_folder().join("discovery.jsonl")).unwrap();
        for case in self.with_verdict("exploited") {
            let (_, tool) = finding(case);
            if tool == "-" {
                let mut records = discovered.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
                assert!(records.any(|record| record["sender"] == "agent"), "{case:#}");
                continue;
            }
            let records = self.records(case);
            let of = |sender: &str| -> Vec<String> {
                let messages = records.iter().filter(|record| record["sender"] == sender);
                messages.flat_map(|record| texts(&record["content"])).collect()
            };
            assert!(of("actor").contains(&tool), "`{tool}` was not called: {case:#}");
            let answer = case["transcript"]["answers"][0].as_str().unwrap();
            let heard = of("agent");
            assert!(heard.iter().any(|text| text.contains(answer)), "{answer:?} is not in {heard:?}");
        }
    }
}

fn finding(case: &Value) -> Finding {
    let text = |key: &str| case["evaluator"][key].as_str().unwrap_or("-").to_owned();
    (text("id"), text("tool"))
}

/// All texts in a value.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}
