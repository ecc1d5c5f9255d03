//! `cargo xtask bench watch`: `sortie watch` behind a real `nats-server` at full rate, with kills of both, compared with `sortie scan`.
//!
//! Sessions are published line by line, many at the same time. What a scan finds in them is expected when the server has acknowledged the message.
//! After each kill of the server, the watch stands still until the stream was asked for each message whose finding is not written: a message that
//! the server lost is counted, and not expected any more. In the end the stream is empty, and everything that is expected is written.

mod findings;
mod processes;
mod traffic;

use std::error::Error;
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::stream::{Config, RawMessageErrorKind, RetentionPolicy, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{ConnectOptions, HeaderMap};
use tokio::sync::mpsc;

use crate::findings::Findings;
use crate::processes::Processes;
use crate::traffic::Message;

type Failure = Box<dyn Error + Send + Sync>;

/// What the watch may have in memory.
const MAX_MEGABYTES: u64 = 200;
/// Publications that wait for the server.
const WINDOW: usize = 512;
/// Messages that wait for the watch: it is always busy, and the server's disk is not filled.
const BACKLOG: u64 = 50_000;
/// How long the server may not answer, or nothing may be taken.
const PATIENCE: Duration = Duration::from_mins(2);
/// When the watch and the server are killed first, and then again and again.
const WATCH_KILLS: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(20));
const SERVER_KILLS: (Duration, Duration) = (Duration::from_secs(25), Duration::from_secs(30));

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, program, server, seconds] = &arguments[..] else {
        return Err("usage: soak PATH-OF-SORTIE PATH-OF-NATS-SERVER SECONDS".into());
    };
    let folder = tempfile::tempdir()?;
    let soak = Arc::new(Soak::start(Path::new(program), Path::new(server), folder.path())?);
    let rounds = rounds(program.into(), folder.path().to_owned());
    let outcome = soak.run(Duration::from_secs(seconds.parse()?), rounds).await;
    if outcome.is_err() {
        println!("notes of the watch:\n{}", soak.processes().notes());
    }
    outcome
}

/// What is published and written, by the task that publishes and the one that kills.
struct Soak {
    processes: Mutex<Processes>,
    findings: Mutex<Findings>,
    published: AtomicU64,
    /// Messages that the watch has not acknowledged, and how many were published when they were counted.
    backlog: Mutex<(u64, u64)>,
    kills: Mutex<(u32, u32)>,
    /// Resident memory of the watch in kB, second by second.
    memory: Mutex<Vec<u64>>,
    /// Messages that the server counts in the end, and does not have.
    miscounted: AtomicU64,
    is_over: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes rounds while others are published.
fn rounds(
    program: std::path::PathBuf,
    folder: std::path::PathBuf,
) -> mpsc::Receiver<Result<Vec<Message>, Failure>> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for round in 0.. {
            let made = traffic::round(&program, &folder, round);
            let is_last = made.is_err();
            if sender.blocking_send(made).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}

impl Soak {
    fn start(program: &Path, server: &Path, folder: &Path) -> Result<Self, Failure> {
        traffic::write_rules(folder)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        Ok(Self {
            processes: Mutex::new(Processes::start(program, server, folder, port)?),
            findings: Mutex::new(Findings::new(folder.join("findings.jsonl"))),
            published: AtomicU64::new(0),
            backlog: Mutex::default(),
            kills: Mutex::default(),
            memory: Mutex::default(),
            miscounted: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        })
    }

    fn processes(&self) -> MutexGuard<'_, Processes> {
        lock(&self.processes)
    }

    fn findings(&self) -> MutexGuard<'_, Findings> {
        lock(&self.findings)
    }

    async fn connect(&self) -> Result<Context, Failure> {
        let port = self.processes().port;
        let client = ConnectOptions::new()
            .retry_on_initial_connect()
            .reconnect_delay_callback(|_| Duration::from_millis(100))
            .connect(format!("nats://127.0.0.1:{port}"))
            .await?;
        let mut context = jetstream::new(client);
        context.set_timeout(Duration::from_secs(2));
        Ok(context)
    }

    async fn run(
        self: &Arc<Self>,
        time: Duration,
        rounds: mpsc::Receiver<Result<Vec<Message>, Failure>>,
    ) -> Result<(), Failure> {
        let context = self.connect().await?;
        let config = Config {
            name: "agents".to_owned(),
            subjects: vec!["agents.>".to_owned()],
            retention: RetentionPolicy::WorkQueue,
            ..Config::default()
        };
        let deadline = Instant::now() + PATIENCE;
        let stream = loop {
            match context.get_or_create_stream(config.clone()).await {
                Ok(stream) => break stream,
                Err(error) if Instant::now() > deadline => return Err(error.into()),
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        };
        let begun = Instant::now();
        let mut supervisor = tokio::spawn({
            let (soak, stream) = (Arc::clone(self), stream.clone());
            async move { soak.supervise(&stream, begun).await }
        });
        tokio::select! {
            published = self.publish_rounds(&context, &stream, rounds, begun + time) => published?,
            ended = &mut supervisor => return ended?.and(Err("the supervisor ended early".into())),
        }
        let published_in = begun.elapsed();
        self.is_over.store(true, Ordering::Release);
        // It takes the last samples and ends when everything is written, or nothing more is.
        supervisor.await??;
        self.report(published_in, begun.elapsed())
    }

    /// Publishes as fast as the watch takes it.
    async fn publish_rounds(
        &self,
        context: &Context,
        stream: &Stream,
        mut rounds: mpsc::Receiver<Result<Vec<Message>, Failure>>,
        end: Instant,
    ) -> Result<(), Failure> {
        // The number of the last message of the stream, where it is known.
        let mut last = None;
        loop {
            let messages = rounds.recv().await.ok_or("there are no more rounds")??;
            self.findings().plant(&messages);
            let mut messages = messages.into_iter();
            loop {
                let window: Vec<Message> = messages.by_ref().take(WINDOW).collect();
                if window.is_empty() {
                    break;
                }
                self.publish(context, stream, window, &mut last).await?;
                while self.backlog() > BACKLOG {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                if Instant::now() > end {
                    return Ok(());
                }
            }
        }
    }

    /// How many messages wait for the watch, at most.
    fn backlog(&self) -> u64 {
        let (counted, published) = *lock(&self.backlog);
        counted + self.published.load(Ordering::Acquire) - published
    }

    /// Publishes in order, again and again until the server has each. It takes a message only behind the one before, so that the order stays.
    async fn publish(
        &self,
        context: &Context,
        stream: &Stream,
        mut window: Vec<Message>,
        last: &mut Option<u64>,
    ) -> Result<(), Failure> {
        let deadline = Instant::now() + PATIENCE;
        while !window.is_empty() {
            if Instant::now() > deadline {
                return Err("the server takes no messages".into());
            }
            let before = match *last {
                Some(last) => Ok(last),
                None => stream.get_info().await.map(|info| info.state.last_sequence),
            };
            let Ok(before) = before else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let mut acks = Vec::with_capacity(window.len());
            for (message, before) in window.iter().zip(before..) {
                let mut headers = HeaderMap::new();
                headers.insert("Sortie-Session", message.session.as_str());
                headers.insert("Nats-Expected-Last-Sequence", before.to_string());
                let line = message.line.clone().into();
                match context.publish_with_headers("agents.line", headers, line).await {
                    Ok(ack) => acks.push(ack),
                    Err(_) => break,
                }
            }
            let mut sequences = Vec::with_capacity(acks.len());
            for ack in acks {
                match ack.await {
                    Ok(ack) => sequences.push(ack.sequence),
                    Err(_) => break,
                }
            }
            *last = (sequences.len() == window.len()).then(|| before + window.len() as u64);
            self.published.fetch_add(sequences.len() as u64, Ordering::AcqRel);
            let mut findings = self.findings();
            // Behind the first that failed, some may be stored, and are then there twice.
            let stored = window.drain(..sequences.len());
            sequences.iter().zip(stored).for_each(|(sequence, message)| findings.expect(*sequence, message));
        }
        Ok(())
    }

    /// Looks at the memory, reads what was written, and kills, until everything is written.
    async fn supervise(&self, stream: &Stream, begun: Instant) -> Result<(), Failure> {
        let (mut watch_kill, mut server_kill) = (WATCH_KILLS.0, SERVER_KILLS.0);
        let (mut sampled, mut told) = (Instant::now(), Instant::now());
        let mut progress = (Instant::now(), (0, 0));
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = begun.elapsed();
            let is_over = self.is_over.load(Ordering::Acquire);
            if sampled.elapsed() >= Duration::from_secs(1) {
                sampled = Instant::now();
                let memory = self.processes().resident();
                lock(&self.memory).extend(memory.filter(|memory| *memory > 0));
                self.findings().read_output()?;
            }
            if told.elapsed() > Duration::from_secs(10) {
                told = Instant::now();
                self.tell(now);
            }
            if now > watch_kill && !is_over {
                watch_kill = now + WATCH_KILLS.1;
                self.processes().kill_watch()?;
                lock(&self.kills).0 += 1;
            }
            if now > server_kill && !is_over {
                server_kill = now + SERVER_KILLS.1;
                self.processes().kill_server()?;
                lock(&self.kills).1 += 1;
                self.check_stream(stream).await?;
                self.processes().resume_watch()?;
            }
            let published = self.published.load(Ordering::Acquire);
            if let Ok(info) = stream.get_info().await {
                let mut messages = info.state.messages;
                // A server that was killed may count messages that it does not have.
                if is_over && messages > 0 {
                    let first =
                        stream.get_first_raw_message_by_subject("agents.>", info.state.first_sequence);
                    if first.await.is_err_and(|error| error.kind() == RawMessageErrorKind::NoMessageFound) {
                        self.miscounted.store(messages, Ordering::Release);
                        messages = 0;
                    }
                }
                *lock(&self.backlog) = (messages, published);
            }
            let left = self.backlog();
            let (missing, written) = self.findings().state();
            if is_over && left == 0 && missing == 0 {
                return Ok(());
            }
            if progress.1 != (left, written) {
                progress = (Instant::now(), (left, written));
            }
            if progress.0.elapsed() > PATIENCE {
                return if is_over {
                    // The report says what is missing.
                    Ok(())
                } else {
                    Err(format!("{left} messages are not taken").into())
                };
            }
        }
    }

    /// Asks a server that was killed for each message that it acknowledged and whose findings are not written. The watch stands still.
    async fn check_stream(&self, stream: &Stream) -> Result<(), Failure> {
        self.findings().read_output()?;
        let waiting = self.findings().waiting().clone();
        let deadline = Instant::now() + PATIENCE;
        for (sequence, planted) in waiting {
            let is_there = loop {
                match stream.get_raw_message(sequence).await {
                    Ok(message) => break message.payload == planted.message.line,
                    Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => break false,
                    Err(error) if Instant::now() > deadline => return Err(error.into()),
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            };
            if !is_there {
                self.findings().give_up(&planted.message.session);
            }
        }
        Ok(())
    }

    fn tell(&self, now: Duration) {
        let (published, left) = (self.published.load(Ordering::Acquire), self.backlog());
        let (missing, written) = self.findings().state();
        let memory = lock(&self.memory).last().copied().unwrap_or(0) / 1024;
        println!(
            "{:>4.0} s: {published} messages, {left} not taken; {written} findings written, {missing} not yet; watch has {memory} MB",
            now.as_secs_f64(),
        );
    }

    /// Prints the figures with their bars.
    fn report(&self, published_in: Duration, all: Duration) -> Result<(), Failure> {
        let status = self.processes().terminate_watch()?;
        let mut findings = self.findings();
        findings.read_output()?;
        let (published, kills, left) =
            (self.published.load(Ordering::Acquire), *lock(&self.kills), self.backlog());
        println!(
            "published {published} messages in {} s ({}/s); all taken after {} s",
            published_in.as_secs(),
            published / published_in.as_secs().max(1),
            all.as_secs(),
        );
        println!(
            "the server counts {} messages that it does not have",
            self.miscounted.load(Ordering::Acquire)
        );
        println!("kills: {} of the watch, {} of the server; the watch ended with {status}", kills.0, kills.1);
        println!(
            "findings: {} expected, {} written, {} repeated and marked; {} in messages that the server lost",
            findings.expected,
            findings.state().1,
            findings.repeated,
            findings.lost_by_server,
        );
        let memory = lock(&self.memory);
        let quarter = (memory.len() / 4).max(1);
        let median = |samples: &[u64]| {
            let mut samples = samples.to_vec();
            samples.sort_unstable();
            samples.get(samples.len() / 2).copied().unwrap_or(0) / 1024
        };
        println!(
            "resident memory: {} samples, median of the first quarter {} MB, of the last {} MB",
            memory.len(),
            median(&memory[..quarter.min(memory.len())]),
            median(&memory[memory.len().saturating_sub(quarter)..]),
        );
        let most = memory.iter().max().unwrap_or(&u64::MAX) / 1024;
        let share = findings.lost_by_server * 1000 / findings.expected.max(1);
        let bars = [
            ("lost findings", findings.state().0, 0),
            ("messages that were not taken", left, 0),
            ("findings written twice without a mark", findings.unmarked, 0),
            ("findings marked as repeated and never written before", findings.only_repeated, 0),
            ("findings that a scan does not have", findings.unexpected, 0),
            ("rows of errors", findings.errors, 0),
            ("resident memory at most, in MB", most, MAX_MEGABYTES),
            ("findings that the server lost, per thousand", share, 10),
        ];
        let mut is_good = findings.expected > 0 && kills.0 > 0 && kills.1 > 0 && status.success();
        for (name, figure, bar) in bars {
            let is_kept = figure <= bar;
            is_good &= is_kept;
            println!("{} {name}: {figure} (bar: {bar})", if is_kept { "ok    " } else { "MISSED" });
        }
        if is_good { Ok(()) } else { Err("a bar is missed, or nothing was tested".into()) }
    }
}
