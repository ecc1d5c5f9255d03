//! Peers that findings are posted to.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;

use serde_json::Value;
use sortie_spans::ExportItem;
use sortie_watch::FindingOutputs;

use crate::sink::Sink;
use crate::traffic::{Running, call, header, loader, options, rows, wait_until};

fn append(path: &Path, lines: &[String]) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    for line in lines {
        writeln!(file, "{line}").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_gets_the_rows_that_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let (mut options, out) = options(folder.path());
    let (file, sink) = (folder.path().join("run.jsonl"), Sink::start().await);
    options.follow = vec![file.clone()];
    options.outputs.webhook = Some(format!("{}/hook", sink.url()));
    append(&file, &[header(), call(1, "id_rsa"), "nothing".to_owned(), call(2, "notes"), call(3, "id_rsa")]);
    let running = Running::start(options, loader()).await;
    wait_until("three rows", || sink.rows().len() == 3).await;
    running.stop().await;
    assert_eq!(sink.rows(), rows(&out));
    let kinds: Vec<Value> = sink.rows().iter().map(|row| row["record"].clone()).collect();
    assert_eq!(kinds, ["finding", "error", "finding"]);
    assert!(sink.requests.lock().unwrap().iter().all(|(path, _)| path == "/hook"));
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_are_evaluation_events_and_errors_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let (mut options, out) = options(folder.path());
    let (file, sink) = (folder.path().join("run.jsonl"), Sink::start().await);
    options.follow = vec![file.clone()];
    options.outputs.otlp = Some(FindingOutputs::logs_endpoint(sink.url()));
    append(&file, &[header(), call(1, "id_rsa"), "nothing".to_owned()]);
    let running = Running::start(options, loader()).await;
    wait_until("an event", || sink.count() == 1).await;
    wait_until("both rows", || rows(&out).len() == 2).await;
    running.stop().await;
    let requests = sink.requests.lock().unwrap();
    assert_eq!((requests.len(), requests[0].0.as_str()), (1, "/v1/logs"));
    // It is an export that a receiver takes.
    assert_eq!(ExportItem::split(requests[0].1.to_string().as_bytes()).unwrap().len(), 1);
    let record = &requests[0].1["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
    assert_eq!(
        (&record["eventName"], &record["severityText"]),
        (&"gen_ai.evaluation.result".into(), &"ERROR".into())
    );
    let written = &rows(&out)[0];
    let attribute = |key: &str| {
        let attributes = record["attributes"].as_array().unwrap();
        let found = attributes.iter().find(|attribute| attribute["key"] == key);
        found.unwrap_or_else(|| panic!("no {key} in {record}"))["value"].clone()
    };
    assert_eq!(attribute("gen_ai.evaluation.score.label")["stringValue"], "match");
    assert_eq!(attribute("gen_ai.evaluation.score.value")["doubleValue"], 1.0);
    assert_eq!(attribute("gen_ai.conversation.id")["stringValue"], written["session"]);
    assert_eq!(attribute("sortie.finding.id")["stringValue"], written["id"]);
    let name =
        format!("{}/{}", written["document"].as_str().unwrap(), written["indicator"].as_str().unwrap());
    assert_eq!(attribute("gen_ai.evaluation.name")["stringValue"], name);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_is_away_is_asked_again_and_one_that_refuses_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let (mut options, out) = options(folder.path());
    let (file, sink) = (folder.path().join("run.jsonl"), Sink::start().await);
    options.follow = vec![file.clone()];
    options.outputs.webhook = Some(sink.url());
    sink.status.store(503, Ordering::Relaxed);
    append(&file, &[header(), call(1, "id_rsa")]);
    let running = Running::start(options, loader()).await;
    wait_until("a second attempt", || sink.count() == 2).await;
    sink.status.store(200, Ordering::Relaxed);
    append(&file, &[call(2, "id_rsa")]);
    wait_until("the next row", || sink.rows().last().is_some_and(|row| row["seq"] == 2)).await;
    assert!(running.notes.lock().unwrap().iter().all(|note| !note.contains("does not accept findings")));
    // It will never take these, and is not asked twice.
    sink.status.store(400, Ordering::Relaxed);
    let before = sink.count();
    append(&file, &[call(3, "id_rsa")]);
    running.wait_for_note("does not accept findings: it answers 400").await;
    assert_eq!(sink.count(), before + 1);
    sink.status.store(200, Ordering::Relaxed);
    append(&file, &[call(4, "id_rsa")]);
    running.wait_for_note("accepts findings again; 1 were not delivered").await;
    running.stop().await;
    // Nothing is missing where it counts.
    let written: Vec<Value> = rows(&out).iter().map(|row| row["seq"].clone()).collect();
    assert_eq!(written, [1, 2, 3, 4]);
}
