//! A server that does what servers do, but for what a test is about.

use serde_json::{Value, json};
use sortie_engine::modes::mcp_client::play;
use sortie_engine::run::RunOptions;
use tokio::task::JoinHandle;

use super::{Connection, Peer, Request, Stage, at};

/// One phase with these actions, as flow YAML.
pub(crate) fn one_phase(actions: &str) -> Stage {
    Stage::new(&format!("    mode: mcp_client\n    state: {{actions: [{actions}]}}"))
}

pub(crate) fn start(stage: &Stage, peer: &Peer) -> JoinHandle<()> {
    start_with(stage, peer, RunOptions::default())
}

pub(crate) fn start_with(stage: &Stage, peer: &Peer, options: RunOptions) -> JoinHandle<()> {
    tokio::spawn(play(stage.actor.clone(), at(&peer.url), options))
}

pub(crate) fn result(request: &Request, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": result}).to_string()
}

/// What a server does with everything but the calls that a test is about: `None` when it was one of those.
pub(crate) async fn usual(request: Request, mut connection: Connection) -> Option<(Request, Connection)> {
    let message = request.json();
    match (request.method.as_str(), message["method"].as_str()) {
        ("POST", Some("initialize")) => {
            let version = message["params"]["protocolVersion"].clone();
            let answer = result(&request, &json!({"protocolVersion": version, "capabilities": {}}));
            let headers = "content-type: application/json\r\nmcp-session-id: s-1\r\n";
            connection.answer("200 OK", headers, answer).await;
        }
        ("POST", Some(method)) if method.starts_with("notifications/") => {
            connection.answer("202 Accepted", "", "").await;
        }
        ("POST", Some(method)) if method != "tools/call" => {
            connection.json(result(&request, &json!({"from": method}))).await;
        }
        ("GET", _) => connection.answer("405 No", "", "").await,
        ("DELETE", _) => connection.answer("200 OK", "", "").await,
        _ => return Some((request, connection)),
    }
    None
}

pub(crate) async fn answers_everything(request: Request, connection: Connection) {
    if let Some((request, mut connection)) = usual(request, connection).await {
        connection.json(result(&request, &json!({"from": "tools/call"}))).await;
    }
}
