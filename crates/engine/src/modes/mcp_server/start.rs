//! Begins to serve.

use std::sync::Arc;
use std::time::Duration;

use sortie_wire::http::Hosts;
use sortie_wire::mcp::server::{Ends, serve, serve_stdio};
use tokio::io::{AsyncRead, AsyncWrite};

use super::plan::Plan;
use super::server::Server;
use crate::actor::ActorState;
use crate::modes::{Serving, StartError, reachable};
use crate::run::RunOptions;

/// How long there is to say that subscriptions end.
const FAREWELL: Duration = Duration::from_millis(20);

/// Serves an actor over HTTP, until the run ends. When this returns it accepts connections and has entered its first
/// phase.
pub async fn start(actor: Arc<ActorState>, options: RunOptions) -> Result<Serving, StartError> {
    let plans = Plan::all(&actor)?;
    let listener = options.bind(actor.name()).await?;
    let url = format!("http://{}/mcp", reachable(listener.address()));
    let hosts = if options.public { Hosts::any() } else { Hosts::loopback_plus(&options.hosts) };
    let ends = Ends { stop: actor.context().end.clone(), farewell: FAREWELL };
    let limits = options.limits;
    let server = Server::new(actor.clone(), options, plans);
    actor.context().recorder.listening(actor.name(), &url);
    server.begin();
    let done = tokio::spawn(serve(listener, hosts, limits, server, ends));
    Ok(Serving { url, done })
}

/// Serves an actor on standard input and output, until the input ends or the run does.
// Like `start`, though it need not.
#[allow(clippy::needless_pass_by_value)]
pub fn start_stdio(actor: Arc<ActorState>, options: RunOptions) -> Result<Serving, StartError> {
    start_on(&actor, options, tokio::io::stdin(), tokio::io::stdout())
}

/// The same on any two streams.
pub fn start_on(
    actor: &Arc<ActorState>,
    options: RunOptions,
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<Serving, StartError> {
    let plans = Plan::all(actor)?;
    let limits = options.limits;
    let stop = actor.context().end.clone();
    let server = Server::new(actor.clone(), options, plans);
    let url = "stdio:".to_owned();
    actor.context().recorder.listening(actor.name(), &url);
    server.begin();
    let done = tokio::spawn(serve_stdio(reader, writer, limits, server, stop));
    Ok(Serving { url, done })
}
