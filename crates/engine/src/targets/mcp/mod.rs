//! An MCP server, whose tools we call.

mod answers;
mod listing;
mod session;

use std::ffi::OsString;
use std::sync::Arc;

use sortie_wire::http::{Client, wait_until_accepts};
use sortie_wire::mcp::client::Link;
use sortie_wire::stdio::{Child, Program};

use super::error::TargetError;
use super::log::Log;
use super::offer::Offer;
use super::target::Settings;
use super::web::new_client;
use crate::modes::{Address, Endpoint, McpRevision};
pub(super) use session::Session;

/// Connects and shakes hands.
pub(super) async fn open(
    target: &Endpoint,
    wire: &McpRevision,
    client: Option<&Client>,
    log: &Arc<Log>,
    settings: &Settings,
) -> Result<Session, TargetError> {
    let (link, happened) = match &target.address {
        Address::Url(url) => {
            let client = client.map_or_else(|| new_client(target, settings), |client| Ok(client.clone()))?;
            let fail = |error| TargetError::of_client("connect", error, settings.connect_timeout);
            let deadline = tokio::time::Instant::now() + settings.connect_timeout;
            wait_until_accepts(url, deadline).await.map_err(fail)?;
            Link::http(client, url)
        }
        Address::Stdio(command) => {
            let os = |text: &String| OsString::from(text);
            let program = Program {
                argv: command.iter().map(os).collect(),
                env: target.env.iter().map(|(name, value)| (os(name), os(value))).collect(),
                cwd: None,
            };
            let child = Child::spawn(&program).map_err(|error| TargetError::Refused(error.to_string()))?;
            Link::stdio(child, settings.limits)
        }
    };
    let mut session = Session::new(link, happened, log.clone(), *settings);
    match session.handshake(wire).await {
        Ok(()) => Ok(session),
        Err(error) => {
            session.close().await;
            Err(error)
        }
    }
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
