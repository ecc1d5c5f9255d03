//! Why a run cannot begin.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::command::CommandError;

/// Why there is no run, and so no verdict. What happens to a run once it has begun is in its report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// What was asked for does not fit the document.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// Its folder, or a file in it, could not be made.
    #[error("cannot write `{}`: {source}", .path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The trace could not be begun.
    #[error(transparent)]
    Trace(#[from] sortie_trace::WriteError),
}

/// What was asked for does not fit the document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// An address is for an actor that does not listen.
    #[error("there is no server actor `{actor}` that could listen")]
    NoServer {
        /// The actor.
        actor: String,
    },
    /// A target is for an actor that attacks none.
    #[error("there is no client actor `{actor}` that could attack a target")]
    NoClient {
        /// The actor.
        actor: String,
    },
    /// A client actor has no target.
    #[error("client actor `{actor}` ({mode}) has no target")]
    NoTarget {
        /// The actor.
        actor: String,
        /// Its mode.
        mode: String,
    },
    /// Standard input and output can be one MCP server, and nothing else.
    #[error(
        "only a document with one actor, which is an `mcp_server`, can be served over standard input and output"
    )]
    Stdio,
    /// An address that other machines reach was not allowed.
    #[error("`{address}`, where actor `{actor}` is to listen, can be reached from other machines")]
    NotLoopback {
        /// The actor.
        actor: String,
        /// The address.
        address: SocketAddr,
    },
    /// The agent's command cannot be filled in.
    #[error(transparent)]
    Command(#[from] CommandError),
}
