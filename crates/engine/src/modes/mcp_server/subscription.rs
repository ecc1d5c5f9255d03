//! `subscriptions/listen` of 2026-07-28: a stream of what a client wants to hear of.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sortie_trace::Kind;
use sortie_wire::Members;
use sortie_wire::jsonrpc::{self, id_key};
use sortie_wire::mcp::server::Outlet;

use super::dispatch::Refusal;
use super::peer::{Peer, Unsaid};
use super::server::Server;
use super::talk::Call;
use crate::phase::ActorPhase;

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

    /// The same object with the id of the subscription in its `_meta`; what is no object has no place for it.
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
