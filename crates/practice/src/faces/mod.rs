//! What an agent shows to the wire: the ends of MCP, A2A, AG-UI and chat endpoints that agents have.

mod a2a_client;
mod a2a_server;
mod ag_ui;
mod chat;
mod mcp_client;
mod mcp_server;
mod notebook;
mod stateless;
mod surroundings;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode};
use serde_json::Value;
use sortie_wire::Limits;
use sortie_wire::http::{Body, Hosts, Listener, Peer, RequestBody, read_body};

use crate::agent::Agent;
use crate::matching::among;

pub(crate) use a2a_server::serve as serve_a2a;
pub(crate) use ag_ui::serve as serve_ag_ui;
pub(crate) use chat::serve as serve_chat;
pub(crate) use mcp_server::serve as serve_mcp;
pub(crate) use surroundings::Surroundings;

/// Gives every request from this machine to `answer`, with its body, until the agent ends.
async fn serve_http<A, F>(listener: Listener, agent: &Agent, answer: A)
where
    A: Fn(Parts, Bytes) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let limits = Limits::default();
    let activity = agent.activity.clone();
    let handler = move |request: Request<RequestBody>, _: Peer| {
        let (activity, answer) = (activity.clone(), answer.clone());
        async move {
            let (head, body) = request.into_parts();
            if let Err(foreign) = Hosts::loopback_plus([""; 0]).check(&head.headers) {
                return respond(foreign.status(), "text/plain", foreign.to_string());
            }
            activity.stir();
            match read_body(body, &limits).await {
                Ok(body) => answer(head, body).await,
                Err(error) => respond(error.status(), "text/plain", error.to_string()),
            }
        }
    };
    listener.serve(handler, limits, agent.stop.clone()).await;
}

fn respond(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

const MAX_DEPTH: usize = 20;

/// Keys whose values are no words for a reader.
const NO_WORDS: &str = "type kind mimeType id taskId contextId messageId role data_b64 blob state timestamp";

/// The texts in a value, one after the other; what is plain text in a field of its own keeps the field's name.
fn texts(value: &Value) -> String {
    let mut texts = Vec::new();
    collect(value, None, 0, &mut texts);
    texts.join("\n")
}

fn collect(value: &Value, key: Option<&str>, depth: usize, texts: &mut Vec<String>) {
    if depth > MAX_DEPTH || key.is_some_and(|key| among(NO_WORDS, key)) {
        return;
    }
    match value {
        Value::String(text) => match key {
            Some("text" | "content" | "description" | "message" | "instructions") | None => {
                texts.push(text.clone());
            }
            Some(key) => texts.push(format!("{key}: {text}")),
        },
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, depth + 1, texts)),
        // What the agent said itself is not news.
        Value::Object(members)
            if members.get("role").is_some_and(|role| role == "user") && members.contains_key("parts") => {}
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| collect(value, Some(key), depth + 1, texts));
        }
        Value::Number(number) => texts.extend(key.map(|key| format!("{key}: {number}"))),
        Value::Bool(_) | Value::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_words_are_gathered_and_nothing_else() {
        let answer = json!({"content": [{"type": "text", "text": "Sunny"}, {"type": "resource", "resource": {"uri": "a://b", "text": "Cold"}}],
            "structuredContent": {"note": "Call x", "count": 3}, "isError": false});
        assert_eq!(texts(&answer), "Sunny\nuri: a://b\nCold\nnote: Call x\ncount: 3");
    }
}
