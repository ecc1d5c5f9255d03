//! What the server says of itself: the entry actions of its phases.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use sortie_trace::Kind;
use sortie_wire::jsonrpc::{self, id_key};
use sortie_wire::mcp::server::Outlet;

use super::peer::{Asked, Peer, Unsaid};
use super::server::Server;
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
                actor.warn("nobody is connected: what waits longest is not sent");
            }
        }
    }

    /// A peer is past its handshake: it hears what waited for someone.
    pub(super) fn welcome(&self, peer: &Arc<Peer>) {
        if peer.transport != sortie_wire::mcp::server::Transport::Single
            && Arc::ptr_eq(&peer.actor, &self.actor)
        {
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
        let single = peer.transport == sortie_wire::mcp::server::Transport::Single;
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
