//! One server, over whatever transport.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::http::HttpLink;
use super::session::AskError;
use super::stdio::StdioLink;
use crate::http::{Client, ClientError, wait_until_accepts};
use crate::jsonrpc::{Incoming, Malformed};
use crate::stdio::{Child, SpawnError};
use crate::{Address, Endpoint, Limits};

/// How many messages wait to be looked at. Then the server waits.
pub(super) const QUEUED: usize = 16;

/// Something that came from the server, or happened to the connection. `within` is the key of the request whose answer it
/// came with, where the transport tells.
#[derive(Debug)]
pub(in crate::mcp) enum Happened {
    /// A message, or whatever stands in the place of one.
    Message { bytes: Bytes, message: Result<Incoming, Malformed>, within: Option<String> },
    /// A message that is longer than allowed, and was passed over.
    TooLong { limit: usize, within: Option<String> },
    /// Nothing more will come in answer to a request, for a reason that counts unless there was an answer among what came.
    Ended { within: String, how: AskError },
    /// Nothing more will come at all.
    Gone { reason: String },
}

/// Something to be sent, and its headers where the transport has headers.
#[derive(Clone, Debug)]
pub(in crate::mcp) struct Outgoing {
    pub(in crate::mcp) bytes: Bytes,
    pub(in crate::mcp) headers: HeaderMap,
}

impl Outgoing {
    pub(super) fn plain(bytes: Bytes) -> Self {
        Self { bytes, headers: HeaderMap::new() }
    }
}

/// A server could not be reached.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// Nobody accepts at its URL.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Its process does not start.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

/// A connection to a server, on which nothing was said yet.
#[derive(Debug)]
pub struct Connection {
    pub(in crate::mcp) link: Link,
    pub(in crate::mcp) happened: mpsc::Receiver<Happened>,
    pub(super) limits: Limits,
}

impl Connection {
    /// Starts the process of an endpoint, or waits until somebody accepts at its URL. `client` makes the client that speaks
    /// HTTP.
    pub async fn connect(
        endpoint: &Endpoint,
        client: impl FnOnce() -> Result<Client, ClientError>,
        patience: Duration,
        limits: Limits,
    ) -> Result<Self, ConnectError> {
        match &endpoint.address {
            Address::Url(url) => {
                let client = client()?;
                wait_until_accepts(url, Instant::now() + patience).await?;
                Ok(Self::http(client, url, limits))
            }
            Address::Stdio(command) => {
                let command = endpoint.launch.as_ref().unwrap_or(command);
                Ok(Self::stdio(Child::spawn(command, &endpoint.env)?, limits))
            }
        }
    }

    /// Streamable HTTP at a URL, or the pair of HTTP and SSE that came before it.
    pub fn http(client: Client, url: &str, limits: Limits) -> Self {
        let (sender, happened) = mpsc::channel(QUEUED);
        Self { link: Link::Http(HttpLink::new(client, url, limits, sender)), happened, limits }
    }

    /// A process that was just started.
    pub fn stdio(child: Child, limits: Limits) -> Self {
        let (sender, happened) = mpsc::channel(QUEUED);
        Self { link: Link::Stdio(StdioLink::new(child, limits, sender)), happened, limits }
    }
}

/// The sending half of a connection. Clones are the same connection.
#[derive(Clone, Debug)]
pub(in crate::mcp) enum Link {
    Http(HttpLink),
    Stdio(StdioLink),
}

impl Link {
    /// Sends a request. Whatever comes of it arrives as [`Happened`] under `key`; the handle gives it up.
    pub(in crate::mcp) fn request(&self, key: String, outgoing: Outgoing) -> AbortHandle {
        match self {
            Self::Http(http) => http.request(key, outgoing),
            Self::Stdio(stdio) => stdio.request(key, outgoing),
        }
    }

    /// Sends a notification or an answer, and waits until it was taken.
    pub(in crate::mcp) async fn tell(&self, outgoing: Outgoing) -> Result<(), AskError> {
        match self {
            Self::Http(http) => http.tell(outgoing).await,
            Self::Stdio(stdio) => stdio.tell(outgoing).await,
        }
    }

    /// The server speaks this revision: over HTTP every request says so from now on.
    pub(in crate::mcp) fn agree_on(&self, version: &str) {
        if let Self::Http(http) = self {
            http.agree_on(version);
        }
    }

    /// Opens the stream on which a server speaks without being asked, where there is such a thing, and waits a little until
    /// it is open.
    pub(in crate::mcp) async fn listen(&self) {
        if let Self::Http(http) = self {
            http.listen().await;
        }
    }

    /// Speaks as clients did before Streamable HTTP. Whether the server does too is the answer.
    pub(super) async fn fall_back(&self) -> bool {
        match self {
            Self::Http(http) => http.fall_back().await,
            Self::Stdio(_) => false,
        }
    }

    /// Hangs up: ends the session, the streams, the process with its children. Takes no longer than `patience`.
    pub(in crate::mcp) async fn close(&self, patience: Duration) {
        match self {
            Self::Http(http) => http.close(patience).await,
            Self::Stdio(stdio) => stdio.close(patience).await,
        }
    }
}
