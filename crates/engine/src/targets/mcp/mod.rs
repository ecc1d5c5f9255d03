//! An MCP server, whose tools we call.

mod listing;
mod session;

use std::sync::Arc;

use sortie_wire::http::Client;
use sortie_wire::mcp::client::{ConnectError, Link};

use super::error::TargetError;
use super::log::Log;
use super::offer::Offer;
use super::target::Settings;
use super::web::client_options;
use crate::modes::{Endpoint, McpRevision};
pub(super) use session::Session;

/// Connects and shakes hands.
pub(super) async fn open(
    target: &Endpoint,
    wire: &McpRevision,
    client: Option<&Client>,
    log: &Arc<Log>,
    settings: &Settings,
) -> Result<Session, TargetError> {
    let client = || match client {
        Some(client) => Ok(client.clone()),
        None => Client::new(client_options(target, settings)?),
    };
    let connected = Link::connect(target, client, settings.connect_timeout, settings.limits).await;
    let connected = connected.map_err(|error| match error {
        ConnectError::Client(error) => TargetError::of_client("connect", error, settings.connect_timeout),
        ConnectError::Spawn(error) => TargetError::Refused(error.to_string()),
    })?;
    Session::open(connected, wire, log.clone(), settings).await
}

/// Connects, asks for the tools, and hangs up.
pub(super) async fn discover(
    target: &Endpoint,
    wire: &McpRevision,
    log: &Arc<Log>,
    settings: &Settings,
) -> Result<Offer, TargetError> {
    let mut session = open(target, wire, None, log, settings).await?;
    let tools = session.tools().await;
    let server = session.server().clone();
    session.close().await;
    Ok(Offer { tools: tools?, server, ..Offer::default() })
}
