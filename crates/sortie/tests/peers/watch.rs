//! `sortie watch`, with exporters of OpenTelemetry.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Peers, root};

const DOCUMENT: &str = "oatf: '0.1'
attack:
  id: KEY-001
  execution: {mode: mcp_server, state: {tools: []}}
  indicators: [{protocol: local, surface: tools/call, target: arguments.path, pattern: {contains: id_rsa}}]
";

/// A watch in a process of its own.
struct Watch {
    child: Child,
    url: String,
}

impl Watch {
    fn start(folder: &Path, address: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sortie"))
            .args(["watch", "--otlp", address, "--rules", "key.yaml", "--settle", "200ms"])
            .args(["--out", "findings.jsonl", "--state", "state"])
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.by_ref().map_while(Result::ok).find(|line| line.contains("watching on "));
        let line = line.expect("it says where it listens");
        let url = line.split_once("watching on ").unwrap().1.to_owned();
        // Whatever else it says must not block it.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        Self { child, url }
    }

    fn address(&self) -> String {
        self.url.trim_start_matches("http://").to_owned()
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn terminate(mut self) {
        Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key.yaml"), DOCUMENT).unwrap();
    folder
}

fn export(folder: &Path, url: &str, encoding: &str, traces: u32, pause: f64) -> (Child, PathBuf) {
    let copy = folder.join(format!("{encoding}.jsonl"));
    let child = Command::new(Peers::find().path("otel/bin/python"))
        .arg(root().join("peers/watch/export.py"))
        .args([&format!("{url}/v1/traces"), encoding])
        .arg(&copy)
        .args([traces.to_string(), pause.to_string()])
        .spawn()
        .expect("the exporter is installed");
    (child, copy)
}

/// The ids of findings of a scan over the same spans.
fn scanned(folder: &Path, copies: &[PathBuf]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_sortie"))
        .args(["scan", "--rules", "key.yaml", "--format", "jsonl"])
        .args(copies)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    findings(&text).iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

fn findings(text: &str) -> Vec<Value> {
    let rows = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    rows.filter(|row| row["record"] == "finding").collect()
}

/// What a watch wrote: each finding once, without those that another replaces.
fn watched(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("findings.jsonl")).unwrap_or_default();
    let rows = findings(&text);
    let replaced: BTreeSet<&str> = rows.iter().filter_map(|row| row["replaces"].as_str()).collect();
    let first = rows.iter().filter(|row| row["repeated"] != true);
    let ids = first.filter_map(|row| row["id"].as_str()).filter(|id| !replaced.contains(id));
    ids.map(ToOwned::to_owned).collect()
}

fn wait_for(folder: &Path, count: usize) {
    let deadline = Instant::now() + Duration::from_mins(2);
    while watched(folder).len() < count {
        assert!(Instant::now() < deadline, "{} of {count} findings", watched(folder).len());
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn assert_same(folder: &Path, copies: &[PathBuf], count: usize) {
    let (expected, found) = (scanned(folder, copies), watched(folder));
    assert_eq!(expected.len(), count);
    assert_eq!(found.len(), count, "a finding was written twice, or not");
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn exporters_of_opentelemetry_get_the_findings_of_a_scan() {
    let folder = folder();
    let watch = Watch::start(folder.path(), "127.0.0.1:0");
    let encodings = ["json", "protobuf", "protobuf+gzip"];
    let exports = encodings.map(|encoding| export(folder.path(), &watch.url, encoding, 40, 0.0));
    let copies = exports.map(|(mut child, copy)| {
        assert!(child.wait().unwrap().success());
        copy
    });
    wait_for(folder.path(), 120);
    watch.terminate();
    assert_same(folder.path(), &copies, 120);
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn an_exporter_and_kills_in_the_middle_lose_nothing_and_repeat_nothing() {
    let folder = folder();
    let mut watch = Watch::start(folder.path(), "127.0.0.1:0");
    let address = watch.address();
    let (mut child, copy) = export(folder.path(), &watch.url, "protobuf", 400, 0.01);
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(900));
        watch.kill();
        watch = Watch::start(folder.path(), &address);
    }
    assert!(child.wait().unwrap().success(), "an exporter gave up");
    wait_for(folder.path(), 400);
    watch.terminate();
    assert_same(folder.path(), &[copy], 400);
}
