//! Slow consumers, floods, and messages that are too long.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;

use crate::receiver::{JSON, post_to, receiving};
use crate::sink::Sink;
use crate::traffic::{
    Running, answer, call, export, header, ids, loader, options, rows, scanned, span, wait_until,
};

/// A trace of one span, of about a megabyte.
fn large(trace: u64) -> Value {
    let mut span = span(trace, 1, 0, "id_rsa");
    let padding = serde_json::json!({"key": "padding", "value": {"stringValue": "x".repeat(1 << 20)}});
    span["attributes"].as_array_mut().unwrap().push(padding);
    export(&[span])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_before_a_slow_consumer_is_refused_and_sent_again_without_loss() {
    const TRACES: u64 = 96;
    let folder = tempfile::tempdir().unwrap();
    let (mut options, out) = receiving(folder.path());
    let sink = Sink::start().await;
    options.outputs.webhook = Some(sink.url());
    let running = Running::start(options, loader()).await;
    let url = Arc::new(format!("http://{}/v1/traces", running.address.unwrap()));
    // The consumer takes a request, and answers when it is let.
    let closed = Arc::clone(&sink.gate).acquire_many_owned(64).await.unwrap();
    let mut posts = JoinSet::new();
    let send = |posts: &mut JoinSet<_>, trace: u64| {
        let url = Arc::clone(&url);
        posts.spawn(async move {
            let (status, _, headers) = post_to(&url, &[JSON], large(trace).to_string()).await;
            (trace, status, headers.get("retry-after").map(|value| value.to_str().unwrap().to_owned()))
        });
    };
    send(&mut posts, 1);
    wait_until("the consumer has a request", || sink.count() == 1).await;
    (2..=TRACES).for_each(|trace| send(&mut posts, trace));
    // No more than 32 MB wait, so that all others are answered before the consumer is.
    let mut refused = Vec::new();
    while refused.len() < 60 {
        let (trace, status, retry) = posts.join_next().await.unwrap().unwrap();
        assert_eq!(
            (status, retry.as_deref()),
            (503, Some("1")),
            "nothing is acknowledged before it is written"
        );
        refused.push(trace);
    }
    drop(closed);
    loop {
        while let Some(answered) = posts.join_next().await {
            let (trace, status, _) = answered.unwrap();
            assert!(matches!(status, 200 | 503), "{status}");
            if status == 503 {
                refused.push(trace);
            }
        }
        if refused.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        refused.drain(..).for_each(|trace| send(&mut posts, trace));
    }
    running.stop().await;
    let file = folder.path().join("same.jsonl");
    let mut copy = std::fs::File::create(&file).unwrap();
    (1..=TRACES).for_each(|trace| writeln!(copy, "{}", large(trace)).unwrap());
    let expected = scanned(&file);
    assert_eq!(expected.len(), usize::try_from(TRACES).unwrap());
    assert_eq!(ids(&out), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_too_long_is_one_error_and_the_next_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (mut options, out) = options(folder.path());
    let file = folder.path().join("run.jsonl");
    options.follow = vec![file.clone()];
    let mut writer = OpenOptions::new().create(true).append(true).open(&file).unwrap();
    writeln!(writer, "{}\n{}\n{}", header(), answer(1, "a-value-that-leaves"), call(2, "id_rsa")).unwrap();
    let running = Running::start(options, loader()).await;
    wait_until("the first finding", || rows(&out).len() == 1).await;
    let piece = vec![b'x'; 1 << 20];
    (0..33).for_each(|_| writer.write_all(&piece).unwrap());
    writeln!(writer, "\n{}", call(3, "/tmp/a-value-that-leaves")).unwrap();
    // The session goes on: a value that came in before leaves behind it.
    wait_until("an error and a finding", || rows(&out).len() == 3).await;
    let summary = running.stop().await;
    assert_eq!((summary.errors, summary.findings), (1, 2));
    let found = rows(&out);
    assert_eq!(
        (&found[1]["record"], &found[2]["document"]),
        (&"error".into(), &"RULE-002".into()),
        "{found:?}"
    );
    assert_eq!(ids(&out), scanned(&file));
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_are_loaded_again_under_load_lose_no_span() {
    const TRACES: u64 = 120;
    let folder = tempfile::tempdir().unwrap();
    let (options, out) = receiving(folder.path());
    let running = Running::start(options, loader()).await;
    let url = Arc::new(format!("http://{}/v1/traces", running.address.unwrap()));
    let mut posts = JoinSet::new();
    for sender in 0..4 {
        let url = Arc::clone(&url);
        posts.spawn(async move {
            for trace in (1..=TRACES).filter(|trace| trace % 4 == sender) {
                for spans in [[span(trace, 2, 1, "id_rsa")], [span(trace, 1, 0, "notes")]] {
                    let (status, ..) = post_to(&url, &[JSON], export(&spans).to_string()).await;
                    assert_eq!(status, 200);
                }
            }
        });
    }
    while !posts.is_empty() {
        running.control.reload();
        tokio::select! {
            Some(done) = posts.join_next() => done.unwrap(),
            () = tokio::time::sleep(Duration::from_millis(5)) => {}
        }
    }
    let summary = running.stop().await;
    assert!(summary.reloads >= 3, "{summary:?}");
    assert_eq!((summary.messages, summary.repeated), (2 * TRACES, 0));
    let file = folder.path().join("same.jsonl");
    let mut copy = std::fs::File::create(&file).unwrap();
    for trace in 1..=TRACES {
        writeln!(copy, "{}", export(&[span(trace, 2, 1, "id_rsa"), span(trace, 1, 0, "notes")])).unwrap();
    }
    let expected = scanned(&file);
    assert_eq!(expected.len() as u64, TRACES);
    assert_eq!(ids(&out), expected);
}
