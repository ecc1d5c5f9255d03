//! An actor: a name, a mode, and the phase it is in.

mod messages;
mod transitions;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use sortie_oatf::Compiled;
use sortie_oatf::model::{Mode, TriggerState, extract_protocol};
use sortie_trace::{ActorFailure, Deriver};
use sortie_wire::Lock;
use tokio::sync::watch;

pub use messages::{HeardMessage, Spoken};
pub use transitions::{Entered, EntryAction};

use crate::context::Context;
use crate::modes::wrapped;
use crate::phase::ActorPhase;

/// What an actor plays, whatever the protocol: the phase it is in, what ends it, and what it has captured.
///
/// Everything it hears and says passes through here, where it is recorded before anything else is made of it.
#[derive(Debug)]
pub struct ActorState {
    name: String,
    mode: String,
    protocol: String,
    phases: Vec<Arc<ActorPhase>>,
    context: Context,
    inner: Lock<Inner>,
    /// Taken after `inner` where both are, so that entry actions can say something.
    deriver: Lock<Deriver>,
    /// Shared with its forks, as is the next: the end of a run is theirs together.
    working: Arc<AtomicUsize>,
    reached_last: Arc<AtomicBool>,
    through: AtomicBool,
    gave_up: AtomicBool,
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

/// An actor is doing something while this lives.
#[derive(Debug)]
pub struct Working(Arc<AtomicUsize>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ActorState {
    /// An actor of a document, before its first phase.
    pub fn new(document: &Compiled, index: usize, context: Context) -> Arc<Self> {
        let actor = &document.document().attack.execution.actors.as_deref().unwrap_or_default()[index];
        let phases = ActorPhase::all(actor, &document.actors()[index]);
        let phases = phases.into_iter().map(Arc::new).collect();
        Arc::new(Self::with_phases(&actor.name, &actor.mode, phases, context))
    }

    /// An actor that is in no document: it stands before a real server, and only writes down what passes.
    pub(crate) fn recording(name: &str, context: Context) -> Arc<Self> {
        let phases = vec![Arc::new(ActorPhase::recording())];
        Arc::new(Self::with_phases(name, wrapped::MODE, phases, context))
    }

    /// The same actor before its first phase, with a state of its own: for sessions that are kept apart.
    #[must_use]
    pub fn fork(&self) -> Arc<Self> {
        let mut fork = Self::with_phases(&self.name, &self.mode, self.phases.clone(), self.context.clone());
        fork.working = self.working.clone();
        fork.reached_last = self.reached_last.clone();
        Arc::new(fork)
    }

    fn with_phases(name: &str, mode: &str, phases: Vec<Arc<ActorPhase>>, context: Context) -> Self {
        Self {
            name: name.to_owned(),
            mode: mode.to_owned(),
            protocol: extract_protocol(mode).to_owned(),
            phases,
            context,
            inner: Lock::new(Inner {
                index: 0,
                since: Instant::now(),
                trigger: TriggerState::default(),
                fired: false,
                on_enter: None,
            }),
            deriver: Lock::new(Deriver::new()),
            working: Arc::default(),
            reached_last: Arc::default(),
            through: AtomicBool::new(false),
            gave_up: AtomicBool::new(false),
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
    pub fn phases(&self) -> &[Arc<ActorPhase>] {
        &self.phases
    }

    /// What it shares with the other actors.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The phase it is in.
    pub fn phase(&self) -> Arc<ActorPhase> {
        self.phases[self.inner.lock().index].clone()
    }

    /// The index of the phase, now and whenever it changes.
    pub fn entered(&self) -> watch::Receiver<usize> {
        self.entered.subscribe()
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

    /// A warning about this actor.
    pub fn warn(&self, text: &str) {
        self.context.recorder.warn(format!("`{}`: {text}", self.name));
    }

    /// It cannot go on.
    pub fn failed(&self, failure: ActorFailure, message: &str) {
        self.context.recorder.actor_failed(&self.name, failure, message);
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

    /// A client has said everything that a phase has to say, has all answers, and no answer ended the phase: its target only
    /// speaks when it is asked, so nothing can end the phase any more.
    pub(crate) fn give_up(&self, phase: &ActorPhase) {
        self.warn(&format!(
            "everything of phase `{}` is said and answered, and no answer ended it: later phases are not played",
            phase.name
        ));
        self.gave_up.store(true, Ordering::Relaxed);
        self.nothing_more();
    }

    /// Whether it has ended before its last phase.
    pub(crate) fn has_given_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }

    /// Whether it has nothing more to say by itself.
    pub fn is_through(&self) -> bool {
        self.through.load(Ordering::Relaxed)
    }

    fn is_client(&self) -> bool {
        Mode::of(&self.mode).is_client()
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("index", &self.index).finish_non_exhaustive()
    }
}
