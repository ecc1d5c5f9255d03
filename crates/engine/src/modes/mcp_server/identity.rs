//! Who the server says it is.

use std::borrow::Cow;

use serde_json::{Value, json};

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
    /// All but the version.
    initialized: WirePayload,
    discovered: WirePayload,
}

impl Identity {
    pub(super) fn new(phase: &ActorPhase) -> Self {
        let server_info = phase.key("server_info");
        let server_info = server_info
            .unwrap_or_else(|| WirePayload::plain(json!({"name": "oatf-server", "version": "1.0.0"})));
        let capabilities = phase.key("capabilities").unwrap_or_else(|| WirePayload::plain(everything()));
        let version = phase.key("protocol_version");
        let spoken = version.clone().unwrap_or_else(|| WirePayload::plain(json!(revision::STATELESS)));
        let spoken = WirePayload::list(&[spoken]);
        let meta = WirePayload::object(&[("io.modelcontextprotocol/serverInfo", &server_info)]);
        let [complete, ttl, scope] = [json!("complete"), json!(0), json!("private")].map(WirePayload::plain);
        let mut initialized = vec![("capabilities", &capabilities), ("serverInfo", &server_info)];
        let mut discovered = vec![
            ("resultType", &complete),
            ("supportedVersions", &spoken),
            ("capabilities", &capabilities),
            ("_meta", &meta),
            ("ttlMs", &ttl),
            ("cacheScope", &scope),
        ];
        let instructions = phase.key("instructions");
        for members in [&mut initialized, &mut discovered] {
            members.extend(instructions.as_ref().map(|instructions| ("instructions", instructions)));
        }
        let [initialized, discovered] =
            [initialized, discovered].map(|members| WirePayload::object(&members));
        Self { version, initialized, discovered }
    }

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
            (Some(version), _) => actor.fill(version, Some(request), None)?.into_owned(),
            (None, McpRevision::Version(version)) => Value::from(version.as_str()).to_string(),
            (None, McpRevision::Auto) => {
                let offered = request.get("protocolVersion").and_then(Value::as_str);
                let offered = offered.filter(|offered| revision::has_handshake(offered));
                format!("\"{}\"", offered.unwrap_or(revision::LATEST))
            }
        };
        let rest = actor.fill(&self.initialized, Some(request), None)?;
        let result = format!("{{\"protocolVersion\":{version},{}", &rest[1..]);
        Ok((version, result))
    }

    pub(super) fn discover(&self, actor: &ActorState, request: &Value) -> Result<Cow<'_, str>, TooLarge> {
        actor.fill(&self.discovered, Some(request), None)
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
