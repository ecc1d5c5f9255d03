//! The five postures of an actor, each over its protocol; an MCP server may also stand before a real one.

pub mod a2a_client;
pub(crate) mod a2a_push;
pub mod a2a_server;
pub mod ag_ui_client;
mod client;
pub mod mcp_client;
pub mod mcp_server;
pub(crate) mod wrapped;

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sortie_oatf::extension::ExtensionError;
use sortie_trace::ActorFailure;
pub use sortie_wire::a2a::A2aVersion;
use sortie_wire::ag_ui::RunInputError;
pub use sortie_wire::mcp::McpRevision;
pub use sortie_wire::{Address, Endpoint};
use tokio::task::JoinHandle;

use self::client::EntryError;
use crate::actor::ActorState;
use crate::phase::ActorPhase;

/// A server actor that accepts connections.
#[derive(Debug)]
pub struct Serving {
    /// Where agents find it.
    pub url: String,
    /// Ends when the run has ended and everything is closed.
    pub done: JoinHandle<()>,
}

/// Why an actor cannot start, or cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ActorError {
    /// The word that stands for it in a trace.
    pub failure: ActorFailure,
    /// What happened.
    pub message: String,
}

impl ActorError {
    fn refused(message: String) -> Self {
        Self { failure: ActorFailure::TargetRefused, message }
    }

    fn protocol(message: String) -> Self {
        Self { failure: ActorFailure::ProtocolError, message }
    }

    pub(crate) fn bind(address: &dyn Display, reason: &dyn Display) -> Self {
        let message = format!("cannot listen on {address}: {reason}");
        Self { failure: ActorFailure::BindFailed, message }
    }
}

/// What a binding cannot play in the state of a phase.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateError {
    #[error("`{key}` is not a list")]
    NoList { key: &'static str },
    /// An action, counted from 1.
    #[error("action {number} has no `method`")]
    NoMethod { number: usize },
    #[error("there is no `run_agent_input`, which is required")]
    NoRunInput,
    #[error("`run_agent_input`: {0}")]
    RunInput(#[from] RunInputError),
    /// A response list, by its key, or that of a tool or prompt, by its name.
    #[error("`{name}`: {source}")]
    Responses { name: String, source: Box<EntryError> },
    #[error(transparent)]
    Elicitation(#[from] EntryError),
    #[error(transparent)]
    Extension(#[from] ExtensionError),
}

/// What the states of all phases mean to a binding, by their index.
fn read_phases<S>(
    actor: &ActorState,
    read: impl Fn(&ActorPhase) -> Result<S, StateError>,
) -> Result<Vec<S>, ActorError> {
    let states = actor.phases().iter().map(|phase| {
        let internal = |reason| format!("phase `{}`: {reason}", phase.name);
        read(phase)
            .map_err(|reason| ActorError { failure: ActorFailure::Internal, message: internal(reason) })
    });
    states.collect()
}

/// An address that a client on this machine can connect to: nobody connects to 0.0.0.0.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, address.port())
}
