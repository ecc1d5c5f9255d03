//! An actor: a name, a mode, and the phase it is in.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;
use sortie_oatf::{
    ActionKind, AdvanceReason, Compiled, ExtractorSource, LogLevel, TriggerResult, TriggerState,
    extract_protocol,
};
use sortie_trace::{Content, Deriver, Direction, Kind, Message, Sender};
use tokio::sync::watch;

use crate::context::Context;
use crate::payload::{Filled, Payload, Scope, TooLarge};
use crate::phase::Phase;
use crate::recorder::Seen;

/// What an actor plays, whatever the protocol: the phase it is in, what ends it, and what it has captured.
///
/// Everything it hears and says passes through here, where it is recorded before anything else is made of it.
#[derive(Debug)]
pub struct Actor {
    name: String,
    mode: String,
    protocol: String,
    phases: Vec<Arc<Phase>>,
    context: Context,
    inner: Mutex<Inner>,
    /// Taken after `inner` where both are, so that entry actions can say something.
    deriver: Mutex<Deriver>,
    /// Shared with its forks, as is the next: the end of a run is theirs together.
    working: Arc<AtomicUsize>,
    reached_last: Arc<AtomicBool>,
    through: AtomicBool,
    /// The phase, for those who wait for the next one.
    entered: watch::Sender<usize>,
}

struct Inner {
    index: usize,
    since: Instant,
    trigger: TriggerState,
    /// The last phase's trigger has fired, or a phase ends as soon as an exchange is over.
    fired: bool,
    on_enter: Option<Box<dyn FnMut(Entered) + Send>>,
}

/// A phase that was just entered, with what is to be done first.
#[derive(Debug)]
pub struct Entered {
    /// The phase.
    pub phase: Arc<Phase>,
    /// Its entry actions, their templates filled; `log` has been done already.
    pub actions: Vec<EntryAction>,
}

/// An entry action that a binding carries out.
#[derive(Clone, Debug)]
pub enum EntryAction {
    /// `send`: a method and its params.
    Send {
        /// The method.
        method: String,
        /// Its params, ready for the wire ([`Payload::text`]).
        params: Option<Payload>,
    },
    /// One that a binding defines: its key and its value.
    Other {
        /// The key (`send_push_notification`).
        key: String,
        /// The value, ready for the wire ([`Payload::text`]).
        value: Payload,
    },
}

/// A message that an actor heard or says, apart from what the actor knows itself.
#[derive(Clone, Copy, Debug)]
pub struct Spoken<'s> {
    /// The operations it belongs to.
    pub surfaces: &'s [&'s str],
    /// Which half of an exchange it is.
    pub direction: Direction,
    /// What it is on the wire.
    pub kind: Kind,
    /// JSON-RPC id.
    pub id: Option<&'s Value>,
    /// A name of ours for the connection.
    pub connection: &'s str,
    /// What was on the wire.
    pub bytes: &'s [u8],
}

/// A message that was heard, and the phase that deals with it.
///
/// When it fired the phase's trigger, the next phase begins once this is dropped: what fires a trigger is answered by the
/// phase it fired in.
#[derive(Debug)]
pub struct Heard {
    /// The phase that it belongs to, and that answers it.
    pub phase: Arc<Phase>,
    /// The message as indicators see it: params, result, or event.
    pub content: Value,
    fired: Option<(Arc<Actor>, AdvanceReason)>,
}

impl Heard {
    /// Whether it ends the phase.
    pub fn has_fired(&self) -> bool {
        self.fired.is_some()
    }

    /// Lets it go without ending the phase, since the run is over.
    pub(crate) fn forget(mut self) {
        self.fired = None;
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        if let Some((actor, reason)) = self.fired.take() {
            actor.advance(self.phase.index, reason);
        }
    }
}

/// An actor is doing something while this lives.
#[derive(Debug)]
pub struct Working(Arc<AtomicUsize>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Actor {
    /// An actor of a document, before its first phase.
    pub fn new(document: &Compiled, index: usize, context: Context) -> Arc<Self> {
        let actor = &document.document().attack.execution.actors.as_deref().unwrap_or_default()[index];
        let phases = Phase::all(actor, &document.actors()[index]);
        let phases = phases.into_iter().map(Arc::new).collect();
        Arc::new(Self::with_phases(&actor.name, &actor.mode, phases, context))
    }

    /// The same actor before its first phase, with a state of its own: for sessions that are kept apart.
    #[must_use]
    pub fn fork(&self) -> Arc<Self> {
        let mut fork = Self::with_phases(&self.name, &self.mode, self.phases.clone(), self.context.clone());
        fork.working = self.working.clone();
        fork.reached_last = self.reached_last.clone();
        Arc::new(fork)
    }

    fn with_phases(name: &str, mode: &str, phases: Vec<Arc<Phase>>, context: Context) -> Self {
        Self {
            name: name.to_owned(),
            mode: mode.to_owned(),
            protocol: extract_protocol(mode).to_owned(),
            phases,
            context,
            inner: Mutex::new(Inner {
                index: 0,
                since: Instant::now(),
                trigger: TriggerState::default(),
                fired: false,
                on_enter: None,
            }),
            deriver: Mutex::new(Deriver::new()),
            working: Arc::default(),
            reached_last: Arc::default(),
            through: AtomicBool::new(false),
            entered: watch::Sender::new(0),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its mode.
    pub fn mode(&self) -> &str {
        &self.mode
    }

    /// Its protocol.
    pub fn protocol(&self) -> &str {
        &self.protocol
    }

    /// All its phases, in order.
    pub fn phases(&self) -> &[Arc<Phase>] {
        &self.phases
    }

    /// What it shares with the other actors.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The phase it is in.
    pub fn phase(&self) -> Arc<Phase> {
        self.phases[self.lock().index].clone()
    }

    /// The index of the phase, now and whenever it changes.
    pub fn entered(&self) -> watch::Receiver<usize> {
        self.entered.subscribe()
    }

    /// Enters the first phase. From now on `on_enter` is called whenever a phase is entered, before anything else is heard;
    /// it must not block, and may call [`said`](Self::said) but not [`heard`](Self::heard).
    pub fn begin(self: &Arc<Self>, on_enter: impl FnMut(Entered) + Send + 'static) {
        let mut inner = self.lock();
        inner.on_enter = Some(Box::new(on_enter));
        self.enter(&mut inner, 0, None);
    }

    /// Something was heard: it is recorded, extractors read it, and it may fire the trigger. `event` names it for the
    /// trigger; most often it is the surface.
    pub fn heard(self: &Arc<Self>, events: &[&str], spoken: Spoken<'_>) -> Heard {
        let message = self.unheard(Sender::Agent, spoken);
        let mut inner = self.lock();
        self.expire(&mut inner);
        let phase = self.phases[inner.index].clone();
        self.hear(&mut inner, phase, message, events)
    }

    /// The same for an answer, or an item of a stream, to what was said in an earlier phase: it is recorded as belonging to
    /// that one. Only what belongs to the present phase can end it.
    pub fn heard_in(self: &Arc<Self>, phase: &Arc<Phase>, events: &[&str], spoken: Spoken<'_>) -> Heard {
        let message = self.unheard(Sender::Agent, spoken);
        let mut inner = self.lock();
        self.expire(&mut inner);
        self.hear(&mut inner, phase.clone(), message, events)
    }

    /// The same for what the actor says itself, where the binding makes that an event too.
    pub fn said_event(self: &Arc<Self>, phase: &Arc<Phase>, events: &[&str], spoken: Spoken<'_>) -> Heard {
        let message = self.unheard(Sender::Actor, spoken);
        let mut inner = self.lock();
        self.expire(&mut inner);
        self.hear(&mut inner, phase.clone(), message, events)
    }

    /// Something was said: it is recorded, and extractors read it. `phase` is the one that says it.
    pub fn said(&self, phase: &Phase, spoken: Spoken<'_>) {
        let Unheard { mut message, .. } = self.unheard(Sender::Actor, spoken);
        message.phase.clone_from(&phase.name);
        let source = source(spoken.direction);
        // Answers refer to requests, so a client's deriver has to see what it asks.
        let seen = (self.is_client() || phase.extracts(source)).then(|| self.observe(&message));
        if let Some(seen) = self.context.recorder.message(message, seen) {
            self.extract(phase, source, &seen.value);
        }
    }

    /// It is doing something, until the guard is dropped: silence is not the end of a run meanwhile.
    pub fn working(&self) -> Working {
        self.working.fetch_add(1, Ordering::Relaxed);
        Working(self.working.clone())
    }

    /// Whether it is doing something.
    pub fn is_working(&self) -> bool {
        self.working.load(Ordering::Relaxed) > 0
    }

    /// Fills the templates of a payload; references that stand for nothing become warnings (W-004).
    pub fn fill<'p>(
        &self,
        payload: &'p Payload,
        request: Option<&Value>,
        response: Option<&Value>,
    ) -> Result<Filled<'p>, TooLarge> {
        // No map is made for content that refers to nothing, which is nearly all of it.
        let extracted = if payload.has_templates() { self.seen() } else { HashMap::new() };
        let filled = payload.fill(Scope { extracted: &extracted, request, response });
        match &filled {
            Ok(filled) => self.warn_unresolved(&filled.unresolved),
            Err(error) => self.warn(&error.to_string()),
        }
        filled
    }

    /// A warning about this actor.
    pub fn warn(&self, text: &str) {
        self.context.recorder.warn(format!("`{}`: {text}", self.name));
    }

    /// It cannot go on: `bind_failed`, `target_refused`, `protocol_error`, `internal`.
    pub fn failed(&self, failure: &str, message: &str) {
        self.context.recorder.actor_failed(&self.name, failure, message);
    }

    /// Whether it is in its last phase.
    pub fn is_in_last_phase(&self) -> bool {
        self.lock().index + 1 == self.phases.len()
    }

    /// Whether it, or a fork of it, has got to its last phase.
    pub fn has_reached_last_phase(&self) -> bool {
        self.reached_last.load(Ordering::Relaxed)
    }

    /// A client has said everything that its last phase has to say, and has its answers. From now on it only listens.
    pub fn nothing_more(&self) {
        self.through.store(true, Ordering::Relaxed);
        self.context.recorder.wake();
    }

    /// Whether it has nothing more to say by itself.
    pub fn is_through(&self) -> bool {
        self.through.load(Ordering::Relaxed)
    }

    fn hear(
        self: &Arc<Self>,
        inner: &mut Inner,
        phase: Arc<Phase>,
        Unheard { mut message, seen }: Unheard,
        events: &[&str],
    ) -> Heard {
        message.phase.clone_from(&phase.name);
        let source = source(message.direction);
        let seen = seen.unwrap_or_else(|| self.observe(&message));
        // It comes back: the recorder gives back what it is given.
        let seen = self.context.recorder.message(message, Some(seen));
        let content = seen.map(|seen| seen.value).unwrap_or_default();
        self.extract(&phase, source, &content);
        let mut fired = None;
        if phase.index == inner.index
            && !inner.fired
            && let Some(trigger) = &phase.trigger
        {
            let elapsed = inner.since.elapsed();
            for event in events {
                let result = trigger.evaluate(Some((event, &content)), elapsed, &mut inner.trigger);
                if let TriggerResult::Advanced { reason } = result {
                    inner.fired = true;
                    fired = Some((self.clone(), reason));
                    break;
                }
            }
        }
        Heard { phase, content, fired }
    }

    /// A message before its phase is known, and what it says where nothing else has to be known for that: the actor is
    /// not locked meanwhile, so that requests are read side by side (`cargo xtask bench wire`).
    fn unheard(&self, sender: Sender, spoken: Spoken<'_>) -> Unheard {
        let message = Message {
            seq: 0,
            time: String::new(),
            actor: self.name.clone(),
            mode: self.mode.clone(),
            phase: String::new(),
            protocol: self.protocol.clone(),
            surfaces: spoken.surfaces.iter().map(|&surface| surface.to_owned()).collect(),
            direction: spoken.direction,
            kind: spoken.kind,
            id: spoken.id.cloned(),
            connection: spoken.connection.to_owned(),
            sender,
            content: Content::from_wire(spoken.bytes),
        };
        let seen =
            (!self.is_client() && sender == Sender::Agent).then(|| seen(&mut Deriver::new(), &message));
        Unheard { message, seen }
    }

    fn is_client(&self) -> bool {
        self.mode.ends_with("_client")
    }

    /// The message as indicators see it, before anything is redacted: an attack may use what the trace must not hold.
    fn observe(&self, message: &Message) -> Seen {
        seen(&mut self.deriver.lock().unwrap_or_else(PoisonError::into_inner), message)
    }

    fn extract(&self, phase: &Phase, source: ExtractorSource, content: &Value) {
        for extractor in &phase.extractors {
            if let Some(value) = extractor.extract(content, source) {
                self.context.extracted.set(&self.name, &extractor.name, value);
            }
        }
    }

    fn seen(&self) -> HashMap<String, String> {
        self.context.extracted.seen_by(&self.name)
    }

    /// Leaves a phase, unless it was left already.
    fn advance(self: &Arc<Self>, from: usize, reason: AdvanceReason) {
        let mut inner = self.lock();
        if inner.index == from {
            self.leave(&mut inner, reason);
        }
    }

    fn leave(self: &Arc<Self>, inner: &mut Inner, reason: AdvanceReason) {
        let next = inner.index + 1;
        if next == self.phases.len() {
            // Nothing follows: the phase stays, and its trigger is spent.
            inner.fired = true;
            return;
        }
        let because = match reason {
            AdvanceReason::EventMatched => "event_matched",
            AdvanceReason::Timeout => "timeout",
        };
        self.enter(inner, next, Some(because));
    }

    /// A request that comes after the time of a phase is up belongs to the next one, even if the timer was not scheduled yet.
    fn expire(self: &Arc<Self>, inner: &mut Inner) {
        while !inner.fired {
            let after =
                self.phases[inner.index].trigger.as_ref().and_then(sortie_oatf::CompiledTrigger::after);
            if after.is_none_or(|after| inner.since.elapsed() < after) {
                return;
            }
            self.leave(inner, AdvanceReason::Timeout);
        }
    }

    fn enter(self: &Arc<Self>, inner: &mut Inner, index: usize, because: Option<&str>) {
        let phase = self.phases[index].clone();
        inner.index = index;
        inner.since = Instant::now();
        inner.trigger = TriggerState::default();
        inner.fired = false;
        if phase.is_last {
            self.reached_last.store(true, Ordering::Relaxed);
        }
        self.context.recorder.phase(&self.name, &self.mode, &phase.name, index, because);
        self.start_timer(&phase);
        let actions = self.entry_actions(&phase);
        if let Some(on_enter) = &mut inner.on_enter {
            on_enter(Entered { phase, actions });
        }
        self.entered.send_replace(index);
    }

    fn start_timer(self: &Arc<Self>, phase: &Phase) {
        let Some(after) = phase.trigger.as_ref().and_then(sortie_oatf::CompiledTrigger::after) else {
            return;
        };
        let (actor, index, end) = (Arc::downgrade(self), phase.index, self.context.end.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(after) => {}
                () = end.cancelled() => return,
            }
            if let Some(actor) = actor.upgrade() {
                actor.advance(index, AdvanceReason::Timeout);
            }
        });
    }

    /// The entry actions with their templates filled; log lines are written at once.
    fn entry_actions(&self, phase: &Phase) -> Vec<EntryAction> {
        let mut actions = Vec::new();
        for action in &phase.on_enter {
            let whole = |value: &Value, pointer: &str| {
                self.filled(&Payload::new(value.clone(), &action.numbers, pointer))
            };
            match &action.kind {
                ActionKind::Log(log) => {
                    let level = log.level.unwrap_or(LogLevel::Info).as_str();
                    let text = self.filled(&Payload::plain(log.message.as_str().into()));
                    if let Some(text) = text.as_ref().and_then(|text| text.value().as_str()) {
                        self.context.recorder.log(&self.name, level, text);
                    }
                }
                ActionKind::Send(send) => {
                    let params = send.params.as_ref().map(|params| whole(params, "/send/params"));
                    // Params that cannot be filled are no params: a warning says so, and nothing is sent.
                    let Some(params) = params.map_or(Some(None), |params| params.map(Some)) else { continue };
                    actions.push(EntryAction::Send { method: send.method.clone(), params });
                }
                ActionKind::Other(other) => {
                    for (key, value) in other {
                        if let Some(value) = whole(value, &format!("/{key}")) {
                            actions.push(EntryAction::Other { key: key.clone(), value });
                        }
                    }
                }
            }
        }
        actions
    }

    fn filled(&self, payload: &Payload) -> Option<Payload> {
        let filled = payload.filled(Scope { extracted: &self.seen(), request: None, response: None });
        match filled {
            Ok((filled, unresolved)) => {
                self.warn_unresolved(&unresolved);
                Some(filled)
            }
            Err(error) => {
                self.warn(&error.to_string());
                None
            }
        }
    }

    fn warn_unresolved(&self, unresolved: &[String]) {
        for unresolved in unresolved {
            self.warn(&format!("W-004: {unresolved}"));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A message that is about to be recorded.
struct Unheard {
    message: Message,
    /// What it says, where that takes no other message.
    seen: Option<Seen>,
}

fn seen(deriver: &mut Deriver, message: &Message) -> Seen {
    let observed = deriver.observe(message);
    Seen { value: observed.message, notes: observed.notes }
}

fn source(direction: Direction) -> ExtractorSource {
    match direction {
        Direction::Request => ExtractorSource::Request,
        Direction::Response => ExtractorSource::Response,
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner")
            .field("index", &self.index)
            .field("fired", &self.fired)
            .finish_non_exhaustive()
    }
}
