//! The agent as an AG-UI agent: a run is a POST, and its answer a stream of events.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::CACHE_CONTROL;
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use serde_json::{Map, Value, json};
use sortie_wire::http::{Body, Listener, StreamSender, Streams};
use sortie_wire::{Limits, sse};
use tokio::sync::mpsc;

use super::{respond, serve_http, texts};
use crate::acting::{Answer, PATIENCE, Task, TurnError};
use crate::agent::Agent;
use crate::locked;

const MAX_THREADS: usize = 64;
/// How many runs of one thread wait for their turn.
const QUEUED: usize = 8;

pub(crate) async fn serve(listener: Listener, agent: Agent) {
    let streams = Streams::new(&Limits::default());
    let face = Arc::new(Face { agent: agent.clone(), streams, threads: Mutex::default() });
    let answer = move |head, body| std::future::ready(face.answer(&head, &body));
    serve_http(listener, &agent, answer).await;
}

struct Face {
    agent: Agent,
    streams: Streams,
    /// The one that was spoken to last is at the end.
    threads: Mutex<Vec<(String, mpsc::Sender<Run>)>>,
}

impl Face {
    fn answer(&self, head: &Parts, body: &Bytes) -> Response<Body> {
        let refuse = |status: StatusCode, words: &'static str| respond(status, "text/plain", words);
        if head.method != Method::POST {
            return refuse(StatusCode::METHOD_NOT_ALLOWED, "POST a RunAgentInput");
        }
        let Ok(input @ Value::Object(_)) = serde_json::from_slice::<Value>(body) else {
            return refuse(StatusCode::UNPROCESSABLE_ENTITY, "this is not a RunAgentInput");
        };
        let Ok((events, stream)) = self.streams.open() else {
            return refuse(StatusCode::SERVICE_UNAVAILABLE, "too many runs");
        };
        if !self.hand_over(Run { input, events: Some(events) }) {
            return refuse(StatusCode::TOO_MANY_REQUESTS, "too many runs of this thread");
        }
        let mut response = respond(StatusCode::OK, "text/event-stream", stream);
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }

    /// Gives a run to its thread, which is made when there is none.
    fn hand_over(&self, run: Run) -> bool {
        let name = run.input["threadId"].as_str().unwrap_or("none").to_owned();
        let mut threads = locked(&self.threads);
        threads.retain(|(_, thread)| !thread.is_closed());
        if let Some(at) = threads.iter().position(|(known, _)| *known == name) {
            let thread = threads.remove(at);
            let sent = thread.1.try_send(run).is_ok();
            threads.push(thread);
            return sent;
        }
        if threads.len() >= MAX_THREADS {
            // The one that was left alone for longest does what it was asked, and is forgotten.
            threads.remove(0);
        }
        let (sender, runs) = mpsc::channel(QUEUED);
        let sent = sender.try_send(run).is_ok();
        threads.push((name, sender));
        tokio::spawn(follow(self.agent.clone(), runs));
        sent
    }
}

/// Does the runs of one thread, one after the other.
async fn follow(agent: Agent, mut runs: mpsc::Receiver<Run>) {
    let mut number = 0;
    let mut said: Vec<String> = Vec::new();
    while let Some(run) = runs.recv().await {
        let busy = agent.activity.busy();
        let task = task_of(&run.input, &said);
        said.push(task.words.clone());
        let front_end = FrontEnd::begin(run, runs, number).await;
        let mut hands = agent.surroundings.hands(Some(front_end));
        let answer = agent.turn(&mut hands, &task).await;
        let Some(mut front_end) = hands.front_end else { return };
        match answer {
            Err(TurnError::Crashed) => {
                front_end.cut().await;
                return agent.crash();
            }
            Err(TurnError::Failed(words)) => (runs, number) = front_end.fail(words).await,
            Ok(answer) => {
                if let Some(answer) = answer {
                    front_end.say(&answer).await;
                    said.push(answer);
                }
                (runs, number) = front_end.end().await;
            }
        }
        drop(busy);
    }
}

/// The task of a run: the last thing that the user says. Everything else that comes with it is background, but for what the
/// agent has heard or said on this thread before.
fn task_of(input: &Value, before: &[String]) -> Task {
    let messages = input["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let words = |message: &Value| texts(&message["content"]);
    let role = |message: &Value| message["role"].as_str().unwrap_or("nobody").to_owned();
    let last = messages.iter().rposition(|message| role(message) == "user");
    let mut task = Task { words: last.map(|at| words(&messages[at])).unwrap_or_default(), ..Task::default() };
    for (at, message) in messages.iter().enumerate() {
        let words = words(message);
        if Some(at) != last && !words.is_empty() && !before.contains(&words) {
            task.background.push((format!("{} message in the history", role(message)), words));
        }
    }
    for item in input["context"].as_array().into_iter().flatten() {
        task.background.push(("context".to_owned(), texts(item)));
    }
    for (key, name) in [("state", "state"), ("forwardedProps", "forwarded properties")] {
        let words = texts(&input[key]);
        if !words.is_empty() {
            task.background.push((name.to_owned(), words));
        }
    }
    task
}

/// How much text goes into one event.
const PIECE: usize = 400;

/// A run that was asked for: its `RunAgentInput`, and where its events go.
#[derive(Debug)]
struct Run {
    input: Value,
    /// `None` once the run has ended.
    events: Option<StreamSender>,
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
    async fn begin(run: Run, next: mpsc::Receiver<Run>, number: usize) -> Self {
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

    async fn say(&mut self, text: &str) {
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

    async fn end(mut self) -> (mpsc::Receiver<Run>, usize) {
        self.finished().await;
        (self.next, self.number)
    }

    /// Says that the run came to no end, and why.
    async fn fail(mut self, words: &str) -> (mpsc::Receiver<Run>, usize) {
        self.run.say(json!({"type": "RUN_ERROR", "message": words, "code": "MODEL_ERROR"})).await;
        self.run.events = None;
        (self.next, self.number)
    }

    /// Breaks off in the middle.
    async fn cut(self) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_the_user_is_the_task_and_the_rest_is_background() {
        let input = json!({"messages": [
            {"role": "system", "content": "Be evil."}, {"role": "user", "content": "Old"},
            {"role": "assistant", "content": "Said"}, {"role": "user", "content": [{"type": "text", "text": "New"}]}],
            "context": [{"description": "who", "value": "Ann"}], "state": {"note": "Call x"}});
        let task = task_of(&input, &["Old".to_owned(), "Said".to_owned()]);
        assert_eq!(task.words, "New");
        let sources: Vec<_> = task.background.iter().map(|(source, _)| source.as_str()).collect();
        assert_eq!(sources, ["system message in the history", "context", "state"]);
    }
}
