//! A call during which something is said.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use sortie_trace::Kind;
use sortie_wire::jsonrpc::{self, id_key};
use sortie_wire::mcp::server::{Outlet, Unsent};
use tokio::sync::oneshot;

use super::announce::is_notification;
use super::callable::Entry;
use super::dispatch::{Plan, Refusal};
use super::modern::{self, Round};
use super::peer::Peer;
use super::reception::Asking;
use super::server::Server;
use super::step::Step;
use crate::actor::HeardMessage;
use crate::payload::TooLarge;
use sortie_wire::mcp::revision;

/// How long a client may take to answer what it does not say it can. Most refuse at once; some ignore it.
const UNDECLARED: Duration = Duration::from_secs(5);

pub(super) struct Call {
    pub(super) server: Arc<Server>,
    pub(super) peer: Arc<Peer>,
    /// The phase goes on until the call is answered.
    pub(super) heard: HeardMessage,
    pub(super) asking: Asking,
    pub(super) questions: Vec<usize>,
}

impl Call {
    /// Does what comes before the answer, and then answers, unless the client cancels it.
    pub(super) async fn talk(self, outlet: Outlet) {
        let _working = (self.server.actor.working(), self.peer.actor.working());
        let Ok(_turn) = self.server.talks.clone().try_acquire_owned() else {
            self.answer(&outlet, Err(Refusal::new(-32603, "too many calls at once")));
            return;
        };
        let id = id_key(self.asking.id.get());
        let cancelled = self.peer.runs(&id);
        let answer = tokio::select! {
            biased;
            () = cancelled.cancelled() => None,
            () = self.server.actor.context().end.cancelled() => None,
            // Without sessions nobody can come back, and to hang up is to cancel.
            () = outlet.abandoned(), if self.asking.modern => None,
            answer = self.converse(&outlet) => Some(answer),
        };
        self.peer.ran(&id);
        match answer {
            None => outlet.hang_up(),
            Some(answer) => self.answer(&outlet, answer),
        }
    }

    fn answer(&self, outlet: &Outlet, answer: Result<Bytes, Refusal>) {
        let (kind, bytes) = match answer {
            Ok(bytes) => (Kind::Response, bytes),
            Err(refusal) => (Kind::Error, self.asking.refused(&refusal)),
        };
        self.asking.said(&self.peer, &self.heard, kind, &bytes);
        // A client that has gone does not hear it; it was answered.
        let _ = outlet.answer(bytes);
    }

    async fn converse(&self, outlet: &Outlet) -> Result<Bytes, Refusal> {
        if self.peer.standalone().is_none() && outlet.is_open() {
            self.server.say_unsaid(&self.peer, outlet);
        }
        let plan = self.server.plan(&self.heard.phase);
        let entry = self.entry(plan);
        let result = if self.asking.modern {
            match self.modern_round(plan, entry, outlet).await? {
                Round::Ask(result) => result,
                Round::Answer(response) => {
                    let result = self.result(plan, entry, response.as_ref())?;
                    modern::completed(&self.asking.method, result.into(), &plan.cache).into_owned()
                }
            }
        } else {
            let response = self.steps(plan, entry, outlet).await?;
            self.result(plan, entry, response.as_ref())?
        };
        Ok(jsonrpc::result(self.asking.id.get(), &result))
    }

    /// The answer that was chosen when the call came.
    fn entry<'p>(&self, plan: &'p Plan) -> Option<&'p Entry> {
        let params = &self.heard.content;
        let callable = plan.callables(&self.asking.method).get(params.get("name")?.as_str()?)?;
        callable.choose(params).ok().flatten()
    }

    fn result(
        &self,
        plan: &Plan,
        entry: Option<&Entry>,
        response: Option<&Value>,
    ) -> Result<String, TooLarge> {
        let Some(entry) = entry else { return Ok(plan.callables(&self.asking.method).what.nothing()) };
        let (actor, request) = (&self.peer.actor, Some(&self.heard.content));
        match entry.synthesis.as_ref().and_then(|wanted| wanted.generate(actor, request)) {
            Some(generated) => Ok(generated),
            None => Ok(actor.fill(&entry.result, request, response)?.into_owned()),
        }
    }

    /// Asks the questions and takes the steps, in order. Gives what the client answered last.
    async fn steps(
        &self,
        plan: &Plan,
        entry: Option<&Entry>,
        outlet: &Outlet,
    ) -> Result<Option<Value>, Refusal> {
        let mut response = None;
        for question in &self.questions {
            if let Some(params) = self.question(plan, *question, response.as_ref())? {
                response = self.ask(outlet, "elicitation/create", Some(&params)).await.or(response);
            }
        }
        for step in entry.iter().flat_map(|entry| &entry.during) {
            match step {
                Step::Wait(time) => tokio::time::sleep(*time).await,
                Step::Disconnect(retry) => outlet.pause(*retry),
                Step::Send { method, params } => {
                    let params = match params {
                        None => None,
                        Some(params) => {
                            let request = &self.heard.content;
                            match params.fill(&self.peer.actor, request, response.as_ref())? {
                                None => continue,
                                filled => filled,
                            }
                        }
                    };
                    if is_notification(method) {
                        self.notify(outlet, method, params.as_deref());
                    } else {
                        response = self.ask(outlet, method, params.as_deref()).await.or(response);
                    }
                }
            }
        }
        Ok(response)
    }

    /// The params of a question, with an id where it needs one.
    pub(super) fn question(
        &self,
        plan: &Plan,
        index: usize,
        response: Option<&Value>,
    ) -> Result<Option<String>, TooLarge> {
        let elicitation = &plan.elicitations[index];
        let recent = self.asking.modern
            || self.peer.version().is_some_and(|version| version.as_str() >= revision::LATEST);
        let params = elicitation.params(recent).fill(&self.peer.actor, &self.heard.content, response)?;
        Ok(params.map(|params| {
            if !elicitation.needs_id() {
                return params;
            }
            let rest = params.trim_start_matches('{');
            format!("{{\"elicitationId\":\"elicitation-{}\",{rest}", self.server.ids.fresh())
        }))
    }

    pub(super) fn notify(&self, outlet: &Outlet, method: &str, params: Option<&str>) {
        let Some(outlet) = self.outlet(outlet) else {
            self.warn_unheard(method);
            return;
        };
        Server::notify(&self.peer, &self.heard.phase, method, params, &outlet);
    }

    /// Asks the client, and waits for its answer: its result, or its error.
    async fn ask(&self, outlet: &Outlet, method: &str, params: Option<&str>) -> Option<Value> {
        let Some(outlet) = self.outlet(outlet) else {
            self.warn_unheard(method);
            return None;
        };
        let (sender, answer) = oneshot::channel();
        let message = self.server.question(&self.peer, &self.heard.phase, method, params, Some(sender));
        if outlet.say(message) == Err(Unsent::Gone) {
            return None;
        }
        let patience = self.server.options.patience;
        // A hostile server asks whoever is there; it only does not wait long for one that did not offer to answer.
        let declared = modern::capability(method).is_none_or(|capability| self.peer.can(capability));
        let patience = if declared { patience } else { patience.min(UNDECLARED) };
        let Ok(answer) = tokio::time::timeout(patience, answer).await else {
            let warning = format!("a client did not answer `{method}` in time: the call goes on without");
            self.peer.actor.warn(&warning);
            return None;
        };
        answer.ok()
    }

    /// Where something can be said: on the stream of the call, else where the client listens anyway.
    fn outlet(&self, outlet: &Outlet) -> Option<Outlet> {
        if outlet.is_stream() { Some(outlet.clone()) } else { self.peer.standalone() }
    }

    fn warn_unheard(&self, method: &str) {
        self.peer.actor.warn(&format!("a client takes no stream, so `{method}` is not sent"));
    }
}
