//! Headers that repeat what a message says, for messages that came on a line: 2026-07-28 wants them over HTTP.

use std::collections::HashMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::jsonrpc::{self, Incoming};
use crate::mcp::client::mirrored_headers;
use crate::mcp::{encode_header, revision};
use crate::{Limits, Lock, Members};

/// How many tools are remembered.
const MAX_TOOLS: usize = 4096;

/// How deep in a schema parameters are looked for.
const MAX_DEPTH: usize = 16;

/// Which parameters of which tool are repeated in which header, as the lists of the server have it (`x-mcp-header`).
#[derive(Debug, Default)]
pub(super) struct HeaderMirror {
    tools: Lock<HashMap<String, Vec<MirroredParam>>>,
}

#[derive(Clone, Debug)]
struct MirroredParam {
    path: Vec<String>,
    header: HeaderName,
}

impl HeaderMirror {
    /// Reads a result of `tools/list`.
    pub(super) fn learn(&self, result: &str) {
        // Few servers have it, and nothing is read of the others.
        if !result.contains("x-mcp-header") {
            return;
        }
        let Ok(result) = serde_json::from_str::<Value>(result) else { return };
        let mut tools = self.tools.lock();
        for tool in result.get("tools").and_then(Value::as_array).into_iter().flatten() {
            let (Some(name), Some(schema)) =
                (tool.get("name").and_then(Value::as_str), tool.get("inputSchema"))
            else {
                continue;
            };
            let mut params = Vec::new();
            collect(schema, &mut Vec::new(), &mut params);
            if tools.len() < MAX_TOOLS || tools.contains_key(name) {
                tools.insert(name.to_owned(), params);
            }
        }
    }

    /// The headers of a request; none when it is one of an earlier revision.
    pub(super) fn headers(&self, method: &str, params: &str) -> HeaderMap {
        if !is_stateless(params) {
            return HeaderMap::new();
        }
        let mut headers = mirrored_headers(method, params);
        if method != "tools/call" {
            return headers;
        }
        let call: Value = serde_json::from_str(params).unwrap_or_default();
        let mirrored =
            call.get("name").and_then(Value::as_str).and_then(|name| self.tools.lock().get(name).cloned());
        for param in mirrored.into_iter().flatten() {
            let arguments = call.get("arguments");
            let value =
                param.path.iter().fold(arguments, |value, key| value.and_then(|value| value.get(key)));
            let text = match value {
                Some(Value::String(text)) => text.clone(),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
                _ => continue,
            };
            if let Ok(text) = HeaderValue::from_str(&encode_header(&text)) {
                headers.insert(param.header, text);
            }
        }
        headers
    }
}

/// Headers that repeat what a message says (2026-07-28) repeat what it says now.
pub(super) fn repeat_in_headers(message: &[u8], headers: &mut HeaderMap, limits: &Limits) {
    if let Ok(Incoming::Request { method, params, .. }) = jsonrpc::read(message, limits) {
        let params = params.as_ref().map_or("{}", |params| params.get());
        for (name, value) in &mirrored_headers(&method, params) {
            if headers.contains_key(name) {
                headers.insert(name, value.clone());
            }
        }
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, params: &mut Vec<MirroredParam>) {
    if path.len() == MAX_DEPTH {
        return;
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        path.push(name.clone());
        let header = property.get("x-mcp-header").and_then(Value::as_str);
        let header = header.and_then(|header| format!("mcp-param-{header}").parse().ok());
        params.extend(header.map(|header| MirroredParam { path: path.clone(), header }));
        collect(property, path, params);
        path.pop();
    }
}

/// Whether a request is of the revision that has no handshake.
fn is_stateless(params: &str) -> bool {
    let meta =
        params.contains("io.modelcontextprotocol/protocolVersion").then(|| Members::read(params)).flatten();
    let version =
        meta.and_then(|params| params.object("_meta")?.string("io.modelcontextprotocol/protocolVersion"));
    version.as_deref() == Some(revision::STATELESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

    #[test]
    fn a_call_repeats_what_the_schema_of_its_tool_marks() {
        let mirror = HeaderMirror::default();
        mirror.learn(
            r#"{"tools":[{"name":"query","inputSchema":{"properties":{"region":{"x-mcp-header":"Region"},
            "page":{"properties":{"size":{"x-mcp-header":"Size"}}},"free":{},"bad":{"x-mcp-header":"no token"}}}}]}"#,
        );
        let params = format!(
            r#"{{"name":"query","arguments":{{"region":"grüße","page":{{"size":5}},"free":1}},{META}}}"#
        );
        let headers = mirror.headers("tools/call", &params);
        assert_eq!(headers["mcp-param-region"], "=?base64?Z3LDvMOfZQ==?=");
        assert_eq!(headers["mcp-param-size"], "5");
        assert_eq!(
            (&headers["mcp-name"], &headers["mcp-method"]),
            (&"query".parse().unwrap(), &"tools/call".parse().unwrap())
        );
        assert_eq!(headers.len(), 5);
    }

    #[test]
    fn earlier_revisions_have_no_such_headers() {
        let mirror = HeaderMirror::default();
        assert!(mirror.headers("tools/call", r#"{"name":"query"}"#).is_empty());
        assert_eq!(mirror.headers("server/discover", &format!("{{{META}}}")).len(), 2);
    }
}
