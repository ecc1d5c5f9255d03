//! The agent, between its listener and its actor.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;
use sortie_trace::{ActorFailure, Kind};
use sortie_wire::Limits;
use sortie_wire::a2a::{
    self, A2aVersion, AgentReply, AgentService, Caller, Operation, card_leading_here, code, complete_card,
    error_details, has_extended_card,
};
use sortie_wire::http::{BodyError, Hosts};
use sortie_wire::jsonrpc::{self, Incoming};
use url::Url;

use super::answers::{Answer, Desk, Plan, Question};
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
    let (verbatim_card, version) = (options.verbatim_card, options.a2a_version);
    let server = Arc::new(Server {
        actor: actor.clone(),
        plans,
        desk: Desk::default(),
        base,
        push,
        limits,
        verbatim_card,
        version,
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
    /// The only version that is spoken; both where there is none.
    version: Option<A2aVersion>,
}

/// What the answers to one request have in common.
#[derive(Clone, Copy)]
struct Exchange<'e> {
    phase: &'e ActorPhase,
    surfaces: &'e [&'e str],
    /// As it stands in the request, and as a value.
    id: Option<(&'e str, &'e Value)>,
    connection: &'e str,
    /// What is asked for, when it is asked for in the words of 1.0.
    operation: Option<&'static Operation>,
}

impl<'e> Exchange<'e> {
    /// What is not a request, and so is not answered in anybody's words.
    fn nameless(phase: &'e ActorPhase, connection: &'e str) -> Self {
        Self { phase, surfaces: &[], id: None, connection, operation: None }
    }

    fn version(&self) -> A2aVersion {
        if self.operation.is_some() { A2aVersion::V1_0 } else { A2aVersion::V0_3 }
    }

    /// A JSON-RPC response with a result of a document, in the words of who asks.
    fn response(&self, result: &str) -> Bytes {
        let id = self.id.map_or("null", |(id, _)| id);
        match self.operation {
            Some(operation) => jsonrpc::result(id, &operation.result(A2aVersion::V1_0, result)),
            None => jsonrpc::result(id, result),
        }
    }
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
                    self.actor.warn(&format!("phase `{}`: `{key}` is not an action of A2A, and is left out", phase.name));
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
        let (json, replaced) = card_leading_here(filled, found.as_ref().unwrap_or(&self.base));
        for url in replaced {
            let host =
                Url::parse(&url).ok().and_then(|url| url.host_str().map(ToOwned::to_owned)).unwrap_or(url);
            self.actor.warn(&format!(
                "the agent card names `{host}`, which is not ours; it is served with {} in its place",
                self.base
            ));
        }
        Some(match self.version {
            Some(A2aVersion::V0_3) => json,
            _ => complete_card(&json, A2aVersion::V1_0),
        })
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
        let operation = Operation::of_method(method).filter(|_| self.version != Some(A2aVersion::V0_3));
        let names = [operation.map_or(method, |operation| operation.surface), method];
        let surfaces = if operation.is_some() { &names[..] } else { &names[..1] };
        let spoken = Spoken::new(surfaces, Kind::Request, &connection, body);
        let heard = self.actor.heard(surfaces, Spoken { id: Some(&id_value), ..spoken });
        let exchange = Exchange {
            phase: &heard.phase,
            surfaces,
            id: Some((id.get(), &id_value)),
            connection: &connection,
            operation,
        };
        match self.answer(&heard, caller, exchange, params) {
            Answer::Result(result) => {
                AgentReply::Json(self.say(exchange, Kind::Response, exchange.response(&result)))
            }
            Answer::Stream(items) => {
                let events = items.into_iter().map(|item| {
                    let surfaces: Vec<&str> = surfaces.iter().copied().chain(item.surface).collect();
                    let event = exchange.response(&item.result);
                    self.say(Exchange { surfaces: &surfaces, ..exchange }, Kind::Event, event)
                });
                AgentReply::Events(events.collect())
            }
            Answer::Error { code, message, streams } => {
                let error = self.refuse(exchange, code, message);
                // Clients of 0.3 that want a stream do not look at anything else.
                if streams && operation.is_none() {
                    AgentReply::Events(vec![error])
                } else {
                    AgentReply::Json(error)
                }
            }
        }
    }

    fn answer(
        &self,
        heard: &HeardMessage,
        caller: Caller<'_>,
        exchange: Exchange<'_>,
        raw: Option<&RawValue>,
    ) -> Answer {
        let params = &heard.content;
        let refused = |code, message| Answer::Error { code, message, streams: false };
        if caller.version.is_some_and(|version| A2aVersion::parse(version).is_none()) {
            return refused(code::VERSION_NOT_SUPPORTED, "Protocol version not supported: 0.3 and 1.0 are");
        }
        if self.version.is_some_and(|version| version != exchange.version()) {
            return refused(code::METHOD_NOT_FOUND, "Method not found");
        }
        let method = exchange.surfaces[0];
        if method == "agent/getAuthenticatedExtendedCard" {
            let card = self.served_card(&heard.phase, params, caller.host);
            return match card {
                Some(card) if exchange.operation.is_some() && !has_extended_card(&card) => {
                    refused(code::UNSUPPORTED_OPERATION, "There is no extended agent card")
                }
                Some(card) => Answer::Result(card),
                None => refused(code::INTERNAL_ERROR, "Internal error"),
            };
        }
        let version = exchange.version();
        let raw = raw.map(|raw| {
            exchange.operation.map_or_else(
                || raw.get().to_owned(),
                |operation| operation.params(A2aVersion::V0_3, raw.get()),
            )
        });
        let question = Question { method, params, raw: raw.as_deref(), version };
        self.desk.answer(&self.actor, &self.plans[heard.phase.index], question)
    }

    /// Hears what is not a request; there is nothing to it but that it was said.
    fn hear_other(&self, caller: Caller<'_>, body: &Bytes, surfaces: &[&str], kind: Kind) -> HeardMessage {
        self.actor.heard(surfaces, Spoken::new(surfaces, kind, &connection(caller), body))
    }

    /// Records an answer, which is then as good as given.
    fn say(&self, exchange: Exchange<'_>, kind: Kind, bytes: Bytes) -> Bytes {
        let Exchange { phase, surfaces, id, connection, .. } = exchange;
        let spoken = Spoken::new(surfaces, kind, connection, &bytes);
        self.actor.said(phase, Spoken { id: id.map(|(_, id)| id), ..spoken });
        bytes
    }

    fn refuse(&self, exchange: Exchange<'_>, code: i64, message: &str) -> Bytes {
        let id = exchange.id.map(|(id, _)| id);
        let details = exchange.operation.and_then(|_| error_details(code));
        self.say(exchange, Kind::Error, jsonrpc::error(id, code, message, details.as_deref()))
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
        let exchange = Exchange { surfaces, ..Exchange::nameless(&heard.phase, &connection) };
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
        let exchange = Exchange::nameless(&heard.phase, &connection);
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
        let exchange = Exchange::nameless(&phase, &connection);
        self.refuse(exchange, INVALID_REQUEST, &error.to_string())
    }
}

fn connection(caller: Caller<'_>) -> String {
    format!("http-{}", caller.connection)
}
