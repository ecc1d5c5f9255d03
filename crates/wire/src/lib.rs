//! JSON-RPC and server-sent events, over HTTP and over standard input and output, without typed messages.
//!
//! An attack sends messages that typed SDKs reject, and evidence must be the original text. So nothing here uses
//! typed messages: content is read as slices of the input and written as the given text.
//!
//! | piece | reads | writes |
//! |---|---|---|
//! | [`jsonrpc`] | [`jsonrpc::read`] | [`jsonrpc::request`], [`jsonrpc::result`], … |
//! | [`sse`] | [`sse::Decoder`] | [`sse::encode`], [`sse::comment`] |
//! | [`http`] | [`http::Listener`], [`http::read_body`] | [`http::Client`], [`http::Streams`] |
//! | [`ag_ui`] | [`ag_ui::AgentEvent`], [`ag_ui::AgentRun`] | [`ag_ui::follow_up`] |
//! | [`mcp`] | [`mcp::client::Handler`], [`mcp::server::Service`] | [`mcp::client::Session`], [`mcp::server::Outlet`] |
//! | [`a2a`] | [`a2a::A2aClient::card`] | [`a2a::A2aClient::call`] |
//! | [`stdio`] | [`stdio::Lines`] | [`stdio::write_line`], [`stdio::Child`] |
//!
//! Peers are untrusted. [`Limits`] limits everything that a peer could make grow, recursion depth is limited, and an error in one
//! message or connection never ends the listener.

pub mod a2a;
mod endpoint;
pub mod http;
pub mod jsonrpc;
mod limits;
mod lock;
pub mod mcp;
pub mod sse;
pub mod stdio;

pub use endpoint::{Address, Endpoint};
pub use limits::Limits;
pub use lock::Lock;
pub use sortie_protocol::{Members, ag_ui};
