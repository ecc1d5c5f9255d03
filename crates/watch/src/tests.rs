//! The evaluator alone, as it is after a kill at the worst moment.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use bytes::Bytes;
use serde_json::{Value, json};
use sortie_oatf::{Compiled, load};
use sortie_scan::Rules;

use crate::arrival::{Arrival, ArrivalContent};
use crate::evaluator::Evaluator;
use crate::output::{FindingOutputs, Output};
use crate::spool::Spool;
use crate::watch::{WatchOptions, WatchSummary};

fn rules() -> Rules {
    let texts = [
        "indicators: [{surface: tools/call, direction: request, target: arguments.path, pattern: {contains: id_rsa}}]",
        "indicators: [{surface: tools/call, direction: request, target: arguments, pattern: {condition: {exists: true}}, x-sortie: {flow: {from: {protocol: mcp, surface: tools/call, direction: response}, to: {}, min_length: 12}}}]",
    ];
    Rules::new(texts.iter().zip(1..).map(|(indicators, number)| {
        let text = format!(
            "oatf: '0.1'\nattack:\n  id: RULE-{number:03}\n  execution: {{mode: mcp_server, state: {{tools: []}}}}\n  {indicators}\n"
        );
        Arc::new(Compiled::new(load(&text).unwrap().document).unwrap())
    }))
}

fn message(seq: u64, direction: &str, content: &Value) -> String {
    let sender = if direction == "request" { "agent" } else { "actor" };
    json!({
        "record": "message", "seq": seq, "time": "2026-11-17T10:00:00Z", "actor": "files", "mode": "mcp_server", "phase": "", "protocol": "mcp",
        "surfaces": ["tools/call"], "direction": direction, "kind": direction, "connection": "1", "sender": sender, "content": content,
    })
    .to_string()
}

fn call(seq: u64, path: &str) -> String {
    let params = json!({"name": "read", "arguments": {"path": path}});
    message(seq, "request", &json!({"jsonrpc": "2.0", "id": seq, "method": "tools/call", "params": params}))
}

fn answer(seq: u64, text: &str) -> String {
    let result = json!({"content": [{"type": "text", "text": text}]});
    message(seq, "response", &json!({"jsonrpc": "2.0", "id": seq, "result": result}))
}

struct Bench {
    folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    options: WatchOptions,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self { folder, runtime, options: WatchOptions::default() }
    }

    fn out(&self) -> std::path::PathBuf {
        self.folder.path().join("out.jsonl")
    }

    fn open(&self) -> Evaluator {
        let outputs = FindingOutputs { file: Some(self.out()), ..FindingOutputs::default() };
        let output = Output::open(&outputs, self.runtime.handle().clone()).unwrap();
        let spool = Spool::open(&self.folder.path().join("state")).unwrap();
        let loader = Box::new(|| Ok(rules()));
        Evaluator::open(self.options.clone(), loader, Box::new(|_| {}), spool, output).unwrap()
    }

    /// Everything is evaluated, written and acknowledged.
    fn run(&self, lines: &[(&str, String)]) -> WatchSummary {
        let (sender, inbox) = channel();
        for (session, line) in lines {
            send(&sender, session, line);
        }
        drop(sender);
        self.open().run(&inbox).unwrap()
    }

    fn rows(&self) -> Vec<(String, u64, bool)> {
        read(&self.out())
    }
}

fn send(sender: &Sender<Arrival>, session: &str, line: &str) {
    sender.send(arrival(session, line)).unwrap();
}

fn arrival(session: &str, line: &str) -> Arrival {
    let lines = Bytes::from(line.to_owned());
    let content = ArrivalContent::Lines { session: session.to_owned(), at: 0, lines };
    Arrival { source: Arc::from("stream"), content, receipt: None, room: None }
}

fn read(path: &Path) -> Vec<(String, u64, bool)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            let document = row["document"].as_str().unwrap_or("error").to_owned();
            (document, row["seq"].as_u64().unwrap_or(0), row["repeated"] == true)
        })
        .collect()
}

fn row(document: &str, seq: u64, repeated: bool) -> (String, u64, bool) {
    (document.to_owned(), seq, repeated)
}

#[test]
fn a_flow_goes_on_after_a_restart() {
    let bench = Bench::new();
    bench.run(&[("a", answer(1, "a-value-that-leaves")), ("b", answer(1, "another-long-value"))]);
    let summary = bench.run(&[("b", call(2, "a-value-that-leaves")), ("a", call(2, "a-value-that-leaves"))]);
    assert_eq!(summary.recovered, 2);
    // Not in `b`, which is another session.
    assert_eq!(bench.rows(), [row("RULE-002", 2, false)]);
}

#[test]
fn a_message_that_is_delivered_twice_repeats_its_findings_and_changes_nothing() {
    let bench = Bench::new();
    let lines =
        [("a", call(1, "id_rsa")), ("a", call(1, "id_rsa")), ("a", answer(2, "x")), ("a", answer(2, "x"))];
    let summary = bench.run(&lines);
    assert_eq!((summary.messages, summary.repeated_messages), (2, 2));
    // In another process too.
    bench.run(&[("a", call(1, "id_rsa"))]);
    assert_eq!(bench.rows(), [row("RULE-001", 1, false), row("RULE-001", 1, true), row("RULE-001", 1, true)]);
}

#[test]
fn what_was_taken_and_not_written_is_written_after_a_kill() {
    let bench = Bench::new();
    let mut evaluator = bench.open();
    evaluator.take_for_test(arrival("a", &call(1, "id_rsa")));
    // Killed between the spool and the output: nothing was acknowledged.
    evaluator.flush_spool_for_test();
    drop(evaluator);
    assert!(bench.rows().is_empty());
    drop(bench.open());
    assert_eq!(bench.rows(), [row("RULE-001", 1, false)]);
    // And delivered again, since it was not acknowledged.
    bench.run(&[("a", call(1, "id_rsa"))]);
    assert_eq!(bench.rows(), [row("RULE-001", 1, false), row("RULE-001", 1, true)]);
}

#[test]
fn what_was_written_and_not_remembered_is_not_written_twice() {
    let bench = Bench::new();
    bench.run(&[("a", call(1, "id_rsa"))]);
    let mut evaluator = bench.open();
    evaluator.take_for_test(arrival("a", &call(2, "id_rsa")));
    evaluator.take_for_test(arrival("a", &call(3, "id_rsa")));
    evaluator.flush_spool_for_test();
    // Killed in the middle of the second line.
    let lines = evaluator.lines_for_test();
    drop(evaluator);
    let cut = lines.len() - 20;
    let mut text = std::fs::read(bench.out()).unwrap();
    text.extend_from_slice(&lines.as_bytes()[..cut]);
    std::fs::write(bench.out(), text).unwrap();
    drop(bench.open());
    assert_eq!(
        bench.rows(),
        [row("RULE-001", 1, false), row("RULE-001", 2, false), row("RULE-001", 3, false)]
    );
}

#[test]
fn more_sessions_than_are_allowed_end_the_oldest() {
    let mut bench = Bench::new();
    bench.options.max_sessions = 3;
    let value = |number: u64| format!("value-number-{number:05}");
    let begin: Vec<(String, String)> =
        (0..10).map(|number| (format!("s{number}"), answer(1, &value(number)))).collect();
    let begin: Vec<(&str, String)> =
        begin.iter().map(|(session, line)| (session.as_str(), line.clone())).collect();
    bench.run(&begin);
    let mut evaluator = bench.open();
    evaluator.sweep_for_test();
    drop(evaluator);
    let end: Vec<(String, String)> =
        (0..10).map(|number| (format!("s{number}"), call(2, &value(number)))).collect();
    let end: Vec<(&str, String)> =
        end.iter().map(|(session, line)| (session.as_str(), line.clone())).collect();
    bench.run(&end);
    // Only those that were still open know what their value is.
    assert_eq!(
        bench.rows(),
        [row("RULE-002", 2, false), row("RULE-002", 2, false), row("RULE-002", 2, false)]
    );
}
