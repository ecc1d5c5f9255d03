//! The raw wire: JSON-RPC and server-sent events, over HTTP and over standard input and output.
//!
//! An attack sends what typed SDKs refuse to send, and evidence is what was really said. So nothing here goes through
//! a typed message: content is read as slices of what arrived and written as the text it was given.
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
//! Peers are hostile. Everything that a peer could make grow has a bound in [`Limits`], nothing recurses as deep as a
//! peer likes, and a fault of one message or one connection is never the end of the listener.

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
