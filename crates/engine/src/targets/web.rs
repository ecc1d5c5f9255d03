//! One HTTP exchange with a target, recorded.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ::http::header::{ACCEPT, CONTENT_TYPE};
use ::http::{HeaderMap, HeaderValue, Method};
use bytes::Bytes;
use serde_json::Value;
use sortie_trace::{Content, Kind};
use sortie_wire::http::{Answer, Client, ClientError, ClientOptions, Response, wait_until_accepts};

use super::channel::Channel;
use super::error::TargetError;
use super::target::Settings;
use crate::actor::Spoken;
use crate::modes::{Address, Endpoint};
use sortie_evaluators::cases::canary;

const CONNECTION: &str = "http-1";

#[derive(Debug)]
pub(super) struct Web {
    pub(super) client: Client,
    pub(super) url: String,
    pub(super) log: Channel,
    pub(super) settings: Settings,
}

impl Web {
    /// Waits until somebody accepts there. Without a client one is made, which takes milliseconds.
    pub(super) async fn open(
        target: &Endpoint,
        client: Option<&Client>,
        log: &Channel,
        settings: &Settings,
    ) -> Result<Self, TargetError> {
        let Address::Url(url) = &target.address else {
            return Err(TargetError::Invalid("it is at a URL, and no process".to_owned()));
        };
        let client = client.map_or_else(|| new_client(target, settings), |client| Ok(client.clone()))?;
        let deadline = tokio::time::Instant::now() + settings.connect_timeout;
        let fail = |error| TargetError::of_client("connect", error, settings.connect_timeout);
        wait_until_accepts(url, deadline).await.map_err(fail)?;
        Ok(Self { client, url: url.clone(), log: log.clone(), settings: *settings })
    }

    /// Sends a body and hears the whole answer. What is no success is an error, and is recorded.
    pub(super) async fn ask(
        &self,
        method: Method,
        url: &str,
        surface: &str,
        body: Option<Bytes>,
    ) -> Result<Content, TargetError> {
        let said = body.as_deref().unwrap_or(b"{}");
        self.log.said(Spoken::new(&[surface], Kind::Request, CONNECTION, said))?;
        let response =
            self.client.send(method, url, json_headers("application/json", body.is_some()), body).await;
        let response =
            response.map_err(|error| TargetError::of_client(surface, error, self.settings.answer_timeout))?;
        let Response { status, body, .. } = response;
        let Answer::Bytes(body) = body else {
            return Err(TargetError::protocol(
                surface,
                "the answer is a stream of events, but the request did not ask for one",
            ));
        };
        if !status.is_success() {
            if !body.is_empty() {
                self.log.heard(Spoken::new(&[surface], Kind::Error, CONNECTION, &body))?;
            }
            return Err(TargetError::status(surface, status, &body));
        }
        self.log.heard(Spoken::new(&[surface], Kind::Response, CONNECTION, &body))
    }
}

/// A client for one target, with its credentials.
pub(super) fn new_client(target: &Endpoint, settings: &Settings) -> Result<Client, TargetError> {
    let client = client_options(target, settings).and_then(Client::new);
    client.map_err(|error| TargetError::of_client("connect", error, settings.connect_timeout))
}

pub(super) fn client_options(target: &Endpoint, settings: &Settings) -> Result<ClientOptions, ClientError> {
    Ok(ClientOptions {
        headers: target.http_headers()?,
        connect_timeout: settings.connect_timeout,
        answer_timeout: settings.answer_timeout,
        limits: settings.limits,
    })
}

pub(super) fn json_headers(accept: &'static str, has_body: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    if has_body {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    headers
}

pub(super) fn json(surface: &str, content: &Content) -> Result<Value, TargetError> {
    serde_json::from_str(&content.text())
        .map_err(|error| TargetError::protocol(surface, format!("the answer is no JSON ({error})")))
}

/// A name for a conversation that no other has.
pub(super) fn session() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    canary(&format!("{}-{now}-{number}", std::process::id())).replace("canary-", "session-")
}
