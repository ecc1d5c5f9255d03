//! 2026-07-28: no handshake and no sessions. Each request says what its client speaks and can do, and what a server
//! wants to know it asks by its answer, which the client gets again when it knows
//! (<https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use http::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sortie_oatf::extension::mcp::CacheHint;
use sortie_trace::{Direction, Kind};
use sortie_wire::Members;
use sortie_wire::mcp::decode_header;
use sortie_wire::mcp::revision::STATELESS;
pub(super) use sortie_wire::mcp::revision::UNSUPPORTED;
use sortie_wire::mcp::server::Outlet;

use super::announce::is_notification;
use super::callable::Entry;
use super::dispatch::{Plan, Refusal};
use super::step::Step;
use super::talk::Call;
use crate::actor::Spoken;
use crate::payload::TooLarge;

pub(super) const DISCOVER: &str = "server/discover";
pub(super) const LISTEN: &str = "subscriptions/listen";

const HEADER_MISMATCH: i64 = -32020;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Which requests a server may ask, and the capability that each needs.
const ASKED: [(&str, &str); 3] =
    [("elicitation/create", "elicitation"), ("sampling/createMessage", "sampling"), ("roots/list", "roots")];

/// How many answers of a client are looked at.
const MOST_ANSWERS: usize = 100;

pub(super) fn capability(method: &str) -> Option<&'static str> {
    ASKED.iter().find(|(asked, _)| *asked == method).map(|(_, capability)| *capability)
}

/// Whether params say that they are of a revision without handshakes.
pub(super) fn claims(params: Option<&RawValue>) -> bool {
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "_meta")]
        meta: Map<String, Value>,
    }
    let Some(params) = params else { return false };
    // Most do not, and need no reading.
    memchr::memmem::find(params.get().as_bytes(), VERSION.as_bytes()).is_some()
        && serde_json::from_str(params.get()).is_ok_and(|Params { meta }| meta.contains_key(VERSION))
}

/// A version is not spoken, and which one is.
pub(super) fn unsupported(requested: Option<&Value>) -> Refusal {
    let requested = requested.cloned().unwrap_or_else(|| Value::from(""));
    let data = json!({"supported": [STATELESS], "requested": requested}).to_string();
    let message = format!("Unsupported protocol version; this server speaks {STATELESS}");
    Refusal { code: UNSUPPORTED, message, data: Some(data) }
}

/// Checks what a request has to say about itself.
pub(super) fn check(headers: Option<&HeaderMap>, method: &str, params: &Value) -> Result<(), Refusal> {
    let meta = params.get("_meta").unwrap_or(&Value::Null);
    for key in [VERSION, CAPABILITIES] {
        if meta.get(key).is_none() {
            return Err(Refusal::params(format!("`_meta` lacks `{key}`")));
        }
    }
    let version = meta.get(VERSION).and_then(Value::as_str);
    if let Some(headers) = headers {
        same(headers, "mcp-protocol-version", version)?;
        same(headers, "mcp-method", Some(method))?;
        let name = match method {
            "tools/call" | "prompts/get" => params.get("name"),
            "resources/read" => params.get("uri"),
            _ => None,
        };
        if let Some(name) = name.and_then(Value::as_str) {
            same(headers, "mcp-name", Some(name))?;
        }
    }
    match version {
        None => Err(Refusal::params(format!("`{VERSION}` is not a string"))),
        Some(STATELESS) => Ok(()),
        Some(_) => Err(unsupported(meta.get(VERSION))),
    }
}

/// Checks that a header says what the message says.
fn same(headers: &HeaderMap, name: &'static str, expected: Option<&str>) -> Result<(), Refusal> {
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    let said = first.and_then(|value| value.to_str().ok()).map(decode_header);
    if second.is_none() && said.is_some() && said.as_deref() == expected {
        return Ok(());
    }
    Err(Refusal::new(HEADER_MISMATCH, format!("Header mismatch: {name} does not say what the message says")))
}

/// A result as this revision has it: with its type, and how long who may keep it.
pub(super) fn completed<'r>(method: &str, result: Cow<'r, str>, cache: &CacheHint) -> Cow<'r, str> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Present<'j> {
        #[serde(borrow)]
        result_type: Option<&'j RawValue>,
        #[serde(borrow)]
        ttl_ms: Option<&'j RawValue>,
        #[serde(borrow)]
        cache_scope: Option<&'j RawValue>,
    }
    // What is not an object, or has a member twice, goes out as the document has it.
    let Ok(members) = serde_json::from_str::<Present<'_>>(&result) else { return result };
    let mut missing = String::from("{");
    if members.result_type.is_none() {
        missing.push_str("\"resultType\":\"complete\",");
    }
    if method.ends_with("/list") || matches!(method, "resources/read" | DISCOVER) {
        if members.ttl_ms.is_none() {
            // Writing to a string cannot fail.
            let _ = write!(missing, "\"ttlMs\":{},", cache.ttl_ms);
        }
        if members.cache_scope.is_none() {
            let _ = write!(missing, "\"cacheScope\":{},", Value::from(cache.scope.as_str()));
        }
    }
    let rest = result.trim_start().trim_start_matches('{');
    if missing.len() == 1 {
        return result;
    }
    if rest.trim_start() == "}" {
        missing.pop();
    }
    Cow::Owned(missing + rest)
}

/// Where a call stands.
pub(super) enum Round {
    /// The client is asked first: the result that asks.
    Ask(String),
    /// It is answered; what the client said last.
    Answer(Option<Value>),
}

impl Call {
    /// Asks what there is to ask, or takes the answers of the client.
    ///
    /// Everything is asked at once. Steps before the first request are taken when the call comes, those after it when
    /// it comes again with the answers.
    pub(super) async fn modern_round(
        &self,
        plan: &Plan,
        entry: Option<&Entry>,
        outlet: &Outlet,
    ) -> Result<Round, Refusal> {
        let during = entry.map(|entry| entry.during.as_slice()).unwrap_or_default();
        let asks = |step: &Step| matches!(step, Step::Send { method, .. } if !is_notification(method));
        let answered = self.heard.content.get("inputResponses").is_some();
        let first = if self.questions.is_empty() { during.iter().position(asks) } else { Some(0) };
        let requests = if answered { BTreeMap::new() } else { self.requests(plan, during)? };
        let (steps, response) = match first {
            _ if answered => (&during[first.unwrap_or(0)..], self.answers()),
            Some(first) if !requests.is_empty() => (&during[..first], None),
            _ => (during, None),
        };
        for step in steps {
            match step {
                Step::Wait(time) => tokio::time::sleep(*time).await,
                Step::Send { method, params } if is_notification(method) => {
                    let filled = params
                        .as_ref()
                        .map(|params| params.fill(&self.peer.actor, &self.heard.content, response.as_ref()));
                    match filled.transpose()? {
                        Some(None) => {}
                        None => self.notify(outlet, method, None),
                        Some(Some(params)) => self.notify(outlet, method, Some(&params)),
                    }
                }
                // There is nothing to come back to.
                Step::Send { .. } | Step::Disconnect(_) => {}
            }
        }
        if requests.is_empty() {
            return Ok(Round::Answer(response));
        }
        Ok(Round::Ask(self.asked(&requests)))
    }

    /// What there is to ask that the client can answer, by keys of ours: `method#number`.
    fn requests(&self, plan: &Plan, during: &[Step]) -> Result<BTreeMap<String, String>, TooLarge> {
        let mut requests = BTreeMap::new();
        let mut add = |method: &str, params: Option<String>| {
            if self.can_answer(method) {
                let params = params.map(|params| format!(",\"params\":{params}")).unwrap_or_default();
                let request = format!("{{\"method\":{}{params}}}", Value::from(method));
                requests.insert(format!("{method}#{}", requests.len() + 1), request);
            } else {
                self.peer
                    .actor
                    .warn(&format!("the agent did not declare support for `{method}`, so it is not sent"));
            }
        };
        for question in &self.questions {
            if let Some(params) = self.question(plan, *question, None)? {
                add("elicitation/create", Some(params));
            }
        }
        for step in during {
            if let Step::Send { method, params } = step
                && !is_notification(method)
            {
                let filled =
                    params.as_ref().map(|params| params.fill(&self.peer.actor, &self.heard.content, None));
                match filled.transpose()? {
                    Some(None) => {}
                    filled => add(method, filled.flatten()),
                }
            }
        }
        Ok(requests)
    }

    fn can_answer(&self, method: &str) -> bool {
        let capabilities = self.heard.content.get("_meta").and_then(|meta| meta.get(CAPABILITIES));
        let needed = capability(method);
        needed.is_some_and(|needed| capabilities.and_then(|all| all.get(needed)).is_some())
    }

    /// The result that asks. Each request in it is written down for itself as well: to indicators it is one.
    fn asked(&self, requests: &BTreeMap<String, String>) -> String {
        let mut all = Members::default();
        for (key, request) in requests {
            all.set(key, request);
            let method = key.split('#').next().unwrap_or_default();
            let surfaces = [method];
            let spoken = Spoken::new(&surfaces, Kind::Event, &self.peer.name, request.as_bytes());
            let spoken = Spoken { direction: Direction::Request, ..spoken };
            self.peer.actor.said(&self.heard.phase, spoken);
        }
        format!("{{\"resultType\":\"input_required\",\"inputRequests\":{all}}}")
    }

    /// The answers that came with the call, each written down as one. The last that answers a question of ours.
    fn answers(&self) -> Option<Value> {
        let answers = self.heard.content.get("inputResponses").and_then(Value::as_object)?;
        let mut last = None;
        for (key, answer) in answers.iter().take(MOST_ANSWERS) {
            let method = key.split('#').next().unwrap_or_default();
            // The keys come back from the client: it cannot name other surfaces.
            let known = ASKED.iter().find(|(asked, _)| *asked == method).map(|(asked, _)| *asked);
            let surfaces: Vec<&str> = known.into_iter().collect();
            let bytes = answer.to_string();
            let spoken = Spoken::new(&surfaces, Kind::Event, &self.peer.name, bytes.as_bytes());
            self.peer.actor.heard_in(&self.heard.phase, &[], spoken);
            last = known.map(|_| answer).or(last);
        }
        last.cloned()
    }
}
