//! A `JetStream` consumer, with a real server.

use std::fs::OpenOptions;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::{Config, RetentionPolicy};
use async_nats::jetstream::{self, Context};
use async_nats::{ConnectOptions, HeaderMap};
use futures_util::StreamExt as _;
use sortie_watch::{NatsInput, WatchOptions};

use crate::traffic::{Running, answer, call, header, ids, loader, options, rows, wait_until};

const TOKEN: &str = "swordfish";

/// A server that takes messages of up to 40 MB, from those who have the token.
struct Server {
    child: Child,
    url: String,
    folder: PathBuf,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let text = format!(
            "listen: \"127.0.0.1:{port}\"\nmax_payload: 41943040\nmax_pending: 134217728\njetstream: {{store_dir: \"{}\"}}\nauthorization: {{token: {TOKEN}}}\n",
            folder.join("store").display()
        );
        std::fs::write(folder.join("server.conf"), text).unwrap();
        let url = format!("nats://127.0.0.1:{port}");
        Self { child: Self::spawn(folder), url, folder: folder.to_owned() }
    }

    fn spawn(folder: &Path) -> Child {
        let program = std::env::var("SORTIE_NATS_SERVER").unwrap_or_else(|_| "nats-server".to_owned());
        let log = OpenOptions::new().create(true).append(true).open(folder.join("server.txt")).unwrap();
        Command::new(program)
            .arg("-c")
            .arg(folder.join("server.conf"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("nats-server is installed")
    }

    /// Kills the server, changes what it has on disk, and starts it again.
    fn restart(&mut self, change: impl FnOnce(&Path)) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        change(&self.folder.join("store/jetstream/$G/streams/agents/msgs"));
        self.child = Self::spawn(&self.folder);
    }

    /// A client, when the server is there and has a stream from which messages are removed when they are acknowledged.
    async fn stream(&self) -> Context {
        self.stream_with(RetentionPolicy::WorkQueue).await
    }

    async fn stream_with(&self, retention: RetentionPolicy) -> Context {
        let deadline = Instant::now() + Duration::from_mins(1);
        let config = Config {
            name: "agents".to_owned(),
            subjects: vec!["agents.>".to_owned()],
            retention,
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

/// The folder of a stream's messages, as it is now.
fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// A consumer whose messages are delivered again after an hour.
async fn slow_consumer(context: &Context) -> PullConsumer {
    let config = pull::Config {
        durable_name: Some("sortie".to_owned()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: Duration::from_hours(1),
        ..pull::Config::default()
    };
    context.get_stream("agents").await.unwrap().create_consumer(config).await.unwrap()
}

async fn a_stream_loses_its_last_messages(retention: RetentionPolicy) {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let context = server.stream_with(retention).await;
    let (options, out) = consuming(folder.path(), &server);
    let running = Running::start(options, loader()).await;
    let find = async |count: u64| {
        let what = format!("{count} findings");
        wait_until(&what, || ids(&out).len() as u64 == count).await;
    };
    publish(&context, "a", call(1, "id_rsa")).await;
    find(1).await;
    let old = folder.path().join("old");
    server.restart(|messages| copy_files(messages, &old));
    let context = server.stream_with(retention).await;
    for seq in 2..=4 {
        publish(&context, "a", call(seq, "id_rsa")).await;
    }
    find(4).await;
    // The consumer knows that it delivered four, and the stream has only the first.
    server.restart(|messages| {
        std::fs::remove_dir_all(messages).unwrap();
        copy_files(&old, messages);
    });
    let context = server.stream_with(retention).await;
    for seq in 5..=8 {
        publish(&context, "a", call(seq, "id_rsa")).await;
    }
    find(8).await;
    assert_eq!(running.stop().await.findings, 8);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nats-server: cargo xtask bench watch"]
async fn messages_that_get_the_numbers_of_lost_ones_are_taken() {
    a_stream_loses_its_last_messages(RetentionPolicy::Limits).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nats-server: cargo xtask bench watch"]
async fn messages_of_a_queue_that_get_the_numbers_of_lost_ones_are_taken() {
    a_stream_loses_its_last_messages(RetentionPolicy::WorkQueue).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nats-server: cargo xtask bench watch"]
async fn a_watch_continues_behind_the_last_message_that_it_wrote_without_its_consumer() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let context = server.stream_with(RetentionPolicy::Limits).await;
    let (options, out) = consuming(folder.path(), &server);
    let running = Running::start(options.clone(), loader()).await;
    for seq in 1..=3 {
        publish(&context, "a", call(seq, "id_rsa")).await;
    }
    wait_until("three findings", || ids(&out).len() == 3).await;
    running.stop().await;
    context.get_stream("agents").await.unwrap().delete_consumer("sortie").await.unwrap();
    publish(&context, "a", call(4, "id_rsa")).await;
    let running = Running::start(options, loader()).await;
    wait_until("another finding", || ids(&out).len() == 4).await;
    let summary = running.stop().await;
    assert_eq!((summary.messages, summary.repeated_messages), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nats-server: cargo xtask bench watch"]
async fn a_message_that_was_delivered_to_a_client_that_is_gone_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let context = server.stream().await;
    let consumer = slow_consumer(&context).await;
    publish(&context, "a", call(1, "id_rsa")).await;
    consumer.fetch().max_messages(1).messages().await.unwrap().next().await.unwrap().unwrap();
    let (options, out) = consuming(folder.path(), &server);
    let running = Running::start(options, loader()).await;
    wait_until("a finding", || ids(&out).len() == 1).await;
    wait_until_taken(&context).await;
    // The consumer is the one that somebody configured.
    let info = context.get_stream("agents").await.unwrap().consumer_info("sortie").await.unwrap();
    assert_eq!(info.config.ack_wait, Duration::from_hours(1));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nats-server: cargo xtask bench watch"]
async fn a_consumer_that_delivers_nothing_is_created_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let context = server.stream().await;
    slow_consumer(&context).await;
    let (options, out) = consuming(folder.path(), &server);
    let running = Running::start(options, loader()).await;
    publish(&context, "a", call(1, "id_rsa")).await;
    wait_until("a finding", || ids(&out).len() == 1).await;
    // A request of another client waits for longer than any of the watch; then it takes a message and keeps it.
    let stream = context.get_stream("agents").await.unwrap();
    let consumer: PullConsumer = stream.get_consumer("sortie").await.unwrap();
    let batch = consumer.batch().max_messages(1).expires(Duration::from_mins(1));
    let mut stolen = batch.messages().await.unwrap();
    let (mut seq, deadline) = (1, Instant::now() + Duration::from_mins(1));
    loop {
        seq += 1;
        publish(&context, "a", call(seq, "id_rsa")).await;
        let has_finding = || ids(&out).len() as u64 == seq;
        let taken = async {
            while !has_finding() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            message = stolen.next() => {
                message.unwrap().unwrap();
                break;
            }
            () = taken => assert!(Instant::now() < deadline, "the watch takes everything"),
        }
    }
    wait_until("the finding of the message that was taken away", || ids(&out).len() as u64 == seq).await;
    running.wait_for_note("does not deliver").await;
    running.stop().await;
}
