//! A model that is a script, behind a real listener.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use serde_json::{Value, json};
use sortie_judge::{
    Budget, EndpointKind, Exchanges, Model, ModelEndpoint, ModelOptions, Prompt, RetryPolicy, Secret,
};
use sortie_wire::Limits;
use sortie_wire::http::{Body, Listener, read_body};
use tokio_util::sync::CancellationToken;

/// No test waits longer for anything.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// A key as users have them. It must not show up anywhere.
pub(crate) const KEY: &str = "sk-planted-9f31c7";

/// What a script was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Asked {
    /// The last thing that was said to it.
    pub(crate) fn question(&self) -> &str {
        self.body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap()
    }
}

/// What a script does.
#[derive(Clone, Debug)]
pub(crate) enum Does {
    /// Answers these words, as chat completions do.
    Says(String),
    /// Answers this.
    Answers { status: u16, headers: Vec<(&'static str, String)>, body: Vec<u8> },
    /// Nothing, for ever.
    Waits,
}

#[expect(clippy::needless_pass_by_value, reason = "what is said is mostly a literal")]
impl Does {
    pub(crate) fn says(words: impl ToString) -> Self {
        Self::Says(words.to_string())
    }

    pub(crate) fn status(status: u16, body: impl ToString) -> Self {
        Self::Answers { status, headers: Vec::new(), body: body.to_string().into_bytes() }
    }
}

/// A scripted model.
pub(crate) struct Scripted {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    stop: CancellationToken,
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Scripted {
    /// A model that does what `script` says for what it is asked, for the how manieth time, from 0.
    pub(crate) async fn start(script: impl Fn(&Asked, usize) -> Does + Send + Sync + 'static) -> Self {
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), false).await.unwrap();
        let url = format!("http://{}/v1", listener.address());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let stop = CancellationToken::new();
        let (script, seen) = (Arc::new(script), asked.clone());
        let handler = move |request: http::Request<_>, _| {
            let (script, seen) = (script.clone(), seen.clone());
            async move {
                let (head, body) = request.into_parts();
                let body = read_body(body, &Limits::default()).await.unwrap();
                let body = serde_json::from_slice(&body).unwrap();
                let asked = Asked { headers: head.headers, body };
                let count = {
                    let mut seen = seen.lock().unwrap();
                    seen.push(asked.clone());
                    seen.len() - 1
                };
                match script(&asked, count) {
                    Does::Says(words) => answer(200, &[], chat(&words).to_string().into_bytes()),
                    Does::Answers { status, headers, body } => answer(status, &headers, body),
                    Does::Waits => std::future::pending().await,
                }
            }
        };
        tokio::spawn(listener.serve(handler, Limits::default(), stop.clone()));
        Self { url, asked, stop }
    }

    /// What it was asked up to now.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn endpoint(&self) -> ModelEndpoint {
        ModelEndpoint::new(EndpointKind::OpenAi, &self.url, "scripted")
    }

    /// The model, with nothing kept and nothing limited.
    pub(crate) fn model(&self) -> Model {
        self.model_with(Budget::default(), Exchanges::transient())
    }

    pub(crate) fn model_with(&self, budget: Budget, exchanges: Exchanges) -> Model {
        model(self.endpoint(), budget, exchanges)
    }
}

pub(crate) fn model(endpoint: ModelEndpoint, budget: Budget, exchanges: Exchanges) -> Model {
    let key = Secret::new(KEY).unwrap();
    Model::new(endpoint, Some(&key), quick(), budget, exchanges).unwrap()
}

/// Options with which nobody waits for long.
pub(crate) fn quick() -> ModelOptions {
    let first_wait = Duration::from_millis(1);
    ModelOptions { retry: RetryPolicy { first_wait, ..RetryPolicy::default() }, ..ModelOptions::default() }
}

pub(crate) fn prompt(question: &str) -> Prompt {
    Prompt::new("You are a test.", question, 100)
}

/// An answer of chat completions.
pub(crate) fn chat(words: &str) -> Value {
    json!({
        "model": "scripted-1",
        "choices": [{"message": {"role": "assistant", "content": words}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5},
    })
}

fn answer(status: u16, headers: &[(&'static str, String)], body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    for (name, value) in headers {
        let name = HeaderName::from_static(name);
        response.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
    }
    response
}

pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(DEADLINE, future).await.expect("it takes too long")
}
