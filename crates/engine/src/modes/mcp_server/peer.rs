//! Someone who is connected.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value;
use sortie_wire::Lock;
use sortie_wire::mcp::server::{Outlet, Transport};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::actor::ActorState;
use crate::phase::ActorPhase;

/// How many messages wait for a stream to one peer.
const MOST_UNSAID: usize = 64;

/// How many exchanges of one peer can be cancelled.
const MOST_RUNNING: usize = 1024;

/// Someone who is connected: a session, a process, or whoever sent a single request.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) name: String,
    pub(super) transport: Transport,
    /// Whose phases it sees.
    pub(super) actor: Arc<ActorState>,
    state: Lock<State>,
    /// There was a handshake.
    agreed: AtomicBool,
    /// It is past the handshake.
    ready: AtomicBool,
    unsaid: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    version: Option<String>,
    capabilities: Value,
    /// Where it hears what it did not ask for.
    standalone: Option<Outlet>,
    unsaid: VecDeque<Unsaid>,
    /// What is being answered and can be cancelled, by id.
    running: HashMap<String, CancellationToken>,
}

/// Something that is to be said as soon as there is someone to say it to.
#[derive(Clone, Debug)]
pub(super) struct Unsaid {
    pub(super) phase: Arc<ActorPhase>,
    pub(super) method: String,
    /// JSON text.
    pub(super) params: Option<String>,
}

impl Peer {
    pub(super) fn new(name: &str, transport: Transport, actor: Arc<ActorState>) -> Self {
        Self {
            name: name.to_owned(),
            transport,
            actor,
            state: Lock::default(),
            agreed: AtomicBool::new(false),
            ready: AtomicBool::new(false),
            unsaid: AtomicUsize::new(0),
        }
    }

    pub(super) fn agreed(&self, version: Option<&str>, capabilities: Value) {
        let mut state = self.state.lock();
        state.version = version.map(str::to_owned);
        state.capabilities = capabilities;
        self.agreed.store(true, Ordering::Relaxed);
    }

    pub(super) fn version(&self) -> Option<String> {
        self.state.lock().version.clone()
    }

    pub(super) fn has_agreed(&self) -> bool {
        self.agreed.load(Ordering::Relaxed)
    }

    /// Whether it says that it can do something.
    pub(super) fn can(&self, capability: &str) -> bool {
        self.state.lock().capabilities.get(capability).is_some_and(|declared| !declared.is_null())
    }

    /// The handshake is over. Whether that is news.
    pub(super) fn is_ready_now(&self) -> bool {
        !self.ready.load(Ordering::Relaxed) && !self.ready.swap(true, Ordering::Relaxed)
    }

    pub(super) fn listens_on(&self, outlet: Outlet) {
        self.state.lock().standalone = Some(outlet);
    }

    /// Where it hears what it did not ask for, if someone reads there.
    pub(super) fn standalone(&self) -> Option<Outlet> {
        self.state.lock().standalone.clone().filter(Outlet::is_open)
    }

    /// Keeps something to say. Whether an older one had to give way.
    pub(super) fn keep(&self, unsaid: Unsaid) -> bool {
        let mut state = self.state.lock();
        state.unsaid.push_back(unsaid);
        let full = state.unsaid.len() > MOST_UNSAID;
        if full {
            state.unsaid.pop_front();
        }
        self.unsaid.store(state.unsaid.len(), Ordering::Relaxed);
        full
    }

    /// Whether something waits to be said, and may be.
    pub(super) fn has_unsaid(&self) -> bool {
        self.unsaid.load(Ordering::Relaxed) > 0 && self.ready.load(Ordering::Relaxed)
    }

    pub(super) fn take_unsaid(&self) -> Vec<Unsaid> {
        if !self.has_unsaid() {
            return Vec::new();
        }
        let mut state = self.state.lock();
        self.unsaid.store(0, Ordering::Relaxed);
        state.unsaid.drain(..).collect()
    }

    /// Begins an exchange that can be cancelled.
    pub(super) fn runs(&self, id: &str) -> CancellationToken {
        let token = CancellationToken::new();
        let mut state = self.state.lock();
        if state.running.len() < MOST_RUNNING {
            state.running.insert(id.to_owned(), token.clone());
        }
        token
    }

    pub(super) fn ran(&self, id: &str) {
        self.state.lock().running.remove(id);
    }

    pub(super) fn cancel(&self, id: &str) {
        let running = self.state.lock().running.remove(id);
        if let Some(running) = running {
            running.cancel();
        }
    }

    pub(super) fn cancel_all(&self) {
        let running = std::mem::take(&mut self.state.lock().running);
        running.values().for_each(CancellationToken::cancel);
    }
}

/// How many questions may be open. A peer that never answers makes us forget the oldest.
const MOST_OPEN: usize = 4096;

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) phase: Arc<ActorPhase>,
    /// The peer that was asked; `None` where an answer comes without saying from whom.
    pub(super) peer: Option<String>,
    pub(super) waiting: Option<oneshot::Sender<Value>>,
}

/// Our questions that were not answered, by their ids.
#[derive(Debug, Default)]
pub(super) struct Pending(Lock<VecDeque<(String, Asked)>>);

impl Pending {
    pub(super) fn ask(&self, id: String, asked: Asked) {
        let mut questions = self.0.lock();
        questions.push_back((id, asked));
        if questions.len() > MOST_OPEN {
            questions.pop_front();
        }
    }

    /// The question that a peer answers. Nobody answers for another.
    pub(super) fn answered(&self, id: &str, peer: &str) -> Option<Asked> {
        let mut questions = self.0.lock();
        let is_it = |(open, asked): &(String, Asked)| {
            open == id && asked.peer.as_deref().is_none_or(|asked| asked == peer)
        };
        let at = questions.iter().position(is_it)?;
        questions.remove(at).map(|(_, asked)| asked)
    }
}
