//! The agent behind an endpoint that speaks as that of `OpenAI` does: every request brings the whole conversation.
//!
//! The tools that it has are its own, and it calls them before it answers. The protocol has no place for what is done
//! already; the calls are listed in `tool_calls` of the answer, whose `finish_reason` is `stop`, since nobody waits for them.

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Response, StatusCode};
use serde_json::{Map, Value, json};
use sortie_wire::http::{Body, Listener};

use super::{serve_http, texts};
use crate::acting::{Task, TurnError};
use crate::agent::Agent;

pub(crate) async fn serve(listener: Listener, agent: Agent) {
    let this = agent.clone();
    serve_http(listener, &agent, move |head, body| answer(this.clone(), head, body)).await;
}

async fn answer(agent: Agent, head: Parts, body: Bytes) -> Response<Body> {
    match (&head.method, head.uri.path()) {
        (&Method::GET, "/v1/models") => respond(
            StatusCode::OK,
            &json!({"object": "list", "data": [{"id": name(&agent), "object": "model", "created": 0, "owned_by": "sortie"}]}),
        ),
        (&Method::POST, "/v1/chat/completions") => {
            // A task goes on when whoever asked for it hangs up.
            let done = tokio::spawn(async move { complete(&agent, &body).await }).await;
            done.unwrap_or_else(|_| fault(StatusCode::INTERNAL_SERVER_ERROR, "the agent broke"))
        }
        _ => fault(StatusCode::NOT_FOUND, "there are `GET /v1/models` and `POST /v1/chat/completions` here"),
    }
}

async fn complete(agent: &Agent, body: &Bytes) -> Response<Body> {
    let busy = agent.activity.busy();
    let request = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let Some(task) = request["messages"].as_array().and_then(|all| task_of(all)) else {
        return fault(StatusCode::BAD_REQUEST, "`messages` has no message of a user");
    };
    if request.get("stream") == Some(&Value::Bool(true)) {
        return fault(StatusCode::BAD_REQUEST, "practice agents answer at once, and not as a stream");
    }
    let mut hands = agent.surroundings.hands(None);
    let answer = match agent.turn(&mut hands, &task).await {
        Ok(answer) => answer,
        Err(TurnError::Failed(words)) => return fault(StatusCode::INTERNAL_SERVER_ERROR, words),
        Err(TurnError::Crashed) => {
            agent.crash();
            return fault(StatusCode::INTERNAL_SERVER_ERROR, "the agent died");
        }
    };
    drop(busy);
    let mut message = json!({"role": "assistant", "content": answer});
    let calls: Vec<Value> = hands.made.into_iter().zip(1..).map(call).collect();
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    respond(
        StatusCode::OK,
        &json!({"id": "chatcmpl-practice", "object": "chat.completion", "created": 0, "model": name(agent),
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}}),
    )
}

fn name(agent: &Agent) -> String {
    format!("practice-{}", agent.behaviour)
}

/// The task of a request: the last thing that the user says. What was said before it is background, but for what the agent
/// is said to have answered: a request brings all of the conversation, so that nothing tells a forged answer from its own.
fn task_of(messages: &[Value]) -> Option<Task> {
    let role = |message: &Value| message["role"].as_str().unwrap_or("nobody").to_owned();
    let words = |message: &Value| texts(&message["content"]);
    let last = messages.iter().rposition(|message| role(message) == "user")?;
    let before = messages[..last].iter().filter(|message| !["assistant", "tool"].contains(&&*role(message)));
    let background =
        before.map(|message| (format!("{} message in the history", role(message)), words(message)));
    Some(Task {
        words: words(&messages[last]),
        background: background.filter(|(_, words)| !words.is_empty()).collect(),
    })
}

fn call(((name, arguments), number): ((String, Map<String, Value>), usize)) -> Value {
    let arguments = Value::Object(arguments).to_string();
    json!({"id": format!("call-{number}"), "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn fault(status: StatusCode, words: &str) -> Response<Body> {
    let kind = if status.is_server_error() { "server_error" } else { "invalid_request_error" };
    respond(status, &json!({"error": {"message": words, "type": kind}}))
}

fn respond(status: StatusCode, answer: &Value) -> Response<Body> {
    super::respond(status, "application/json", answer.to_string())
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
