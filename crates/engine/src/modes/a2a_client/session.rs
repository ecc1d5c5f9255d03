//! What is said to one agent, and what it answers: a response, an error, an item of a stream, or nothing that A2A knows.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use sortie_evaluators::cases::excerpt;
use sortie_trace::Kind;
use sortie_wire::a2a::{A2aClient, A2aRequest, AgentEndpoint, Fetched};
use sortie_wire::http::{Answer as Body, ClientError, EventStream, Response, StreamError};
use sortie_wire::jsonrpc::{self, Ids, Incoming};
use sortie_wire::{Limits, Lock};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::actor::{ActorState, Spoken, Working};
use crate::modes::ActorError;
use crate::modes::a2a_push::{Push, Webhook};
use crate::modes::client::{Hold, Step};
use crate::payload::WirePayload;
use crate::phase::ActorPhase;
use crate::run::RunOptions;

/// Our name for the agent: ids of requests are never given twice, so one will do.
const CONNECTION: &str = "http-1";
/// The operation that is not a method.
const CARD: &str = "agent_card/get";

#[derive(Debug)]
pub(super) struct Session {
    pub(super) actor: Arc<ActorState>,
    pub(super) hold: Arc<Hold>,
    /// Everything that is being asked.
    pub(super) tasks: TaskTracker,
    /// What agents say after they said that they were done.
    pub(super) tails: TaskTracker,
    /// There is no point in going on.
    pub(super) gone: CancellationToken,
    client: A2aClient,
    ids: Ids,
    /// Where messages go, once that is known.
    endpoint: Lock<Option<AgentEndpoint>>,
    push: Push,
    limits: Limits,
}

/// What a request and its answers have in common.
#[derive(Clone, Copy)]
struct Exchange<'e> {
    phase: &'e Arc<ActorPhase>,
    request: &'e A2aRequest,
    id: &'e Value,
    /// Nothing of the phase is unsent.
    is_last: bool,
}

impl Session {
    pub(super) fn new(actor: Arc<ActorState>, client: A2aClient, options: &RunOptions) -> Arc<Self> {
        Arc::new(Self {
            gone: actor.context().end.child_token(),
            actor,
            hold: Arc::default(),
            tasks: TaskTracker::new(),
            tails: TaskTracker::new(),
            client,
            ids: Ids::default(),
            endpoint: Lock::new(None),
            push: Push::new(&options.allow_hosts, options.limits),
            limits: options.limits,
        })
    }

    /// Carries out one action and hears all that comes of it, also when its phase is over meanwhile.
    pub(super) async fn act(self: &Arc<Self>, phase: &Arc<ActorPhase>, step: Step, is_last: bool) {
        let working = self.actor.working();
        let done = self.gone.run_until_cancelled(async {
            if step.method == CARD {
                self.card(phase, &[CARD]).await.map(drop)
            } else {
                self.call(phase, step, is_last, working).await
            }
        });
        if let Some(Err(ActorError { failure, message })) = done.await {
            self.actor.failed(failure, &message);
            self.gone.cancel();
        }
    }

    /// The entry action of A2A.
    pub(super) async fn notify(&self, phase: &Arc<ActorPhase>, action: &WirePayload) {
        self.gone
            .run_until_cancelled(self.push.send(&self.actor, phase, action, |_| Webhook::default()))
            .await;
    }

    /// Asks for the agent card. A card that a document asks for is an event; one that we need to find the agent is none.
    async fn card(&self, phase: &Arc<ActorPhase>, events: &[&str]) -> Result<Option<Bytes>, ActorError> {
        // A GET carries nothing.
        self.actor.said(phase, card(Kind::Request, b"{}"));
        let Fetched { url, status, body } = match self.client.card().await {
            Ok(fetched) => fetched,
            Err(error) => return self.unanswered(CARD, &error).map(|()| None),
        };
        let is_card = status.is_success() && Answer::read(&body, None, &self.limits).is_some();
        let kind = if is_card { Kind::Response } else { Kind::Error };
        let fires = if is_card { events } else { &[] };
        if !body.is_empty() {
            self.hold.heard(self.actor.heard_in(phase, fires, card(kind, &body)));
        }
        if is_card {
            self.follow(&body);
            return Ok(Some(body));
        }
        // Who only looks for the agent can do without its card.
        if events.is_empty() && matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) {
            return Ok(None);
        }
        Err(no_answer(&format!("{CARD} at {url}"), status, &body))
    }

    /// Goes where a card leads, on the host that the user named.
    fn follow(&self, card: &[u8]) {
        let endpoint = self.client.endpoint(Some(card));
        if let Some(card) = &endpoint.elsewhere {
            let (card, url) = (excerpt(card.as_bytes()), &endpoint.url);
            self.actor.warn(&format!("the card of the target leads to `{card}`, but messages still go to {url}: only `--target` names targets"));
        }
        *self.endpoint.lock() = Some(endpoint);
    }

    /// Where messages go, and in which version.
    async fn endpoint(&self, phase: &Arc<ActorPhase>) -> Result<AgentEndpoint, ActorError> {
        if let Some(known) = self.endpoint.lock().clone() {
            return Ok(known);
        }
        let (needs_card, needs_version) = (self.client.needs_card(), self.client.needs_version());
        if needs_card || needs_version {
            let read = self.card(phase, &[]).await;
            // Who knows where the agent is can do without its card.
            if needs_card {
                read?;
            }
        }
        let unknown = || self.client.endpoint(None);
        Ok(self.endpoint.lock().get_or_insert_with(unknown).clone())
    }

    async fn call(
        self: &Arc<Self>,
        phase: &Arc<ActorPhase>,
        step: Step,
        is_last: bool,
        working: Working,
    ) -> Result<(), ActorError> {
        let endpoint = self.endpoint(phase).await?;
        let request = A2aRequest::new(&step.method, step.params, endpoint.version);
        let id = self.ids.fresh();
        let message = jsonrpc::request(&id, &request.method, request.params.as_deref());
        let id: Value = serde_json::from_str(&id).unwrap_or_default();
        let exchange = Exchange { phase, request: &request, id: &id, is_last };
        self.actor.said(phase, spoken(exchange, &request.surfaces(), Kind::Request, &message));
        match self.client.call(&endpoint, request.streams(), message).await {
            Ok(Response { status, body: Body::Bytes(body), .. }) => self.whole(exchange, status, &body),
            Ok(Response { body: Body::Events(events), .. }) => self.stream(exchange, events, working).await,
            Err(error) => self.unanswered(&request.method, &error),
        }
    }

    /// An answer that came whole.
    fn whole(&self, exchange: Exchange<'_>, status: StatusCode, body: &[u8]) -> Result<(), ActorError> {
        match Answer::read(body, None, &self.limits) {
            Some(answer) if status.is_success() || answer.odd.is_none() => {
                self.hear(exchange, &answer, body);
                Ok(())
            }
            _ => {
                if !body.is_empty() {
                    self.hear_nothing(exchange, Kind::Error, body);
                }
                Err(no_answer(&exchange.request.method, status, body))
            }
        }
    }

    /// Items of a stream, until the one that is final. What follows that is heard too, and nobody waits for it.
    async fn stream(
        self: &Arc<Self>,
        exchange: Exchange<'_>,
        mut events: Box<EventStream>,
        working: Working,
    ) -> Result<(), ActorError> {
        let method = &exchange.request.method;
        let mut heard = false;
        while let Some(event) = events.next().await {
            match event {
                // An event without data says nothing.
                Ok(event) if event.data.is_empty() => {}
                Ok(event) => {
                    heard = true;
                    if self.item(exchange, &event.data) {
                        self.tail(exchange, events);
                        drop(working);
                        return Ok(());
                    }
                }
                Err(StreamError::TooLong(error)) => {
                    self.actor.warn(&format!("`{method}`: {error}, and is skipped"));
                }
                Err(StreamError::Broken(reason)) => {
                    return Err(ActorError::protocol(format!("`{method}`: the stream broke: {reason}")));
                }
            }
        }
        if heard {
            Ok(())
        } else {
            Err(ActorError::protocol(format!("`{method}` was answered with an empty stream")))
        }
    }

    /// Reads what an agent says after it said that it was done.
    fn tail(self: &Arc<Self>, exchange: Exchange<'_>, mut events: Box<EventStream>) {
        let Exchange { phase, request, id, is_last } = exchange;
        let (session, phase, request, id) = (self.clone(), phase.clone(), request.clone(), id.clone());
        let end = self.gone.clone();
        // Not one of `tasks`: an agent that never hangs up would keep us for ever.
        self.tails.spawn(async move {
            let exchange = Exchange { phase: &phase, request: &request, id: &id, is_last };
            end.run_until_cancelled(async {
                while let Some(Ok(event)) = events.next().await {
                    if !event.data.is_empty() {
                        session.item(exchange, &event.data);
                    }
                }
            })
            .await;
        });
    }

    /// Hears an item of a stream. Whether it is the final one.
    fn item(&self, exchange: Exchange<'_>, data: &[u8]) -> bool {
        if let Some(answer) = Answer::read(data, Some(exchange.request), &self.limits) {
            self.hear(exchange, &answer, data);
            return answer.is_final;
        }
        let method = &exchange.request.method;
        self.actor.warn(&format!("`{method}`: an item of the stream is not JSON: {}", excerpt(data)));
        self.hear_nothing(exchange, Kind::Event, data);
        false
    }

    fn hear(&self, exchange: Exchange<'_>, answer: &Answer, bytes: &[u8]) {
        let Exchange { phase, request, is_last, .. } = exchange;
        if let Some(odd) = &answer.odd {
            let method = &request.method;
            self.actor.warn(&format!("`{method}` was answered with something odd: {odd}"));
        }
        let mut surfaces = request.surfaces();
        surfaces.extend(answer.surface);
        let spoken = spoken(exchange, &surfaces, answer.kind, bytes);
        self.hold.heard(self.actor.heard_in(phase, &surfaces, spoken));
        if is_last {
            // The last action arrived, so what an earlier one fired need not wait for the end of a stream.
            self.hold.done(phase.index);
        }
    }

    /// Hears what says nothing to A2A: it is evidence, and no event.
    fn hear_nothing(&self, exchange: Exchange<'_>, kind: Kind, bytes: &[u8]) {
        let surfaces = exchange.request.surfaces();
        self.actor.heard_in(exchange.phase, &[], spoken(exchange, &surfaces, kind, bytes));
    }

    /// What it means that a request has no answer.
    fn unanswered(&self, method: &str, error: &ClientError) -> Result<(), ActorError> {
        match error {
            ClientError::TimedOut => {
                self.actor.warn(&format!("`{method}` was not answered in time"));
                Ok(())
            }
            ClientError::Refused(_) => Err(ActorError::refused(format!("`{method}`: {error}"))),
            _ => Err(ActorError::protocol(format!("`{method}`: {error}"))),
        }
    }
}

/// What HTTP says when A2A has nothing to say.
fn no_answer(method: &str, status: StatusCode, body: &[u8]) -> ActorError {
    let body = if body.is_empty() { "nothing".to_owned() } else { excerpt(body) };
    let message = format!("`{method}` was answered with HTTP status {}: {body}", status.as_u16());
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ActorError::refused(message),
        _ => ActorError::protocol(message),
    }
}

fn card(kind: Kind, bytes: &[u8]) -> Spoken<'_> {
    Spoken::new(&[CARD], kind, CONNECTION, bytes)
}

fn spoken<'s>(exchange: Exchange<'s>, surfaces: &'s [&'s str], kind: Kind, bytes: &'s [u8]) -> Spoken<'s> {
    Spoken { id: Some(exchange.id), ..Spoken::new(surfaces, kind, CONNECTION, bytes) }
}

#[derive(Debug, PartialEq, Eq)]
struct Answer {
    kind: Kind,
    /// `task/status` or `task/artifact`, when it is an update.
    surface: Option<&'static str>,
    /// Whether nothing of the stream follows it.
    is_final: bool,
    /// What is wrong with it, although it is JSON.
    odd: Option<String>,
}

impl Answer {
    /// Reads an answer; as an item of the stream that answers a request, or whole. `None` for what is not JSON at all.
    fn read(bytes: &[u8], streamed: Option<&A2aRequest>, limits: &Limits) -> Option<Self> {
        let whole = if streamed.is_some() { Kind::Event } else { Kind::Response };
        let plain = |kind| Self { kind, surface: None, is_final: false, odd: None };
        match jsonrpc::read(bytes, limits) {
            Ok(Incoming::Response { result, .. }) => Some(streamed.map_or(plain(whole), |request| {
                let update = serde_json::from_str(&request.result(result.get())).unwrap_or_default();
                Self { surface: surface(&update), is_final: is_final(&update), ..plain(whole) }
            })),
            Ok(Incoming::Error { .. }) => Some(Self { is_final: true, ..plain(Kind::Error) }),
            Ok(_) => Some(Self { odd: Some("it is not a response".to_owned()), ..plain(whole) }),
            Err(error) => {
                let is_json = serde_json::from_slice::<&serde_json::value::RawValue>(bytes).is_ok();
                is_json.then(|| Self { odd: Some(error.message()), ..plain(whole) })
            }
        }
    }
}

/// What of a result says which kind of item it is.
#[derive(Default, Deserialize)]
struct Update {
    #[serde(default)]
    kind: Value,
    #[serde(default, rename = "final")]
    is_final: Value,
}

fn surface(update: &Update) -> Option<&'static str> {
    match update.kind.as_str()? {
        "status-update" => Some("task/status"),
        "artifact-update" => Some("task/artifact"),
        _ => None,
    }
}

/// The status update that says so is the last item, and so is a message, which stands alone.
fn is_final(update: &Update) -> bool {
    update.is_final == true || update.kind == "message"
}

#[cfg(test)]
mod tests {
    use sortie_wire::a2a::A2aVersion;

    use super::*;

    fn read(json: &str, in_stream: bool) -> Option<Answer> {
        let request = A2aRequest::new("message/stream", None, A2aVersion::V0_3);
        Answer::read(json.as_bytes(), in_stream.then_some(&request), &Limits::default())
    }

    fn item(result: &str) -> Answer {
        read(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#), true).unwrap()
    }

    #[test]
    fn items_of_a_stream_are_known_by_their_kind() {
        let update = item(r#"{"kind":"status-update","final":false}"#);
        assert_eq!((update.kind, update.surface, update.is_final), (Kind::Event, Some("task/status"), false));
        let last = item(r#"{"kind":"status-update","final":true}"#);
        assert!(last.is_final);
        assert_eq!(item(r#"{"kind":"artifact-update"}"#).surface, Some("task/artifact"));
        let message = item(r#"{"kind":"message"}"#);
        assert_eq!((message.surface, message.is_final), (None, true));
        for odd in ["[]", "1", "null", r#"{"kind":5,"final":"yes"}"#] {
            let odd = item(odd);
            assert_eq!((odd.kind, odd.surface, odd.is_final), (Kind::Event, None, false));
        }
    }

    #[test]
    fn items_of_1_0_are_known_by_the_member_around_them() {
        let request = A2aRequest::new("message/stream", None, A2aVersion::V1_0);
        let item = |result: &str| {
            let item = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
            Answer::read(item.as_bytes(), Some(&request), &Limits::default()).unwrap()
        };
        let update = item(r#"{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}"#);
        assert_eq!((update.surface, update.is_final), (Some("task/status"), false));
        let last = item(r#"{"statusUpdate":{"status":{"state":"TASK_STATE_FAILED"}}}"#);
        assert_eq!((last.surface, last.is_final), (Some("task/status"), true));
        assert_eq!(item(r#"{"artifactUpdate":{}}"#).surface, Some("task/artifact"));
        assert!(item(r#"{"message":{}}"#).is_final);
    }

    #[test]
    fn an_error_is_an_answer_and_what_is_no_response_is_odd() {
        let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001}}"#;
        assert_eq!(read(error, false).unwrap().kind, Kind::Error);
        assert_eq!(read(error, true).unwrap().kind, Kind::Error);
        for odd in [r#"{"id":1,"result":{}}"#, "[]", "5", r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#] {
            assert!(read(odd, false).unwrap().odd.is_some(), "{odd}");
        }
        assert_eq!(read("<html>", false), None);
        assert_eq!(read("", false), None);
    }
}
