//! An MCP server, whose tools we call.

mod listing;
mod session;

use sortie_wire::http::Client;
use sortie_wire::mcp::client::{ConnectError, Connection};

use super::channel::Channel;
use super::error::TargetError;
use super::target::Settings;
use super::web::client_options;
use crate::modes::{Endpoint, McpRevision};
pub(super) use session::Session;

/// Connects, shakes hands and asks for the tools.
pub(super) async fn open(
    target: &Endpoint,
    wire: &McpRevision,
    client: Option<&Client>,
    log: &Channel,
    settings: &Settings,
) -> Result<Session, TargetError> {
    let client = || match client {
        Some(client) => Ok(client.clone()),
        None => Client::new(client_options(target, settings)?),
    };
    let connected = Connection::connect(target, client, settings.connect_timeout, settings.limits).await;
    let connected = connected.map_err(|error| match error {
        ConnectError::Client(error) => TargetError::of_client("connect", error, settings.connect_timeout),
        ConnectError::Spawn(error) => TargetError::Refused(error.to_string()),
    })?;
    let mut session = Session::open(connected, wire, log.clone(), settings).await?;
    match session.list_tools().await {
        Ok(()) => Ok(session),
        Err(error) => {
            session.close().await;
            Err(error)
        }
    }
}
