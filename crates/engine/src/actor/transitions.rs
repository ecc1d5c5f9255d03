//! How an actor goes from phase to phase, what it does on entering one, and how its templates are filled.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde_json::Value;
use sortie_oatf::compile::CompiledTrigger;
use sortie_oatf::model::{ActionKind, AdvanceReason, LogLevel, TriggerState};
use sortie_trace::PhaseEnd;

use super::{ActorState, Inner};
use crate::payload::{TooLarge, WirePayload};
use crate::phase::ActorPhase;

/// A phase that was just entered, with what is to be done first.
#[derive(Debug)]
pub struct Entered {
    /// The phase.
    pub phase: Arc<ActorPhase>,
    /// Its entry actions, their templates filled; `log` has been done already.
    pub actions: Vec<EntryAction>,
}

impl ActorState {
    /// Enters the first phase. From now on `on_enter` is called whenever a phase is entered, before anything else is heard;
    /// it must not block, and may call [`said`](Self::said) but not [`heard`](Self::heard).
    pub fn begin(self: &Arc<Self>, on_enter: impl FnMut(Entered) + Send + 'static) {
        let mut inner = self.inner.lock();
        inner.on_enter = Some(Box::new(on_enter));
        self.enter(&mut inner, 0, None);
    }

    /// Leaves a phase, unless it was left already.
    pub(super) fn advance(self: &Arc<Self>, from: usize, reason: AdvanceReason) {
        let mut inner = self.inner.lock();
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
            AdvanceReason::EventMatched => PhaseEnd::EventMatched,
            AdvanceReason::Timeout => PhaseEnd::Timeout,
        };
        self.enter(inner, next, Some(because));
    }

    /// A request that comes after the time of a phase is up belongs to the next one, even if the timer was not scheduled yet.
    pub(super) fn expire(self: &Arc<Self>, inner: &mut Inner) {
        while !inner.fired {
            let after = self.phases[inner.index].trigger.as_ref().and_then(CompiledTrigger::after);
            if after.is_none_or(|after| inner.since.elapsed() < after) {
                return;
            }
            self.leave(inner, AdvanceReason::Timeout);
        }
    }

    fn enter(self: &Arc<Self>, inner: &mut Inner, index: usize, because: Option<PhaseEnd>) {
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

    fn start_timer(self: &Arc<Self>, phase: &ActorPhase) {
        let Some(after) = phase.trigger.as_ref().and_then(CompiledTrigger::after) else {
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
}

/// An entry action that a binding carries out.
#[derive(Clone, Debug)]
pub enum EntryAction {
    /// `send`: a method and its params.
    Send {
        /// The method.
        method: String,
        /// Its params, ready for the wire ([`WirePayload::text`]).
        params: Option<WirePayload>,
    },
    /// One that a binding defines: its key and its value.
    Other {
        /// The key (`send_push_notification`).
        key: String,
        /// The value, ready for the wire ([`WirePayload::text`]).
        value: WirePayload,
    },
}

impl ActorState {
    /// The entry actions with their templates filled; log lines are written at once.
    fn entry_actions(&self, phase: &ActorPhase) -> Vec<EntryAction> {
        let mut actions = Vec::new();
        for action in &phase.on_enter {
            let whole = |value: &Value, pointer: &str| {
                self.filled(&WirePayload::new(value.clone(), &action.numbers, pointer), None, None).ok()
            };
            match &action.kind {
                ActionKind::Log(log) => {
                    let level = log.level.unwrap_or(LogLevel::Info).as_str();
                    let text = self.filled(&WirePayload::plain(log.message.as_str().into()), None, None);
                    if let Some(text) = text.ok().as_ref().and_then(|text| text.value().as_str()) {
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

    /// The text of a payload with its templates filled, ready for the wire.
    pub fn fill<'p>(
        &self,
        payload: &'p WirePayload,
        request: Option<&Value>,
        response: Option<&Value>,
    ) -> Result<Cow<'p, str>, TooLarge> {
        // No map is made for content that refers to nothing, which is nearly all of it.
        if !payload.has_templates() {
            return Ok(Cow::Borrowed(payload.text()));
        }
        Ok(Cow::Owned(self.filled(payload, request, response)?.text().to_owned()))
    }

    /// A text of the document with its templates filled. What would be too large stays as it is, with a warning.
    pub(crate) fn fill_text(&self, text: &str, request: Option<&Value>, response: Option<&Value>) -> String {
        if !text.contains("{{") {
            return text.to_owned();
        }
        let filled = self.filled(&WirePayload::plain(text.into()), request, response);
        filled
            .ok()
            .and_then(|filled| filled.value().as_str().map(str::to_owned))
            .unwrap_or_else(|| text.to_owned())
    }

    /// Fills the templates of a payload; references that stand for nothing become warnings (W-004).
    fn filled(
        &self,
        payload: &WirePayload,
        request: Option<&Value>,
        response: Option<&Value>,
    ) -> Result<WirePayload, TooLarge> {
        let filled = payload.filled(&self.context.extracted.seen_by(&self.name), request, response);
        let (filled, unresolved) = filled.inspect_err(|error| self.warn(&error.to_string()))?;
        for unresolved in unresolved {
            self.warn(&format!("W-004: {unresolved}"));
        }
        Ok(filled)
    }
}
