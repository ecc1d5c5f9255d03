//! The five postures of an actor, each over its protocol.

pub mod a2a_client;
mod a2a_push;
pub mod a2a_server;
mod actions;
pub mod ag_ui_client;
pub(crate) mod excerpt;
mod hold;
pub mod mcp_client;
pub mod mcp_server;
mod responses;

use http::{HeaderName, HeaderValue};
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
    pub fn failure(&self) -> &'static str {
        match self {
            Self::Bind { .. } => "bind_failed",
            Self::State { .. } => "internal",
        }
    }
}

/// What a client actor attacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where it is.
    pub place: Place,
    /// Headers for every HTTP request, credentials among them. Never recorded.
    pub headers: Vec<(String, String)>,
    /// Environment of a process that we start, and nothing else.
    pub env: Vec<(String, String)>,
}

impl Target {
    /// Its headers, as HTTP has them. The sentence that says which one is none does not repeat its value.
    pub(crate) fn http_headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
        let headers = self.headers.iter().map(|(name, value)| {
            let read = name.parse().ok().zip(value.parse().ok());
            read.ok_or_else(|| format!("`{name}` and its value are no HTTP header"))
        });
        headers.collect()
    }
}

/// Where a target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a URL.
    Url(String),
    /// A process that we start, and talk to over its standard input and output.
    Stdio(Vec<String>),
}

/// Which MCP revision is spoken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Wire {
    /// What the peer offers, when we speak it.
    #[default]
    Auto,
    /// This one (`2025-11-25`).
    Version(String),
}

impl Wire {
    /// The revisions that are spoken here.
    pub const REVISIONS: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
}
