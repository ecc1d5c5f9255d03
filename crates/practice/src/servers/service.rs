//! What every practice server does on the wire: reads requests, answers them, and takes everything else as read.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sortie_wire::Limits;
use sortie_wire::jsonrpc::{self, Incoming, Malformed};
use sortie_wire::mcp::revision;
use sortie_wire::mcp::server::{Arrival, Outlet, Reply, Service, ServiceAnswer, Transport};

use super::PracticeServer;
use super::tools::{ToolServer, list_tools};

/// A request that is not answered with a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: i64,
    pub(super) message: String,
    /// JSON text.
    pub(super) data: Option<String>,
}

impl Refusal {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// A practice server as the wire sees it.
pub(super) struct ServerFace {
    server: PracticeServer,
}

impl ServerFace {
    pub(super) fn new(server: PracticeServer) -> Self {
        Self { server }
    }

    fn answer(&self, id: &RawValue, method: &str, params: Option<&RawValue>) -> Reply {
        let params = params.map_or_else(|| json!({}), read_raw);
        let answered = match &self.server {
            PracticeServer::Mailbox(mailbox) => answer_with_tools(mailbox, method, &params),
            PracticeServer::Tickets(desk) => answer_with_tools(desk, method, &params),
            PracticeServer::Recorded(recorded) => recorded.answer(method, &params),
        };
        message(match answered {
            Ok(result) => jsonrpc::result(id.get(), &result),
            Err(Refusal { code, message, data }) => {
                jsonrpc::error(Some(id.get()), code, &message, data.as_deref())
            }
        })
    }
}

/// What a server of ours with tools says.
fn answer_with_tools(server: &impl ToolServer, method: &str, params: &Value) -> Result<String, Refusal> {
    let result = match method {
        "initialize" => {
            let offered = params["protocolVersion"].as_str();
            let version = offered.filter(|version| revision::has_handshake(version));
            json!({
                "protocolVersion": version.unwrap_or(revision::LATEST),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": server.name(), "version": env!("CARGO_PKG_VERSION")},
            })
        }
        "ping" => json!({}),
        "tools/list" => json!({"tools": list_tools(server.tools())}),
        "tools/call" => {
            let name = params["name"].as_str().unwrap_or_default();
            let (text, failed) = match server.call(name, &params["arguments"]) {
                Some(Ok(value)) => (value.to_string(), false),
                Some(Err(error)) => (error.to_string(), true),
                None => return Err(Refusal::new(-32602, "there is no such tool")),
            };
            json!({"content": [{"type": "text", "text": text}], "isError": failed})
        }
        _ => return Err(Refusal::new(-32601, "there is no such method")),
    };
    Ok(result.to_string())
}

fn read_raw(value: &RawValue) -> Value {
    serde_json::from_str(value.get()).unwrap_or_default()
}

fn message(message: Bytes) -> Reply {
    Reply::Answer(ServiceAnswer { message, status: StatusCode::OK, then: None })
}

impl Service for ServerFace {
    type Peer = ();

    fn open(self: &Arc<Self>, _: &str, _: Transport) -> Arc<()> {
        Arc::default()
    }

    fn close(self: &Arc<Self>, _: &Arc<()>) {}

    fn begins_session(&self, message: &Incoming) -> bool {
        matches!(message, Incoming::Request { method, .. } if method == "initialize")
    }

    fn speaks(&self, (): &(), _: &str) -> bool {
        true
    }

    fn primes(&self, (): &()) -> bool {
        false
    }

    fn has_unsaid(&self, (): &()) -> bool {
        false
    }

    fn listening(self: &Arc<Self>, _: &Arc<()>, _: Outlet) {}

    fn hear(self: &Arc<Self>, _: &Arc<()>, arrival: Arrival<'_>) -> Reply {
        self.reply(arrival.message)
    }

    fn refuse(self: &Arc<Self>, _: &str, _: Arrival<'_>, _: &Bytes) {}
}

impl ServerFace {
    fn reply(&self, message: Result<Incoming, Malformed>) -> Reply {
        match message {
            Ok(Incoming::Request { id, method, params }) => self.answer(&id, &method, params.as_deref()),
            Ok(Incoming::Batch(items)) => {
                let one =
                    |item: &RawValue| self.reply(jsonrpc::read(item.get().as_bytes(), &Limits::default()));
                Reply::Several(items.iter().map(AsRef::as_ref).map(one).collect())
            }
            Ok(_) => Reply::Accepted,
            Err(malformed) => self::message(malformed.answer()),
        }
    }
}
