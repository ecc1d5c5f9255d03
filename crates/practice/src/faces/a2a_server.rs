//! The agent as an A2A agent: it takes messages, and answers with tasks that are done.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde_json::{Value, json};
use sortie_wire::Limits;
use sortie_wire::a2a::{
    self, A2aVersion, AgentReply, AgentService, Caller, Operation, code, complete_card, error_details,
};
use sortie_wire::http::{BodyError, Hosts, Listener};
use sortie_wire::jsonrpc::{self, Incoming};

use super::texts;
use crate::acting::{Task, TurnError};
use crate::agent::Agent;
use crate::behaviour::Behaviour;
use crate::locked;

const MAX_TASKS: usize = 100;

pub(crate) async fn serve(listener: Listener, agent: Agent) {
    let url = format!("http://{}/", listener.address());
    let stop = agent.stop.clone();
    let face = Arc::new(Face { agent, url, tasks: Mutex::default() });
    a2a::serve(listener, face, Hosts::loopback_plus([""; 0]), Limits::default(), stop).await;
}

struct Face {
    agent: Agent,
    url: String,
    tasks: Mutex<BTreeMap<usize, Value>>,
}

impl AgentService for Face {
    fn card(&self, _: Caller<'_>) -> Bytes {
        self.agent.activity.stir();
        complete_card(&self.own_card().to_string(), A2aVersion::V1_0).into()
    }

    async fn message(self: &Arc<Self>, _: Caller<'_>, body: &Bytes) -> AgentReply {
        self.agent.activity.stir();
        let (id, method, params) = match jsonrpc::read(body, &Limits::default()) {
            Ok(Incoming::Request { id, method, params }) => (id, method, params),
            Ok(_) => return AgentReply::Nothing,
            Err(malformed) => return AgentReply::Json(malformed.answer()),
        };
        let operation = Operation::of_method(&method);
        let params = params.map(|params| match operation {
            Some(operation) => operation.params(A2aVersion::V0_3, params.get()),
            None => params.get().to_owned(),
        });
        let params = params.and_then(|params| serde_json::from_str(&params).ok()).unwrap_or(Value::Null);
        // A task goes on when whoever asked for it hangs up.
        let asked = Asked { id: id.get().to_owned(), method, operation };
        let this = self.clone();
        let done = tokio::spawn(async move { this.method(&asked, &params).await });
        done.await.unwrap_or(AgentReply::Failed)
    }

    fn unreadable(&self, _: Caller<'_>, error: &BodyError) -> Bytes {
        error.to_string().into()
    }
}

/// What is asked.
struct Asked {
    id: String,
    method: String,
    /// The operation that it is, when it is asked for in the words of 1.0.
    operation: Option<&'static Operation>,
}

impl Asked {
    /// A result in the words of who asks.
    fn result(&self, result: &Value) -> Bytes {
        let result = result.to_string();
        let result =
            self.operation.map_or(result.clone(), |operation| operation.result(A2aVersion::V1_0, &result));
        jsonrpc::result(&self.id, &result)
    }

    fn fault(&self, code: i64, words: &str) -> AgentReply {
        let details = self.operation.and_then(|_| error_details(code));
        AgentReply::Json(jsonrpc::error(Some(&self.id), code, words, details.as_deref()))
    }
}

impl Face {
    async fn method(&self, asked: &Asked, params: &Value) -> AgentReply {
        let result = |result: &Value| AgentReply::Json(asked.result(result));
        let fault = |code: i64, words: &str| asked.fault(code, words);
        let method = asked.operation.map_or(asked.method.as_str(), |operation| operation.surface);
        match method {
            "message/send" | "message/stream" => match self.task(params).await {
                Ok(task) if method == "message/send" => result(&task),
                Ok(task) => stream(asked, &task),
                Err(TurnError::Crashed) => AgentReply::Failed,
                Err(TurnError::Failed(words)) => fault(code::INTERNAL_ERROR, words),
            },
            "tasks/get" | "tasks/cancel" => match self.known(params) {
                None => fault(code::TASK_NOT_FOUND, "there is no such task"),
                Some(task) if method == "tasks/get" => result(&task),
                Some(_) => fault(code::TASK_NOT_CANCELABLE, "the task is done"),
            },
            "agent/getAuthenticatedExtendedCard" => result(&self.own_card()),
            _ => fault(code::METHOD_NOT_FOUND, "there is no such method"),
        }
    }

    /// Does a task. One that fails in the middle is a task that failed.
    async fn task(&self, params: &Value) -> Result<Value, TurnError> {
        let busy = self.agent.activity.busy();
        let message = params["message"].clone();
        let parts = message["parts"].as_array().cloned().unwrap_or_default();
        let words: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
        let mut task = Task { words: words.join("\n"), ..Task::default() };
        for part in parts.iter().filter(|part| part.get("text").is_none()) {
            task.background.push(("data of the message".to_owned(), texts(part)));
        }
        for (of, name) in [(&message, "metadata of the message"), (params, "metadata of the request")] {
            let words = texts(&of["metadata"]);
            task.background.extend((!words.is_empty()).then(|| (name.to_owned(), words)));
        }
        let (state, answer) = match self.agent.work(&task).await {
            // Who has no model says that it works on it, for as long as anybody asks.
            Ok(None) if self.agent.behaviour == Behaviour::DeadModel => ("working", None),
            Ok(answer) => ("completed", answer),
            Err(TurnError::Failed(words)) if self.agent.behaviour == Behaviour::HalfWay => {
                ("failed", Some(words.to_owned()))
            }
            Err(error) => {
                if error == TurnError::Crashed {
                    self.agent.crash();
                }
                return Err(error);
            }
        };
        drop(busy);
        let mut tasks = locked(&self.tasks);
        let number = tasks.keys().next_back().map_or(1, |last| last + 1);
        let context =
            message.get("contextId").cloned().unwrap_or_else(|| Value::from(format!("context-{number}")));
        let mut status = json!({"state": state});
        if let Some(words) = answer.as_ref().filter(|_| state == "failed") {
            let parts = json!([{"kind": "text", "text": words}]);
            status["message"] = json!({"kind": "message", "messageId": format!("failure-{number}"), "role": "agent", "parts": parts});
        }
        let artifacts: Vec<Value> = answer
            .filter(|_| state == "completed")
            .map(|text| json!({"artifactId": format!("answer-{number}"), "name": "answer", "parts": [{"kind": "text", "text": text}]}))
            .into_iter()
            .collect();
        let done = json!({"kind": "task", "id": format!("task-{number}"), "contextId": context,
            "status": status, "artifacts": artifacts, "history": [message]});
        tasks.insert(number, done.clone());
        if tasks.len() > MAX_TASKS {
            tasks.pop_first();
        }
        Ok(done)
    }

    fn known(&self, params: &Value) -> Option<Value> {
        let number: usize = params.get("id")?.as_str()?.strip_prefix("task-")?.parse().ok()?;
        locked(&self.tasks).get(&number).cloned()
    }

    fn own_card(&self) -> Value {
        json!({
            "protocolVersion": "0.3.0", "name": format!("Practice agent {}", self.agent.behaviour), "url": self.url,
            "description": "A practice target of Sortie. There is no model inside.", "version": env!("CARGO_PKG_VERSION"),
            "preferredTransport": "JSONRPC", "capabilities": {"streaming": true, "pushNotifications": false},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "task", "name": "Task", "description": "Does what it is asked, with the tools it has.", "tags": ["practice"]}],
        })
    }
}

/// A task that is done, as the events that led there.
fn stream(asked: &Asked, task: &Value) -> AgentReply {
    let event = |mut event: Value| {
        (event["taskId"], event["contextId"]) = (task["id"].clone(), task["contextId"].clone());
        event
    };
    let mut begun = task.clone();
    begun["status"] = json!({"state": "working"});
    begun["artifacts"] = json!([]);
    let mut events = vec![begun];
    for artifact in task["artifacts"].as_array().into_iter().flatten() {
        events.push(event(
            json!({"kind": "artifact-update", "artifact": artifact, "append": false, "lastChunk": true}),
        ));
    }
    let last = task["status"]["state"] != "working";
    events.push(event(json!({"kind": "status-update", "status": task["status"], "final": last})));
    let results = events.iter().map(|event| asked.result(event));
    AgentReply::Events(results.collect())
}
