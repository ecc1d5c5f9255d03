//! What tests of client modes need: an actor whose trace can be read, and a peer that says whatever a test wants.

// Every test binary uses its own part of this.
#![allow(dead_code)]

pub(crate) mod mcp;

use std::collections::HashMap;
use std::future::Future;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use sortie_detect::Detector;
use sortie_engine::modes::{Address, Endpoint};
use sortie_engine::{ActorState, ContentGenerator, Context, Extracted, Recorder, RunEvent, Watcher};
use sortie_oatf::{Compiled, load};
use sortie_trace::{Header, Message, Record, Redactor, Trace};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long a test waits for something that must happen.
const DEADLINE: Duration = Duration::from_secs(20);

/// An actor, and what was recorded of it.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) actor: Arc<ActorState>,
    pub(crate) end: CancellationToken,
    trace: Shared,
    warnings: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Write::write(&mut *self.0.lock().unwrap(), bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct Warnings(Arc<Mutex<Vec<String>>>);

impl Watcher for Warnings {
    fn event(&self, event: &RunEvent<'_>) {
        if let RunEvent::Warning(text) = event {
            self.0.lock().unwrap().push((*text).to_owned());
        }
    }
}

impl Stage {
    /// The first actor of a document whose `execution` this is, as flow or block YAML with an indentation of four.
    pub(crate) fn new(execution: &str) -> Self {
        Self::generating(execution, None)
    }

    /// The same, with someone who generates content.
    pub(crate) fn generating(execution: &str, generator: Option<ContentGenerator>) -> Self {
        let text = format!("oatf: '0.1'\nattack:\n  execution:\n{execution}\n");
        let document = Arc::new(Compiled::new(load(&text).unwrap().document).unwrap());
        let (trace, warnings) = (Shared::default(), Arc::default());
        let recorder = Recorder::begin(
            Box::new(trace.clone()),
            Header::run("test", SystemTime::now()),
            Redactor::default(),
            1 << 30,
            Detector::new(document.clone()),
            Arc::new(Warnings(Arc::clone(&warnings))),
        );
        let end = CancellationToken::new();
        let context = Context {
            recorder: Arc::new(recorder.unwrap()),
            extracted: Arc::new(Extracted::default()),
            end: end.clone(),
            generator,
        };
        Self { actor: ActorState::new(&document, 0, context), end, trace, warnings }
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        let bytes = self.trace.0.lock().unwrap().clone();
        let (_, records) = Trace::open(&bytes[..]).unwrap();
        records.map(Result::unwrap).collect()
    }

    pub(crate) fn messages(&self) -> Vec<Message> {
        let messages = self.records().into_iter().filter_map(|record| match record {
            Record::Message(message) => Some(*message),
            _ => None,
        });
        messages.collect()
    }

    /// What happened, a line each: `phase: sender surface`, `enter phase`, `failed word`.
    pub(crate) fn story(&self) -> Vec<String> {
        let lines = self.records().into_iter().map(|record| match record {
            Record::Phase(phase) => format!("enter {}", phase.phase),
            Record::Message(message) => {
                let sender = format!("{:?}", message.sender).to_lowercase();
                format!("{}: {sender} {}", message.phase, message.surfaces.join("+"))
            }
            Record::ActorFailed(failed) => format!("failed {}", failed.failure),
            other => other.name().to_owned(),
        });
        lines.collect()
    }

    /// Why actors failed: the word and the sentence.
    pub(crate) fn failures(&self) -> Vec<(String, String)> {
        let failures = self.records().into_iter().filter_map(|record| match record {
            Record::ActorFailed(failed) => Some((failed.failure.to_string(), failed.message)),
            _ => None,
        });
        failures.collect()
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap().clone()
    }

    /// Waits until the story has this line.
    pub(crate) async fn until(&self, line: &str) {
        self.until_that(line, |stage| stage.story().iter().any(|told| told == line)).await;
    }

    pub(crate) async fn until_that(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let waited = async {
            while !is_so(self) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(DEADLINE, waited).await;
        assert!(waited.is_ok(), "never {what}; {:#?}\n{:#?}", self.story(), self.warnings());
    }

    /// Waits until a player has returned by itself.
    pub(crate) async fn returned(&self, playing: JoinHandle<()>) {
        let returned = tokio::time::timeout(DEADLINE, playing).await;
        assert!(returned.is_ok(), "still playing; {:#?}", self.story());
        returned.unwrap().unwrap();
    }

    /// Ends the run, and waits until the player has returned.
    pub(crate) async fn ended(&self, playing: JoinHandle<()>) {
        self.end.cancel();
        self.returned(playing).await;
    }
}

/// What was on the wire.
pub(crate) fn content(message: &Message) -> String {
    message.content.text().into_owned()
}

pub(crate) fn at(url: &str) -> Endpoint {
    Endpoint { address: Address::Url(url.to_owned()), headers: Vec::new(), env: Vec::new(), launch: None }
}

/// A shell script that reads and writes lines.
pub(crate) fn script(script: &str) -> Endpoint {
    let command = ["sh", "-c", script].map(str::to_owned);
    let path = ("PATH".to_owned(), std::env::var("PATH").unwrap());
    Endpoint { address: Address::Stdio(command.to_vec()), headers: Vec::new(), env: vec![path], launch: None }
}

/// A request that a peer got.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// A peer on a loopback socket.
pub(crate) struct Peer {
    pub(crate) url: String,
    got: Arc<Mutex<Vec<Request>>>,
}

impl Peer {
    /// Answers every request with whatever `answer` writes; then the connection is closed.
    pub(crate) async fn start<F, A>(answer: F) -> Self
    where
        F: Fn(Request, Connection) -> A + Send + Sync + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let got: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (answer, log) = (Arc::new(answer), got.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, log) = (answer.clone(), log.clone());
                tokio::spawn(async move {
                    let mut connection = Connection(stream);
                    // Whoever only looks whether someone accepts sends nothing.
                    let Some(request) = connection.request().await else { return };
                    log.lock().unwrap().push(request.clone());
                    answer(request, connection).await;
                });
            }
        });
        Self { url, got }
    }

    pub(crate) fn got(&self) -> Vec<Request> {
        self.got.lock().unwrap().clone()
    }
}

/// A connection on which a request came.
pub(crate) struct Connection(TcpStream);

impl Connection {
    async fn request(&mut self) -> Option<Request> {
        let mut bytes = Vec::new();
        let head = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            let mut piece = [0; 4096];
            match self.0.read(&mut piece).await {
                Ok(length @ 1..) => bytes.extend_from_slice(&piece[..length]),
                _ => return None,
            }
        };
        let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
        let mut lines = text.split("\r\n");
        let mut first = lines.next()?.split(' ').map(str::to_owned);
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers: HashMap<_, _> =
            headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = bytes.split_off(head);
        while body.len() < length {
            let mut piece = [0; 4096];
            let read = self.0.read(&mut piece).await.ok()?;
            body.extend_from_slice(&piece[..read]);
        }
        let body = String::from_utf8(body).unwrap();
        Some(Request { method: first.next()?, path: first.next()?, headers, body })
    }

    /// Writes bytes as they are. A client that has hung up does not read them.
    pub(crate) async fn raw(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.0.write_all(bytes.as_ref()).await.is_ok()
    }

    /// A whole answer.
    pub(crate) async fn answer(&mut self, status: &str, headers: &str, body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        let length = body.len();
        self.raw(format!(
            "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
        ))
        .await;
        self.raw(body).await;
    }

    pub(crate) async fn json(&mut self, body: impl AsRef<[u8]>) {
        self.answer("200 OK", "content-type: application/json\r\n", body).await;
    }

    /// The head of a stream of events, which ends with the connection.
    pub(crate) async fn events(&mut self) {
        self.raw("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n").await;
    }

    pub(crate) async fn event(&mut self, data: impl std::fmt::Display) -> bool {
        self.raw(format!("data: {data}\n\n")).await
    }

    /// Waits until the client hangs up.
    pub(crate) async fn hung_up(&mut self) {
        let mut piece = [0; 64];
        while matches!(self.0.read(&mut piece).await, Ok(1..)) {}
    }
}
