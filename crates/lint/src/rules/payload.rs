//! What the document's own actors will say: the messages an indicator sees that are not the agent's doing.
//!
//! Only what can be told from the document is here. A default that a runner fills in, or an answer that
//! depends on the request, is not.

use std::cell::{Cell, OnceCell};
use std::ops::ControlFlow;

use serde_json::{Map, Value, json};
use sortie_bindings::Side;
use sortie_expr::path::WildcardPath;
use sortie_oatf::extension::KEY;
use sortie_oatf::extension::wrap::wrap_name;
use sortie_oatf::model::{Action, ActionKind, Document, Mode};
use sortie_oatf::rules::execution_path;
use sortie_oatf::template::{Piece, fill, pieces};
use sortie_syntax::NodePath;

use super::operations::written_by;
use super::scope::Scope;
use super::states::items;

/// A message of an actor.
pub(super) struct Message<'d> {
    pub(super) protocol: &'d str,
    /// The actor that says it; `default` in the single-actor forms.
    pub(super) actor: &'d str,
    pub(super) surface: String,
    pub(super) side: Side,
    /// What it says, with its templates.
    content: Value,
    /// What it may be, see [`Self::readings`]. Few messages are looked at.
    readings: OnceCell<Vec<Value>>,
    /// The part of the document it is made of.
    from: NodePath,
    /// Paths in the message, and the parts of the document that stand there.
    made_of: Vec<(&'static str, NodePath)>,
    /// Whether a real server says the rest of it, which nobody knows.
    pub(super) is_part: bool,
}

impl Message<'_> {
    /// The message; where it has templates, once with nothing and once with something unlike any text in
    /// their place. What holds for both does not depend on what a template stands for.
    pub(super) fn readings(&self) -> &[Value] {
        self.readings.get_or_init(|| readings(&self.content))
    }

    /// How much there is to look at.
    pub(super) fn weight(&self) -> usize {
        self.readings().iter().map(weight).sum()
    }

    /// Where in the document the first value under `target` stands that `holds` is true of.
    pub(super) fn place(&self, target: &WildcardPath, holds: impl Fn(&Value) -> bool) -> NodePath {
        let Some(reading) = self.readings().first() else { return self.from.clone() };
        let found = target.visit(reading, &mut |value, positions| {
            if holds(value) {
                return ControlFlow::Break(target.with_positions(positions));
            }
            ControlFlow::Continue(())
        });
        let ControlFlow::Break(path) = found else { return self.from.clone() };
        let part = self.made_of.iter().find_map(|(start, from)| Some((below(&path, start)?, from)));
        part.map_or_else(|| self.from.clone(), |(rest, from)| from.clone().join(&rest))
    }

    /// Whether an indicator that looks at every actor is shown it.
    pub(super) fn is_seen_by(&self, scope: &Scope<'_>) -> bool {
        scope.protocol == Some(self.protocol)
            && scope.surface().is_none_or(|surface| surface == self.surface)
            && scope.side.is_none_or(|side| side == self.side)
    }

    /// Whether it is not our message but the answer to one, as far as it carries what we asked.
    pub(super) fn is_request_in_response(&self) -> bool {
        self.side == Side::Response && self.made_of.first().is_some_and(|(start, _)| *start == "_request")
    }
}

/// Every message that the document spells out.
pub(super) fn messages(document: &Document) -> Vec<Message<'_>> {
    let mut speech = Speech { messages: Vec::new(), actor: "default", protocol: "" };
    if let (Some(state), Some(mode)) = (&document.attack.execution.state, &document.attack.execution.mode) {
        let is_wrapped = wrap_name(&document.attack.execution, None).is_some();
        speech.state(mode, state, &execution_path().key("state"), is_wrapped);
    }
    for list in document.phase_lists() {
        speech.actor = list.actor_name();
        let actor = list.actor.map(|(_, actor)| actor);
        let is_wrapped = wrap_name(&document.attack.execution, actor).is_some();
        for (path, phase) in list.iter() {
            let Some(mode) = list.mode_of(phase) else { continue };
            if let Some(state) = &phase.state {
                speech.state(mode, state, &path.clone().key("state"), is_wrapped);
            }
            for (index, action) in phase.on_enter.iter().flatten().enumerate() {
                speech.on_enter(mode, action, path.clone().key("on_enter").index(index));
            }
        }
    }
    speech.messages
}

/// Collects what one actor after the other says.
struct Speech<'d> {
    messages: Vec<Message<'d>>,
    actor: &'d str,
    protocol: &'d str,
}

impl<'d> Speech<'d> {
    fn say(&mut self, surface: &str, side: Side, content: Value, from: NodePath) {
        let made_of = vec![("", from.clone())];
        self.say_of(surface, side, content, from, made_of);
    }

    fn say_of(
        &mut self,
        surface: &str,
        side: Side,
        content: Value,
        from: NodePath,
        made_of: Vec<(&'static str, NodePath)>,
    ) {
        let (protocol, actor, surface) = (self.protocol, self.actor, surface.to_owned());
        let is_part = false;
        self.messages.push(Message {
            protocol,
            actor,
            surface,
            side,
            content,
            readings: OnceCell::new(),
            from,
            made_of,
            is_part,
        });
    }

    /// A message that is all under one field.
    fn say_under(&mut self, name: &'static str, surface: &str, side: Side, value: Value, at: NodePath) {
        let made_of = vec![(name, at.clone())];
        let content = Map::from_iter([(name.to_owned(), value)]).into();
        self.say_of(surface, side, content, at, made_of);
    }

    fn state(&mut self, mode: &'d str, state: &Value, path: &NodePath, is_wrapped: bool) {
        let Some(protocol) = Mode::protocol(mode) else { return };
        self.protocol = protocol;
        match Mode::of(mode) {
            Mode::McpServer if is_wrapped => self.wrapped(state, path),
            Mode::McpServer => self.mcp_server(state, path),
            Mode::McpClient => self.mcp_client(state, path),
            Mode::A2aServer => self.a2a_server(state, path),
            Mode::A2aClient => self.actions(state, path),
            Mode::AgUiClient => self.ag_ui_client(state, path),
            _ => {}
        }
    }

    fn on_enter(&mut self, mode: &'d str, action: &Action, path: NodePath) {
        if let (Some(protocol), ActionKind::Send(send)) = (Mode::protocol(mode), &action.kind) {
            self.protocol = protocol;
            let params = send.params.clone().unwrap_or_else(|| json!({}));
            self.say(&send.method, Side::Request, params, path.key("send"));
        }
    }

    /// What operations write into what a real server says.
    fn wrapped(&mut self, state: &Value, path: &NodePath) {
        let own = path.clone().key(KEY);
        let operations = state.get(KEY).into_iter().flat_map(|state| items(state, &own, "operations"));
        for (operation, at) in operations {
            if let Some((surface, written)) = written_by(operation) {
                self.say_of(surface, Side::Response, written, at.clone(), Vec::new());
                self.messages.last_mut().into_iter().for_each(|message| message.is_part = true);
            }
        }
    }

    fn mcp_server(&mut self, state: &Value, path: &NodePath) {
        let handshake = [
            ("protocol_version", "protocolVersion"),
            ("server_info", "serverInfo"),
            ("instructions", "instructions"),
            ("capabilities", "capabilities"),
        ];
        let mut greeting = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "serverInfo": {"name": "oatf-server", "version": "1.0.0"},
        });
        let mut made_of = Vec::new();
        for (key, name) in handshake {
            if let Some(value) = state.get(key) {
                greeting[name] = value.clone();
                made_of.push((name, path.clone().key(key)));
            }
        }
        self.say_of("initialize", Side::Response, greeting, path.clone(), made_of);
        self.list(state, path, "tools", "tools/list", "tools");
        self.list(state, path, "resources", "resources/list", "resources");
        self.list(state, path, "resource_templates", "resources/templates/list", "resourceTemplates");
        self.list(state, path, "prompts", "prompts/list", "prompts");
        for (tool, at) in items(state, path, "tools") {
            for (entry, at) in items(tool, &at, "responses") {
                let at = at.key("content");
                match entry.get("content") {
                    Some(result @ Value::Object(_)) => {
                        self.say("tools/call", Side::Response, result.clone(), at);
                    }
                    // The list alone stands for the result that holds it (decision 21).
                    Some(list @ Value::Array(_)) => {
                        self.say_under("content", "tools/call", Side::Response, list.clone(), at);
                    }
                    _ => {}
                }
            }
        }
        for (resource, at) in items(state, path, "resources") {
            if let Some(Value::Object(content)) = resource.get("content") {
                let mut contents = Map::new();
                for key in ["uri", "mimeType"] {
                    if let Some(value) = resource.get(key) {
                        contents.insert(key.to_owned(), value.clone());
                    }
                }
                contents.extend(content.clone());
                let value = json!({ "contents": [contents] });
                let made_of = vec![("contents[0]", at.clone().key("content"))];
                self.say_of("resources/read", Side::Response, value, at, made_of);
            }
        }
        for (prompt, at) in items(state, path, "prompts") {
            for (entry, at) in items(prompt, &at, "responses") {
                if let Some(messages) = entry.get("messages") {
                    let at = at.key("messages");
                    self.say_under("messages", "prompts/get", Side::Response, messages.clone(), at);
                }
            }
        }
        for (elicitation, at) in items(state, path, "elicitations") {
            if let Some(params) = elicitation.as_object() {
                self.say("elicitation/create", Side::Request, without(params, &["when"]), at);
            }
        }
    }

    fn mcp_client(&mut self, state: &Value, path: &NodePath) {
        for (key, name) in [("client_info", "clientInfo"), ("capabilities", "capabilities")] {
            if let Some(value) = state.get(key) {
                self.say_under(name, "initialize", Side::Request, value.clone(), path.clone().key(key));
            }
        }
        self.actions(state, path);
        self.answers(state, path, "sampling_responses", &["sampling/createMessage"], Side::Response);
        for (entry, at) in items(state, path, "elicitation_responses") {
            if entry.is_object() {
                let mut answer = json!({ "action": entry.get("action").cloned().unwrap_or("accept".into()) });
                if let Some(content) = entry.get("content") {
                    answer["content"] = content.clone();
                }
                self.say("elicitation/create", Side::Response, answer, at);
            }
        }
        if let Some(roots) = state.get("roots") {
            self.say_under("roots", "roots/list", Side::Response, roots.clone(), path.clone().key("roots"));
        }
    }

    fn a2a_server(&mut self, state: &Value, path: &NodePath) {
        if let Some(card) = state.get("agent_card") {
            for surface in ["agent_card/get", "agent/getAuthenticatedExtendedCard"] {
                self.say(surface, Side::Response, card.clone(), path.clone().key("agent_card"));
            }
        }
        self.answers(state, path, "task_responses", &["message/send", "message/stream"], Side::Response);
    }

    fn ag_ui_client(&mut self, state: &Value, path: &NodePath) {
        if let Some(input) = state.get("run_agent_input") {
            let at = path.clone().key("run_agent_input");
            self.say("run_agent_input", Side::Request, input.clone(), at);
        }
        self.answers(state, path, "tool_responses", &["tool_call_result"], Side::Request);
    }

    /// The requests of a client, and what comes back of them under `_request`.
    fn actions(&mut self, state: &Value, path: &NodePath) {
        for (action, at) in items(state, path, "actions") {
            let Some(method) = action.get("method").and_then(Value::as_str) else { continue };
            let Some(params) = action.get("params") else { continue };
            let at = at.key("params");
            self.say_under("_request", method, Side::Response, params.clone(), at.clone());
            self.say(method, Side::Request, params.clone(), at);
        }
    }

    /// The `content` of every entry of a response list.
    fn answers(&mut self, state: &Value, path: &NodePath, key: &str, to: &[&str], side: Side) {
        for (entry, at) in items(state, path, key) {
            if let Some(content) = entry.get("content") {
                for surface in to {
                    self.say(surface, side, content.clone(), at.clone().key("content"));
                }
            }
        }
    }

    /// A list that is served whole, without what is never sent.
    fn list(&mut self, state: &Value, path: &NodePath, key: &str, surface: &str, name: &'static str) {
        if state.get(key).is_none() {
            return;
        }
        let list: Value = items(state, path, key)
            .map(|(item, _)| match item.as_object() {
                Some(item) => without(item, &["responses", "content", "completions", KEY]),
                None => item.clone(),
            })
            .collect();
        self.say_under(name, surface, Side::Response, list, path.clone().key(key));
    }
}

/// What is left of a concrete path (`tools[2].name`) below its start (`tools`).
fn below(path: &str, start: &str) -> Option<NodePath> {
    let rest = path.strip_prefix(start)?;
    if !(start.is_empty() || rest.is_empty() || rest.starts_with(['.', '['])) {
        return None;
    }
    let mut below = NodePath::root();
    for step in rest.split(['.', '[']).filter(|step| !step.is_empty()) {
        match step.strip_suffix(']') {
            Some(position) => below.push_index(position.parse().ok()?),
            None => below.push_key(step),
        }
    }
    Some(below)
}

fn without(fields: &Map<String, Value>, left_out: &[&str]) -> Value {
    let kept = fields.iter().filter(|(key, _)| !left_out.contains(&key.as_str()));
    Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn readings(value: &Value) -> Vec<Value> {
    let has_templates = Cell::new(false);
    let filled = |with: &str| {
        fill(value, &mut |text| {
            let pieces = pieces(text).map(|piece| match piece {
                Piece::Text(text) | Piece::Unclosed { text, .. } => text,
                Piece::Escaped => "{{",
                Piece::Reference { .. } => {
                    has_templates.set(true);
                    with
                }
            });
            pieces.collect()
        })
    };
    let empty = filled("");
    if has_templates.get() { vec![empty, filled("\u{fffc}")] } else { vec![empty] }
}

/// How long a value is as text, about.
// Recursion is bounded by the depth of documents.
pub(super) fn weight(value: &Value) -> usize {
    1 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + weight(value)).sum(),
        _ => 0,
    }
}
