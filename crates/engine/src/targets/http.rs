//! Anything that answers an HTTP request: a template for what is sent, a path to what is answered.

use ::http::Method;
use serde_json::Value;
use sortie_expr::jsonpath;
use sortie_wire::http::Client;

use super::channel::Channel;
use super::error::TargetError;
use super::target::Settings;
use super::web::{Web, session};
use crate::modes::Endpoint;

const SURFACE: &str = "request";

/// An HTTP endpoint. `{{message}}` and `{{session}}` in texts of the body stand for what is said and for a name of the
/// conversation.
#[derive(Clone)]
pub struct HttpTarget {
    /// Its URL, with the headers that it is asked with.
    pub at: Endpoint,
    /// The method, such as `POST`.
    pub method: String,
    /// The body.
    pub body: Value,
    /// A path (RFC 9535) to the answer; all of the answer when there is none.
    pub answer: Option<String>,
}

pub(super) async fn open(
    http: &HttpTarget,
    client: Option<&Client>,
    log: &Channel,
    settings: &Settings,
) -> Result<HttpSession, TargetError> {
    let method = Method::from_bytes(http.method.as_bytes())
        .map_err(|_| TargetError::Invalid(format!("`{}` is no method of HTTP", http.method)))?;
    if !mentions_message(&http.body) {
        return Err(TargetError::Invalid("the body of the request has no `{{message}}`".to_owned()));
    }
    if let Some(path) = &http.answer {
        jsonpath::parse(path)
            .map_err(|error| TargetError::Invalid(format!("the path to the answer is not valid: {error}")))?;
    }
    let web = Web::open(&http.at, client, log, settings).await?;
    Ok(HttpSession { web, method, body: http.body.clone(), session: session() })
}

/// A conversation, which the endpoint knows by the name of its session.
#[derive(Debug)]
pub(super) struct HttpSession {
    web: Web,
    method: Method,
    body: Value,
    session: String,
}

impl HttpSession {
    pub(super) async fn say(&mut self, text: &str) -> Result<(), TargetError> {
        let body = filled(&self.body, text, &self.session).to_string();
        let url = self.web.url.clone();
        self.web.ask(self.method.clone(), &url, SURFACE, Some(body.into())).await.map(drop)
    }
}

// What a user writes as JSON is at most 128 levels deep, so recursion is bounded.
fn filled(value: &Value, message: &str, session: &str) -> Value {
    match value {
        // One pass, so that what is said is never taken for a placeholder.
        Value::String(text) => {
            let parts: Vec<String> =
                text.split("{{message}}").map(|part| part.replace("{{session}}", session)).collect();
            Value::String(parts.join(message))
        }
        Value::Array(items) => items.iter().map(|item| filled(item, message, session)).collect(),
        Value::Object(map) => Value::Object(
            map.iter().map(|(key, value)| (key.clone(), filled(value, message, session))).collect(),
        ),
        other => other.clone(),
    }
}

fn mentions_message(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{message}}"),
        Value::Array(items) => items.iter().any(mentions_message),
        Value::Object(map) => map.values().any(mentions_message),
        _ => false,
    }
}
