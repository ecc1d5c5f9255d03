//! What must have been served before silence counts as resistance.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use sortie_oatf::Validated;
use sortie_oatf::extension::RequiredDelivery;
use sortie_oatf::extension::wrap::{OperationAction, WrapOperation, wrap_name};
use sortie_oatf::model::{Actor, Attack, Mode, Phase};
use sortie_trace::{Direction, Kind, Message, Sender};

use crate::outcome::{Delivered, Reach, Undelivered};

/// Operations by which two sides get to know each other. Serving them delivers no attack, unless the document says
/// so: an agent card is to A2A what `initialize` is to MCP.
const HANDSHAKE: &[(&str, &[&str])] = &[
    ("mcp", &["initialize", "notifications/initialized", "server/discover", "ping", "logging/setLevel"]),
    ("a2a", &["agent_card/get", "agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard"]),
];

/// How many requests of ours may wait for an answer. The oldest is forgotten.
const MAX_WAITING: usize = 64;

/// Something that a document wants served.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    what: Undelivered,
    /// The actor's mode: a trace of another document may have an actor of the same name.
    mode: String,
    /// Whether the actor is the only one of its mode, so that its name does not matter in the recording of another program.
    alone: bool,
    /// Whether the document names it; else it is what DESIGN says, and any one of them will do.
    declared: bool,
    /// Whether a real server stands behind the actor, so that only what operations changed is the document's.
    wrapped: bool,
}

/// How much of it was served.
#[derive(Clone, Debug, Default)]
pub(crate) struct Served {
    /// The record with which it was.
    done: Option<u64>,
    /// Ids of what was sent and has not been answered.
    waiting: Vec<Option<Value>>,
    /// Whether messages of its kind were there.
    possible: bool,
}

/// What a document wants served.
pub(crate) fn wanted(document: &Validated) -> Vec<Wanted> {
    match document.extension().delivered.as_slice() {
        [] => assumed(&document.attack),
        declared => declared.iter().map(|entry| Wanted::declared(entry, &document.attack)).collect(),
    }
}

/// What a document wants served, and how much of it was.
#[derive(Clone, Copy)]
pub(crate) struct Delivery<'d> {
    pub(crate) wanted: &'d [Wanted],
    pub(crate) served: &'d [Served],
}

impl Delivery<'_> {
    fn is_declared(&self) -> bool {
        self.wanted.iter().any(|wanted| wanted.declared)
    }

    fn missing(&self) -> impl Iterator<Item = (&Wanted, &Served)> {
        self.wanted.iter().zip(self.served).filter(|(_, served)| served.done.is_none())
    }

    /// How it stands when nothing of it was played.
    pub(crate) fn nothing(&self) -> Reach {
        let missing = self.wanted.iter().map(|wanted| wanted.what.clone());
        Reach { delivered: Delivered::No, missing: missing.collect() }
    }

    /// The record with which the last of it was served; of what is only assumed, the first.
    pub(crate) fn seq(&self) -> Option<u64> {
        let seqs = self.served.iter().filter_map(|served| served.done);
        if self.is_declared() { seqs.max() } else { seqs.min() }
    }

    /// The same for what was recorded elsewhere, where what the document names is looked for if it could be there: if the recording
    /// has messages of that kind.
    pub(crate) fn foreign_reach(&self) -> Reach {
        let unknown = || Reach { delivered: Delivered::Unknown, missing: Vec::new() };
        if !self.is_declared() {
            return unknown();
        }
        if self.missing().next().is_none() {
            return self.reach();
        }
        let possible = self.missing().filter(|(_, served)| served.possible);
        let missing: Vec<_> = possible.map(|(wanted, _)| wanted.what.clone()).collect();
        if missing.is_empty() { unknown() } else { Reach { delivered: Delivered::No, missing } }
    }

    pub(crate) fn reach(&self) -> Reach {
        let declared = self.is_declared();
        let enough = if declared {
            self.missing().next().is_none()
        } else {
            self.served.iter().any(|served| served.done.is_some())
        };
        match (enough, declared) {
            (true, true) => Reach { delivered: Delivered::Yes, missing: Vec::new() },
            (true, false) => Reach { delivered: Delivered::Assumed, missing: Vec::new() },
            (false, _) => {
                let missing = self.missing().map(|(wanted, _)| wanted.what.clone());
                Reach { delivered: Delivered::No, missing: missing.collect() }
            }
        }
    }
}

impl Wanted {
    fn new(what: Undelivered, mode: String) -> Self {
        Self { what, mode, alone: false, declared: false, wrapped: false }
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
        let wrapped = actor.is_some_and(|actor| last_rewriting_phase(attack, actor).is_some());
        Self { alone: alike == 1, declared: true, wrapped, ..Self::new(what, mode) }
    }

    /// Whether the actor waits to be asked. What it sends then is an answer; what a client sends has arrived when something comes back.
    fn is_server(&self) -> bool {
        is_server(&self.mode)
    }

    fn is_of(&self, message: &Message) -> bool {
        let is_actor = self.what.actor == message.actor || self.alone && message.source.is_some();
        is_actor && self.mode == message.mode
    }

    /// Whether messages of the kind of this one are what is wanted, but for the phase, the words and what is an error.
    pub(crate) fn is_possible_with(&self, message: &Message) -> bool {
        self.is_of(message)
            && message.sender == Sender::Actor
            && match &self.what.surface {
                Some(surface) => message.surfaces.iter().any(|served| is_same_surface(surface, served)),
                None => !self.declared && !is_handshake(message) && self.is_payload(message),
            }
    }

    /// Whether they are, but for the words.
    pub(crate) fn may_be_served_by(&self, message: &Message) -> bool {
        // A recording of another program may know nothing of phases.
        let phase =
            self.what.phase.as_deref().filter(|_| !(message.source.is_some() && message.phase.is_empty()));
        self.is_possible_with(message)
            && message.kind != Kind::Error
            && (!self.wrapped || message.is_changed())
            && phase.is_none_or(|phase| phase == message.phase)
    }

    /// Whether messages of the kind of this one may answer what was sent.
    pub(crate) fn may_be_answered_by(&self, message: &Message) -> bool {
        self.is_of(message)
            && message.sender == Sender::Agent
            && message.direction == Direction::Response
            && !self.is_server()
    }

    /// Whether the first message that [may be](Self::may_be_served_by) what is wanted is, and of the kind of this one.
    pub(crate) fn is_served_by_first(&self, message: &Message) -> bool {
        self.words().is_none() && self.arrives_with(message)
    }

    /// Whether what an actor sends has arrived with it, and not only with an answer.
    fn arrives_with(&self, message: &Message) -> bool {
        self.is_server() || message.direction == Direction::Response
    }

    /// What it must say.
    pub(crate) fn words(&self) -> Option<&str> {
        self.what.contains.as_deref()
    }

    /// Where the document does not say: of a server, answers; of a client, questions.
    fn is_payload(&self, message: &Message) -> bool {
        let direction = if self.is_server() { Direction::Response } else { Direction::Request };
        message.direction == direction
    }
}

impl Served {
    pub(crate) fn is_done(&self) -> bool {
        self.done.is_some()
    }

    /// There is a message of its kind.
    pub(crate) fn set_possible(&mut self) {
        self.possible = true;
    }

    /// Our actor sent something that [may be](Wanted::may_be_served_by) what is wanted.
    pub(crate) fn sent(&mut self, wanted: &Wanted, message: &Message) {
        if self.is_done() || !wanted.words().is_none_or(|words| message.content.says(words)) {
            return;
        }
        if wanted.arrives_with(message) {
            self.done = Some(message.seq);
        } else {
            if self.waiting.len() == MAX_WAITING {
                self.waiting.remove(0);
            }
            self.waiting.push(message.id.clone());
        }
    }

    /// The agent answered something: what was sent? Where a protocol has no ids, whatever it answers does.
    pub(crate) fn answered(&mut self, message: &Message) {
        let same = |sent: &Option<Value>| match (sent, &message.id) {
            (Some(sent), Some(answered)) => is_same_id(sent, answered),
            _ => true,
        };
        if !self.is_done() && self.waiting.iter().any(same) {
            self.done = Some(message.seq);
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
        let rewriting = last_rewriting_phase(attack, actor);
        let phase = rewriting.or(actor.phases.last()).and_then(|phase| phase.name.clone());
        let surface = changed_list(actor).map(str::to_owned);
        let what = Undelivered { actor: actor.name.clone(), phase, surface, contains: None };
        Wanted { wrapped: rewriting.is_some(), ..Wanted::new(what, actor.mode.clone()) }
    });
    wanted.collect()
}

/// The last phase of an actor that changes something of what the real server behind it says. To delay it changes nothing.
fn last_rewriting_phase<'a>(attack: &Attack, actor: &'a Actor) -> Option<&'a Phase> {
    wrap_name(&attack.execution, Some(actor))?;
    let mut rewrites = false;
    let changed = actor.phases.iter().filter(|phase| {
        if let Some(state) = &phase.state {
            let changes = |operation: &WrapOperation| !matches!(operation.action, OperationAction::Delay(_));
            rewrites = WrapOperation::all(state).iter().any(changes);
        }
        rewrites
    });
    changed.last()
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
