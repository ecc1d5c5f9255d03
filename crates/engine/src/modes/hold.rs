//! When a client goes on to its next phase: not before everything of the present one is sent.

use sortie_wire::Lock;

use crate::actor::HeardMessage;

/// Keeps what fired a trigger until the phase has nothing left to send, so that no payload of the document is dropped.
///
/// A [`HeardMessage`] ends its phase when it is dropped. Here it waits, unless there is nothing to wait for. A timer waits for
/// nobody.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    inner: Lock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The phase that sends, and whether it has something left.
    phase: usize,
    unsent: bool,
    held: Vec<HeardMessage>,
    /// The phases that something ended which was heard, and not their timer.
    ended: Vec<usize>,
}

impl Hold {
    /// A phase was entered. To be called when the actor says so and not later: what is heard first in a phase may end it.
    ///
    /// Nothing that was held is dropped here, since the actor is locked meanwhile.
    pub(crate) fn enter(&self, phase: usize, unsent: bool) {
        let mut inner = self.inner.lock();
        (inner.phase, inner.unsent) = (phase, unsent);
    }

    /// Something was heard. It is let go at once, unless it ends the phase too early.
    pub(crate) fn heard(&self, heard: HeardMessage) {
        let mut inner = self.inner.lock();
        if heard.has_fired() {
            inner.ended.push(heard.phase.index);
        }
        if heard.has_fired() && inner.unsent && heard.phase.index == inner.phase {
            inner.held.push(heard);
            return;
        }
        // The next phase is entered when it is dropped, and that asks for this lock.
        drop(inner);
    }

    /// The phase has something to send, after all.
    pub(crate) fn wait(&self, phase: usize) {
        let mut inner = self.inner.lock();
        inner.unsent |= inner.phase == phase;
    }

    /// Everything of a phase is on its way, so whatever ends it may do so from now on.
    pub(crate) fn sent(&self, phase: usize) {
        let mut inner = self.inner.lock();
        inner.unsent &= inner.phase != phase;
    }

    /// Everything of a phase is done: what was held ends it now.
    pub(crate) fn done(&self, phase: usize) {
        let mut inner = self.inner.lock();
        if inner.phase != phase {
            return;
        }
        inner.unsent = false;
        let held = std::mem::take(&mut inner.held);
        // The next phase is entered when they are dropped, and that asks for this lock.
        drop(inner);
        drop(held);
    }

    /// Whether the time of a phase was up before anything ended it.
    pub(crate) fn timed_out(&self, phase: usize) -> bool {
        let inner = self.inner.lock();
        inner.phase != phase && !inner.ended.contains(&phase)
    }

    /// The run is over: nothing that was held ends a phase any more.
    pub(crate) fn forget(&self) {
        let held = std::mem::take(&mut self.inner.lock().held);
        held.into_iter().for_each(HeardMessage::forget);
    }
}
