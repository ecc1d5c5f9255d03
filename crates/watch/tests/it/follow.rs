//! Files as they grow.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use crate::traffic::{
    Running, answer, call, export, header, ids, loader, options, rows, scanned, session, span, wait_until,
};

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn trace(sessions: std::ops::Range<u64>) -> String {
    sessions.flat_map(session).map(|line| line + "\n").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_that_grows_has_the_findings_of_a_scan() {
    let folder = tempfile::tempdir().unwrap();
    let (mut options, out) = options(folder.path());
    let file = folder.path().join("run.jsonl");
    options.follow = vec![file.clone()];
    let text = trace(0..40);
    // In pieces that end anywhere, between two watches too.
    let pieces: Vec<&str> = (0..8).map(|at| &text[text.len() * at / 8..text.len() * (at + 1) / 8]).collect();
    append(&file, pieces[0]);
    for half in [&pieces[1..4], &pieces[4..]] {
        let running = Running::start(options.clone(), loader()).await;
        for piece in half {
            append(&file, piece);
            tokio::task::yield_now().await;
        }
        // The first watch ends anywhere.
        let expected = if half.len() == 3 { 1 } else { scanned(&file).len() };
        wait_until("findings", || ids(&out).len() >= expected).await;
        running.stop().await;
    }
    assert_eq!(ids(&out), scanned(&file));
    assert!(rows(&out).iter().all(|row| row["repeated"] != true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_renamed_is_read_to_its_end_and_then_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let (mut options, out) = options(folder.path());
    let (file, old) = (folder.path().join("run.jsonl"), folder.path().join("run.jsonl.1"));
    options.follow = vec![file.clone()];
    append(&file, &format!("{}\n{}\n", header(), call(1, "first id_rsa")));
    let running = Running::start(options.clone(), loader()).await;
    wait_until("the first finding", || rows(&out).len() == 1).await;
    fs::rename(&file, &old).unwrap();
    append(&old, &format!("{}\n", call(2, "old id_rsa")));
    append(&file, &format!("{}\n{}\n", header(), call(1, "new id_rsa")));
    wait_until("findings of both", || rows(&out).len() == 3).await;
    running.stop().await;
    // Renamed while nobody watches.
    fs::rename(&file, &old).unwrap();
    append(&old, &format!("{}\n", call(2, "late id_rsa")));
    append(&file, &format!("{}\n{}\n", header(), call(1, "third id_rsa")));
    let running = Running::start(options, loader()).await;
    wait_until("findings of all", || rows(&out).len() == 5).await;
    running.stop().await;
    let texts: Vec<String> = rows(&out).iter().map(|row| row["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(texts, ["first id_rsa", "old id_rsa", "new id_rsa", "late id_rsa", "third id_rsa"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_shorter_than_before_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (mut options, out) = options(folder.path());
    let file = folder.path().join("run.jsonl");
    options.follow = vec![file.clone()];
    append(&file, &format!("{}\n{}\n{}\n", header(), call(1, "id_rsa"), answer(2, &"x".repeat(500))));
    let running = Running::start(options, loader()).await;
    wait_until("the first finding", || rows(&out).len() == 1).await;
    fs::write(&file, format!("{}\n{}\n", header(), call(7, "id_rsa"))).unwrap();
    wait_until("the second finding", || rows(&out).len() == 2).await;
    assert_eq!(rows(&out)[1]["seq"], 7);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_no_record_is_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let (mut options, out) = options(folder.path());
    let file = folder.path().join("run.jsonl");
    options.follow = vec![file.clone()];
    append(&file, &format!("{}\nnothing\n{}\n", header(), call(1, "id_rsa")));
    let running = Running::start(options, loader()).await;
    wait_until("both rows", || rows(&out).len() == 2).await;
    let summary = running.stop().await;
    assert_eq!((summary.errors, summary.findings), (1, 1));
    assert_eq!(rows(&out)[0]["at"], header().len() + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_exports_and_of_coding_agents_have_the_findings_of_a_scan() {
    let folder = tempfile::tempdir().unwrap();
    let (mut options, out) = options(folder.path());
    let (spans, chat) = (folder.path().join("spans.jsonl"), folder.path().join("claude.jsonl"));
    options.follow = vec![spans.clone(), chat.clone()];
    let running = Running::start(options.clone(), loader()).await;
    for trace in 1..=6 {
        append(&spans, &format!("{}\n", export(&[span(trace, 2, 1, "id_rsa"), span(trace, 1, 0, "x")])));
    }
    let line = |uuid: u32, content: &str| {
        format!(
            r#"{{"parentUuid":null,"isSidechain":false,"type":"assistant","message":{{"id":"m{uuid}","role":"assistant","content":[{content}]}},"uuid":"{uuid}","timestamp":"2026-11-17T10:00:0{uuid}Z","sessionId":"s","version":"2.1.0","cwd":"/w"}}"#
        ) + "\n"
    };
    append(
        &chat,
        &line(1, r#"{"type":"tool_use","id":"a","name":"mcp__files__read","input":{"path":"id_rsa"}}"#),
    );
    wait_until("findings of spans and of a session file", || ids(&out).len() == 7).await;
    append(
        &chat,
        &line(2, r#"{"type":"tool_use","id":"b","name":"mcp__files__read","input":{"path":"id_rsa2"}}"#),
    );
    wait_until("a finding of what was added", || ids(&out).len() == 8).await;
    running.stop().await;
    let running = Running::start(options, loader()).await;
    append(
        &chat,
        &line(3, r#"{"type":"tool_use","id":"c","name":"mcp__files__read","input":{"path":"id_rsa3"}}"#),
    );
    wait_until("a finding after a restart", || ids(&out).len() >= 9).await;
    running.stop().await;
    let mut expected = [scanned(&spans), scanned(&chat)].concat();
    expected.sort();
    assert_eq!(ids(&out), expected);
}
