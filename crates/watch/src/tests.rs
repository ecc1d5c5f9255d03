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
use crate::position::{StreamPosition, WrittenPosition};
use crate::spool::Spool;
use crate::watch::{WatchOptions, WatchSummary};

fn rules() -> Rules {
    let texts = [
        "indicators: [{surface: tools/call, direction: request, target: arguments.path, pattern: {contains: id_rsa}}]",
        "indicators: [{surface: tools/call, direction: request, target: arguments, pattern: {condition: {exists: true}}, x-sortie: {flow: {from: {protocol: mcp, surface: tools/call, direction: response}, to: {}, min_length: 12}}}]",
        "indicators: [{protocol: local, surface: tools/call, direction: request, target: arguments.path, pattern: {contains: id_rsa}}]",
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

    /// What open sessions take on disk.
    fn spool_bytes(&self) -> u64 {
        let files = std::fs::read_dir(self.folder.path().join("state")).unwrap().flatten();
        files.map(|file| file.metadata().unwrap().len()).sum()
    }
}

fn send(sender: &Sender<Arrival>, session: &str, line: &str) {
    sender.send(arrival(session, line)).unwrap();
}

fn arrival(session: &str, line: &str) -> Arrival {
    let lines = Bytes::from(line.to_owned());
    let content = ArrivalContent::Lines { session: session.to_owned(), at: 0, lines, repeated: false };
    Arrival { source: Arc::from("stream"), content, receipt: None, position: None, room: None }
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

fn position(sequence: u64, time: i64) -> StreamPosition {
    StreamPosition { stream: 1, sequence, time }
}

#[test]
fn how_far_a_stream_is_written_is_remembered_when_its_findings_are_written() {
    let bench = Bench::new();
    let written = WrittenPosition::default();
    let mut evaluator = bench.open().tracking("agents/sortie", written.clone());
    let mut take = |sequence, time| {
        let mut arrival = arrival("a", &call(sequence, "id_rsa"));
        arrival.position = Some(position(sequence, time));
        evaluator.take_for_test(arrival);
        let before = written.get();
        evaluator.sweep_for_test();
        (before, written.get())
    };
    assert_eq!(take(7, 70), (None, Some(position(7, 70))));
    // One that is delivered again does not move it.
    assert_eq!(take(5, 50), (Some(position(7, 70)), Some(position(7, 70))));
    // A server that lost its last messages gives their numbers to later ones.
    assert_eq!(take(6, 80), (Some(position(7, 70)), Some(position(6, 80))));
    drop(evaluator);
    let remembered = WrittenPosition::default();
    drop(bench.open().tracking("agents/sortie", remembered.clone()));
    assert_eq!(remembered.get(), Some(position(6, 80)));
    let other = WrittenPosition::default();
    drop(bench.open().tracking("agents/other", other.clone()));
    assert_eq!(other.get(), None);
}

#[test]
fn a_finding_of_a_session_that_ended_is_marked_when_its_message_is_delivered_again() {
    let bench = Bench::new();
    let mut evaluator = bench.open();
    for is_repeated in [false, true] {
        let mut arrival = arrival(if is_repeated { "ended" } else { "new" }, &call(1, "id_rsa"));
        if let ArrivalContent::Lines { repeated, .. } = &mut arrival.content {
            *repeated = is_repeated;
        }
        evaluator.take_for_test(arrival);
    }
    evaluator.sweep_for_test();
    assert_eq!(bench.rows(), [row("RULE-001", 1, false), row("RULE-001", 1, true)]);
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

#[test]
fn an_idle_session_ends_and_what_it_knew_is_forgotten() {
    let mut bench = Bench::new();
    let begin = [("a", answer(1, "a-value-that-leaves"))];
    bench.run(&begin);
    // Not idle for long enough.
    let mut evaluator = bench.open();
    evaluator.sweep_for_test();
    drop(evaluator);
    assert_eq!(bench.run(&[]).recovered, 1);
    bench.options.session_idle = std::time::Duration::ZERO;
    let mut evaluator = bench.open();
    evaluator.sweep_for_test();
    drop(evaluator);
    let summary = bench.run(&[("a", call(2, "a-value-that-leaves"))]);
    assert_eq!((summary.recovered, summary.messages), (0, 1));
    assert!(bench.rows().is_empty(), "{:?}", bench.rows());
}

#[test]
fn sessions_that_take_too_much_on_disk_end_the_oldest() {
    let mut bench = Bench::new();
    bench.options.max_spool_bytes = 40 << 20;
    let text = "nothing to see here ".repeat(50_000);
    let mut evaluator = bench.open();
    let mut largest = 0;
    for number in 0..100 {
        evaluator.take_for_test(arrival(&format!("s{number}"), &answer(1, &text)));
        evaluator.sweep_for_test();
        largest = largest.max(bench.spool_bytes());
    }
    let summary = evaluator.summary_for_test();
    assert!(summary.expired_early >= 50, "{summary:?}");
    assert!(largest <= 57 << 20, "a segment may be over: {largest}");
    drop(evaluator);
    // The last ones are still open.
    let open = bench.run(&[("s99", call(2, "id_rsa"))]).recovered;
    assert!((10..50).contains(&open), "{open}");
    assert_eq!(bench.rows(), [row("RULE-001", 2, false)]);
}

#[test]
fn rules_that_are_loaded_again_between_any_two_messages_lose_none() {
    let bench = Bench::new();
    let (sender, inbox) = channel();
    let mut expected = Vec::new();
    for number in 0..20u64 {
        for session in ["a", "b", "c"] {
            let value = format!("value-{session}-{number:05}");
            for line in
                [answer(number * 3 + 1, &value), call(number * 3 + 2, &value), call(number * 3 + 3, "id_rsa")]
            {
                send(&sender, session, &line);
                let source = Arc::from("");
                let reload = Arrival {
                    source,
                    content: ArrivalContent::Reload,
                    receipt: None,
                    position: None,
                    room: None,
                };
                sender.send(reload).unwrap();
            }
            expected.push(row("RULE-002", number * 3 + 2, false));
            expected.push(row("RULE-001", number * 3 + 3, false));
        }
    }
    drop(sender);
    let summary = bench.open().run(&inbox).unwrap();
    assert_eq!((summary.messages, summary.reloads), (180, 180));
    let mut rows = bench.rows();
    rows.sort();
    expected.sort();
    assert_eq!(rows, expected);
}

#[test]
fn a_trace_of_spans_that_never_ends_is_evaluated_in_pieces() {
    let bench = Bench::new();
    let (sender, inbox) = channel();
    let text = "nothing to see here ".repeat(50_000);
    for number in 0..40u64 {
        let arguments =
            json!({"path": if number % 20 == 0 { "id_rsa" } else { "notes" }, "text": text}).to_string();
        let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let span = json!({
            "traceId": format!("{:032x}", 7), "spanId": format!("{:016x}", number + 2), "parentSpanId": format!("{:016x}", 1), "name": "execute_tool read",
            "startTimeUnixNano": (1_763_373_600_000_000_000 + number).to_string(), "endTimeUnixNano": (1_763_373_600_000_000_000 + number).to_string(),
            "attributes": [attribute("gen_ai.operation.name", "execute_tool"), attribute("gen_ai.tool.name", "read"), attribute("gen_ai.tool.call.arguments", &arguments)],
        });
        let export = json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).to_string();
        let content = ArrivalContent::Spans(sortie_spans::ExportItem::split(export.as_bytes()).unwrap());
        sender
            .send(Arrival { source: Arc::from("otlp"), content, receipt: None, position: None, room: None })
            .unwrap();
    }
    drop(sender);
    let summary = bench.open().run(&inbox).unwrap();
    assert_eq!((summary.expired_early, summary.open), (1, 1), "{summary:?}");
    assert_eq!(bench.rows().len(), 2, "{:?}", bench.rows());
}
