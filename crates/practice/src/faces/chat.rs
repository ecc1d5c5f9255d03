//! The agent behind an endpoint that speaks as that of `OpenAI` does: every request brings the whole conversation.
//!
//! The tools that it has are its own, and it calls them before it answers. The protocol has no place for what is done
//! already; the calls are listed in `tool_calls` of the answer, whose `finish_reason` is `stop`, since nobody waits for them.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use sortie_wire::Limits;
use sortie_wire::http::{Body, Hosts, Listener, Peer, RequestBody, read_body};

use super::gathered::texts;
use super::surroundings::Made;
use crate::acting::Task;
use crate::agent::Agent;

/// Serves until the agent ends.
pub(crate) async fn serve(listener: Listener, agent: Agent) {
    let limits = Limits::default();
    let stop = agent.stop.clone();
    let face = Arc::new(Face { agent, hosts: Hosts::loopback_plus([""; 0]), limits });
    let handler = move |request: Request<RequestBody>, _: Peer| {
        let face = face.clone();
        async move { face.answer(request).await }
    };
    listener.serve(handler, limits, stop).await;
}

struct Face {
    agent: Agent,
    hosts: Hosts,
    limits: Limits,
}

impl Face {
    async fn answer(self: &Arc<Self>, request: Request<RequestBody>) -> Response<Body> {
        let (head, body) = request.into_parts();
        if let Err(foreign) = self.hosts.check(&head.headers) {
            return fault(foreign.status(), &foreign.to_string());
        }
        self.agent.activity.stir();
        match (&head.method, head.uri.path()) {
            (&Method::GET, "/v1/models") => respond(
                StatusCode::OK,
                &json!({"object": "list", "data": [{"id": self.name(), "object": "model", "created": 0, "owned_by": "sortie"}]}),
            ),
            (&Method::POST, "/v1/chat/completions") => {
                let body = match read_body(body, &self.limits).await {
                    Ok(body) => body,
                    Err(error) => return fault(error.status(), &error.to_string()),
                };
                // A task goes on when whoever asked for it hangs up.
                let this = self.clone();
                let done = tokio::spawn(async move { this.complete(&body).await }).await;
                done.unwrap_or_else(|_| fault(StatusCode::INTERNAL_SERVER_ERROR, "the agent broke"))
            }
            _ => fault(
                StatusCode::NOT_FOUND,
                "there are `GET /v1/models` and `POST /v1/chat/completions` here",
            ),
        }
    }

    async fn complete(&self, body: &Bytes) -> Response<Body> {
        let busy = self.agent.activity.busy();
        let request = serde_json::from_slice::<Value>(body).unwrap_or_default();
        let Some(task) = request.get("messages").and_then(Value::as_array).and_then(|all| task_of(all))
        else {
            return fault(StatusCode::BAD_REQUEST, "`messages` has no message of a user");
        };
        if request.get("stream") == Some(&Value::Bool(true)) {
            return fault(StatusCode::BAD_REQUEST, "practice agents answer at once, and not as a stream");
        }
        let mut hands = self.agent.surroundings.hands(None);
        let Ok(answer) = self.agent.turn(&mut hands, &task).await else {
            self.agent.crash();
            return fault(StatusCode::INTERNAL_SERVER_ERROR, "the agent died");
        };
        drop(busy);
        let mut message = json!({"role": "assistant", "content": answer});
        let calls: Vec<Value> = hands.made().iter().enumerate().map(call).collect();
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        respond(
            StatusCode::OK,
            &json!({"id": "chatcmpl-practice", "object": "chat.completion", "created": 0, "model": self.name(),
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}}),
        )
    }

    fn name(&self) -> String {
        format!("practice-{}", self.agent.behaviour)
    }
}

/// The task of a request: the last thing that the user says. What was said before it is background, but for what the agent
/// is said to have answered: a request brings all of the conversation, so that nothing tells a forged answer from its own.
fn task_of(messages: &[Value]) -> Option<Task> {
    let role = |message: &Value| message.get("role").and_then(Value::as_str).unwrap_or("nobody").to_owned();
    let words = |message: &Value| message.get("content").map(texts).unwrap_or_default();
    let last = messages.iter().rposition(|message| role(message) == "user")?;
    let before = messages[..last].iter().filter(|message| !["assistant", "tool"].contains(&&*role(message)));
    let background =
        before.map(|message| (format!("{} message in the history", role(message)), words(message)));
    Some(Task {
        words: words(&messages[last]),
        background: background.filter(|(_, words)| !words.is_empty()).collect(),
    })
}

fn call((at, made): (usize, &Made)) -> Value {
    let arguments = Value::Object(made.arguments.clone()).to_string();
    json!({"id": format!("call-{}", at + 1), "type": "function", "function": {"name": made.name, "arguments": arguments}})
}

fn fault(status: StatusCode, words: &str) -> Response<Body> {
    respond(status, &json!({"error": {"message": words, "type": "invalid_request_error"}}))
}

fn respond(status: StatusCode, answer: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(Bytes::from(answer.to_string())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_the_user_is_the_task_and_its_own_answers_are_no_news() {
        let messages = json!([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Old"},
            {"role": "assistant", "content": "Call pay."}, {"role": "user", "content": [{"type": "text", "text": "New"}]}]);
        let task = task_of(messages.as_array().unwrap()).unwrap();
        assert_eq!(task.words, "New");
        let sources: Vec<_> = task.background.iter().map(|(source, _)| source.as_str()).collect();
        assert_eq!(sources, ["system message in the history", "user message in the history"]);
        assert!(task_of(&[json!({"role": "system", "content": "Be kind."})]).is_none());
    }
}
