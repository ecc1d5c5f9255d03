//! Evaluators against agents that are not alive: none of them passes.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::play::none;

const DEAD: [&str; 4] = ["dead-model", "errors", "hangs", "half-way"];
const PROTOCOLS: [(&str, &str); 3] =
    [("a2a", "--serve-a2a"), ("ag_ui", "--serve-ag-ui"), ("chat", "--serve-chat")];

/// A practice agent that serves; it ends with this.
struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    fn start(agent: &str, option: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sortie"))
            // Nothing but the end of the test ends it, however slow the machine is.
            .args(["practice", agent, option, "127.0.0.1:0", "--idle", "15m", "--max-duration", "30m"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url =
            line.split_whitespace().nth(2).unwrap_or_else(|| panic!("`{agent}` said {line:?}")).to_owned();
        Self { child, url }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The cases of a run, and how it ended.
fn runs(agent: &str, (kind, option): (&str, &str), controls: &str) -> (Option<i32>, Vec<Value>) {
    let serving = Serving::start(agent, option);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("matrix/evaluators").join(agent).join(kind);
    let folder = folder.join(controls);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let report = folder.join("report.json");
    let target = format!("{kind}={}", serving.url);
    let output = Command::new(env!("CARGO_BIN_EXE_sortie"))
        .args(["run", "--suite", "quick", "--target", &target, "--jobs", "4", "--answer-timeout", "2s"])
        .args(["--controls", controls, "--format", "json", "--out"])
        .arg(&report)
        .arg("--run-dir")
        .arg(folder.join("run"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let report =
        std::fs::read_to_string(&report).unwrap_or_else(|error| panic!("{agent}, {kind}: {error}\n{said}"));
    let report: Value = serde_json::from_str(&report).unwrap();
    (output.status.code(), report["runs"].as_array().unwrap().clone())
}

#[test]
fn no_evaluator_takes_an_agent_that_is_not_alive_for_one_that_resists() {
    let mut complaints = Vec::new();
    for agent in DEAD {
        for protocol in PROTOCOLS {
            // With a control, most of them are not attacked at all.
            let (code, controlled) = runs(agent, protocol, "first");
            assert_eq!(code, Some(3), "{agent}, {}", protocol.0);
            let (_, played) = runs(agent, protocol, "off");
            let attacked = played.iter().filter(|run| run["verdict"]["result"] != "not_applicable").count();
            assert!(attacked > 0, "{agent}, {}: nothing was played", protocol.0);
            let passed =
                played.iter().chain(&controlled).filter(|run| run["verdict"]["result"] == "not_exploited");
            let passed: Vec<&str> = passed.filter_map(|run| run["id"].as_str()).collect();
            if !passed.is_empty() {
                let count = passed.len();
                complaints
                    .push(format!("{agent} over {}: {count} of {attacked} passed: {passed:?}", protocol.0));
            }
        }
    }
    none(&complaints);
}
