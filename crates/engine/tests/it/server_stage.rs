//! One actor, its trace, and a peer that speaks plain HTTP.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode};
use serde_json::Value;
use sortie_detect::Detector;
use sortie_engine::{ActorState, Context, Extracted, Recorder, RunEvent, Watcher};
use sortie_oatf::{Compiled, load};
use sortie_trace::{Header, Message, Record, Redactor, Trace};
use sortie_wire::http::{Answer, Client, ClientOptions};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How long anything may take before a test gives up.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// An actor that is ready to be played.
pub(crate) struct Stage {
    pub(crate) actor: Arc<ActorState>,
    trace: Written,
    warnings: Arc<Warnings>,
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Default)]
struct Warnings {
    texts: Mutex<Vec<String>>,
    /// Told of everything that happens, once it is in the trace.
    happened: watch::Sender<()>,
}

impl Watcher for Warnings {
    fn event(&self, event: &RunEvent<'_>) {
        if let RunEvent::Warning(text) = event {
            self.texts.lock().unwrap().push((*text).to_owned());
        }
        self.happened.send_replace(());
    }
}

impl Stage {
    /// An actor of a document of which only `execution` is given.
    pub(crate) fn new(execution: &str) -> Self {
        let text = format!("oatf: '0.1'\nattack:\n  execution:\n{execution}\n");
        let document = Arc::new(Compiled::new(load(&text).unwrap().document).unwrap());
        let (trace, warnings) = (Written::default(), Arc::new(Warnings::default()));
        let recorder = Recorder::begin(
            Box::new(trace.clone()),
            Header::run("test", SystemTime::now()),
            Redactor::default(),
            1 << 24,
            Detector::new(document.clone()),
            warnings.clone(),
        );
        let context = Context {
            recorder: Arc::new(recorder.unwrap()),
            extracted: Arc::new(Extracted::default()),
            end: CancellationToken::new(),
            generator: None,
        };
        Self { actor: ActorState::new(&document, 0, context), trace, warnings }
    }

    pub(crate) fn end(&self) {
        self.actor.context().end.cancel();
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.texts.lock().unwrap().clone()
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

    /// The trace as lines: who said what in which phase, and what happened around it.
    pub(crate) fn story(&self) -> Vec<String> {
        let lines = self.records().into_iter().map(|record| match record {
            Record::Phase(phase) => format!("enter {}", phase.phase),
            Record::Message(message) => {
                let who = if message.sender == sortie_trace::Sender::Actor { "we" } else { "they" };
                let kind = format!("{:?}", message.kind).to_lowercase();
                format!("{who}: {kind} {} in {}", message.surfaces.join("+"), message.phase)
            }
            Record::ActorFailed(failed) => format!("failed: {}", failed.failure),
            other => other.name().to_owned(),
        });
        lines.collect()
    }

    /// Waits until the story has a line.
    pub(crate) async fn until(&self, line: &str) {
        let mut happened = self.warnings.happened.subscribe();
        let found = async {
            while !self.story().iter().any(|known| known == line) {
                happened.changed().await.unwrap();
            }
        };
        let found = tokio::time::timeout(DEADLINE, found).await;
        assert!(found.is_ok(), "no `{line}` in {:#?}", self.story());
    }
}

/// What a peer got.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: StatusCode,
    /// The body, or the data of each event.
    pub(crate) texts: Vec<String>,
    pub(crate) is_stream: bool,
}

impl Got {
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.texts.len(), 1, "{self:?}");
        serde_json::from_str(&self.texts[0]).unwrap()
    }

    /// The results of JSON-RPC responses, as text.
    pub(crate) fn results(&self, id: &str) -> Vec<String> {
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
        let result = |text: &String| {
            text.strip_prefix(&head).and_then(|rest| rest.strip_suffix('}')).map(ToOwned::to_owned)
        };
        self.texts.iter().map(|text| result(text).unwrap_or_else(|| panic!("{text}"))).collect()
    }
}

pub(crate) async fn post(url: &str, body: impl Into<Bytes>) -> Got {
    ask(url, Some(body.into()), &[]).await
}

pub(crate) async fn get(url: &str) -> Got {
    ask(url, None, &[]).await
}

pub(crate) async fn ask(url: &str, body: Option<Bytes>, headers: &[(&str, &str)]) -> Got {
    let client = Client::new(ClientOptions::default()).unwrap();
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
        .collect();
    let response = match body {
        Some(body) => client.post(url, headers, body).await,
        None => client.get(url, headers).await,
    };
    let response = response.unwrap();
    let mut got = Got { status: response.status, texts: Vec::new(), is_stream: false };
    match response.body {
        Answer::Bytes(bytes) => got.texts.push(String::from_utf8(bytes.to_vec()).unwrap()),
        Answer::Events(mut events) => {
            got.is_stream = true;
            while let Some(event) = events.next().await {
                got.texts.push(String::from_utf8(event.unwrap().data.to_vec()).unwrap());
            }
        }
    }
    got
}
