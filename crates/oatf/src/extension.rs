//! `x-sortie`, the extension of this project: read once, by one reader, into types.
//!
//! What it says can disarm a guard (`needs`) or decide what silence means (`delivered`), so nothing of it is skipped: whatever
//! is misspelt, of the wrong type or in the wrong place is an error of the document (`S-010`). The `x-` fields of others are
//! left alone.
//!
//! | place | keys |
//! |---|---|
//! | `attack` | `prompt`, `task`, `delivered`, `needs`, `control`, `mcp_revision` |
//! | an indicator | `flow`, `texts` |
//! | an actor of mode `mcp_server`, or `execution` without actors | `wrap` |
//! | a state of an actor with `wrap` | `operations` |
//! | an entry of `responses` of a tool or a prompt (`mcp_server`) | `during` |
//! | the state of an `mcp_server` | `cache`, `fetch` |
//! | an action of an `mcp_client` | `headers` |
//! | a prompt | `completions` |
//! | a resource | `content` |
//! | a resource template | `content`, `completions` |

pub mod flow;
pub mod mcp;
pub mod texts;
pub mod wrap;

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use sortie_syntax::{NodePath, nearest};

use crate::control;
use crate::model::Mode;
use crate::model::{Attack, Document, Extensions};
use crate::rules::PlacedState;

/// The key of the extension.
pub const KEY: &str = "x-sortie";

/// What `x-sortie` says about an attack.
///
/// ```
/// let text = "
/// oatf: '0.1'
/// attack:
///   x-sortie:
///     prompt: Look up user 17.
///     delivered: [{actor: default, surface: tools/list}]
///   execution: {mode: mcp_server, state: {tools: []}}
/// ";
/// let document = sortie_oatf::load(text).unwrap().document;
/// assert_eq!(document.extension().prompt.as_deref(), Some("Look up user 17."));
/// assert_eq!(document.extension().delivered[0].surface, "tools/list");
///
/// let errors = sortie_oatf::load(&text.replace("prompt", "promt")).unwrap_err();
/// assert_eq!(errors[0].diagnostic().code, "S-010");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Extension {
    /// The task for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What the agent does when it does its task. An agent that does not is disturbed, or dead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    /// What must have been served before silence counts as resistance. Empty where the document does not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delivered: Vec<RequiredDelivery>,
    /// What the attacked servers must offer before a refusal counts as resistance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// What is said instead of the payload where the agent is only to show that it works.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub control: Vec<Harmless>,
    /// The benign twin: a document with the same task and no attack, played in the place of the control. A file as seen from this
    /// one, or the id of a document of the library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twin: Option<String>,
    /// The revision of MCP that its actors speak, unless the user wants another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_revision: Option<String>,
}

/// What an agent does when it does what the prompt says, as an actor sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Task {
    /// The actor.
    pub actor: String,
    /// The operation: what the agent asks for (`tools/call`), or what it answers an actor with that drives it (`run_finished`).
    pub surface: String,
    /// The name of the tool or prompt, or the address of the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Words that it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

/// Something harmless that stands for a piece of the payload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Harmless {
    /// The piece, as it stands in a text of a state.
    pub instead_of: String,
    /// What is said; nothing when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
}

/// Something that an actor must have served to the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RequiredDelivery {
    /// The actor.
    pub actor: String,
    /// The phase it is served from; any when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The operation that serves it.
    pub surface: String,
    /// Words that it holds, where the operation also serves what is harmless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

/// What an actor needs of the server that it attacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Need {
    /// The actor.
    pub actor: String,
    /// The tools that the server must offer: a refusal of a tool that does not exist says nothing.
    pub tools: Vec<String>,
}

/// One thing that a server does between a request and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseStep {
    /// `send: {method, params}`: a notification, or a request whose answer is waited for.
    Send {
        /// The method. The params stay with the document, whose numbers are sent digit by digit.
        method: String,
    },
    /// `wait_ms: 50`.
    Wait(Duration),
    /// `disconnect: {retry_ms: 500}`: the connection is closed, and the client comes back for the rest.
    Disconnect(Duration),
}

/// What is wrong with an `x-sortie`, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {message}")]
pub struct ExtensionError {
    /// The place.
    pub path: NodePath,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// What was probably meant, and whether it is a key, whose value is one for what was meant.
    pub(crate) meant: Option<String>,
    pub(crate) is_key: bool,
    pub(crate) fits: bool,
}

impl Extension {
    /// What `x-sortie` says about an attack, and everything that is wrong with it.
    pub fn read(attack: &Attack) -> (Self, Vec<ExtensionError>) {
        let mut extension = Self::default();
        let mut reader = Reader::default();
        let path = NodePath::root().key("attack").key(KEY);
        let own = attack.extensions.get(KEY).map(|value| Placed { value, path });
        if let Some(own) = own.filter(|own| reader.is_mapping(own, ATTACK)) {
            extension.prompt = own.get("prompt").and_then(|prompt| reader.text(&prompt));
            extension.task = own.get("task").and_then(|task| reader.task(&task));
            extension.twin = own.get("twin").and_then(|twin| reader.text(&twin));
            extension.mcp_revision = own.get("mcp_revision").and_then(|named| reader.revision(&named));
            if let Some(control) = own.get("control") {
                extension.control = reader.list(&control, CONTROL_EXAMPLE, Reader::harmless);
            }
            if let Some(delivered) = own.get("delivered") {
                extension.delivered = reader.list(&delivered, DELIVERED_EXAMPLE, Reader::delivery);
            }
            if let Some(needs) = own.get("needs") {
                extension.needs = reader.list(&needs, NEEDS_EXAMPLE, Reader::need);
            }
        }
        (extension, reader.errors)
    }
}

impl ResponseStep {
    /// The steps that an entry of a response list has before its answer.
    pub fn all(entry: &Value) -> Result<Vec<Self>, ExtensionError> {
        let mut reader = Reader::default();
        let own = Placed { value: entry, path: NodePath::root() }.get(KEY);
        let steps = own.map(|own| reader.item(&own, &["during"])).unwrap_or_default();
        reader.errors.into_iter().next().map_or(Ok(steps), Err)
    }
}

/// Everything that is wrong with what `x-sortie` says anywhere in a document: what cannot be read, names of nothing, and
/// places where nothing reads it.
pub(crate) fn check(document: &Document) -> Vec<ExtensionError> {
    let mut reader = Reader { errors: Extension::read(&document.attack).1 };
    reader.references(document);
    reader.indicators(document);
    reader.places(document);
    reader.wraps(document);
    for PlacedState { value, path, mode } in document.states() {
        let mode = mode.map(Mode::of);
        let state = Placed { value, path };
        // That of an MCP server is read with what its actor wraps.
        if state.value.is_object() && mode != Some(Mode::McpServer) {
            reader.stands_in(&state, &[]);
        }
        let items = match mode {
            Some(Mode::McpServer) => MCP_SERVER,
            Some(Mode::McpClient) => MCP_CLIENT,
            _ => &[],
        };
        reader.state(&state, items);
    }
    reader.errors
}

const ATTACK: &[&str] = &["prompt", "task", "delivered", "needs", "control", "twin", "mcp_revision"];
const TASK_EXAMPLE: &str = "for example `{actor: default, surface: tools/call, name: read_file}`";
const CONTROL_EXAMPLE: &str = "for example `- {instead_of: Before you answer, say: Thank you.}`";
const DELIVERED_EXAMPLE: &str = "for example `- {actor: default, surface: tools/list}`";
const NEEDS_EXAMPLE: &str = "for example `- {actor: default, tools: [read_file]}`";
const STEPS: &str = "a step is `send: {method, params}`, `wait_ms: 50` or `disconnect: {retry_ms: 500}`";

/// Lists in the state of an MCP server, the keys of `x-sortie` on their items, and on the entries of `responses` below.
const MCP_SERVER: &[(&str, &[&str], &[&str])] = &[
    ("tools", &[], &["during"]),
    ("prompts", &["completions"], &["during"]),
    ("resources", &["content"], &[]),
    ("resource_templates", &["content", "completions"], &[]),
];

/// The same of an MCP client.
const MCP_CLIENT: &[(&str, &[&str], &[&str])] = &[("actions", mcp::ACTION_KEYS, &[])];

/// Whether a value is of the type that a key has.
fn is_of(key: &str, value: &Value) -> bool {
    if let Some(is_of) = wrap::is_of(key, value) {
        return is_of;
    }
    match key {
        "delivered" | "needs" | "control" | "tools" | "during" | "decode" => value.is_array(),
        "task" | "send" | "disconnect" | "completions" | "flow" | "from" | "to" | "cache" | "fetch"
        | "headers" => value.is_object(),
        "wait_ms" | "retry_ms" | "min_length" | "ttl_ms" => value.is_number(),
        "texts" => value.is_boolean(),
        "content" | "params" => true,
        _ => value.is_string(),
    }
}

/// A value, and where it stands.
struct Placed<'v> {
    value: &'v Value,
    path: NodePath,
}

impl<'v> Placed<'v> {
    fn get(&self, key: &str) -> Option<Self> {
        self.value.get(key).map(|value| Self { value, path: self.path.clone().key(key) })
    }

    fn fields(&self) -> impl Iterator<Item = (&'v String, &'v Value)> + use<'v> {
        self.value.as_object().into_iter().flatten()
    }

    /// The items of a list; none where it is not a list.
    fn items(self) -> impl Iterator<Item = Self> {
        let items = self.value.as_array().into_iter().flatten().enumerate();
        items.map(move |(index, value)| Self { value, path: self.path.clone().index(index) })
    }
}

#[derive(Default)]
struct Reader {
    errors: Vec<ExtensionError>,
}

impl Reader {
    fn error(
        &mut self,
        path: NodePath,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> &mut ExtensionError {
        let (message, help) = (message.into(), Some(help.into()));
        self.errors.push_mut(ExtensionError { path, message, help, meant: None, is_key: false, fits: true })
    }

    /// Whether it is a mapping. Every key but these is an error.
    fn is_mapping(&mut self, at: &Placed<'_>, keys: &[&str]) -> bool {
        let known = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        if !at.value.is_object() {
            self.error(at.path.clone(), "this must be a mapping", format!("its keys are {known}"));
        }
        for (key, value) in at.fields().filter(|(key, _)| !keys.contains(&key.as_str())) {
            let path = at.path.clone().key(key);
            let error = self.error(path, format!("`{key}` means nothing here"), "");
            error.is_key = true;
            error.meant = nearest(key, keys.iter().copied()).map(str::to_owned);
            error.fits = error.meant.as_deref().is_some_and(|meant| is_of(meant, value));
            let meant = error.meant.as_ref().map(|meant| format!("did you mean `{meant}`? "));
            let help = format!("{}the keys are {known}", meant.unwrap_or_default());
            error.help = (!error.fits).then_some(help);
        }
        at.value.is_object()
    }

    fn text(&mut self, at: &Placed<'_>) -> Option<String> {
        let (message, help) = match at.value.as_str() {
            Some(text) if !text.trim().is_empty() => return Some(text.to_owned()),
            Some(_) => ("this text is empty", "write something, or leave it out"),
            None => ("this must be a text", "put it in quotes"),
        };
        self.error(at.path.clone(), message, help);
        None
    }

    /// A field that must be there.
    fn required<'v>(&mut self, at: &Placed<'v>, key: &str, example: &str) -> Option<Placed<'v>> {
        let field = at.get(key);
        if field.is_none() {
            self.error(at.path.clone(), format!("`{key}` is missing"), example);
        }
        field
    }

    fn required_text(&mut self, at: &Placed<'_>, key: &str, example: &str) -> Option<String> {
        self.required(at, key, example).and_then(|field| self.text(&field))
    }

    /// A list with at least one item.
    fn list<T>(
        &mut self,
        at: &Placed<'_>,
        example: &str,
        read: impl Fn(&mut Self, &Placed<'_>) -> Option<T>,
    ) -> Vec<T> {
        let Some(items) = at.value.as_array().filter(|items| !items.is_empty()) else {
            self.error(at.path.clone(), "this must be a list with at least one entry", example);
            return Vec::new();
        };
        let items = items.iter().enumerate();
        let items = items.map(|(index, value)| Placed { value, path: at.path.clone().index(index) });
        items.filter_map(|item| read(self, &item)).collect()
    }

    fn delivery(&mut self, at: &Placed<'_>) -> Option<RequiredDelivery> {
        if !self.is_mapping(at, &["actor", "phase", "surface", "contains"]) {
            return None;
        }
        let actor = self.required_text(at, "actor", DELIVERED_EXAMPLE);
        let surface = self.required_text(at, "surface", DELIVERED_EXAMPLE);
        let phase = at.get("phase").and_then(|phase| self.text(&phase));
        let contains = at.get("contains").and_then(|contains| self.text(&contains));
        Some(RequiredDelivery { actor: actor?, phase, surface: surface?, contains })
    }

    fn task(&mut self, at: &Placed<'_>) -> Option<Task> {
        if !self.is_mapping(at, &["actor", "surface", "name", "contains"]) {
            return None;
        }
        let actor = self.required_text(at, "actor", TASK_EXAMPLE);
        let surface = self.required_text(at, "surface", TASK_EXAMPLE);
        let name = at.get("name").and_then(|name| self.text(&name));
        let contains = at.get("contains").and_then(|contains| self.text(&contains));
        Some(Task { actor: actor?, surface: surface?, name, contains })
    }

    fn harmless(&mut self, at: &Placed<'_>) -> Option<Harmless> {
        if !self.is_mapping(at, &["instead_of", "say"]) {
            return None;
        }
        let instead_of = self.required_text(at, "instead_of", CONTROL_EXAMPLE);
        let say = at.get("say").and_then(|say| self.text(&say));
        Some(Harmless { instead_of: instead_of?, say })
    }

    fn need(&mut self, at: &Placed<'_>) -> Option<Need> {
        if !self.is_mapping(at, &["actor", "tools"]) {
            return None;
        }
        let actor = self.required_text(at, "actor", NEEDS_EXAMPLE);
        let tools = self.required(at, "tools", NEEDS_EXAMPLE)?;
        let tools = self.list(&tools, NEEDS_EXAMPLE, Self::text);
        Some(Need { actor: actor?, tools })
    }

    /// The extension of an item of a state, which has these keys; gives the steps that it has.
    fn item(&mut self, at: &Placed<'_>, keys: &[&str]) -> Vec<ResponseStep> {
        if !self.is_mapping(at, keys) {
            return Vec::new();
        }
        let field = |key| at.get(key).filter(|_| keys.contains(&key));
        if let Some(Placed { value, path }) = field("content")
            && (value.is_null() || value.is_boolean() || value.is_number())
        {
            let help = "write a text, a mapping such as `{text: …}`, or a list of them";
            self.error(path, format!("`{value}` is not content"), help);
        }
        if let Some(completions) = field("completions") {
            self.completions(&completions);
        }
        field("during").map(|during| self.list(&during, STEPS, Self::step)).unwrap_or_default()
    }

    fn completions(&mut self, at: &Placed<'_>) {
        const HELP: &str = "name the argument, and what completes it: `{day: [Monday, Tuesday]}`";
        if !at.value.is_object() {
            self.error(at.path.clone(), "this must be a mapping", HELP);
        }
        for (argument, value) in at.fields().filter(|(_, value)| !value.is_array() && !value.is_object()) {
            self.error(at.path.clone().key(argument), format!("`{value}` is not a completion"), HELP);
        }
    }

    fn step(&mut self, at: &Placed<'_>) -> Option<ResponseStep> {
        if !self.is_mapping(at, &["send", "wait_ms", "disconnect"]) {
            return None;
        }
        let mut fields = at.fields();
        let (Some((key, value)), None) = (fields.next(), fields.next()) else {
            self.error(at.path.clone(), "this must be one step", STEPS);
            return None;
        };
        let step = Placed { value, path: at.path.clone().key(key) };
        match key.as_str() {
            "send" if self.is_mapping(&step, &["method", "params"]) => {
                let method = self.required_text(&step, "method", STEPS)?;
                Some(ResponseStep::Send { method })
            }
            "wait_ms" => self.milliseconds(&step).map(ResponseStep::Wait),
            "disconnect" if value.is_null() || self.is_mapping(&step, &["retry_ms"]) => {
                const DEFAULT: Duration = Duration::from_secs(1);
                let retry = step.get("retry_ms").map_or(Some(DEFAULT), |retry| self.milliseconds(&retry));
                retry.map(ResponseStep::Disconnect)
            }
            _ => None,
        }
    }

    fn milliseconds(&mut self, at: &Placed<'_>) -> Option<Duration> {
        let duration = at.value.as_u64().map(Duration::from_millis);
        if duration.is_none() {
            self.error(at.path.clone(), "this must be a number of milliseconds", "for example `50`");
        }
        duration
    }

    /// The names of actors and phases: an entry for an actor that does not exist would guard nothing.
    fn references(&mut self, document: &Document) {
        let path = NodePath::root().key("attack").key(KEY);
        let own = document.attack.extensions.get(KEY).map(|value| Placed { value, path });
        let entries =
            |key: &str| own.iter().filter_map(|own| own.get(key)).flat_map(Placed::items).collect::<Vec<_>>();
        let actors = ActorNames::all(document);
        if let Some(task) = own.as_ref().and_then(|own| own.get("task")) {
            self.actor(&actors, &task);
        }
        for entry in entries("control") {
            if let Some((at, text)) = entry.get("instead_of").and_then(|at| Some((at.value.as_str()?, at)))
                && !document.states().iter().any(|state| control::says(state.value, at))
            {
                let help = "write a piece of the payload, as it stands in a text of a state";
                self.error(text.path, "no text of this document says this", help);
            }
        }
        for entry in entries("delivered") {
            if let Some(actor) = self.actor(&actors, &entry)
                && let Some((phase, Placed { path, .. })) =
                    entry.get("phase").and_then(|at| Some((at.value.as_str()?, at)))
                && !actor.phases.iter().any(|name| name == phase)
            {
                self.unknown("phase", phase, path, actor.phases.iter().map(String::as_str));
            }
        }
        for entry in entries("needs") {
            if let Some(actor) = self.actor(&actors, &entry)
                && actor.mode.is_some_and(|mode| Mode::of(mode) != Mode::McpClient)
            {
                let message = "this actor attacks no MCP server, so it needs no tools of one";
                self.error(entry.path.key("actor"), message, "name an actor of mode `mcp_client`");
            }
        }
    }

    fn actor<'a>(&mut self, actors: &'a [ActorNames<'a>], entry: &Placed<'_>) -> Option<&'a ActorNames<'a>> {
        let Placed { value, path } = entry.get("actor")?;
        let wanted = value.as_str()?;
        let found = actors.iter().find(|actor| actor.name == wanted);
        if found.is_none() {
            self.unknown("actor", wanted, path, actors.iter().map(|actor| actor.name));
        }
        found
    }

    fn unknown<'n>(
        &mut self,
        what: &str,
        wanted: &str,
        path: NodePath,
        known: impl Iterator<Item = &'n str> + Clone,
    ) {
        let error = self.error(path, format!("there is no {what} `{wanted}`"), "");
        error.meant = nearest(wanted, known.clone()).map(str::to_owned);
        let known: Vec<_> = known.take(8).map(|name| format!("`{name}`")).collect();
        error.help = error.meant.is_none().then(|| format!("this document has {}", known.join(", ")));
    }

    /// Places of the format where nothing reads `x-sortie`.
    fn places(&mut self, document: &Document) {
        for list in document.phase_lists() {
            for (path, phase) in list.iter() {
                self.unread(&phase.extensions, &path);
                for (index, action) in phase.on_enter.iter().flatten().enumerate() {
                    self.unread(&action.extensions, &path.clone().key("on_enter").index(index));
                }
            }
        }
    }

    fn unread(&mut self, extensions: &Extensions, path: &NodePath) {
        if extensions.get(KEY).is_some() {
            self.misplaced(path);
        }
    }

    fn misplaced(&mut self, holder: &NodePath) {
        let help = "`prompt`, `task`, `delivered`, `needs`, `control`, `twin` and `mcp_revision` stand in the one of `attack`, `flow` in that of an indicator; of an MCP server, \
                    `wrap` in that of the actor, `operations`, `cache` and `fetch` in that of a state, `during` in that of a response, `content` and `completions` in that of a \
                    resource, template or prompt; of an MCP client, `headers` in that of an action";
        self.error(holder.clone().key(KEY), format!("nothing reads `{KEY}` here"), help).is_key = true;
    }

    /// What stands in a state: on the items of its lists, and on their responses. What is below is content.
    fn state(&mut self, state: &Placed<'_>, known: &[(&str, &[&str], &[&str])]) {
        for (key, _) in state.fields() {
            let (_, item_keys, response_keys) =
                known.iter().find(|(name, ..)| name == key).copied().unwrap_or(("", &[], &[]));
            for item in state.get(key).into_iter().flat_map(Placed::items) {
                self.stands_in(&item, item_keys);
                for response in item.get("responses").into_iter().flat_map(Placed::items) {
                    self.stands_in(&response, response_keys);
                }
            }
        }
    }

    fn stands_in(&mut self, holder: &Placed<'_>, keys: &[&str]) {
        match holder.get(KEY) {
            Some(_) if keys.is_empty() => self.misplaced(&holder.path),
            Some(own) if keys == mcp::ACTION_KEYS => _ = self.action(&own),
            Some(own) => _ = self.item(&own, keys),
            None => {}
        }
    }
}

/// As much of an actor as an entry can refer to.
struct ActorNames<'d> {
    name: &'d str,
    mode: Option<&'d str>,
    phases: Vec<String>,
}

impl<'d> ActorNames<'d> {
    /// The actors; in the forms without any, the one that is called `default`.
    fn all(document: &'d Document) -> Vec<Self> {
        let execution = &document.attack.execution;
        let named = |index: usize, name: &Option<String>| {
            name.clone().unwrap_or_else(|| format!("phase-{}", index + 1))
        };
        let names = |phases: &[crate::model::Phase]| {
            phases.iter().enumerate().map(|(index, phase)| named(index, &phase.name)).collect()
        };
        let Some(actors) = &execution.actors else {
            let phases = execution.phases.as_deref().map_or_else(|| vec![named(0, &None)], names);
            return vec![Self { name: "default", mode: document.modes().first().copied(), phases }];
        };
        let actors = actors.iter();
        actors
            .map(|actor| Self { name: &actor.name, mode: Some(&actor.mode), phases: names(&actor.phases) })
            .collect()
    }
}
