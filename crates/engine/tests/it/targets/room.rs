//! A trace that can be read, and processes that say whatever a test wants.

use std::io::Write;
use std::sync::{Arc, Mutex};

use sortie_engine::targets::{Kind, Log};
use sortie_trace::{Record, Redactor, Rule, Trace};

/// A log, and what was written.
pub(crate) struct Room {
    pub(crate) log: Arc<Log>,
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
    pub(crate) fn new(kind: Kind) -> Self {
        Self::hiding(kind, &[])
    }

    pub(crate) fn hiding(kind: Kind, secrets: &[&str]) -> Self {
        let trace = Shared::default();
        let rules = secrets.iter().map(|secret| Rule::Literal((*secret).to_owned()));
        let redactor = Redactor::new(rules).unwrap();
        let log = Log::begin(Box::new(trace.clone()), kind, redactor, 1 << 30, Arc::new(())).unwrap();
        Self { log: Arc::new(log), trace }
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
