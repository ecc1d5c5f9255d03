//! What must have been served before silence counts as resistance.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use sortie_oatf::Validated;
use sortie_oatf::extension::RequiredDelivery;
use sortie_oatf::model::{Actor, Attack, Mode};
use sortie_trace::{Direction, Kind, Message, Sender};

use crate::outcome::{Delivered, Reach, Undelivered};

/// Operations by which two sides get to know each other. Serving them delivers no attack, unless the document says
/// so: an agent card is to A2A what `initialize` is to MCP.
const HANDSHAKE: &[(&str, &[&str])] = &[
    ("mcp", &["initialize", "notifications/initialized", "server/discover", "ping", "logging/setLevel"]),
    ("a2a", &["agent_card/get", "agent/getAuthenticatedExtendedCard"]),
];

/// How many requests of ours may wait for an answer. The oldest is forgotten.
const MAX_WAITING: usize = 64;

/// What the document wants served, and how much of it was.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    wanted: Vec<Wanted>,
    /// Whether the document names it; else it is what DESIGN says, and any one of them will do.
    declared: bool,
}

#[derive(Clone, Debug)]
struct Wanted {
    what: Undelivered,
    /// The actor's mode: a trace of another document may have an actor of the same name.
    mode: String,
    /// Whether the actor waits to be asked. What it sends then is an answer; what a client sends has arrived
    /// when something comes back.
    server: bool,
    /// The record with which it was served.
    done: Option<u64>,
    /// Ids of what was sent and has not been answered.
    waiting: Vec<Option<Value>>,
    /// Whether the actor is the only one of its mode, so that its name does not matter in the recording of another program.
    alone: bool,
    /// Whether messages of its kind were there.
    possible: bool,
}

impl Delivery {
    pub(crate) fn new(document: &Validated) -> Self {
        match document.extension().delivered.as_slice() {
            [] => Self { wanted: assumed(&document.attack), declared: false },
            declared => Self {
                wanted: declared.iter().map(|entry| Wanted::declared(entry, &document.attack)).collect(),
                declared: true,
            },
        }
    }

    /// Takes note of a message.
    pub(crate) fn message(&mut self, message: &Message) {
        for wanted in self.wanted.iter_mut().filter(|wanted| wanted.done.is_none()) {
            let is_actor = wanted.what.actor == message.actor || wanted.alone && message.source.is_some();
            if is_actor && wanted.mode == message.mode {
                match message.sender {
                    Sender::Actor => wanted.sent(message, self.declared),
                    Sender::Agent => wanted.heard(message),
                }
            }
        }
    }

    /// How it stands when nothing of it was played.
    pub(crate) fn nothing(&self) -> Reach {
        let missing = self.wanted.iter().map(|wanted| wanted.what.clone());
        Reach { delivered: Delivered::No, missing: missing.collect() }
    }

    /// The record with which the last of it was served; of what is only assumed, the first.
    pub(crate) fn seq(&self) -> Option<u64> {
        let seqs = self.wanted.iter().filter_map(|wanted| wanted.done);
        if self.declared { seqs.max() } else { seqs.min() }
    }

    /// The same for what was recorded elsewhere, where what the document names is looked for if it could be there: if the recording
    /// has messages of that kind.
    pub(crate) fn foreign_reach(&self) -> Reach {
        let unknown = || Reach { delivered: Delivered::Unknown, missing: Vec::new() };
        if !self.declared {
            return unknown();
        }
        let missing = self.wanted.iter().filter(|wanted| wanted.done.is_none());
        if missing.clone().next().is_none() {
            return self.reach();
        }
        let missing: Vec<_> =
            missing.filter(|wanted| wanted.possible).map(|wanted| wanted.what.clone()).collect();
        if missing.is_empty() { unknown() } else { Reach { delivered: Delivered::No, missing } }
    }

    pub(crate) fn reach(&self) -> Reach {
        let missing =
            || self.wanted.iter().filter(|wanted| wanted.done.is_none()).map(|wanted| wanted.what.clone());
        let enough = if self.declared {
            self.wanted.iter().all(|wanted| wanted.done.is_some())
        } else {
            self.wanted.iter().any(|wanted| wanted.done.is_some())
        };
        match (enough, self.declared) {
            (true, true) => Reach { delivered: Delivered::Yes, missing: Vec::new() },
            (true, false) => Reach { delivered: Delivered::Assumed, missing: Vec::new() },
            (false, _) => Reach { delivered: Delivered::No, missing: missing().collect() },
        }
    }
}

impl Wanted {
    fn new(what: Undelivered, mode: String) -> Self {
        Self {
            what,
            server: is_server(&mode),
            mode,
            done: None,
            waiting: Vec::new(),
            alone: false,
            possible: false,
        }
    }

    fn declared(entry: &RequiredDelivery, attack: &Attack) -> Self {
        let actor = attack.execution.actors.iter().flatten().find(|actor| actor.name == entry.actor);
        let what = Undelivered {
            actor: entry.actor.clone(),
            phase: entry.phase.clone(),
            surface: Some(entry.surface.clone()),
            contains: entry.contains.clone(),
        };
        // An actor that does not exist has no mode, so nothing it says is ever wanted.
        let mode = actor.map(|actor| actor.mode.clone()).unwrap_or_default();
        let alike = attack.execution.actors.iter().flatten().filter(|actor| actor.mode == mode).count();
        Self { alone: alike == 1, ..Self::new(what, mode) }
    }

    /// Our actor sent something: is it what is wanted?
    fn sent(&mut self, message: &Message, declared: bool) {
        // A recording of another program may know nothing of phases.
        let phase =
            self.what.phase.as_deref().filter(|_| !(message.source.is_some() && message.phase.is_empty()));
        let is_it = match &self.what.surface {
            Some(surface) => message.surfaces.iter().any(|served| is_same_surface(surface, served)),
            None => !declared && !is_handshake(message) && self.is_payload(message),
        };
        self.possible |= is_it;
        if message.kind == Kind::Error || phase.is_some_and(|phase| phase != message.phase) {
            return;
        }
        let says_it = |words: &String| message.content.says(words);
        if !is_it || !self.what.contains.as_ref().is_none_or(says_it) {
            return;
        }
        if self.server || message.direction == Direction::Response {
            self.done = Some(message.seq);
        } else {
            if self.waiting.len() == MAX_WAITING {
                self.waiting.remove(0);
            }
            self.waiting.push(message.id.clone());
        }
    }

    /// Where the document does not say: of a server, answers; of a client, questions.
    fn is_payload(&self, message: &Message) -> bool {
        let direction = if self.server { Direction::Response } else { Direction::Request };
        message.direction == direction
    }

    /// The agent said something: does it answer what was sent? Where a protocol has no ids, whatever it answers
    /// does.
    fn heard(&mut self, message: &Message) {
        if message.direction == Direction::Response {
            let same = |sent: &Option<Value>| match (sent, &message.id) {
                (Some(sent), Some(answered)) => is_same_id(sent, answered),
                _ => true,
            };
            self.done = self.waiting.iter().any(same).then_some(message.seq);
        }
    }
}

/// Peers that have one type of number answer 1 with 1.0.
fn is_same_id(sent: &Value, answered: &Value) -> bool {
    sent == answered || sent.as_f64().is_some_and(|sent| Some(sent) == answered.as_f64())
}

/// What is assumed: the last phase of a server; of a client, when there is no server.
fn assumed(attack: &Attack) -> Vec<Wanted> {
    let actors = || attack.execution.actors.iter().flatten();
    let any_server = actors().any(|actor| is_server(&actor.mode));
    let counted = actors().filter(|actor| is_server(&actor.mode) == any_server);
    let wanted = counted.map(|actor| {
        let phase = actor.phases.last().and_then(|phase| phase.name.clone());
        let surface = changed_list(actor).map(str::to_owned);
        let what = Undelivered { actor: actor.name.clone(), phase, surface, contains: None };
        Wanted::new(what, actor.mode.clone())
    });
    wanted.collect()
}

/// Lists of an MCP server: the key of a state, and the operation that serves it.
const LISTS: [(&str, &str); 3] =
    [("tools", "tools/list"), ("resources", "resources/list"), ("prompts", "prompts/list")];

/// What an item of a list answers, which is not in the list.
const ANSWERS: [&str; 3] = ["responses", "content", "messages"];

/// The list that the last phase of an MCP server changes, where that is all that it changes. A client that has the list of an
/// earlier phase, and may keep it for as long as `ttlMs` says, was not served the new one by any other answer.
fn changed_list(actor: &Actor) -> Option<&'static str> {
    let last = actor.phases.last()?.state.as_ref()?.as_object()?;
    let before = actor.phases.iter().rev().skip(1).find_map(|phase| phase.state.as_ref())?.as_object()?;
    if Mode::of(&actor.mode) != Mode::McpServer {
        return None;
    }
    let keys = || before.keys().chain(last.keys());
    let changed: BTreeSet<&String> = keys().filter(|key| before.get(*key) != last.get(*key)).collect();
    let (key, surface) = LISTS.into_iter().find(|(key, _)| changed.iter().all(|changed| changed == key))?;
    let answers = |state: &Map<String, Value>| -> Vec<Value> {
        let items = state.get(key).and_then(Value::as_array).into_iter().flatten();
        items.flat_map(|item| ANSWERS.iter().filter_map(|answer| item.get(answer).cloned())).collect()
    };
    (!changed.is_empty() && answers(before) == answers(last)).then_some(surface)
}

fn is_server(mode: &str) -> bool {
    Mode::of(mode).is_server()
}

/// A client of 2026-07-28 asks `server/discover` for what `initialize` told clients before it.
fn is_same_surface(wanted: &str, served: &str) -> bool {
    wanted == served || (wanted == "initialize" && served == "server/discover")
}

/// A message whose operation nobody knows is no more than one.
fn is_handshake(message: &Message) -> bool {
    let known = HANDSHAKE.iter().find(|(protocol, _)| *protocol == message.protocol);
    let handshake = known.map_or(&[][..], |(_, surfaces)| surfaces);
    message.surfaces.iter().all(|surface| handshake.contains(&surface.as_str()))
}
