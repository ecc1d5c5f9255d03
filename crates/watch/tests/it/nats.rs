//! A JetStream consumer, with a real server.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use async_nats::jetstream::stream::{Config, RetentionPolicy};
use async_nats::jetstream::{self, Context};
use async_nats::{ConnectOptions, HeaderMap};
use sortie_watch::{NatsInput, WatchOptions};

use crate::traffic::{Running, answer, call, header, ids, loader, options, rows, wait_until};

const TOKEN: &str = "swordfish";

/// A server that takes messages of up to 40 MB, from those who have the token.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = folder.join("server.conf");
        let text = format!(
            "listen: \"127.0.0.1:{port}\"\nmax_payload: 41943040\nmax_pending: 134217728\njetstream: {{store_dir: \"{}\"}}\nauthorization: {{token: {TOKEN}}}\n",
            folder.join("store").display()
        );
        std::fs::write(&config, text).unwrap();
        let program = std::env::var("SORTIE_NATS_SERVER").unwrap_or_else(|_| "nats-server".to_owned());
        let child = Command::new(program)
            .arg("-c")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.join("server.txt")).unwrap())
            .spawn()
            .expect("nats-server is installed");
        Self { child, url: format!("nats://127.0.0.1:{port}") }
    }

    /// A client, when the server is there and has a stream.
    async fn stream(&self) -> Context {
        let deadline = Instant::now() + Duration::from_mins(1);
        let config = Config {
            name: "agents".to_owned(),
            subjects: vec!["agents.>".to_owned()],
            retention: RetentionPolicy::WorkQueue,
            ..Config::default()
        };
        loop {
            if let Ok(client) = ConnectOptions::with_token(TOKEN.to_owned()).connect(&self.url).await {
                let context = jetstream::new(client);
                if context.get_or_create_stream(config.clone()).await.is_ok() {
                    return context;
                }
            }
            assert!(Instant::now() < deadline, "the server has no stream");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn publish(context: &Context, session: &str, line: String) {
    let mut headers = HeaderMap::new();
    headers.insert("Sortie-Session", session);
    context.publish_with_headers("agents.line", headers, line.into()).await.unwrap().await.unwrap();
}

async fn left(context: &Context) -> u64 {
    context.get_stream("agents").await.unwrap().info().await.unwrap().state.messages
}

async fn wait_until_taken(context: &Context) {
    let deadline = Instant::now() + Duration::from_mins(2);
    while left(context).await > 0 {
        assert!(Instant::now() < deadline, "{} messages were never taken", left(context).await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn consuming(folder: &Path, server: &Server) -> (WatchOptions, std::path::PathBuf) {
    let (mut options, out) = options(folder);
    options.nats = Some(NatsInput {
        url: server.url.clone(),
        stream: "agents".to_owned(),
        consumer: "sortie".to_owned(),
        token: Some(TOKEN.to_owned()),
    });
    (options, out)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nats-server: cargo xtask bench watch"]
async fn messages_of_any_size_are_taken_in_order_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let context = server.stream().await;
    publish(&context, "a", header()).await;
    // Each pull ends with what its bytes allow, and not with its number of messages.
    for seq in 1..=200 {
        publish(&context, "a", answer(seq, &"x".repeat(60_000))).await;
    }
    publish(&context, "a", answer(201, "a-value-that-leaves")).await;
    // Larger than a pull. A server loses messages of more than 32 MB in its own store.
    publish(&context, "a", answer(202, &"y".repeat(6 << 20))).await;
    publish(&context, "b", "z".repeat(20 << 20)).await;
    publish(&context, "a", call(203, "/tmp/a-value-that-leaves")).await;
    let (options, out) = consuming(folder.path(), &server);
    let running = Running::start(options, loader()).await;
    wait_until_taken(&context).await;
    // Neither was the connection given up, nor did the server have to deliver anything again.
    assert_eq!(*running.notes.lock().unwrap(), [""; 0]);
    let summary = running.stop().await;
    assert_eq!(
        (summary.messages, summary.repeated_messages, summary.errors),
        (205, 0, 1),
        "{:?}",
        rows(&out)
    );
    let found: Vec<_> = rows(&out).iter().filter(|row| row["record"] == "finding").cloned().collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["document"], &found[0]["seq"]), (&"RULE-002".into(), &203.into()));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nats-server: cargo xtask bench watch"]
async fn a_message_is_taken_off_the_stream_when_its_finding_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let context = server.stream().await;
    let (options, out) = consuming(folder.path(), &server);
    let running = Running::start(options, loader()).await;
    publish(&context, "a", format!("{}\n{}", header(), call(1, "id_rsa"))).await;
    wait_until_taken(&context).await;
    assert_eq!(ids(&out).len(), 1);
    // An export of spans on the same stream.
    let export = crate::traffic::export(&[crate::traffic::span(1, 1, 0, "id_rsa")]);
    publish(&context, "", export.to_string()).await;
    wait_until("a finding in a span", || ids(&out).len() == 2).await;
    // What is neither is one error, and is not delivered for ever.
    publish(&context, "c", "{\"neither\": 1}".to_owned()).await;
    wait_until_taken(&context).await;
    assert_eq!(running.stop().await.errors, 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nats-server: cargo xtask bench watch"]
async fn a_token_that_is_wrong_is_noted_and_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let context = server.stream().await;
    let (mut options, out) = consuming(folder.path(), &server);
    options.nats.as_mut().unwrap().token = Some("swordfist".to_owned());
    publish(&context, "a", call(1, "id_rsa")).await;
    let running = Running::start(options, loader()).await;
    running.wait_for_note("NATS: ").await;
    let notes = running.notes.lock().unwrap().clone();
    assert!(notes.iter().all(|note| !note.contains("swordfist")), "{notes:?}");
    assert_eq!(running.stop().await.messages, 0);
    assert!(rows(&out).is_empty());
}
