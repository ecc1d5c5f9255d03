//! MCP servers to practise with: a mailbox and a ticket desk of ours, and recordings of real servers.
//!
//! Agents have servers that they use every day. These stand for them where there is no network and nothing to install. What
//! they keep is in memory, and gone when they end.

mod mailbox;
mod recorded;
mod service;
mod tickets;
mod tools;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sortie_wire::Limits;
use sortie_wire::http::{BindError, Hosts, Listener};
use sortie_wire::mcp::server::{Ends, serve, serve_stdio};
use tokio_util::sync::CancellationToken;

pub use mailbox::Mailbox;
pub use recorded::{MAX_RECORDING_BYTES, RecordedServer, RecordingError};
use service::ServerFace;
pub use tickets::TicketDesk;

/// Where a server is, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct ServerOptions {
    /// Where it listens; standard input and output without.
    pub serve_mcp: Option<SocketAddr>,
    /// How long it lives.
    pub max_duration: Duration,
}

/// A server to practise with.
#[derive(Debug)]
pub enum PracticeServer {
    /// Mails.
    Mailbox(Mailbox),
    /// Tickets.
    Tickets(TicketDesk),
    /// What a real server said.
    Recorded(RecordedServer),
}

impl PracticeServer {
    /// The servers that need nothing, with what each is.
    pub const LIVE: [(&'static str, &'static str); 2] = [
        ("mailbox", "is a mailbox: lists, reads, searches and sends mails"),
        ("tickets", "is a ticket desk: lists, reads, searches, opens and updates tickets"),
    ];

    /// One of [`Self::LIVE`], as it is when nobody has used it.
    pub fn live(name: &str) -> Option<Self> {
        match name {
            "mailbox" => Some(Self::Mailbox(Mailbox::default())),
            "tickets" => Some(Self::Tickets(TicketDesk::default())),
            _ => None,
        }
    }

    /// Serves until its standard input ends, or its time is over. `announce` is given the address where it listens.
    pub async fn run(self, options: ServerOptions, announce: impl FnOnce(&str)) -> Result<(), BindError> {
        let stop = CancellationToken::new();
        let face = Arc::new(ServerFace::new(self));
        let served = async {
            if let Some(address) = options.serve_mcp {
                let listener = Listener::bind(address, false).await?;
                announce(&format!("mcp http://{}/mcp", listener.address()));
                let ends = Ends { stop: stop.clone(), farewell: Duration::ZERO };
                serve(listener, Hosts::loopback_plus([""; 0]), Limits::default(), face, ends).await;
            } else {
                let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
                serve_stdio(input, output, Limits::default(), face, stop.clone()).await;
            }
            Ok(())
        };
        tokio::time::timeout(options.max_duration, served).await.unwrap_or(Ok(()))
    }
}
