//! What the server says unasked: the entry actions of its phases, to sessions and to the streams of `subscriptions/listen`
//! (2026-07-28).

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sortie_trace::Kind;
use sortie_wire::Members;
use sortie_wire::jsonrpc::{self, id_key};
use sortie_wire::mcp::server::{Outlet, Transport};

use super::dispatch::Refusal;
use super::peer::{Asked, Peer, Unsaid};
use super::server::Server;
use super::talk::Call;
use crate::actor::{ActorState, Entered, EntryAction};
use crate::phase::ActorPhase;

/// How much waits for the first peer.
const MOST_WAITING: usize = 64;

impl Server {
    /// Does what a phase does on entry. It runs while the actor is locked, so it only says things.
    pub(super) fn announce(self: &Arc<Self>, actor: &Arc<ActorState>, entered: Entered) {
        for action in entered.actions {
            match action {
                EntryAction::Send { method, params } => {
                    let params = params.map(|params| params.text().to_owned());
                    self.spread(actor, Unsaid { phase: entered.phase.clone(), method, params });
                }
                EntryAction::Other { key, .. } => {
                    actor.warn(&format!("MCP has no entry action `{key}`: it is skipped"));
                }
            }
        }
    }

    /// Says something to everyone who is there, or else to the first who comes.
    fn spread(&self, actor: &Arc<ActorState>, unsaid: Unsaid) {
        let mut reached = false;
        if Arc::ptr_eq(actor, &self.actor) {
            let subscriptions = self.subscriptions.lock().clone();
            for subscription in subscriptions.iter().filter(|subscription| subscription.wants(&unsaid)) {
                subscription.say(&unsaid);
                reached = true;
            }
        }
        for peer in self.audience(actor) {
            if peer.keep(unsaid.clone()) {
                actor.warn("a client reads nothing: what waits for it longest is not sent");
            }
            self.flush(&peer);
            reached = true;
        }
        if !reached {
            let mut waiting = self.waiting.lock();
            waiting.push_back(unsaid);
            if waiting.len() > MOST_WAITING {
                waiting.pop_front();
                drop(waiting);
                actor.warn("no client is connected: the oldest queued message is dropped");
            }
        }
    }

    /// A peer is past its handshake: it hears what waited for someone.
    pub(super) fn welcome(&self, peer: &Arc<Peer>) {
        if peer.transport != Transport::Single && Arc::ptr_eq(&peer.actor, &self.actor) {
            let waited: Vec<_> = self.waiting.lock().drain(..).collect();
            for unsaid in waited {
                peer.keep(unsaid);
            }
        }
        self.flush(peer);
    }

    /// Says what waits for a peer, if it listens.
    pub(super) fn flush(&self, peer: &Arc<Peer>) {
        if peer.has_unsaid()
            && let Some(outlet) = peer.standalone()
        {
            self.say_unsaid(peer, &outlet);
        }
    }

    pub(super) fn say_unsaid(&self, peer: &Arc<Peer>, outlet: &Outlet) {
        for unsaid in peer.take_unsaid() {
            let Unsaid { phase, method, params } = unsaid;
            if is_notification(&method) {
                Self::notify(peer, &phase, &method, params.as_deref(), outlet);
            } else {
                // Whoever answers is heard; nobody waits for it.
                let _ = outlet.say(self.question(peer, &phase, &method, params.as_deref(), None));
            }
        }
    }

    pub(super) fn notify(
        peer: &Peer,
        phase: &ActorPhase,
        method: &str,
        params: Option<&str>,
        outlet: &Outlet,
    ) {
        let message = jsonrpc::notification(method, params);
        Self::said(peer, phase, method, Kind::Notification, None, &message);
        let _ = outlet.say(message);
    }

    /// A question to a peer, written down.
    pub(super) fn question(
        &self,
        peer: &Peer,
        phase: &Arc<ActorPhase>,
        method: &str,
        params: Option<&str>,
        waiting: Option<tokio::sync::oneshot::Sender<Value>>,
    ) -> Bytes {
        let id = self.ids.fresh();
        let single = peer.transport == Transport::Single;
        let asked = Asked {
            method: method.to_owned(),
            phase: phase.clone(),
            // Who has no session answers without saying who it is.
            peer: (!single).then(|| peer.name.clone()),
            waiting,
        };
        self.pending.ask(id_key(&id), asked);
        let message = jsonrpc::request(&id, method, params);
        let id = serde_json::from_str(&id).ok();
        Self::said(peer, phase, method, Kind::Request, id.as_ref(), &message);
        message
    }
}

pub(super) fn is_notification(method: &str) -> bool {
    method.starts_with("notifications/")
}

/// What can be asked for, and the notification that it stands for.
const KINDS: [(&str, &str); 3] = [
    ("toolsListChanged", "notifications/tools/list_changed"),
    ("promptsListChanged", "notifications/prompts/list_changed"),
    ("resourcesListChanged", "notifications/resources/list_changed"),
];
const UPDATES: (&str, &str) = ("resourceSubscriptions", "notifications/resources/updated");

/// How many subscriptions are open at most, and how many resources each watches.
const MOST: usize = 256;

#[derive(Debug)]
pub(super) struct Subscription {
    peer: Arc<Peer>,
    id: Box<RawValue>,
    /// What the client asked for, as far as there is such a thing.
    filter: Map<String, Value>,
    outlet: Outlet,
}

impl Subscription {
    /// Whether the client asked to hear of this.
    pub(super) fn wants(&self, unsaid: &Unsaid) -> bool {
        let kind = KINDS.iter().chain([&UPDATES]).find(|(_, method)| *method == unsaid.method);
        kind.is_some_and(|(name, _)| self.filter.contains_key(*name))
    }

    /// Says it, with the id by which the client knows the stream.
    pub(super) fn say(&self, unsaid: &Unsaid) {
        let params = unsaid.params.as_deref().unwrap_or("{}");
        self.notify(&unsaid.phase, &unsaid.method, params);
    }

    fn acknowledge(&self, phase: &ActorPhase) {
        let params = json!({"notifications": self.filter}).to_string();
        self.notify(phase, "notifications/subscriptions/acknowledged", &params);
    }

    fn notify(&self, phase: &ActorPhase, method: &str, params: &str) {
        Server::notify(&self.peer, phase, method, Some(&self.marked(params)), &self.outlet);
    }

    /// The same object with the id of the subscription in its `_meta`; what is not an object has no place for it.
    fn marked(&self, object: &str) -> String {
        let Some(mut members) = Members::read(object) else { return object.to_owned() };
        let meta = members.get("_meta").unwrap_or("{}").to_owned();
        if let Some(mut meta) = Members::read(&meta) {
            meta.set("io.modelcontextprotocol/subscriptionId", self.id.get());
            members.set("_meta", &meta.to_string());
        }
        members.to_string()
    }

    /// The answer to the request, which says that the stream ends.
    fn farewell(&self) -> Bytes {
        jsonrpc::result(self.id.get(), &self.marked("{\"resultType\":\"complete\"}"))
    }
}

/// What of a client's wishes there is.
fn filter(params: &Value) -> Map<String, Value> {
    let wishes = params.get("notifications").and_then(Value::as_object);
    let kept = wishes.into_iter().flatten().filter(|(name, wish)| {
        let flag = KINDS.iter().any(|(kind, _)| kind == name) && **wish == Value::Bool(true);
        let some = wish.as_array().is_some_and(|uris| !uris.is_empty() && uris.len() <= MOST);
        flag || (name.as_str() == UPDATES.0 && some)
    });
    kept.map(|(name, wish)| (name.clone(), wish.clone())).collect()
}

impl Call {
    /// Tells a client what it wants to hear of, until it hangs up or the run ends.
    pub(super) async fn listen(self, outlet: Outlet) {
        let Self { server, peer, heard, asking, .. } = self;
        let refusal = if !outlet.is_stream() {
            Some("subscriptions need a stream")
        } else if server.subscriptions.lock().len() >= MOST {
            Some("too many subscriptions")
        } else {
            None
        };
        if let Some(why) = refusal {
            let answer = asking.refused(&Refusal::new(-32603, why));
            asking.said(&peer, &heard, Kind::Error, &answer);
            let _ = outlet.answer(answer);
            return;
        }
        let phase = heard.phase.clone();
        let subscription = Arc::new(Subscription {
            peer: peer.clone(),
            id: asking.id.clone(),
            filter: filter(&heard.content),
            outlet: outlet.clone(),
        });
        subscription.acknowledge(&phase);
        server.subscriptions.lock().push(subscription.clone());
        let waited: VecDeque<_> = {
            let mut waiting = server.waiting.lock();
            let (wanted, rest) = waiting.drain(..).partition(|unsaid| subscription.wants(unsaid));
            *waiting = rest;
            wanted
        };
        for unsaid in &waited {
            subscription.say(unsaid);
        }
        // The stream is the answer: what the request fired may begin.
        drop(heard);
        let id = id_key(asking.id.get());
        let cancelled = peer.runs(&id);
        let ends = tokio::select! {
            () = cancelled.cancelled() => false,
            () = outlet.abandoned() => false,
            () = server.actor.context().end.cancelled() => true,
        };
        peer.ran(&id);
        server.subscriptions.lock().retain(|known| !Arc::ptr_eq(known, &subscription));
        if ends {
            let answer = subscription.farewell();
            Server::said(&peer, &phase, &asking.method, Kind::Response, Some(&asking.id_value), &answer);
            let _ = outlet.answer(answer);
        } else {
            outlet.hang_up();
        }
    }
}
