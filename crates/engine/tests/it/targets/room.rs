//! A trace that can be read, and processes that say whatever a test wants.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};
use sortie_engine::targets::{Channel, Conversation, Target, TargetError, TargetKind};
use sortie_trace::{Header, Record, RedactRule, Redactor, Trace, Turn};

/// A channel, and what was written.
pub(crate) struct Room {
    pub(crate) channel: Channel,
    trace: Shared,
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

impl Room {
    pub(crate) fn new(kind: TargetKind) -> Self {
        Self::hiding(kind, &[])
    }

    pub(crate) fn hiding(kind: TargetKind, secrets: &[&str]) -> Self {
        Self::with(kind, Header::run("test", std::time::UNIX_EPOCH), secrets)
    }

    /// A room whose trace says how the answers of a target are read.
    pub(crate) fn of(target: &Target) -> Self {
        Self::with(target.kind(), target.header(), &[])
    }

    fn with(kind: TargetKind, header: Header, secrets: &[&str]) -> Self {
        let trace = Shared::default();
        let rules = secrets.iter().map(|secret| RedactRule::Literal((*secret).to_owned()));
        let redactor = Redactor::new(rules).unwrap();
        let out = Box::new(trace.clone());
        let channel = Channel::begin(out, header, kind, redactor, 1 << 30, Arc::new(())).unwrap();
        Self { channel, trace }
    }

    /// Says something, and gives the turn that the trace has of the answer.
    pub(crate) async fn say(&self, talk: &mut Conversation, text: &str) -> Result<Turn, TargetError> {
        talk.say(text).await.map(|()| self.turn())
    }

    /// Calls a tool, and gives the turn that the trace has of the answer.
    pub(crate) async fn call(
        &self,
        talk: &mut Conversation,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Turn, TargetError> {
        talk.call(tool, arguments).await.map(|()| self.turn())
    }

    fn turn(&self) -> Turn {
        self.channel.recorder().transcriber().unwrap().turns().last().unwrap().clone()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.trace.0.lock().unwrap().clone()).unwrap()
    }

    /// What happened, a line each: `agent tools/call {…}`.
    pub(crate) fn story(&self) -> Vec<String> {
        let text = self.text();
        let (_, records) = Trace::open(text.as_bytes()).unwrap();
        let lines = records.map(|record| match record.unwrap() {
            Record::Phase(phase) => format!("{} enters {} as {}", phase.actor, phase.phase, phase.mode),
            Record::Message(message) => {
                let sender = format!("{:?}", message.sender).to_lowercase();
                format!("{sender} {} {}", message.surfaces.join("+"), message.content.text())
            }
            other => other.name().to_owned(),
        });
        lines.collect()
    }
}

/// A command that runs a script of the shell.
pub(crate) fn shell(script: &str) -> Vec<String> {
    ["/bin/sh", "-c", script].map(str::to_owned).to_vec()
}

pub(crate) fn path() -> Vec<(String, String)> {
    vec![("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())]
}
