//! The agent, between its listener and its actor.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;
use sortie_trace::{ActorFailure, Kind};
use sortie_wire::Limits;
use sortie_wire::a2a::{self, AgentReply, AgentService, Caller, code};
use sortie_wire::http::{BodyError, Hosts};
use sortie_wire::jsonrpc::{self, Incoming};
use url::Url;

use super::answers::{Answer, Desk, Plan, Question};
use super::card;
use crate::actor::{ActorState, Entered, EntryAction, HeardMessage, Spoken};
use crate::modes::a2a_push::{self, Push};
use crate::modes::{ActorError, Serving, reachable, read_phases};
use crate::phase::ActorPhase;
use crate::run::RunOptions;

const INVALID_REQUEST: i64 = -32600;

/// Begins to serve an actor: listens, enters the first phase, and answers until the run ends.
pub async fn start(actor: Arc<ActorState>, options: &RunOptions) -> Result<Serving, ActorError> {
    let plans = read_phases(&actor, Plan::new)?;
    let listener = options.bind(actor.name()).await?;
    let url = format!("http://{}/", reachable(listener.address()));
    let base = Url::parse(&url).map_err(|error| ActorError::bind(&url, &error))?;
    let hosts = if options.public && options.hosts.is_empty() {
        Hosts::any()
    } else {
        Hosts::loopback_plus(&options.hosts)
    };
    let (limits, end) = (options.limits, actor.context().end.clone());
    let push = Push::new(&options.allow_hosts, limits);
    let verbatim_card = options.verbatim_card;
    let server = Arc::new(Server {
        actor: actor.clone(),
        plans,
        desk: Desk::default(),
        base,
        push,
        limits,
        verbatim_card,
    });
    actor.context().recorder.listening(actor.name(), &url);
    let weak = Arc::downgrade(&server);
    actor.begin(move |entered| {
        if let Some(server) = weak.upgrade() {
            server.entered(entered);
        }
    });
    let done = tokio::spawn(async move {
        let counts = a2a::serve(listener, server.clone(), hosts, limits, end).await;
        if counts.panics > 0 {
            server.actor.failed(
                ActorFailure::Internal,
                &format!("{} requests were not answered, which is a fault of ours", counts.panics),
            );
        }
    });
    Ok(Serving { url, done })
}

#[derive(Debug)]
struct Server {
    actor: Arc<ActorState>,
    plans: Vec<Plan>,
    desk: Desk,
    base: Url,
    push: Push,
    limits: Limits,
    verbatim_card: bool,
}

/// What the answers to one request have in common.
#[derive(Clone, Copy)]
struct Exchange<'e> {
    phase: &'e ActorPhase,
    surfaces: &'e [&'e str],
    /// As it stands in the request, and as a value.
    id: Option<(&'e str, &'e Value)>,
    connection: &'e str,
}

impl Server {
    /// Entry actions take time, and nobody waits for them.
    fn entered(self: &Arc<Self>, Entered { phase, actions }: Entered) {
        for action in actions {
            match action {
                EntryAction::Other { key, value } if key == a2a_push::ACTION => {
                    let (server, phase) = (self.clone(), phase.clone());
                    let working = self.actor.working();
                    tokio::spawn(async move {
                        let webhook = |url: &str| server.desk.webhook(url);
                        server.push.send(&server.actor, &phase, &value, webhook).await;
                        drop(working);
                    });
                }
                EntryAction::Other { key, .. } => {
                    self.actor.warn(&format!("phase `{}`: `{key}` is no action of A2A, and is left out", phase.name));
                }
                EntryAction::Send { method, .. } => self.actor.warn(&format!(
                    "phase `{}`: `send` of `{method}` is left out: an A2A agent only answers, or sends push notifications",
                    phase.name
                )),
            }
        }
    }

    /// The card that a phase serves to whoever found us under that host.
    fn served_card(&self, phase: &ActorPhase, params: &Value, host: Option<&str>) -> Option<String> {
        let filled = self.actor.fill(&self.plans[phase.index].card, Some(params), None).ok()?.into_owned();
        if self.verbatim_card {
            return Some(filled);
        }
        let found = host.and_then(|host| Url::parse(&format!("http://{host}/")).ok());
        let (json, replaced) = card::leading_here(filled, found.as_ref().unwrap_or(&self.base));
        for url in replaced {
            let host =
                Url::parse(&url).ok().and_then(|url| url.host_str().map(ToOwned::to_owned)).unwrap_or(url);
            self.actor.warn(&format!(
                "the agent card names `{host}`, which is not ours; it is served with {} in its place",
                self.base
            ));
        }
        Some(json)
    }

    fn request(
        &self,
        caller: Caller<'_>,
        body: &Bytes,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) -> AgentReply {
        let connection = connection(caller);
        let id_value: Value = serde_json::from_str(id.get()).unwrap_or_default();
        let surfaces = &[method][..];
        let spoken = Spoken::new(surfaces, Kind::Request, &connection, body);
        let heard = self.actor.heard(surfaces, Spoken { id: Some(&id_value), ..spoken });
        let exchange = Exchange {
            phase: &heard.phase,
            surfaces,
            id: Some((id.get(), &id_value)),
            connection: &connection,
        };
        match self.answer(&heard, caller, method, params) {
            Answer::Result(result) => {
                AgentReply::Json(self.say(exchange, Kind::Response, jsonrpc::result(id.get(), &result)))
            }
            Answer::Stream(items) => {
                let events = items.into_iter().map(|item| {
                    let also = [method, item.surface.unwrap_or_default()];
                    let surfaces = if item.surface.is_some() { &also[..] } else { surfaces };
                    let event = jsonrpc::result(id.get(), &item.result);
                    self.say(Exchange { surfaces, ..exchange }, Kind::Event, event)
                });
                AgentReply::Events(events.collect())
            }
            Answer::Error { code, message, streams } => {
                let error = self.refuse(exchange, code, message);
                // Clients that want a stream do not look at anything else.
                if streams { AgentReply::Events(vec![error]) } else { AgentReply::Json(error) }
            }
        }
    }

    fn answer(
        &self,
        heard: &HeardMessage,
        caller: Caller<'_>,
        method: &str,
        raw: Option<&RawValue>,
    ) -> Answer {
        let params = &heard.content;
        if method == "agent/getAuthenticatedExtendedCard" {
            let failed =
                Answer::Error { code: code::INTERNAL_ERROR, message: "Internal error", streams: false };
            return self.served_card(&heard.phase, params, caller.host).map_or(failed, Answer::Result);
        }
        self.desk.answer(&self.actor, &self.plans[heard.phase.index], Question { method, params, raw })
    }

    /// Hears what is no request; there is nothing to it but that it was said.
    fn hear_other(&self, caller: Caller<'_>, body: &Bytes, surfaces: &[&str], kind: Kind) -> HeardMessage {
        self.actor.heard(surfaces, Spoken::new(surfaces, kind, &connection(caller), body))
    }

    /// Records an answer, which is then as good as given.
    fn say(&self, exchange: Exchange<'_>, kind: Kind, bytes: Bytes) -> Bytes {
        let Exchange { phase, surfaces, id, connection } = exchange;
        let spoken = Spoken::new(surfaces, kind, connection, &bytes);
        self.actor.said(phase, Spoken { id: id.map(|(_, id)| id), ..spoken });
        bytes
    }

    fn refuse(&self, exchange: Exchange<'_>, code: i64, message: &str) -> Bytes {
        let id = exchange.id.map(|(id, _)| id);
        self.say(exchange, Kind::Error, jsonrpc::error(id, code, message, None))
    }
}

impl AgentService for Server {
    fn card(&self, caller: Caller<'_>) -> Bytes {
        // A GET carries nothing.
        let nothing = Bytes::from_static(b"{}");
        let surfaces = &["agent_card/get"];
        let heard = self.hear_other(caller, &nothing, surfaces, Kind::Request);
        let card = self.served_card(&heard.phase, &heard.content, caller.host);
        let connection = connection(caller);
        let exchange = Exchange { phase: &heard.phase, surfaces, id: None, connection: &connection };
        self.say(exchange, Kind::Response, Bytes::from(card.unwrap_or_else(|| "{}".to_owned())))
    }

    async fn message(self: &Arc<Self>, caller: Caller<'_>, body: &Bytes) -> AgentReply {
        let malformed = match jsonrpc::read(body, &self.limits) {
            Ok(Incoming::Request { id, method, params }) => {
                return self.request(caller, body, &id, &method, params.as_deref());
            }
            Ok(Incoming::Notification { method, .. }) => {
                self.hear_other(caller, body, &[&method], Kind::Notification);
                return AgentReply::Nothing;
            }
            Ok(Incoming::Response { .. } | Incoming::Error { .. } | Incoming::Batch(_)) => None,
            Err(malformed) => Some(malformed),
        };
        let heard = self.hear_other(caller, body, &[], Kind::Request);
        let connection = connection(caller);
        let exchange = Exchange { phase: &heard.phase, surfaces: &[], id: None, connection: &connection };
        AgentReply::Json(match malformed {
            Some(malformed) => self.say(exchange, Kind::Error, malformed.answer()),
            // A2A has no batches, and nothing is asked of a client that it could answer.
            None => self.refuse(exchange, INVALID_REQUEST, "Invalid Request"),
        })
    }

    fn unreadable(&self, caller: Caller<'_>, error: &BodyError) -> Bytes {
        self.actor.warn(&format!("a request could not be read: {error}"));
        let phase = self.actor.phase();
        let connection = connection(caller);
        let exchange = Exchange { phase: &phase, surfaces: &[], id: None, connection: &connection };
        self.refuse(exchange, INVALID_REQUEST, &error.to_string())
    }
}

fn connection(caller: Caller<'_>) -> String {
    format!("http-{}", caller.connection)
}
