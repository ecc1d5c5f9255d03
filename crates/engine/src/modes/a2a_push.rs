//! Push notifications: requests of our own, to where a document says.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use sortie_trace::Kind;
use sortie_wire::Limits;
use sortie_wire::a2a::NOTIFICATION_TOKEN;
use sortie_wire::http::{Answer, Client, ClientError, ClientOptions, Response, is_loopback};
use url::Url;

use crate::actor::{ActorState, Spoken};
use crate::payload::WirePayload;
use crate::phase::ActorPhase;

pub(crate) const ACTION: &str = "send_push_notification";
/// The operation that a push notification belongs to: A2A has no name for it, since it is a plain POST.
pub(crate) const SURFACE: &str = "tasks/pushNotification";

/// Sends push notifications, to this machine and to hosts that the user allows.
#[derive(Debug)]
pub(crate) struct Push {
    allowed: Vec<String>,
    limits: Limits,
    /// Made when it is first needed: it reads certificates.
    client: OnceLock<Result<Client, ClientError>>,
    sent: AtomicU64,
}

/// What a webhook wants to see.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Webhook {
    /// The token that its client gave.
    pub(crate) token: Option<String>,
    pub(crate) authorization: Option<String>,
}

/// Why a push notification is not delivered.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum PushError {
    #[error("it has no `url`")]
    NoUrl,
    #[error("`{url}` is not a URL: {source}")]
    BadUrl { url: String, source: url::ParseError },
    #[error("`{url}` is not an address of HTTP")]
    NotHttp { url: String },
    #[error("`{host}` is not this machine, and --allow-host does not name it")]
    NotAllowed { host: String },
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("it was answered with status {0}")]
    Status(StatusCode),
}

impl Push {
    pub(crate) fn new(allowed: &[String], limits: Limits) -> Self {
        let allowed = allowed.iter().map(|host| host.trim_end_matches('.').to_ascii_lowercase()).collect();
        Self { allowed, limits, client: OnceLock::new(), sent: AtomicU64::new(0) }
    }

    /// Carries out an entry action: posts its payload, if it may go there. What becomes of it is recorded, or a warning.
    pub(crate) async fn send(
        &self,
        actor: &Arc<ActorState>,
        phase: &Arc<ActorPhase>,
        action: &WirePayload,
        webhook: impl FnOnce(&str) -> Webhook,
    ) {
        let _working = actor.working();
        let sent = async {
            let url = action.value().get("url").and_then(Value::as_str).ok_or(PushError::NoUrl)?;
            self.check(url)?;
            let payload =
                action.get("payload").map_or_else(|| "null".to_owned(), |payload| payload.text().to_owned());
            self.post(actor, phase, url, webhook(url), payload).await
        };
        if let Err(why) = sent.await {
            actor.warn(&format!("the push notification of phase `{}` is not delivered: {why}", phase.name));
        }
    }

    fn check(&self, url: &str) -> Result<(), PushError> {
        let parsed = Url::parse(url).map_err(|source| PushError::BadUrl { url: url.to_owned(), source })?;
        let host = parsed.host_str().unwrap_or_default().trim_end_matches('.');
        if !matches!(parsed.scheme(), "http" | "https") || host.is_empty() {
            return Err(PushError::NotHttp { url: url.to_owned() });
        }
        if is_loopback(&parsed) || self.allowed.iter().any(|allowed| allowed == host) {
            return Ok(());
        }
        Err(PushError::NotAllowed { host: host.to_owned() })
    }

    async fn post(
        &self,
        actor: &Arc<ActorState>,
        phase: &Arc<ActorPhase>,
        url: &str,
        webhook: Webhook,
        payload: String,
    ) -> Result<(), PushError> {
        let options = ClientOptions { limits: self.limits, ..ClientOptions::default() };
        let client = self.client.get_or_init(|| Client::new(options)).as_ref().map_err(ClientError::clone)?;
        let connection = format!("push-{}", self.sent.fetch_add(1, Ordering::Relaxed) + 1);
        let payload = Bytes::from(payload);
        actor.said(phase, Spoken::new(&[SURFACE], Kind::Notification, &connection, &payload));
        let mut headers = HeaderMap::new();
        let mut add = |name: &'static str, value: Option<String>| {
            // A token that no header can hold is left out; the webhook says what it thinks of that.
            if let Some(value) = value.and_then(|value| value.parse().ok()) {
                headers.insert(name, value);
            }
        };
        add("content-type", Some("application/json".to_owned()));
        add(NOTIFICATION_TOKEN, webhook.token);
        add("authorization", webhook.authorization);
        let Response { status, body, .. } = client.post(url, headers, payload).await?;
        if let Answer::Bytes(body) = body
            && !body.is_empty()
        {
            actor.heard_in(phase, &[], Spoken::new(&[SURFACE], Kind::Response, &connection, &body));
        }
        if status.is_success() { Ok(()) } else { Err(PushError::Status(status)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_go_to_this_machine_and_where_the_user_allows() {
        let push = Push::new(&["Hooks.Example.".to_owned()], Limits::default());
        let fine = "http://127.0.0.1:1/x https://localhost/ http://[::1]:2/ http://hooks.example:8/y \
            http://HOOKS.example./";
        for fine in fine.split_whitespace() {
            assert_eq!(push.check(fine), Ok(()), "{fine}");
        }
        let foreign = "http://evil.example/ http://127.0.0.1.evil.example/ http://hooks.example@evil.example/ \
            http://sub.hooks.example/ http://0.0.0.0/ file:///etc/passwd ftp://127.0.0.1/ /relative";
        for foreign in foreign.split_whitespace().chain([""]) {
            assert!(push.check(foreign).is_err(), "{foreign}");
        }
    }
}
