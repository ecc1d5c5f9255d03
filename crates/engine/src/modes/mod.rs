//! The five postures of an actor, each over its protocol.

pub mod a2a_client;
mod a2a_push;
pub mod a2a_server;
pub mod ag_ui_client;
mod client;
mod hold;
pub mod mcp_client;
pub mod mcp_server;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sortie_trace::ActorFailure;
pub use sortie_wire::mcp::McpRevision;
pub use sortie_wire::{Address, Endpoint};
use tokio::task::JoinHandle;

/// A server actor that accepts connections.
#[derive(Debug)]
pub struct Serving {
    /// Where agents find it.
    pub url: String,
    /// Ends when the run has ended and everything is closed.
    pub done: JoinHandle<()>,
}

/// Why an actor could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// It could not listen.
    #[error("cannot listen on {address}: {reason}")]
    Bind {
        /// Where.
        address: String,
        /// Why.
        reason: String,
    },
    /// Its state makes no sense to the binding.
    #[error("phase `{phase}`: {reason}")]
    State {
        /// The phase.
        phase: String,
        /// Why.
        reason: String,
    },
}

impl StartError {
    /// The word that stands for it in a trace.
    pub fn failure(&self) -> ActorFailure {
        match self {
            Self::Bind { .. } => ActorFailure::BindFailed,
            Self::State { .. } => ActorFailure::Internal,
        }
    }
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
