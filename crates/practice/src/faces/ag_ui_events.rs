//! The stream of events of one run, and the front end behind it.

use serde_json::{Map, Value, json};
use sortie_wire::http::StreamSender;
use sortie_wire::sse;
use tokio::sync::mpsc;

use crate::acting::{Answer, PATIENCE};

/// How much text goes into one event.
const PIECE: usize = 400;

/// A run that was asked for: its `RunAgentInput`, and where its events go.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) input: Value,
    /// `None` once the run has ended.
    pub(super) events: Option<StreamSender>,
}

impl Run {
    /// Says that it begins or ends.
    async fn mark(&self, event: &str) {
        let id = |key: &str| self.input.get(key).cloned().unwrap_or_else(|| Value::from("none"));
        self.say(json!({"type": event, "threadId": id("threadId"), "runId": id("runId")})).await;
    }

    async fn say(&self, event: Value) {
        if let Some(events) = &self.events {
            // Whoever does not read any more needs no events.
            let _ = events.send(sse::encode(None, None, event.to_string().as_bytes())).await;
        }
    }
}

/// The front end of one thread: what it shows, and the tools it has.
#[derive(Debug)]
pub(crate) struct FrontEnd {
    run: Run,
    /// The next runs of the thread.
    next: mpsc::Receiver<Run>,
    number: usize,
}

impl FrontEnd {
    pub(super) async fn begin(run: Run, next: mpsc::Receiver<Run>, number: usize) -> Self {
        run.mark("RUN_STARTED").await;
        Self { run, next, number }
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = &Value> {
        self.run.input["tools"].as_array().into_iter().flatten()
    }

    fn fresh(&mut self, kind: &str) -> String {
        self.number += 1;
        format!("{kind}-{}", self.number)
    }

    /// Shows that a tool is called. Gives the number of the call.
    pub(super) async fn calling(&mut self, name: &str, arguments: &Map<String, Value>) -> String {
        let id = self.fresh("call");
        self.run.say(json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name})).await;
        let arguments = Value::Object(arguments.clone()).to_string();
        for delta in pieces(&arguments) {
            self.run.say(json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta})).await;
        }
        self.run.say(json!({"type": "TOOL_CALL_END", "toolCallId": id})).await;
        id
    }

    pub(super) async fn called(&mut self, id: &str, text: &str) {
        let message = self.fresh("message");
        let event = json!({"type": "TOOL_CALL_RESULT", "messageId": message, "toolCallId": id, "content": text, "role": "tool"});
        self.run.say(event).await;
    }

    /// Calls a tool of the front end: the run ends, and the next one brings the result.
    pub(super) async fn call(&mut self, name: &str, arguments: &Map<String, Value>) -> Answer {
        let id = self.calling(name, arguments).await;
        self.finished().await;
        let Ok(Some(run)) = tokio::time::timeout(PATIENCE, self.next.recv()).await else {
            return Answer { text: "the front end says nothing more".to_owned(), failed: true };
        };
        self.run = run;
        self.run.mark("RUN_STARTED").await;
        let messages = self.run.input["messages"].as_array().into_iter().flatten();
        let result = messages.rev().find(|message| message["toolCallId"].as_str() == Some(&id));
        let content = result.and_then(|message| message.get("content"));
        let text = content.map(|content| content.as_str().map_or_else(|| content.to_string(), str::to_owned));
        Answer { failed: text.is_none(), text: text.unwrap_or_else(|| "no result".to_owned()) }
    }

    pub(super) async fn say(&mut self, text: &str) {
        let id = self.fresh("message");
        self.run.say(json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"})).await;
        for delta in pieces(text) {
            self.run.say(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta})).await;
        }
        self.run.say(json!({"type": "TEXT_MESSAGE_END", "messageId": id})).await;
    }

    /// Says that the run is over, and closes its stream: the front end waits for that.
    async fn finished(&mut self) {
        self.run.mark("RUN_FINISHED").await;
        self.run.events = None;
    }

    pub(super) async fn end(mut self) -> (mpsc::Receiver<Run>, usize) {
        self.finished().await;
        (self.next, self.number)
    }

    /// Breaks off in the middle.
    pub(super) async fn cut(self) {
        if let Some(events) = self.run.events {
            events.cut().await;
        }
    }
}

/// A text in pieces; an empty one in none.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(PIECE).map(|piece| piece.iter().collect()).collect()
}
