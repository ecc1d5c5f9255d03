//! Stands between a client and a real server, and moves bytes.
//!
//! What the [`Tap`] does not change reaches the other side to the byte. Between HTTP and HTTP that is every request and every
//! answer, with method, status, end-to-end headers and body; between standard input and output every line; between the two
//! the JSON-RPC message, whose line breaks, which stand between tokens, become spaces on a line.
//!
//! A message that is longer than [`Limits::message_bytes`] goes on piece by piece, where both sides have the same transport; the
//! tap is told how it begins, its length and its digest. Elsewhere it does not cross, and that is a [`RelayFault`].

mod conversation;
mod frames;
mod gateway;
mod http;
mod lines_to_http;
mod mirror;
mod stdio;
mod tap;

use std::sync::Arc;
use std::time::Duration;

use ::http::Request;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use url::Url;

pub use frames::{FrameBoundary, FrameCutter, FramePiece, event_data, replace_data};
pub use tap::{Crossing, Onward, Overlong, Passage, RelayFault, RelaySide, Tap};

use self::conversation::Conversation;
use self::stdio::ServerProcess;
use super::client::ConnectError;
use super::server::{Ends, serve};
use crate::http::{Client, ClientError, ClientOptions, Hosts, Listener, Peer, RequestBody};
use crate::{Address, Endpoint, Limits};

/// A relay in front of one server.
#[derive(Debug)]
pub struct Relay<T: Tap> {
    /// Sees what crosses.
    pub tap: Arc<T>,
    /// The real server.
    pub server: Endpoint,
    /// How much either side may ask of us.
    pub limits: Limits,
    /// How long the server may be silent about a request until that is a fault, once the relay ends.
    pub patience: Duration,
    /// Ends the relay.
    pub stop: CancellationToken,
}

/// How long an answer may take that is carried from HTTP to a line. The client has a patience of its own.
const ANSWER: Duration = Duration::from_hours(1);

impl<T: Tap> Relay<T> {
    /// Serves one client over two streams, until either side has gone or the relay is stopped. The server's process has ended
    /// when this returns.
    pub async fn over_stdio(
        self,
        reader: impl AsyncRead + Unpin,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Result<(), ConnectError> {
        let conversation = Arc::new(Conversation::new("stdio".to_owned(), self.tap.clone(), self.limits));
        match &self.server.address {
            Address::Stdio(command) => {
                let server = ServerProcess::start(command, &self.server, &self.limits)?;
                stdio::relay(reader, writer, server, &conversation, self.limits, self.stop).await;
            }
            Address::Url(url) => {
                let client = self.client()?;
                lines_to_http::relay(reader, writer, client, url, &conversation, self.limits, self.stop)
                    .await;
            }
        }
        conversation.end(self.patience);
        Ok(())
    }

    /// Serves clients over HTTP until it is stopped. A server that is a process is started for each session, and once for all
    /// who have none.
    pub async fn over_http(self, listener: Listener, hosts: Hosts) -> Result<(), ConnectError> {
        match &self.server.address {
            Address::Stdio(command) => {
                let gateway =
                    gateway::Gateway::new(self.tap, command.clone(), self.server.clone(), self.limits);
                let ends = Ends { stop: self.stop, farewell: Duration::ZERO };
                serve(listener, hosts, self.limits, gateway.clone(), ends).await;
                gateway.end(self.patience).await;
            }
            Address::Url(url) => {
                let url = Url::parse(url).map_err(|error| ClientError::Invalid(error.to_string()))?;
                let client = self.client()?;
                let relay = http::HttpRelay::new(self.tap, client, url, hosts, self.limits);
                let own = relay.clone();
                let handler =
                    move |request: Request<RequestBody>, peer: Peer| relay.clone().answer(request, peer);
                listener.serve(handler, self.limits, self.stop).await;
                own.end(self.patience);
            }
        }
        Ok(())
    }

    /// Where clients find it, by the address of its listener: at the path of the server, so that its own links lead here.
    pub fn path(&self) -> String {
        let path = match &self.server.address {
            Address::Url(url) => Url::parse(url).ok().map(|url| url.path().to_owned()),
            Address::Stdio(_) => None,
        };
        path.unwrap_or_else(|| "/mcp".to_owned())
    }

    fn client(&self) -> Result<Client, ClientError> {
        Client::new(ClientOptions {
            headers: self.server.http_headers()?,
            answer_timeout: ANSWER,
            limits: self.limits,
            ..ClientOptions::default()
        })
    }
}
