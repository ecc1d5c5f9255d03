//! One agent, and what is played to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use sortie_trace::{ActorFailure, Direction, Kind};
use sortie_wire::http::{Answer, Client, ClientError, EventStream, Response};
use tokio_util::sync::CancellationToken;

use super::script::Script;
use crate::actor::{ActorState, Spoken};
use crate::modes::hold::Hold;
use crate::phase::ActorPhase;
use crate::run::RunOptions;
use sortie_evaluators::cases::excerpt;

/// One agent, and what is played to it.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) actor: Arc<ActorState>,
    /// One for each phase.
    pub(super) scripts: Vec<Script>,
    pub(super) hold: Arc<Hold>,
    pub(super) options: RunOptions,
    /// Cancelled when the target does not take what we send.
    pub(super) refused: CancellationToken,
    client: Client,
    url: String,
    runs: AtomicUsize,
}

/// What a run is answered with.
#[derive(Debug)]
pub(super) enum Events {
    /// As it happens.
    Stream(Box<EventStream>),
    /// All at once, since the target does not call it a stream.
    Whole(Bytes),
}

impl Stage {
    pub(super) fn new(
        actor: Arc<ActorState>,
        scripts: Vec<Script>,
        hold: Arc<Hold>,
        (client, url): (Client, String),
        options: RunOptions,
    ) -> Arc<Self> {
        let refused = CancellationToken::new();
        Arc::new(Self { actor, scripts, hold, options, refused, client, url, runs: AtomicUsize::new(0) })
    }

    /// A name of ours for the next run.
    pub(super) fn next_run(&self) -> String {
        format!("run-{}", self.runs.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Asks for a run. `None` when the answer is none, which is recorded: the actor cannot go on.
    pub(super) async fn ask(&self, phase: &Arc<ActorPhase>, connection: &str, body: &str) -> Option<Events> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let body = Bytes::copy_from_slice(body.as_bytes());
        let (status, body) = match self.client.post(&self.url, headers, body).await {
            Ok(Response { status, body: Answer::Events(events), .. }) if status.is_success() => {
                return Some(Events::Stream(events));
            }
            Ok(Response { status, body: Answer::Bytes(bytes), .. }) => (status, bytes),
            Ok(Response { status, .. }) => (status, Bytes::new()),
            Err(ClientError::Refused(reason)) => {
                return self
                    .refuse(ActorFailure::TargetRefused, &format!("the target is not there: {reason}"));
            }
            Err(error) => return self.refuse(ActorFailure::ProtocolError, &error.to_string()),
        };
        if status.is_success() && is_like_events(&body) {
            self.actor.warn("the target's events are not called `text/event-stream`");
            return Some(Events::Whole(body));
        }
        if !body.is_empty() {
            let kind = if status.is_success() { Kind::Response } else { Kind::Error };
            let spoken = answer(&["run_agent_input"], kind, connection, &body);
            self.hold.heard(self.actor.heard_in(phase, &[], spoken));
        }
        let shown = if body.is_empty() { String::new() } else { format!(": {}", excerpt(&body)) };
        if status.is_success() {
            return self
                .refuse(ActorFailure::ProtocolError, &format!("the answer is no stream of events{shown}"));
        }
        let redirect = if status.is_redirection() { ", which is not followed" } else { "" };
        let what = format!("the target answered with HTTP status {}{redirect}{shown}", status.as_u16());
        self.refuse(ActorFailure::TargetRefused, &what)
    }

    fn refuse(&self, word: ActorFailure, message: &str) -> Option<Events> {
        self.actor.failed(word, message);
        self.refused.cancel();
        None
    }
}

/// Whether a body begins as a stream of events does.
fn is_like_events(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    ["data:", "event:", "id:", "retry:", ":"].iter().any(|field| body.starts_with(field.as_bytes()))
}

/// Something that the agent says.
pub(super) fn answer<'s>(
    surfaces: &'s [&'s str],
    kind: Kind,
    connection: &'s str,
    bytes: &'s [u8],
) -> Spoken<'s> {
    Spoken { surfaces, direction: Direction::Response, kind, id: None, connection, bytes }
}

/// Something that we say.
pub(super) fn request<'s>(
    surfaces: &'s [&'s str],
    kind: Kind,
    connection: &'s str,
    bytes: &'s [u8],
) -> Spoken<'s> {
    Spoken { surfaces, direction: Direction::Request, kind, id: None, connection, bytes }
}
