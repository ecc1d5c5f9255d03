//! Who the server says it is.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::wording::{Part, Wording};
use crate::actor::ActorState;
use crate::modes::McpRevision;
use crate::payload::{TooLarge, WirePayload};
use crate::phase::ActorPhase;
use sortie_wire::mcp::revision;

/// The answer to `initialize`, and to `server/discover`.
#[derive(Debug)]
pub(super) struct Identity {
    /// What the document says, verbatim.
    version: Option<WirePayload>,
    initialized: Wording,
    discovered: Wording,
}

impl Identity {
    pub(super) fn new(phase: &ActorPhase) -> Self {
        let server_info = phase.key("server_info");
        let server_info = server_info
            .unwrap_or_else(|| WirePayload::plain(json!({"name": "oatf-server", "version": "1.0.0"})));
        let capabilities = phase.key("capabilities").unwrap_or_else(|| WirePayload::plain(everything()));
        let version = phase.key("protocol_version");
        let instructions = phase.key("instructions");
        let mut initialized = vec![
            Part::Text(",\"capabilities\":".into()),
            Part::Payload(capabilities.clone()),
            Part::Text(",\"serverInfo\":".into()),
            Part::Payload(server_info.clone()),
        ];
        let mut discovered = vec![Part::Text("{\"resultType\":\"complete\",\"supportedVersions\":[".into())];
        discovered.push(match &version {
            Some(version) => Part::Payload(version.clone()),
            None => Part::Text(format!("\"{}\"", revision::STATELESS).into()),
        });
        discovered.extend([
            Part::Text("],\"capabilities\":".into()),
            Part::Payload(capabilities),
            Part::Text(",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":".into()),
            Part::Payload(server_info),
            Part::Text("},\"ttlMs\":0,\"cacheScope\":\"private\"".into()),
        ]);
        for parts in [&mut initialized, &mut discovered] {
            if let Some(instructions) = &instructions {
                parts.push(Part::Text(",\"instructions\":".into()));
                parts.push(Part::Payload(instructions.clone()));
            }
            parts.push(Part::Text("}".into()));
        }
        Self { version, initialized: Wording::new(initialized), discovered: Wording::new(discovered) }
    }

    /// The version that the document has, if it has one.
    pub(super) fn version(&self) -> Option<&Value> {
        self.version.as_ref().map(WirePayload::value)
    }

    /// Answers `initialize`: the version as JSON text, and the result.
    pub(super) fn initialize(
        &self,
        actor: &ActorState,
        wire: &McpRevision,
        request: &Value,
    ) -> Result<(String, String), TooLarge> {
        let version = match (&self.version, wire) {
            (Some(version), _) => actor.fill(version, Some(request), None)?.json.into_owned(),
            (None, McpRevision::Version(version)) => Value::from(version.as_str()).to_string(),
            (None, McpRevision::Auto) => {
                let offered = request.get("protocolVersion").and_then(Value::as_str);
                let offered = offered.filter(|offered| revision::has_handshake(offered));
                format!("\"{}\"", offered.unwrap_or(revision::LATEST))
            }
        };
        let rest = self.initialized.fill(actor, Some(request), None)?;
        let result = format!("{{\"protocolVersion\":{version}{rest}");
        Ok((version, result))
    }

    /// Answers `server/discover`.
    pub(super) fn discover(&self, actor: &ActorState, request: &Value) -> Result<Cow<'_, str>, TooLarge> {
        self.discovered.fill(actor, Some(request), None)
    }
}

/// A list that a document omits is a declared, empty capability; and what is answered is declared.
fn everything() -> Value {
    json!({
        "tools": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true},
        "prompts": {"listChanged": true},
        "logging": {},
        "completions": {},
    })
}
