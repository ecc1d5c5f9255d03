//! What a phase serves, compiled once, who the server says it is, and which method is answered with what.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use sortie_oatf::extension::KEY;
use sortie_oatf::extension::mcp::{CacheHint, ServerExtension};
use sortie_wire::mcp::revision;
use url::Url;

use super::callable::{Callable, Callables, NoMatch, What};
use super::resources::Resources;
use super::step::Elicitation;
use crate::actor::ActorState;
use crate::modes::{McpRevision, StateError};
use crate::payload::{TooLarge, WirePayload};
use crate::phase::ActorPhase;

const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) identity: Identity,
    pub(super) tools: Callables,
    pub(super) prompts: Callables,
    pub(super) resources: Resources,
    pub(super) elicitations: Vec<Elicitation>,
    pub(super) cache: CacheHint,
    /// Addresses of others that lead here, and what is there.
    pub(super) fetch: Vec<(Url, WirePayload)>,
}

impl Plan {
    pub(super) fn new(phase: &ActorPhase) -> Result<Self, StateError> {
        let ServerExtension { cache, fetch } = ServerExtension::of(phase.state.value())?;
        let served = phase.key(KEY).and_then(|own| own.get("fetch"));
        let served = |url: &String| Some((Url::parse(url).ok()?, served.as_ref()?.get(url)?));
        Ok(Self {
            cache,
            fetch: fetch.iter().filter_map(served).collect(),
            identity: Identity::new(phase),
            tools: Callables::new(phase.key("tools"), What::Tool)?,
            prompts: Callables::new(phase.key("prompts"), What::Prompt)?,
            resources: Resources::new(phase.key("resources"), phase.key("resource_templates")),
            elicitations: Elicitation::all(phase.key("elicitations"))?,
        })
    }

    /// A result in which addresses of others that lead here have ours in their place.
    pub(super) fn leading_here<'r>(&self, result: Cow<'r, str>, base: Option<&str>) -> Cow<'r, str> {
        let Some(base) = base.filter(|_| !self.fetch.is_empty()) else { return result };
        let ours = |text: String, (url, _): &(Url, WirePayload)| {
            text.replace(url.as_str(), &format!("{base}{}", url.path()))
        };
        Cow::Owned(self.fetch.iter().fold(result.into_owned(), ours))
    }

    pub(super) fn callables(&self, method: &str) -> &Callables {
        if method == "prompts/get" { &self.prompts } else { &self.tools }
    }

    /// The questions that are asked during a call with these params, in order.
    pub(super) fn questions(&self, params: &Value) -> Vec<usize> {
        let indexed = self.elicitations.iter().enumerate();
        indexed.filter(|(_, elicitation)| elicitation.applies(params)).map(|(index, _)| index).collect()
    }
}

#[derive(Debug)]
pub(super) enum Outcome<'p> {
    /// A result as JSON text.
    Result(Cow<'p, str>),
    /// A result that something precedes: steps of its entry, and questions by their index.
    Talk { questions: Vec<usize> },
    /// A stream of what the client wants to hear of.
    Listen,
}

#[derive(Debug)]
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

    pub(super) fn params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }
}

impl From<TooLarge> for Refusal {
    fn from(error: TooLarge) -> Self {
        Self::new(-32603, error.to_string())
    }
}

/// What answers a request, apart from handshakes.
pub(super) fn dispatch<'p>(
    plan: &'p Plan,
    actor: &ActorState,
    modern: bool,
    method: &str,
    params: &Value,
) -> Result<Outcome<'p>, Refusal> {
    let fixed = |text: &'static str| Ok(Outcome::Result(Cow::Borrowed(text)));
    let list = |list: &'p WirePayload| {
        no_cursor(params)?;
        Ok(Outcome::Result(actor.fill(list, Some(params), None)?))
    };
    match method {
        "tools/call" | "prompts/get" => call(plan, actor, plan.callables(method), params),
        "tools/list" => list(&plan.tools.list),
        "resources/read" => read(plan, actor, modern, params),
        "resources/list" => list(&plan.resources.list),
        "resources/templates/list" => list(&plan.resources.templates),
        "prompts/list" => list(&plan.prompts.list),
        "completion/complete" => complete(plan, actor, params),
        "ping" | "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" if modern => {
            Err(not_found(method))
        }
        "ping" => fixed("{}"),
        "resources/subscribe" | "resources/unsubscribe" => {
            text(params, "uri")?;
            fixed("{}")
        }
        "logging/setLevel" => {
            let level = text(params, "level")?;
            if LEVELS.contains(&level) { fixed("{}") } else { Err(Refusal::params("Invalid log level")) }
        }
        _ => Err(not_found(method)),
    }
}

pub(super) fn not_found(method: &str) -> Refusal {
    // Whatever a peer calls a method, the answer is short.
    let shown: String = method.chars().take(100).collect();
    Refusal::new(-32601, format!("Method not found: {shown}"))
}

fn call<'p>(
    plan: &'p Plan,
    actor: &ActorState,
    callables: &'p Callables,
    params: &Value,
) -> Result<Outcome<'p>, Refusal> {
    let what = callables.what.word();
    let name = text(params, "name")?;
    let unknown =
        || Refusal::params(format!("Unknown {what}: {}", name.chars().take(100).collect::<String>()));
    let callable: &Callable = callables.get(name).ok_or_else(unknown)?;
    let questions = if plan.elicitations.is_empty() { Vec::new() } else { plan.questions(params) };
    let invalid = |NoMatch| Refusal::params(format!("Invalid arguments for {what} {name}"));
    match callable.choose(params).map_err(invalid)? {
        // A model takes its time, and other requests do not wait for it.
        Some(entry) if entry.synthesis.is_some() && actor.context().generator.is_some() => {
            Ok(Outcome::Talk { questions })
        }
        Some(entry) if questions.is_empty() && entry.during.is_empty() => {
            Ok(Outcome::Result(actor.fill(&entry.result, Some(params), None)?))
        }
        None if questions.is_empty() => Ok(Outcome::Result(callables.what.nothing().into())),
        _ => Ok(Outcome::Talk { questions }),
    }
}

fn read<'p>(
    plan: &'p Plan,
    actor: &ActorState,
    modern: bool,
    params: &Value,
) -> Result<Outcome<'p>, Refusal> {
    let uri = text(params, "uri")?;
    let Some((contents, variables)) = plan.resources.read(uri) else {
        let data = Value::from(Map::from_iter([("uri".to_owned(), Value::from(uri))])).to_string();
        // 2026-07-28 has no code of its own for this.
        let code = if modern { -32602 } else { -32002 };
        return Err(Refusal { code, message: "Resource not found".to_owned(), data: Some(data) });
    };
    let text = match variables {
        None => actor.fill(contents, Some(params), None)?,
        Some(variables) => {
            let mut request = params.clone();
            if let Value::Object(request) = &mut request {
                request.entry("variables").or_insert(Value::Object(variables));
            }
            actor.fill(contents, Some(&request), None)?
        }
    };
    Ok(Outcome::Result(text))
}

fn complete<'p>(plan: &'p Plan, actor: &ActorState, params: &Value) -> Result<Outcome<'p>, Refusal> {
    let reference = params.get("ref").unwrap_or(&Value::Null);
    let argument = params.get("argument").ok_or_else(|| Refusal::params("Missing argument"))?;
    let argument = text(argument, "name")?;
    let (known, completion) = match text(reference, "type")? {
        "ref/prompt" => {
            let prompt = plan.prompts.get(text(reference, "name")?);
            (prompt.is_some(), prompt.and_then(|prompt| prompt.completion(argument)))
        }
        "ref/resource" => {
            let uri = text(reference, "uri")?;
            (plan.resources.knows(uri), plan.resources.completion(uri, argument))
        }
        _ => (false, None),
    };
    match completion {
        _ if !known => Err(Refusal::params("Unknown reference")),
        None => Ok(Outcome::Result(Cow::Borrowed("{\"completion\":{\"values\":[]}}"))),
        Some(completion) => Ok(Outcome::Result(actor.fill(completion, Some(params), None)?)),
    }
}

/// Lists have one page, so nobody has a cursor from us.
fn no_cursor(params: &Value) -> Result<(), Refusal> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(cursor)) if cursor.is_empty() => Ok(()),
        Some(_) => Err(Refusal::params("Invalid cursor")),
    }
}

fn text<'v>(params: &'v Value, key: &str) -> Result<&'v str, Refusal> {
    let found = params.get(key).and_then(Value::as_str);
    found.ok_or_else(|| Refusal::params(format!("`{key}` must be a string")))
}

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
