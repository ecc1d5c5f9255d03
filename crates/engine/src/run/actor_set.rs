//! Who plays: the actors of a run, each in its mode.

use std::collections::HashMap;
use std::sync::Arc;

use sortie_bindings::known_modes;
use sortie_oatf::Compiled;
use sortie_oatf::model::Mode;
use sortie_rewrite::Operations;
use tokio::task::{JoinError, JoinSet};

use super::command::Addresses;
use super::options::RunOptions;
use crate::actor::ActorState;
use crate::context::Context;
use crate::modes::{
    ActorError, Endpoint, Serving, a2a_client, a2a_server, ag_ui_client, mcp_client, mcp_server, wrapped,
};
use sortie_trace::ActorFailure;

pub(super) struct ActorSet {
    actors: Vec<Arc<ActorState>>,
    /// The real servers behind actors, by the name of the actor.
    wrapped: HashMap<String, WrappedServer>,
    servers: JoinSet<(Arc<ActorState>, Result<(), JoinError>)>,
    clients: JoinSet<Arc<ActorState>>,
    /// Clients that have not finished, to find those that panic.
    playing: Vec<(tokio::task::Id, Arc<ActorState>)>,
}

/// The real server behind an actor, and what the phases of the actor do with what it says.
#[derive(Clone)]
struct WrappedServer {
    endpoint: Endpoint,
    operations: Vec<Operations>,
}

/// Something that an actor's task came to.
pub(super) enum Finished {
    /// A server has closed although the run goes on: whoever it served is gone for good.
    Server,
    /// A client has nothing more to do.
    Client,
    /// The task died. That is recorded.
    Panicked,
}

impl ActorSet {
    /// The actors of a document. One whose mode nobody knows is left out, with a warning.
    ///
    /// A real server that no actor stands before gets an actor that changes nothing.
    pub(super) fn new(document: &Compiled, options: &RunOptions, context: &Context) -> Self {
        let described = document.document().attack.execution.actors.iter().flatten().enumerate();
        let actors = described.filter_map(|(index, actor)| {
            let known = known_modes().contains(&actor.mode.as_str());
            if !known {
                let (name, mode) = (&actor.name, &actor.mode);
                context.recorder.warn(format!("`{name}` is left out: unsupported mode `{mode}`"));
            }
            known.then(|| ActorState::new(document, index, context.clone()))
        });
        let mut actors: Vec<_> = actors.collect();
        let mut wrapped = HashMap::new();
        let described = document.document().attack.execution.actors.iter().flatten();
        for (actor, compiled) in described.zip(document.actors()) {
            if let Some(endpoint) = compiled.wrap.as_ref().and_then(|name| options.wrap.get(name)) {
                let operations = Operations::by_phase(compiled);
                wrapped.insert(actor.name.clone(), WrappedServer { endpoint: endpoint.clone(), operations });
            }
        }
        for (name, endpoint) in options.recorded_servers(document) {
            actors.push(ActorState::recording(name, context.clone()));
            let server = WrappedServer { endpoint: endpoint.clone(), operations: Vec::new() };
            wrapped.insert(name.clone(), server);
        }
        Self { actors, wrapped, servers: JoinSet::new(), clients: JoinSet::new(), playing: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.actors.is_empty()
    }

    /// Starts the servers, in the order of the document. One that cannot start is recorded, and is the end.
    pub(super) async fn serve(&mut self, options: &RunOptions) -> Result<Addresses, ()> {
        let mut addresses = Addresses::default();
        for actor in self.actors.iter().filter(|actor| is_server(actor)) {
            let wrapped = self.wrapped.get(actor.name());
            match serve(actor.clone(), wrapped, options).await {
                Ok(Serving { url, done }) => {
                    addresses.servers.push((actor.name().to_owned(), actor.mode().to_owned(), url));
                    let actor = actor.clone();
                    self.servers.spawn(async move { (actor, done.await) });
                }
                Err(error) => {
                    actor.failed(error.failure, &error.message);
                    return Err(());
                }
            }
        }
        Ok(addresses)
    }

    pub(super) fn play(&mut self, options: &RunOptions) {
        for actor in self.actors.iter().filter(|actor| !is_server(actor)) {
            let Some(target) = options.targets.get(actor.name()).cloned() else { continue };
            let (own, options) = (actor.clone(), options.clone());
            let task = self.clients.spawn(async move {
                play(own.clone(), target, options).await;
                own
            });
            self.playing.push((task.id(), actor.clone()));
        }
    }

    /// Waits until a task has finished. Never, when there is none.
    pub(super) async fn finished(&mut self) -> Finished {
        tokio::select! {
            Some(server) = self.servers.join_next() => match server {
                Ok((actor, Err(error))) => panicked(&actor, &error),
                // The wrapper only waits: if it is not through, we have aborted it.
                Ok((_, Ok(()))) | Err(_) => Finished::Server,
            },
            Some(client) = self.clients.join_next_with_id() => match client {
                Ok((id, _)) => {
                    self.playing.retain(|(known, _)| *known != id);
                    Finished::Client
                }
                Err(error) => {
                    let at = self.playing.iter().position(|(known, _)| *known == error.id());
                    match at.map(|at| self.playing.swap_remove(at)) {
                        Some((_, actor)) => panicked(&actor, &error),
                        None => Finished::Client,
                    }
                }
            },
            else => std::future::pending().await,
        }
    }

    /// Whether nothing is to come: there are only clients, and none has anything more to say or is waiting for an answer.
    pub(super) fn is_through(&self) -> bool {
        let through = |(_, actor): &(_, Arc<ActorState>)| actor.is_through() && !actor.is_working();
        self.playing.iter().all(through) && !self.actors.iter().any(|actor| is_server(actor))
    }

    pub(super) fn has_clients(&self) -> bool {
        self.actors.iter().any(|actor| !is_server(actor))
    }

    /// Whether silence could be the end: every actor is in its last phase or through, none is busy, and no client still waits
    /// for its target. Where a client has given up, nobody drives the agent to the last phases of servers any more.
    pub(super) fn could_be_over(&self) -> bool {
        let given_up = self.actors.iter().any(|actor| actor.has_given_up());
        self.actors.iter().all(|actor| {
            let plays = self.playing.iter().any(|(_, playing)| Arc::ptr_eq(playing, actor));
            if is_server(actor) {
                return (actor.has_reached_last_phase() || given_up) && !actor.is_working();
            }
            let connected = actor.context().recorder.is_connected(actor.name());
            !plays || (connected && actor.has_reached_last_phase() && !actor.is_working())
        })
    }

    /// The clients that have never heard anything from their target, and still try.
    pub(super) fn unheard(&self) -> impl Iterator<Item = &Arc<ActorState>> {
        let playing = self.playing.iter().map(|(_, actor)| actor);
        playing.filter(|actor| !actor.context().recorder.is_connected(actor.name()))
    }

    /// Waits until all tasks have finished, which they do once the run has ended.
    pub(super) async fn closed(&mut self) {
        while self.servers.join_next().await.is_some() {}
        while self.clients.join_next().await.is_some() {}
    }
}

fn panicked(actor: &ActorState, error: &JoinError) -> Finished {
    if error.is_panic() {
        actor.failed(ActorFailure::Internal, "the code that plays it panicked; this is a bug of Sortie");
        return Finished::Panicked;
    }
    Finished::Client
}

fn is_server(actor: &ActorState) -> bool {
    Mode::of(actor.mode()).is_server()
}

async fn serve(
    actor: Arc<ActorState>,
    wrapped: Option<&WrappedServer>,
    options: &RunOptions,
) -> Result<Serving, ActorError> {
    if let Some(WrappedServer { endpoint, operations }) = wrapped.cloned() {
        return if options.stdio {
            Ok(wrapped::start_stdio(actor, endpoint, operations, options))
        } else {
            wrapped::start(actor, endpoint, operations, options).await
        };
    }
    match Mode::of(actor.mode()) {
        Mode::A2aServer => a2a_server::start(actor, options).await,
        _ if options.stdio => mcp_server::start_stdio(actor, options.clone()),
        _ => mcp_server::start(actor, options.clone()).await,
    }
}

async fn play(actor: Arc<ActorState>, target: Endpoint, options: RunOptions) {
    match Mode::of(actor.mode()) {
        Mode::McpClient => mcp_client::play(actor, target, options).await,
        Mode::A2aClient => a2a_client::play(actor, target, options).await,
        _ => ag_ui_client::play(actor, target, options).await,
    }
}
