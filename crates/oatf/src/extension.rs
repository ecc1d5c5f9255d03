//! `x-sortie`, the extension of this project: read once, by one reader, into types.
//!
//! What it says can disarm a guard (`needs`) or decide what silence means (`delivered`), so nothing of it is skipped: whatever
//! is misspelt, of the wrong type or in the wrong place is an error of the document (`S-010`). The `x-` fields of others are
//! left alone.
//!
//! | place | keys |
//! |---|---|
//! | `attack` | `prompt`, `delivered`, `needs` |
//! | an entry of `responses` of a tool or a prompt (`mcp_server`) | `during` |
//! | a prompt | `completions` |
//! | a resource | `content` |
//! | a resource template | `content`, `completions` |

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};
use sortie_syntax::{NodePath, nearest};

use crate::model::Mode;
use crate::model::{Attack, Document, Extensions};
use crate::rules::execution_path;

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
    /// What must have been served before silence counts as resistance. Empty where the document does not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delivered: Vec<RequiredDelivery>,
    /// What the attacked servers must offer before a refusal counts as resistance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
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
        if let Some(value) = attack.extensions.get(KEY)
            && let Some(fields) = reader.mapping(value, &path, ATTACK)
        {
            if let Some(value) = fields.get("prompt") {
                extension.prompt = reader.text(value, &path.clone().key("prompt"));
            }
            if let Some(value) = fields.get("delivered") {
                extension.delivered =
                    reader.list(value, &path.clone().key("delivered"), DELIVERED_EXAMPLE, Reader::delivery);
            }
            if let Some(value) = fields.get("needs") {
                extension.needs = reader.list(value, &path.key("needs"), NEEDS_EXAMPLE, Reader::need);
            }
        }
        (extension, reader.errors)
    }
}

impl ResponseStep {
    /// The steps that an entry of a response list has before its answer.
    pub fn all(entry: &Value) -> Result<Vec<Self>, ExtensionError> {
        let mut reader = Reader::default();
        let path = NodePath::root().key(KEY);
        let steps = entry.get(KEY).map(|value| reader.item(value, &path, &["during"])).unwrap_or_default();
        match reader.errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(steps),
        }
    }
}

/// Everything that is wrong with what `x-sortie` says anywhere in a document: what cannot be read, names of nothing, and
/// places where nothing reads it.
pub(crate) fn check(document: &Document) -> Vec<ExtensionError> {
    let mut reader = Reader { errors: Extension::read(&document.attack).1 };
    reader.references(document);
    reader.places(document);
    for state in document.states() {
        let items = if state.mode.map(Mode::of) == Some(Mode::McpServer) { MCP_SERVER } else { &[] };
        reader.state(state.value, &state.path, items);
    }
    reader.errors
}

const ATTACK: &[&str] = &["prompt", "delivered", "needs"];
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

/// Whether a value is of the type that a key has.
fn is_of(key: &str, value: &Value) -> bool {
    match key {
        "delivered" | "needs" | "tools" | "during" => value.is_array(),
        "send" | "disconnect" | "completions" => value.is_object(),
        "wait_ms" | "retry_ms" => value.is_number(),
        "content" | "params" => true,
        _ => value.is_string(),
    }
}

#[derive(Default)]
struct Reader {
    errors: Vec<ExtensionError>,
}

impl Reader {
    fn error(&mut self, path: &NodePath, message: impl Into<String>) -> &mut ExtensionError {
        let error = ExtensionError {
            path: path.clone(),
            message: message.into(),
            help: None,
            meant: None,
            is_key: false,
            fits: true,
        };
        self.errors.push_mut(error)
    }

    /// A mapping with no other keys than these.
    fn mapping<'v>(
        &mut self,
        value: &'v Value,
        path: &NodePath,
        keys: &[&str],
    ) -> Option<&'v Map<String, Value>> {
        let known = || keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        let Some(fields) = value.as_object() else {
            self.error(path, "this must be a mapping").help = Some(format!("its keys are {}", known()));
            return None;
        };
        for (key, value) in fields.iter().filter(|(key, _)| !keys.contains(&key.as_str())) {
            let error = self.error(&path.clone().key(key), format!("`{key}` means nothing here"));
            error.is_key = true;
            error.meant = nearest(key, keys.iter().copied()).map(str::to_owned);
            error.fits = error.meant.as_deref().is_some_and(|meant| is_of(meant, value));
            if !error.fits {
                let meant = error.meant.as_ref().map(|meant| format!("did you mean `{meant}`? "));
                error.help = Some(format!("{}the keys are {}", meant.unwrap_or_default(), known()));
            }
        }
        Some(fields)
    }

    fn text(&mut self, value: &Value, path: &NodePath) -> Option<String> {
        match value.as_str() {
            Some(text) if !text.trim().is_empty() => Some(text.to_owned()),
            Some(_) => {
                self.error(path, "this text is empty").help =
                    Some("write something, or leave it out".to_owned());
                None
            }
            None => {
                self.error(path, "this must be a text").help = Some("put it in quotes".to_owned());
                None
            }
        }
    }

    /// A field that must be there.
    fn required(
        &mut self,
        fields: &Map<String, Value>,
        path: &NodePath,
        key: &str,
        example: &str,
    ) -> Option<String> {
        let Some(value) = fields.get(key) else {
            self.error(path, format!("`{key}` is missing")).help = Some(example.to_owned());
            return None;
        };
        self.text(value, &path.clone().key(key))
    }

    fn optional(&mut self, fields: &Map<String, Value>, path: &NodePath, key: &str) -> Option<String> {
        fields.get(key).and_then(|value| self.text(value, &path.clone().key(key)))
    }

    /// A list with at least one item.
    fn list<T>(
        &mut self,
        value: &Value,
        path: &NodePath,
        example: &str,
        read: impl Fn(&mut Self, &Value, &NodePath) -> Option<T>,
    ) -> Vec<T> {
        let Some(items) = value.as_array().filter(|items| !items.is_empty()) else {
            self.error(path, "this must be a list with at least one entry").help = Some(example.to_owned());
            return Vec::new();
        };
        let items = items.iter().enumerate();
        items.filter_map(|(index, item)| read(self, item, &path.clone().index(index))).collect()
    }

    fn delivery(&mut self, value: &Value, path: &NodePath) -> Option<RequiredDelivery> {
        let fields = self.mapping(value, path, &["actor", "phase", "surface", "contains"])?;
        let actor = self.required(fields, path, "actor", DELIVERED_EXAMPLE);
        let surface = self.required(fields, path, "surface", DELIVERED_EXAMPLE);
        let phase = self.optional(fields, path, "phase");
        let contains = self.optional(fields, path, "contains");
        Some(RequiredDelivery { actor: actor?, phase, surface: surface?, contains })
    }

    fn need(&mut self, value: &Value, path: &NodePath) -> Option<Need> {
        let fields = self.mapping(value, path, &["actor", "tools"])?;
        let actor = self.required(fields, path, "actor", NEEDS_EXAMPLE);
        let Some(tools) = fields.get("tools") else {
            self.error(path, "`tools` is missing").help = Some(NEEDS_EXAMPLE.to_owned());
            return None;
        };
        let tools = self.list(tools, &path.clone().key("tools"), NEEDS_EXAMPLE, Self::text);
        Some(Need { actor: actor?, tools })
    }

    /// The extension of an item of a state, which has these keys; gives the steps that it has.
    fn item(&mut self, value: &Value, path: &NodePath, keys: &[&str]) -> Vec<ResponseStep> {
        let Some(fields) = self.mapping(value, path, keys) else { return Vec::new() };
        if let Some(value) =
            fields.get("content").filter(|value| value.is_null() || value.is_boolean() || value.is_number())
            && keys.contains(&"content")
        {
            let path = path.clone().key("content");
            self.error(&path, format!("`{value}` is no content")).help =
                Some("write a text, a mapping such as `{text: …}`, or a list of them".to_owned());
        }
        if let Some(value) = fields.get("completions").filter(|_| keys.contains(&"completions")) {
            self.completions(value, &path.clone().key("completions"));
        }
        let Some(during) = fields.get("during").filter(|_| keys.contains(&"during")) else {
            return Vec::new();
        };
        self.list(during, &path.clone().key("during"), STEPS, Self::step)
    }

    fn completions(&mut self, value: &Value, path: &NodePath) {
        const HELP: &str = "name the argument, and what completes it: `{day: [Monday, Tuesday]}`";
        let Some(fields) = value.as_object() else {
            self.error(path, "this must be a mapping").help = Some(HELP.to_owned());
            return;
        };
        for (argument, value) in fields.iter().filter(|(_, value)| !value.is_array() && !value.is_object()) {
            self.error(&path.clone().key(argument), format!("`{value}` is no completion")).help =
                Some(HELP.to_owned());
        }
    }

    fn step(&mut self, value: &Value, path: &NodePath) -> Option<ResponseStep> {
        let fields = self.mapping(value, path, &["send", "wait_ms", "disconnect"])?;
        let mut known = fields.iter();
        let (Some((key, value)), None) = (known.next(), known.next()) else {
            self.error(path, "this must be one step").help = Some(STEPS.to_owned());
            return None;
        };
        let path = path.clone().key(key);
        match key.as_str() {
            "send" => {
                let fields = self.mapping(value, &path, &["method", "params"])?;
                let method = self.required(fields, &path, "method", STEPS)?;
                Some(ResponseStep::Send { method })
            }
            "wait_ms" => self.milliseconds(value, &path).map(ResponseStep::Wait),
            "disconnect" => {
                const DEFAULT: Duration = Duration::from_secs(1);
                let retry = match value {
                    Value::Null => None,
                    _ => self.mapping(value, &path, &["retry_ms"])?.get("retry_ms"),
                };
                let retry =
                    retry.map_or(Some(DEFAULT), |value| self.milliseconds(value, &path.key("retry_ms")));
                retry.map(ResponseStep::Disconnect)
            }
            _ => None,
        }
    }

    fn milliseconds(&mut self, value: &Value, path: &NodePath) -> Option<Duration> {
        let duration = value.as_u64().map(Duration::from_millis);
        if duration.is_none() {
            self.error(path, "this must be a number of milliseconds").help =
                Some("for example `50`".to_owned());
        }
        duration
    }

    /// The names of actors and phases: an entry for an actor that does not exist would guard nothing.
    fn references(&mut self, document: &Document) {
        let path = NodePath::root().key("attack").key(KEY);
        let entries = |key: &str| {
            document.attack.extensions.get(KEY).and_then(|own| own.get(key)?.as_array()).into_iter().flatten()
        };
        let actors = ActorNames::all(document);
        for (index, entry) in entries("delivered").enumerate() {
            let path = path.clone().key("delivered").index(index);
            if let Some(actor) = self.actor(&actors, entry, &path)
                && let Some(phase) = entry.get("phase").and_then(Value::as_str)
                && !actor.phases.iter().any(|name| name == phase)
            {
                let names = actor.phases.iter().map(String::as_str);
                self.unknown("phase", phase, &path.key("phase"), names);
            }
        }
        for (index, entry) in entries("needs").enumerate() {
            let path = path.clone().key("needs").index(index);
            if let Some(actor) = self.actor(&actors, entry, &path)
                && actor.mode.is_some_and(|mode| Mode::of(mode) != Mode::McpClient)
            {
                let message = "this actor attacks no MCP server, so it needs no tools of one";
                self.error(&path.key("actor"), message).help =
                    Some("name an actor of mode `mcp_client`".to_owned());
            }
        }
    }

    fn actor<'a>(
        &mut self,
        actors: &'a [ActorNames<'a>],
        entry: &Value,
        path: &NodePath,
    ) -> Option<&'a ActorNames<'a>> {
        let wanted = entry.get("actor")?.as_str()?;
        let found = actors.iter().find(|actor| actor.name == wanted);
        if found.is_none() {
            let names = actors.iter().map(|actor| actor.name);
            self.unknown("actor", wanted, &path.clone().key("actor"), names);
        }
        found
    }

    fn unknown<'n>(
        &mut self,
        what: &str,
        wanted: &str,
        path: &NodePath,
        known: impl Iterator<Item = &'n str> + Clone,
    ) {
        let error = self.error(path, format!("there is no {what} `{wanted}`"));
        error.meant = nearest(wanted, known.clone()).map(str::to_owned);
        if error.meant.is_none() {
            let known: Vec<_> = known.take(8).map(|name| format!("`{name}`")).collect();
            error.help = Some(format!("this document has {}", known.join(", ")));
        }
    }

    /// Places of the format where nothing reads `x-sortie`.
    fn places(&mut self, document: &Document) {
        let attack = &document.attack;
        self.unread(&attack.execution.extensions, &execution_path());
        for (index, actor) in attack.execution.actors.iter().flatten().enumerate() {
            self.unread(&actor.extensions, &execution_path().key("actors").index(index));
        }
        for list in document.phase_lists() {
            for (path, phase) in list.iter() {
                self.unread(&phase.extensions, &path);
                for (index, action) in phase.on_enter.iter().flatten().enumerate() {
                    self.unread(&action.extensions, &path.clone().key("on_enter").index(index));
                }
            }
        }
        for (path, indicator) in document.indicators() {
            self.unread(&indicator.extensions, &path);
        }
    }

    fn unread(&mut self, extensions: &Extensions, path: &NodePath) {
        if extensions.get(KEY).is_some() {
            self.misplaced(path);
        }
    }

    fn misplaced(&mut self, path: &NodePath) {
        let error = self.error(&path.clone().key(KEY), format!("nothing reads `{KEY}` here"));
        error.is_key = true;
        error.help = Some(
            "`prompt`, `delivered` and `needs` stand in the one of `attack`; of an MCP server, `during` in that of a response, \
             `content` and `completions` in that of a resource, template or prompt"
                .to_owned(),
        );
    }

    /// What stands in a state: on itself, on the items of its lists, and on their responses. What is below is content.
    fn state(&mut self, state: &Value, path: &NodePath, known: &[(&str, &[&str], &[&str])]) {
        let Some(fields) = state.as_object() else { return };
        if fields.contains_key(KEY) {
            self.misplaced(path);
        }
        for (key, list) in fields {
            let (_, item_keys, response_keys) =
                known.iter().find(|(name, ..)| name == key).copied().unwrap_or(("", &[], &[]));
            for (index, item) in list.as_array().into_iter().flatten().enumerate() {
                let path = path.clone().key(key).index(index);
                self.stands_in(item, &path, item_keys);
                let responses = item.get("responses").and_then(Value::as_array);
                for (index, response) in responses.into_iter().flatten().enumerate() {
                    self.stands_in(response, &path.clone().key("responses").index(index), response_keys);
                }
            }
        }
    }

    fn stands_in(&mut self, holder: &Value, path: &NodePath, keys: &[&str]) {
        match holder.get(KEY) {
            Some(_) if keys.is_empty() => self.misplaced(path),
            Some(value) => {
                self.item(value, &path.clone().key(KEY), keys);
            }
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
