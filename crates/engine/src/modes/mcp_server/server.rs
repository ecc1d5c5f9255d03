//! The server: how it begins, what it knows, and how it writes down what is said.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::Value;
use sortie_trace::Kind;
use sortie_wire::Lock;
use sortie_wire::http::Hosts;
use sortie_wire::jsonrpc::Ids;
use sortie_wire::mcp::server::{Ends, Transport, serve, serve_stdio};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;

use super::announce::Subscription;
use super::dispatch::Plan;
use super::modern;
use super::peer::{Peer, Pending, Unsaid};
use crate::actor::{ActorState, Spoken};
use crate::modes::{ActorError, McpRevision, Serving, reachable, read_phases};
use crate::phase::ActorPhase;
use crate::run::RunOptions;
use sortie_wire::mcp::revision;

/// How long there is to say that subscriptions end.
const FAREWELL: Duration = Duration::from_millis(20);

/// Serves an actor over HTTP, until the run ends. When this returns it accepts connections and has entered its first
/// phase.
pub async fn start(actor: Arc<ActorState>, options: RunOptions) -> Result<Serving, ActorError> {
    let plans = read_phases(&actor, Plan::new)?;
    let listener = options.bind(actor.name()).await?;
    let url = format!("http://{}/mcp", reachable(listener.address()));
    let hosts = if options.public { Hosts::any() } else { Hosts::loopback_plus(&options.hosts) };
    let ends = Ends { stop: actor.context().end.clone(), farewell: FAREWELL };
    let limits = options.limits;
    let base = url.strip_suffix("/mcp").map(str::to_owned);
    let server = Server::new(actor.clone(), options, plans, base);
    actor.context().recorder.listening(actor.name(), &url);
    server.play(&actor);
    let done = tokio::spawn(serve(listener, hosts, limits, server, ends));
    Ok(Serving { url, done })
}

/// Serves an actor on standard input and output, until the input ends or the run does.
// Like `start`, though it need not.
#[allow(clippy::needless_pass_by_value)]
pub fn start_stdio(actor: Arc<ActorState>, options: RunOptions) -> Result<Serving, ActorError> {
    start_on(&actor, options, tokio::io::stdin(), tokio::io::stdout())
}

/// The same on any two streams.
pub fn start_on(
    actor: &Arc<ActorState>,
    options: RunOptions,
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<Serving, ActorError> {
    let plans = read_phases(actor, Plan::new)?;
    let limits = options.limits;
    let stop = actor.context().end.clone();
    let server = Server::new(actor.clone(), options, plans, None);
    let url = "stdio:".to_owned();
    actor.context().recorder.listening(actor.name(), &url);
    server.play(actor);
    let done = tokio::spawn(serve_stdio(reader, writer, limits, server, stop));
    Ok(Serving { url, done })
}

/// How many calls can say something at the same time. Each may wait a minute for its client.
const MOST_TALKS: usize = 1024;

#[derive(Debug)]
pub(super) struct Server {
    pub(super) actor: Arc<ActorState>,
    pub(super) options: RunOptions,
    plans: Vec<Plan>,
    /// Where it listens, when it does.
    pub(super) base: Option<String>,
    pub(super) ids: Ids,
    pub(super) pending: Pending,
    /// Peers that come back, or stay.
    peers: Lock<Vec<Arc<Peer>>>,
    pub(super) subscriptions: Lock<Vec<Arc<Subscription>>>,
    /// What is to be said to the first peer that listens.
    pub(super) waiting: Lock<VecDeque<Unsaid>>,
    /// Some request came on the wire without handshakes.
    seen_modern: AtomicBool,
    /// The actor itself plays for some session; the others have forks.
    taken: AtomicBool,
    /// Calls during which something is said.
    pub(super) talks: Arc<Semaphore>,
}

impl Server {
    fn new(actor: Arc<ActorState>, options: RunOptions, plans: Vec<Plan>, base: Option<String>) -> Arc<Self> {
        Arc::new(Self {
            actor,
            options,
            plans,
            base,
            ids: Ids::default(),
            pending: Pending::default(),
            peers: Lock::default(),
            subscriptions: Lock::default(),
            waiting: Lock::default(),
            seen_modern: AtomicBool::new(false),
            taken: AtomicBool::new(false),
            talks: Arc::new(Semaphore::new(MOST_TALKS)),
        })
    }

    /// Lets an actor begin, and says what its phases have to say on entry.
    fn play(self: &Arc<Self>, actor: &Arc<ActorState>) {
        // Weak, since the actor keeps the closure and the server keeps the actor.
        let (server, weak): (Weak<Self>, _) = (Arc::downgrade(self), Arc::downgrade(actor));
        actor.begin(move |entered| {
            if let (Some(server), Some(actor)) = (server.upgrade(), weak.upgrade()) {
                server.announce(&actor, entered);
            }
        });
    }

    pub(super) fn plan(&self, phase: &ActorPhase) -> &Plan {
        // There is a plan for every phase of the actor, and forks have the same phases.
        &self.plans[phase.index]
    }

    pub(super) fn add(self: &Arc<Self>, name: &str, transport: Transport) -> Arc<Peer> {
        let apart = self.options.isolate
            && transport != Transport::Single
            && self.taken.swap(true, Ordering::Relaxed);
        let actor = if apart { self.actor.fork() } else { self.actor.clone() };
        let peer = Arc::new(Peer::new(name, transport, actor.clone()));
        if transport != Transport::Single {
            self.peers.lock().push(peer.clone());
        }
        if apart {
            self.play(&actor);
        }
        peer
    }

    pub(super) fn remove(&self, peer: &Arc<Peer>) {
        self.peers.lock().retain(|known| !Arc::ptr_eq(known, peer));
        peer.cancel_all();
    }

    /// Peers that see the phases of an actor.
    pub(super) fn audience(&self, actor: &Arc<ActorState>) -> Vec<Arc<Peer>> {
        self.peers.lock().iter().filter(|peer| Arc::ptr_eq(&peer.actor, actor)).cloned().collect()
    }

    /// Whether the wire without handshakes is spoken in this phase: not when the user or the document wants another.
    pub(super) fn is_modern_spoken(&self, phase: &ActorPhase) -> bool {
        if let McpRevision::Version(forced) = &self.options.wire {
            return forced == revision::STATELESS;
        }
        self.plan(phase).identity.version().is_none_or(|written| written == revision::STATELESS)
    }

    pub(super) fn is_modern_forced(&self) -> bool {
        matches!(&self.options.wire, McpRevision::Version(forced) if forced == revision::STATELESS)
    }

    /// What a request is to triggers. On the wire without handshakes, the first that a client says stands for
    /// `initialize`.
    pub(super) fn events<'m>(&self, is_modern: bool, method: &'m str) -> Vec<&'m str> {
        if !is_modern {
            return vec![method];
        }
        let first = !self.seen_modern.swap(true, Ordering::Relaxed);
        if method != modern::DISCOVER && !first {
            return vec![method];
        }
        let waits = |phase: &Arc<ActorPhase>| {
            phase.trigger.as_ref().and_then(sortie_oatf::compile::CompiledTrigger::event)
                == Some("initialize")
        };
        if self.actor.phases().iter().any(waits) {
            self.actor.warn(&format!(
                "a client speaks {}, which has no `initialize`: `{method}` counts as that for triggers",
                revision::STATELESS
            ));
        }
        vec!["initialize", method]
    }

    pub(super) fn said(
        peer: &Peer,
        phase: &ActorPhase,
        method: &str,
        kind: Kind,
        id: Option<&Value>,
        bytes: &[u8],
    ) {
        let surfaces = [method];
        let surfaces: &[&str] = if method.is_empty() { &[] } else { &surfaces };
        peer.actor.said(phase, Spoken { id, ..Spoken::new(surfaces, kind, &peer.name, bytes) });
    }
}
