//! What MCP 2026-07-28 has, and OATF 0.1 has no words for: how long a result may be kept and by whom, addresses that a client
//! may fetch, and headers that repeat a request.

use serde_json::Value;
use sortie_syntax::NodePath;

use super::{ExtensionError, KEY, Placed, Reader};

/// Revisions that `mcp_revision` may name.
const REVISIONS: [&str; 4] = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// Keys of the `x-sortie` in the state of an `mcp_server`.
const STATE_KEYS: &[&str] = &["cache", "fetch"];
/// Keys of the `x-sortie` of an action of an `mcp_client`.
pub(super) const ACTION_KEYS: &[&str] = &["headers"];

const CACHE_EXAMPLE: &str = "for example `{ttl_ms: 60000, scope: public}`";
const FETCH_EXAMPLE: &str = "for example `{\"https://schemas.example/amount.json\": {type: number}}`";
const HEADERS_EXAMPLE: &str = "for example `{Mcp-Name: read_note}`";

/// What the server says about lists and reads: how long they may be kept, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheHint {
    /// `ttlMs`.
    pub ttl_ms: u64,
    /// `cacheScope`, whether the protocol knows the word or not.
    pub scope: String,
}

impl Default for CacheHint {
    /// For no time at all, and by nobody else: the next phase may have another answer.
    fn default() -> Self {
        Self { ttl_ms: 0, scope: "private".to_owned() }
    }
}

/// What `x-sortie` says in the state of an MCP server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerExtension {
    /// `cache: {ttl_ms, scope}`.
    pub cache: CacheHint,
    /// `fetch`: the addresses. What is served there stays with the document.
    pub fetch: Vec<String>,
}

impl ServerExtension {
    /// What `x-sortie` says in a state.
    pub fn of(state: &Value) -> Result<Self, ExtensionError> {
        let mut reader = Reader::default();
        let own = Placed { value: state, path: NodePath::root() }.get(KEY);
        let read = own.map(|own| reader.server(&own)).unwrap_or_default();
        reader.errors.into_iter().next().map_or(Ok(read), Err)
    }
}

/// The headers that an action of an MCP client sends, in place of those that repeat its message.
pub fn action_headers(action: &Value) -> Result<Vec<(String, String)>, ExtensionError> {
    let mut reader = Reader::default();
    let own = Placed { value: action, path: NodePath::root() }.get(KEY);
    let read = own.map(|own| reader.action(&own)).unwrap_or_default();
    reader.errors.into_iter().next().map_or(Ok(read), Err)
}

impl Reader {
    pub(super) fn revision(&mut self, at: &Placed<'_>) -> Option<String> {
        let text = self.text(at)?;
        if REVISIONS.contains(&text.as_str()) {
            return Some(text);
        }
        self.unknown("revision of MCP", &text, at.path.clone(), REVISIONS.into_iter());
        None
    }

    pub(super) fn server(&mut self, at: &Placed<'_>) -> ServerExtension {
        let mut read = ServerExtension::default();
        if !self.is_mapping(at, STATE_KEYS) {
            return read;
        }
        if let Some(cache) = at.get("cache").filter(|cache| self.is_mapping(cache, &["ttl_ms", "scope"])) {
            let ttl = self.required(&cache, "ttl_ms", CACHE_EXAMPLE).and_then(|ttl| self.milliseconds(&ttl));
            let scope = self.required_text(&cache, "scope", CACHE_EXAMPLE);
            if let (Some(ttl), Some(scope)) = (ttl, scope) {
                let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
                read.cache = CacheHint { ttl_ms, scope };
            }
        }
        if let Some(fetch) = at.get("fetch") {
            if fetch.fields().next().is_none() {
                self.error(fetch.path.clone(), "this must be a mapping of addresses", FETCH_EXAMPLE);
            }
            for (url, _) in fetch.fields() {
                let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
                if rest.is_some_and(|rest| rest.split_once('/').is_some_and(|(_, path)| !path.is_empty())) {
                    read.fetch.push(url.clone());
                } else {
                    let message = format!("`{url}` is not an address of HTTP with a path");
                    self.error(fetch.path.clone().key(url), message, FETCH_EXAMPLE);
                }
            }
        }
        read
    }

    pub(super) fn action(&mut self, at: &Placed<'_>) -> Vec<(String, String)> {
        if !self.is_mapping(at, ACTION_KEYS) {
            return Vec::new();
        }
        let Some(headers) = self.required(at, "headers", HEADERS_EXAMPLE) else { return Vec::new() };
        if headers.fields().next().is_none() {
            self.error(headers.path.clone(), "this must be a mapping of headers", HEADERS_EXAMPLE);
        }
        let mut read = Vec::new();
        for (name, value) in headers.fields() {
            let path = headers.path.clone().key(name);
            let is_token =
                name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
            if !is_token || name.is_empty() {
                self.error(path, format!("`{name}` is not a name of a header"), HEADERS_EXAMPLE);
            } else if let Some(value) = self.text(&Placed { value, path }) {
                read.push((name.clone(), value));
            }
        }
        read
    }
}
