//! What is different for a client of MCP 2026-07-28: it says with each request who it is, its headers repeat what it wants, and
//! what the agent wants to know it asks by its answer.

use std::collections::BTreeSet;

use http::HeaderMap;
use serde_json::{Value, json};
use sortie_wire::mcp::decode_header;
use sortie_wire::mcp::revision::STATELESS;

/// The code of the error for headers that say something else than the message.
pub(super) const HEADER_MISMATCH: i64 = -32020;

/// The parameter that a header repeats, and the name of the header behind `Mcp-Param-`.
const REPEATED: (&str, &str) = ("name", "Note");

/// How many states wait for a client to come back with them.
const MAX_STATES: usize = 100;

/// Whether a request is of that revision.
pub(super) fn is_meant(params: &Value) -> bool {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] == STATELESS
}

pub(super) fn capabilities(params: &Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"].clone()
}

pub(super) fn discovered(name: &str) -> Value {
    let server = json!({"name": name, "version": env!("CARGO_PKG_VERSION")});
    json!({"supportedVersions": [STATELESS], "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        "_meta": {"io.modelcontextprotocol/serverInfo": server}})
}

/// A result with its type, and with how long who may keep it.
pub(super) fn completed(mut result: Value, is_public: bool) -> Value {
    if result.get("resultType").is_none() {
        result["resultType"] = "complete".into();
    }
    result["ttlMs"] = if is_public { 60_000 } else { 0 }.into();
    result["cacheScope"] = if is_public { "public" } else { "private" }.into();
    result
}

/// What a header says that the message does not say. Headers that are not there say nothing.
pub(super) fn mismatch(headers: Option<&HeaderMap>, params: &Value) -> Option<String> {
    let (argument, token) = REPEATED;
    let repeated = [
        ("mcp-name".to_owned(), &params["name"]),
        (format!("mcp-param-{token}"), &params["arguments"][argument]),
    ];
    repeated.into_iter().find_map(|(header, said)| {
        let value = decode_header(headers?.get(&header)?.to_str().ok()?).into_owned();
        (said.as_str() != Some(value.as_str())).then(|| format!("{header}: {value}"))
    })
}

/// The tools, with the parameter that clients repeat in a header.
pub(super) fn annotated(mut tools: Value) -> Value {
    let (argument, token) = REPEATED;
    for tool in tools.as_array_mut().into_iter().flatten() {
        if let Some(property) = tool.pointer_mut(&format!("/inputSchema/properties/{argument}")) {
            property["x-mcp-header"] = token.into();
        }
    }
    tools
}

/// What the agent wants to know before it answers a call.
pub(super) struct Question {
    /// The name under which the client answers it.
    pub(super) key: &'static str,
    /// What its states begin with.
    pub(super) state: &'static str,
    pub(super) method: &'static str,
    pub(super) params: Value,
}

/// States that were given to clients, and not brought back.
#[derive(Debug, Default)]
pub(super) struct States {
    given: BTreeSet<String>,
    count: usize,
}

impl States {
    /// The answer that asks.
    pub(super) fn ask(&mut self, question: &Question) -> Value {
        if self.given.len() == MAX_STATES {
            self.given.pop_first();
        }
        self.count += 1;
        let Question { key, state, method, params } = question;
        let state = format!("{state}-{}", self.count);
        self.given.insert(state.clone());
        json!({"resultType": "input_required", "requestState": state,
            "inputRequests": {*key: {"method": method, "params": params}}})
    }

    /// Whether a state was given and not brought back before.
    pub(super) fn take(&mut self, params: &Value) -> bool {
        params["requestState"].as_str().is_some_and(|state| self.given.remove(state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_good_once_and_as_it_was_given() {
        let mut states = States::default();
        let question = Question { key: "who", state: "s", method: "elicitation/create", params: json!({}) };
        let asked = states.ask(&question);
        let tampered = json!({"requestState": format!("{}-x", asked["requestState"].as_str().unwrap())});
        let brought = json!({"requestState": asked["requestState"]});
        assert!(!states.take(&tampered) && states.take(&brought) && !states.take(&brought));
    }

    #[test]
    fn a_header_that_says_something_else_is_noticed_and_one_that_is_missing_is_not() {
        let params = json!({"name": "write_note", "arguments": {"name": "a"}});
        let of = |name: &'static str, value: &'static str| {
            mismatch(
                Some(&HeaderMap::from_iter([(http::HeaderName::from_static(name), value.parse().unwrap())])),
                &params,
            )
        };
        assert_eq!(
            (of("mcp-name", "write_note"), of("mcp-param-note", "a"), mismatch(None, &params)),
            (None, None, None)
        );
        assert_eq!(of("mcp-name", "read_note").as_deref(), Some("mcp-name: read_note"));
        assert!(of("mcp-param-note", "b").is_some());
    }
}
