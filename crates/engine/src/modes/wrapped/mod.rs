//! An MCP server actor that stands between the agent and a real server (`x-sortie.wrap`).
//!
//! The relay of `sortie_wire` moves the bytes; [`tap`] writes down what passes, lets triggers and extractors see it, and applies
//! the operations of the phase.

mod tap;

use std::sync::Arc;
use std::time::Duration;

use sortie_rewrite::Operations;
use sortie_wire::http::{Hosts, wait_until_accepts};
use sortie_wire::mcp::relay::Relay;
use sortie_wire::{Address, Endpoint};
use tokio::time::Instant;

use self::tap::WrappedActor;
use crate::actor::ActorState;
use crate::modes::{ActorError, Serving, reachable};
use crate::run::RunOptions;

/// The mode of an actor that is in no document.
pub(crate) const MODE: &str = "mcp_server";

/// How long the real server may leave a request without an answer until that is a failure, when the run ends.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves an actor over HTTP with a real server behind it, until the run ends. `operations` are those of its phases.
pub(crate) async fn start(
    actor: Arc<ActorState>,
    server: Endpoint,
    operations: Vec<Operations>,
    options: &RunOptions,
) -> Result<Serving, ActorError> {
    if let Address::Url(url) = &server.address {
        let refused = |error| ActorError::refused(format!("the wrapped server: {error}"));
        wait_until_accepts(url, Instant::now() + options.connect_timeout).await.map_err(refused)?;
    }
    let listener = options.bind(actor.name()).await?;
    let relay = relay(actor.clone(), server, operations, options);
    let url = format!("http://{}{}", reachable(listener.address()), relay.path());
    let hosts = if options.public { Hosts::any() } else { Hosts::loopback_plus(&options.hosts) };
    begin(&actor, &url);
    let done = tokio::spawn(async move {
        if let Err(error) = relay.over_http(listener, hosts).await {
            actor.failed(sortie_trace::ActorFailure::ServerGone, &error.to_string());
        }
    });
    Ok(Serving { url, done })
}

/// The same over our own standard input and output, until the client or the server has gone.
pub(crate) fn start_stdio(
    actor: Arc<ActorState>,
    server: Endpoint,
    operations: Vec<Operations>,
    options: &RunOptions,
) -> Serving {
    let relay = relay(actor.clone(), server, operations, options);
    begin(&actor, "stdio:");
    let done = tokio::spawn(async move {
        if let Err(error) = relay.over_stdio(tokio::io::stdin(), tokio::io::stdout()).await {
            actor.failed(sortie_trace::ActorFailure::ServerGone, &error.to_string());
        }
    });
    Serving { url: "stdio:".to_owned(), done }
}

fn relay(
    actor: Arc<ActorState>,
    server: Endpoint,
    operations: Vec<Operations>,
    options: &RunOptions,
) -> Relay<WrappedActor> {
    let (limits, stop) = (options.limits, actor.context().end.clone());
    let tap = Arc::new(WrappedActor::new(actor, operations));
    Relay { tap, server, limits, patience: PATIENCE, stop }
}

fn begin(actor: &Arc<ActorState>, url: &str) {
    actor.context().recorder.listening(actor.name(), url);
    let warned = Arc::downgrade(actor);
    actor.begin(move |entered| {
        // What a real server says by itself, it says when it wants.
        if let (Some(actor), false) = (warned.upgrade(), entered.actions.is_empty()) {
            actor.warn("an actor before a real server has no entry actions but `log`: they are skipped");
        }
    });
}
