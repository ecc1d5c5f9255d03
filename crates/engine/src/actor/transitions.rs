//! How an actor goes from phase to phase.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use sortie_oatf::compile::CompiledTrigger;
use sortie_oatf::model::{AdvanceReason, TriggerState};

use super::entry::EntryAction;
use super::{ActorState, Inner};
use crate::phase::ActorPhase;
use sortie_trace::PhaseEnd;

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
