//! How every client actor begins, what its phases send in which order, when it goes on to the next one, and which entry
//! answers.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sortie_oatf::compile::{CompileError, CompiledResponses};
use sortie_oatf::extension::ExtensionError;
use sortie_oatf::extension::mcp::action_headers;
use sortie_oatf::model::{OperandError, ResponseEntry};
use sortie_trace::ActorFailure;
use sortie_wire::http::{ClientError, ClientOptions};
use sortie_wire::{Endpoint, Lock};
use tokio::sync::mpsc;

use super::{StateError, read_phases};
use crate::actor::{ActorState, Entered, EntryAction, HeardMessage};
use crate::payload::WirePayload;
use crate::phase::ActorPhase;
use crate::run::RunOptions;

/// Reads the script of each phase, and connects. `None` when that cannot be done, which is recorded, or when the run has
/// ended meanwhile.
pub(crate) async fn prepare<S, C, E: Display>(
    actor: &ActorState,
    script: impl Fn(&ActorPhase) -> Result<S, StateError>,
    connect: impl Future<Output = Result<C, E>>,
) -> Option<(Vec<S>, C)> {
    let scripts = read_phases(actor, script);
    let scripts = scripts.map_err(|error| actor.failed(error.failure, &error.message)).ok()?;
    let connected = actor.context().end.run_until_cancelled(connect).await?;
    let connected =
        connected.map_err(|reason| actor.failed(ActorFailure::TargetRefused, &reason.to_string())).ok()?;
    Some((scripts, connected))
}

/// How a target is asked over HTTP.
pub(crate) fn http_options(
    target: &Endpoint,
    options: &RunOptions,
    answer_timeout: Duration,
) -> Result<ClientOptions, ClientError> {
    let (headers, limits) = (target.http_headers()?, options.limits);
    Ok(ClientOptions { headers, answer_timeout, limits, ..ClientOptions::default() })
}

/// Enters the first phase. What is entered is received; `sends` says of each phase whether its script sends something.
pub(crate) fn begin(
    actor: &Arc<ActorState>,
    hold: &Arc<Hold>,
    sends: Vec<bool>,
) -> mpsc::UnboundedReceiver<Entered> {
    let (sender, entered) = mpsc::unbounded_channel();
    let hold = hold.clone();
    actor.begin(move |entered| {
        hold.enter(entered.phase.index, sends[entered.phase.index] || !entered.actions.is_empty());
        // Nobody listens any more when the run has ended.
        let _ = sender.send(entered);
    });
    entered
}

/// Something that a document sends.
#[derive(Debug)]
pub(crate) struct Action {
    pub(crate) method: String,
    pub(crate) params: Option<WirePayload>,
    /// Headers of its own (`x-sortie.headers`).
    pub(crate) headers: Vec<(String, String)>,
}

/// An action that is ready for the wire.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) method: String,
    /// JSON text.
    pub(crate) params: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
}

impl Action {
    /// The `actions` of a phase.
    pub(crate) fn all(phase: &ActorPhase) -> Result<Vec<Self>, StateError> {
        let list = match phase.key("actions") {
            Some(list) if list.value().is_array() => list.items(),
            Some(other) if !other.value().is_null() => return Err(StateError::NoList { key: "actions" }),
            _ => Vec::new(),
        };
        let actions = list.iter().enumerate().map(|(at, action)| {
            let method = action.value().get("method").and_then(|method| method.as_str());
            let method = method.ok_or(StateError::NoMethod { number: at + 1 })?.to_owned();
            let headers = action_headers(action.value())?;
            Ok(Self { method, params: action.get("params"), headers })
        });
        actions.collect()
    }

    /// The action with its templates filled. `None` when that cannot be done, which was warned about.
    pub(crate) fn step(&self, actor: &ActorState) -> Option<Step> {
        let params = match &self.params {
            Some(params) => Some(actor.fill(params, None, None).ok()?.into_owned()),
            None => None,
        };
        Some(Step { method: self.method.clone(), params, headers: self.headers.clone() })
    }
}

impl Step {
    /// An entry action, when it is one that every mode has.
    pub(crate) fn of_entry(action: &EntryAction) -> Option<Self> {
        match action {
            EntryAction::Send { method, params } => Some(Self {
                method: method.clone(),
                params: params.as_ref().map(|params| params.text().to_owned()),
                headers: Vec::new(),
            }),
            EntryAction::Other { .. } => None,
        }
    }
}

/// Warns that the timer of a phase has left something unsent.
pub(crate) fn left_out(actor: &ActorState, phase: &ActorPhase, count: usize) {
    if count > 0 {
        actor.warn(&format!("the time of phase `{}` was up before {count} of its actions", phase.name));
    }
}

/// A response list, its predicates compiled.
#[derive(Debug, Default)]
pub(crate) struct Responses {
    pub(crate) entries: Vec<WirePayload>,
    compiled: CompiledResponses,
}

/// What is wrong with an entry of a response list.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EntryError {
    #[error(transparent)]
    Operand(#[from] OperandError),
    #[error(transparent)]
    Predicate(#[from] CompileError),
    #[error(transparent)]
    Extension(#[from] ExtensionError),
}

impl Responses {
    /// The list at a key of the state; an empty one when there is none.
    pub(crate) fn new(phase: &ActorPhase, key: &'static str) -> Result<Self, StateError> {
        let list = phase.key(key).filter(|list| !list.value().is_null());
        let Some(list) = list else { return Ok(Self::default()) };
        if !list.value().is_array() {
            return Err(StateError::NoList { key });
        }
        Self::compile(list.items())
            .map_err(|source| StateError::Responses { name: key.to_owned(), source: Box::new(source) })
    }

    pub(crate) fn compile(entries: Vec<WirePayload>) -> Result<Self, EntryError> {
        let read = entries.iter().map(|entry| ResponseEntry::from_value(entry.value()));
        let read: Vec<_> = read.collect::<Result<_, _>>()?;
        let compiled = CompiledResponses::new(&read)?;
        Ok(Self { entries, compiled })
    }

    /// The entry that answers: the first whose predicate holds, else the one without any.
    pub(crate) fn select(&self, asked: &Value) -> Option<&WirePayload> {
        self.entries.get(self.position(asked)?)
    }

    pub(crate) fn position(&self, asked: &Value) -> Option<usize> {
        self.compiled.select(asked)
    }
}

/// Keeps what fired a trigger until the phase has nothing left to send, so that no payload of the document is dropped.
///
/// A [`HeardMessage`] ends its phase when it is dropped. Here it waits, unless there is nothing to wait for. A timer waits for
/// nobody.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    inner: Lock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The phase that sends, and whether it has something left.
    phase: usize,
    unsent: bool,
    held: Vec<HeardMessage>,
    /// The phases that something ended which was heard, and not their timer.
    ended: Vec<usize>,
}

impl Hold {
    /// A phase was entered. To be called when the actor says so and not later: what is heard first in a phase may end it.
    ///
    /// Nothing that was held is dropped here, since the actor is locked meanwhile.
    pub(crate) fn enter(&self, phase: usize, unsent: bool) {
        let mut inner = self.inner.lock();
        (inner.phase, inner.unsent) = (phase, unsent);
    }

    /// Something was heard. It is let go at once, unless it ends the phase too early.
    pub(crate) fn heard(&self, heard: HeardMessage) {
        let mut inner = self.inner.lock();
        if heard.has_fired() {
            inner.ended.push(heard.phase.index);
        }
        if heard.has_fired() && inner.unsent && heard.phase.index == inner.phase {
            inner.held.push(heard);
            return;
        }
        // The next phase is entered when it is dropped, and that asks for this lock.
        drop(inner);
    }

    /// The phase has something to send, after all.
    pub(crate) fn wait(&self, phase: usize) {
        let mut inner = self.inner.lock();
        inner.unsent |= inner.phase == phase;
    }

    /// Everything of a phase is on its way, so whatever ends it may do so from now on.
    pub(crate) fn sent(&self, phase: usize) {
        let mut inner = self.inner.lock();
        inner.unsent &= inner.phase != phase;
    }

    /// Everything of a phase is done: what was held ends it now.
    pub(crate) fn done(&self, phase: usize) {
        let mut inner = self.inner.lock();
        if inner.phase != phase {
            return;
        }
        inner.unsent = false;
        let held = std::mem::take(&mut inner.held);
        // The next phase is entered when they are dropped, and that asks for this lock.
        drop(inner);
        drop(held);
    }

    /// Whether the time of a phase was up before anything ended it.
    pub(crate) fn timed_out(&self, phase: usize) -> bool {
        let inner = self.inner.lock();
        inner.phase != phase && !inner.ended.contains(&phase)
    }

    /// The run is over: nothing that was held ends a phase any more.
    pub(crate) fn forget(&self) {
        let held = std::mem::take(&mut self.inner.lock().held);
        held.into_iter().for_each(HeardMessage::forget);
    }
}
