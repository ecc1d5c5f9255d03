//! `cargo xtask bench watch`: `sortie watch` behind a real `nats-server` at full rate, with kills of both, compared with `sortie scan`.
//!
//! Sessions are written to a file as a trace, and published line by line, many sessions at the same time, under the names that a scan gives them.
//! In the end every finding of the scan was written by the watch, none twice without being marked.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use async_nats::jetstream::stream::{Config, RetentionPolicy};
use async_nats::jetstream::{self, Context};
use async_nats::{ConnectOptions, HeaderMap};
use serde_json::{Value, json};

type Failure = Box<dyn Error + Send + Sync>;

/// Sessions that are under way at the same time.
const AT_ONCE: usize = 64;
/// Sessions of one round: a file that is published, scanned and removed.
const ROUND: usize = 1_000;
/// What the watch may have in memory.
const MAX_MEGABYTES: u64 = 200;
/// Publications that wait for the server.
const WINDOW: usize = 512;
/// Messages that wait for the watch: it is always busy, and the server's disk is not filled.
const BACKLOG: u64 = 200_000;

const DOCUMENTS: [(&str, &str); 3] = [
    (
        "path",
        "indicators: [{surface: tools/call, direction: request, target: arguments.path, pattern: {contains: id_rsa}}]",
    ),
    (
        "flow",
        "indicators: [{surface: tools/call, direction: request, target: arguments, pattern: {condition: {exists: true}}, x-sortie: {flow: {from: {protocol: mcp, surface: tools/call, direction: response}, to: {}, min_length: 16}}}]",
    ),
    (
        "answer",
        "indicators: [{surface: tools/call, direction: response, target: 'content[*].text', pattern: {regex: 'root:x:0'}}]",
    ),
];

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, program, server, seconds] = &arguments[..] else {
        return Err("usage: soak PATH-OF-SORTIE PATH-OF-NATS-SERVER SECONDS".into());
    };
    let folder = tempfile::tempdir()?;
    let mut soak = Soak::start(Path::new(program), Path::new(server), folder.path()).await?;
    let outcome = soak.run(Duration::from_secs(seconds.parse()?)).await;
    soak.end();
    outcome
}

struct Soak {
    program: PathBuf,
    server_program: PathBuf,
    folder: PathBuf,
    port: u16,
    server: Child,
    watch: Child,
    context: Context,
    /// Findings of scans.
    expected: HashSet<String>,
    published: u64,
    kills: (u32, u32),
    /// Resident memory of the watch in kB: now and then.
    memory: Vec<u64>,
    begun: Instant,
    time: Duration,
    /// When the watch and the server are killed next.
    next_kills: (Duration, Duration),
}

impl Soak {
    async fn start(program: &Path, server_program: &Path, folder: &Path) -> Result<Self, Failure> {
        for (number, (name, indicators)) in (1..).zip(DOCUMENTS) {
            let text = format!(
                "oatf: '0.1'\nattack:\n  id: SOAK-{number:03}\n  execution: {{mode: mcp_server, state: {{tools: []}}}}\n  {indicators}\n"
            );
            fs::create_dir_all(folder.join("rules"))?;
            fs::write(folder.join("rules").join(format!("{name}.yaml")), text)?;
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let server = start_server(server_program, folder, port)?;
        let client = ConnectOptions::new()
            .retry_on_initial_connect()
            .max_reconnects(None)
            .reconnect_delay_callback(|_| Duration::from_millis(100))
            .connect(format!("nats://127.0.0.1:{port}"))
            .await?;
        let mut context = jetstream::new(client);
        context.set_timeout(Duration::from_secs(5));
        let config = Config {
            name: "agents".to_owned(),
            subjects: vec!["agents.>".to_owned()],
            retention: RetentionPolicy::WorkQueue,
            ..Config::default()
        };
        let deadline = Instant::now() + Duration::from_secs(30);
        while let Err(error) = context.get_or_create_stream(config.clone()).await {
            if Instant::now() > deadline {
                return Err(error.into());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let watch = start_watch(program, folder, port)?;
        Ok(Self {
            program: program.to_owned(),
            server_program: server_program.to_owned(),
            folder: folder.to_owned(),
            port,
            server,
            watch,
            context,
            expected: HashSet::new(),
            published: 0,
            kills: (0, 0),
            memory: Vec::new(),
            begun: Instant::now(),
            time: Duration::ZERO,
            next_kills: (Duration::from_secs(15), Duration::from_secs(35)),
        })
    }

    async fn run(&mut self, time: Duration) -> Result<(), Failure> {
        let begun = Instant::now();
        (self.begun, self.time) = (begun, time);
        let (mut round, mut told) = (0, Instant::now());
        while begun.elapsed() < time {
            let sessions = self.write_round(round)?;
            let mut at_once: Vec<(String, std::vec::IntoIter<String>)> = Vec::new();
            let mut waiting = sessions.into_iter();
            let mut acks = Vec::new();
            loop {
                while at_once.len() < AT_ONCE {
                    let Some((name, lines)) = waiting.next() else { break };
                    at_once.push((name, lines.into_iter()));
                }
                if at_once.is_empty() {
                    break;
                }
                let mut over = Vec::new();
                for (at, (name, lines)) in at_once.iter_mut().enumerate() {
                    match lines.next() {
                        Some(line) => acks.push((name.clone(), line)),
                        None => over.push(at),
                    }
                }
                over.into_iter().rev().for_each(|at| drop(at_once.swap_remove(at)));
                if acks.len() >= WINDOW {
                    self.publish(std::mem::take(&mut acks)).await?;
                }
                self.kill_in_time()?;
                if told.elapsed() > Duration::from_secs(10) {
                    told = Instant::now();
                    self.tell(begun);
                }
            }
            self.publish(acks).await?;
            self.scan_round(round)?;
            round += 1;
            self.wait_until_left(BACKLOG).await?;
        }
        let published_in = begun.elapsed();
        self.wait_until_left(0).await?;
        self.tell(begun);
        let status = self.terminate()?;
        println!(
            "published {} messages in {:.0} s; all taken after {:.0} s",
            self.published,
            published_in.as_secs_f64(),
            begun.elapsed().as_secs_f64()
        );
        println!(
            "kills: {} of the watch, {} of the server; the watch ended with {status}",
            self.kills.0, self.kills.1
        );
        let most = self.memory.iter().max().unwrap_or(&0) / 1024;
        println!("resident memory: {most} MB at most");
        self.compare()?;
        if most == 0 || most > MAX_MEGABYTES {
            return Err(format!("the watch had {most} MB, and may have {MAX_MEGABYTES}").into());
        }
        Ok(())
    }

    /// Sessions as a trace, with the names that a scan gives them.
    fn write_round(&self, round: usize) -> Result<Vec<(String, Vec<String>)>, Failure> {
        let name = format!("round-{round}.jsonl");
        let (mut text, mut sessions) = (String::new(), Vec::new());
        for number in 0..ROUND {
            let session = if text.is_empty() { name.clone() } else { format!("{name}@{}", text.len()) };
            let lines = session_lines(round * ROUND + number);
            lines.iter().try_for_each(|line| writeln!(text, "{line}"))?;
            sessions.push((session, lines));
        }
        fs::write(self.folder.join(name), text)?;
        Ok(sessions)
    }

    /// Publishes in order, again and again until the server has each.
    async fn publish(&mut self, mut messages: Vec<(String, String)>) -> Result<(), Failure> {
        let deadline = Instant::now() + Duration::from_secs(120);
        self.published += messages.len() as u64;
        while !messages.is_empty() {
            let mut acks = Vec::with_capacity(messages.len());
            for (session, line) in &messages {
                let mut headers = HeaderMap::new();
                headers.insert("Sortie-Session", session.as_str());
                let sent = self.context.publish_with_headers("agents.line", headers, line.clone().into());
                match sent.await {
                    Ok(ack) => acks.push(ack),
                    Err(_) => break,
                }
            }
            let mut stored = 0;
            for ack in acks {
                if ack.await.is_err() {
                    break;
                }
                stored += 1;
            }
            // What comes after the first that failed is sent again, so that the order stays: some of it is then there twice.
            messages.drain(..stored);
            if !messages.is_empty() {
                if Instant::now() > deadline {
                    return Err("the server takes no messages".into());
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
        Ok(())
    }

    fn scan_round(&mut self, round: usize) -> Result<(), Failure> {
        let name = format!("round-{round}.jsonl");
        let out = Command::new(&self.program)
            .args(["scan", &name, "--rules", "rules", "--format", "jsonl", "--jobs", "1"])
            .current_dir(&self.folder)
            .stderr(Stdio::inherit())
            .output()?;
        // Every round has findings.
        if out.status.code() != Some(1) {
            return Err(format!("the scan of {name} ended with {}", out.status).into());
        }
        for line in out.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let row: Value = serde_json::from_slice(line)?;
            if row["record"] == "finding" {
                self.expected.insert(row["id"].as_str().ok_or("a finding without an id")?.to_owned());
            }
        }
        fs::remove_file(self.folder.join(name))?;
        Ok(())
    }

    /// Kills what is to be killed by now.
    fn kill_in_time(&mut self) -> Result<(), Failure> {
        let now = self.begun.elapsed();
        if now > self.next_kills.0 && now < self.time {
            self.next_kills.0 = now + Duration::from_secs(20);
            self.kill_watch()?;
        }
        if now > self.next_kills.1 && now < self.time {
            self.next_kills.1 = now + Duration::from_secs(60);
            self.kill_server()?;
        }
        Ok(())
    }

    fn kill_watch(&mut self) -> Result<(), Failure> {
        self.watch.kill()?;
        self.watch.wait()?;
        self.kills.0 += 1;
        self.watch = start_watch(&self.program, &self.folder, self.port)?;
        Ok(())
    }

    fn kill_server(&mut self) -> Result<(), Failure> {
        self.server.kill()?;
        self.server.wait()?;
        self.kills.1 += 1;
        self.server = start_server(&self.server_program, &self.folder, self.port)?;
        Ok(())
    }

    /// Waits until no more messages than these wait for the watch.
    async fn wait_until_left(&mut self, most: u64) -> Result<(), Failure> {
        let deadline = Instant::now() + Duration::from_secs(600);
        loop {
            // A server that was just started does not answer at once.
            let left = match self.context.get_stream("agents").await {
                Ok(mut stream) => stream.info().await.ok().map(|info| info.state.messages),
                Err(_) => None,
            };
            if left.is_some_and(|left| left <= most) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("{left:?} messages were never taken").into());
            }
            self.memory.extend(resident(self.watch.id()));
            self.kill_in_time()?;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    fn tell(&mut self, begun: Instant) {
        let now = resident(self.watch.id());
        self.memory.extend(now);
        println!(
            "{:>4.0} s: {} messages, {} findings expected so far, watch has {} MB",
            begun.elapsed().as_secs_f64(),
            self.published,
            self.expected.len(),
            now.unwrap_or(0) / 1024
        );
    }

    fn terminate(&mut self) -> Result<String, Failure> {
        Command::new("kill").arg(self.watch.id().to_string()).status()?;
        Ok(self.watch.wait()?.to_string())
    }

    fn compare(&self) -> Result<(), Failure> {
        let mut written: HashMap<String, u64> = HashMap::new();
        let (mut repeated, mut errors) = (0u64, 0u64);
        for line in BufReader::new(File::open(self.folder.join("findings.jsonl"))?).lines() {
            let row: Value = serde_json::from_str(&line?)?;
            match row["record"].as_str() {
                Some("finding") if row["repeated"] == true => repeated += 1,
                Some("finding") => {
                    *written.entry(row["id"].as_str().unwrap_or_default().to_owned()).or_default() += 1
                }
                _ => errors += 1,
            }
        }
        let lost = self.expected.iter().filter(|id| !written.contains_key(*id)).count();
        let more = written.keys().filter(|id| !self.expected.contains(*id)).count();
        let unmarked = written.values().filter(|count| **count > 1).count();
        println!(
            "findings: {} expected, {} written, {lost} lost, {more} that a scan does not have, {unmarked} twice without a mark, {repeated} repeated and marked, {errors} errors",
            self.expected.len(),
            written.len(),
        );
        if self.expected.is_empty() || lost + more + unmarked > 0 || errors > 0 {
            let notes = fs::read_to_string(self.folder.join("notes.txt")).unwrap_or_default();
            println!("{}", notes.lines().rev().take(20).collect::<Vec<_>>().join("\n"));
            return Err("the watch and the scan differ".into());
        }
        Ok(())
    }

    fn end(&mut self) {
        for child in [&mut self.watch, &mut self.server] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn start_server(program: &Path, folder: &Path, port: u16) -> Result<Child, Failure> {
    let log = OpenOptions::new().create(true).append(true).open(folder.join("server.txt"))?;
    Ok(Command::new(program)
        .args(["--jetstream", "--addr", "127.0.0.1", "--port", &port.to_string(), "--store_dir"])
        .arg(folder.join("store"))
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()?)
}

fn start_watch(program: &Path, folder: &Path, port: u16) -> Result<Child, Failure> {
    let notes = OpenOptions::new().create(true).append(true).open(folder.join("notes.txt"))?;
    Ok(Command::new(program)
        .args([
            "watch",
            "--nats",
            &format!("nats://127.0.0.1:{port}"),
            "--stream",
            "agents",
            "--rules",
            "rules",
        ])
        .args(["--out", "findings.jsonl", "--state", "state"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(notes)
        .spawn()?)
}

/// What a process has in memory, in kB.
fn resident(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// A session in which tools read files; in some of them a secret, which leaves later.
fn session_lines(number: usize) -> Vec<String> {
    let mut lines = vec![
        json!({"record": "header", "version": 1, "origin": "foreign", "written_by": "soak", "time": "2026-11-17T10:00:00Z"}).to_string(),
    ];
    let mut seq = 0;
    let mut message = |direction: &str, content: &Value| {
        seq += 1;
        let sender = if direction == "request" { "agent" } else { "actor" };
        json!({
            "record": "message", "seq": seq, "time": format!("2026-11-17T10:{:02}:{:02}Z", seq / 60 % 60, seq % 60), "actor": "files",
            "mode": "mcp_server", "phase": "", "protocol": "mcp", "surfaces": ["tools/call"], "direction": direction, "kind": direction,
            "connection": "1", "sender": sender, "content": content,
        })
        .to_string()
    };
    let secret = format!("token-{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for step in 0..24 {
        let path = match (number % 10, step) {
            (0, 5) => "/home/user/.ssh/id_rsa".to_owned(),
            (1, 20) => format!("/tmp/{secret}"),
            _ => format!("src/part{}/file{step}.rs", number % 97),
        };
        let text = match (number % 10, step) {
            (1, 3) => format!("the value is {secret} and nothing else"),
            (2, 7) => "root:x:0:0:root:/root:/bin/bash".to_owned(),
            _ => format!(
                "line {step} of what file {number} holds, which is nothing that anybody would look for; "
            )
            .repeat(3),
        };
        let id = step + 1;
        let params = json!({"name": "read", "arguments": {"path": path}});
        lines.push(message(
            "request",
            &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}),
        ));
        let result = json!({"content": [{"type": "text", "text": text}]});
        lines.push(message("response", &json!({"jsonrpc": "2.0", "id": id, "result": result})));
    }
    lines
}
