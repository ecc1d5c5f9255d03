//! One server, over whatever transport.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::envelope::headers;
use super::http::HttpLink;
use super::stdio::StdioLink;
use crate::http::{Client, ClientError, wait_until_accepts};
use crate::stdio::{Child, SpawnError};
use crate::{Address, Endpoint, Limits};

/// How many messages wait to be looked at. Then the server waits.
pub(super) const QUEUED: usize = 16;

/// Something that came from the server, or happened to the connection.
#[derive(Debug)]
pub enum Happened {
    /// A message, or whatever stands in the place of one.
    Message {
        /// What arrived.
        bytes: Bytes,
        /// The request whose answer it came with, by its key, where the transport tells.
        within: Option<String>,
    },
    /// A message that is longer than allowed, and was passed over.
    TooLong {
        /// How long it may be.
        limit: usize,
        /// The request whose answer it came with, where the transport tells.
        within: Option<String>,
    },
    /// Nothing more will come in answer to a request.
    Ended {
        /// The request, by its key.
        within: String,
        /// How it ended.
        how: ExchangeEnd,
    },
    /// Nothing more will come at all.
    Gone {
        /// Why.
        reason: String,
    },
}

/// How the exchange of one request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// As it should. Whether there was an answer among what came, the caller knows.
    Whole,
    /// With an HTTP status that is none of success, and what came with it.
    Status(StatusCode, Bytes),
    /// There was no answer to the end.
    Failed(ClientError),
}

/// Something to be sent.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The message.
    pub bytes: Bytes,
    /// Headers of this message, where the transport has headers.
    pub headers: HeaderMap,
}

impl Outgoing {
    /// A message that needs no headers of its own.
    pub fn plain(bytes: Bytes) -> Self {
        Self { bytes, headers: HeaderMap::new() }
    }

    /// A request of the revision without sessions, whose headers repeat what is in it. `params` is JSON text.
    pub fn stateless(bytes: Bytes, method: &str, params: Option<&str>) -> Self {
        Self { bytes, headers: headers(method, params) }
    }
}

/// A message that wants no answer could not be sent, or was not wanted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LinkError {
    /// It was refused.
    #[error("answered with HTTP status {}", .0.as_u16())]
    Status(StatusCode),
    /// It could not be sent.
    #[error(transparent)]
    Failed(#[from] ClientError),
    /// The process is gone.
    #[error("{0}")]
    Gone(String),
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

/// A connection to a server. Clones are the same connection.
#[derive(Clone, Debug)]
pub enum Link {
    /// Streamable HTTP, or the pair of HTTP and SSE that came before it.
    Http(HttpLink),
    /// A process.
    Stdio(StdioLink),
}

impl Link {
    /// Starts the process of an endpoint, or waits until somebody accepts at its URL. Nothing is sent yet. `client` makes
    /// the client that speaks HTTP.
    pub async fn connect(
        endpoint: &Endpoint,
        client: impl FnOnce() -> Result<Client, ClientError>,
        patience: Duration,
        limits: Limits,
    ) -> Result<(Self, mpsc::Receiver<Happened>), ConnectError> {
        match &endpoint.address {
            Address::Url(url) => {
                let client = client()?;
                wait_until_accepts(url, Instant::now() + patience).await?;
                Ok(Self::http(client, url))
            }
            Address::Stdio(command) => Ok(Self::stdio(Child::spawn(&endpoint.program(command))?, limits)),
        }
    }

    /// Streamable HTTP at a URL. Nothing is sent yet.
    pub fn http(client: Client, url: &str) -> (Self, mpsc::Receiver<Happened>) {
        let (happened, receiver) = mpsc::channel(QUEUED);
        (Self::Http(HttpLink::new(client, url, happened)), receiver)
    }

    /// A process that was just started.
    pub fn stdio(child: Child, limits: Limits) -> (Self, mpsc::Receiver<Happened>) {
        let (happened, receiver) = mpsc::channel(QUEUED);
        (Self::Stdio(StdioLink::new(child, limits, happened)), receiver)
    }

    /// Sends a request. Whatever comes of it arrives as [`Happened`] under `key`; the handle gives it up.
    pub fn request(&self, key: String, outgoing: Outgoing) -> AbortHandle {
        match self {
            Self::Http(http) => http.request(key, outgoing),
            Self::Stdio(stdio) => stdio.request(key, outgoing),
        }
    }

    /// Sends a notification or an answer, and waits until it was taken.
    pub async fn tell(&self, outgoing: Outgoing) -> Result<(), LinkError> {
        match self {
            Self::Http(http) => http.tell(outgoing).await,
            Self::Stdio(stdio) => stdio.tell(outgoing).await,
        }
    }

    /// The server speaks this revision: over HTTP every request says so from now on.
    pub fn agree_on(&self, version: &str) {
        if let Self::Http(http) = self {
            http.agree_on(version);
        }
    }

    /// Opens the stream on which a server speaks without being asked, where there is such a thing, and waits a little until
    /// it is open.
    pub async fn listen(&self) {
        if let Self::Http(http) = self {
            http.listen().await;
        }
    }

    /// Speaks as clients did before Streamable HTTP. Whether the server does too is the answer.
    pub async fn fall_back(&self) -> bool {
        match self {
            Self::Http(http) => http.fall_back().await,
            Self::Stdio(_) => false,
        }
    }

    /// Hangs up: ends the session, the streams, the process with its children. Takes no longer than `patience`.
    pub async fn close(&self, patience: Duration) {
        match self {
            Self::Http(http) => http.close(patience).await,
            Self::Stdio(stdio) => stdio.close(patience).await,
        }
    }
}
