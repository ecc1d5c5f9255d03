//! One evaluator for live runs and recordings.

use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

use sortie_oatf::{Compiled, SemanticEvaluator};
use sortie_trace::{Deriver, Header, Message, Observed, Record, Trace, TraceError};

use crate::outcome::{ActorSummary, Outcome, Place};
use crate::ruleset::Ruleset;
use crate::session::RulesetSession;

/// Watches one run with the indicators of one document: a [`Ruleset`] of one, shown messages as whoever has them sees them.
///
/// For each record of the trace, in order, from the header on: first [`lifecycle`](Self::lifecycle), then
/// [`observe`](Self::observe) with the message that indicators see, when the record is one.
///
/// ```
/// use sortie_detect::{Detector, Place};
/// use sortie_oatf::{Compiled, load};
///
/// let document = load("
/// oatf: '0.1'
/// attack:
///   execution: {mode: mcp_server, state: {tools: []}}
///   indicators: [{surface: tools/call, target: arguments.path, pattern: {contains: id_rsa}}]
/// ").unwrap().document;
/// let detector = Detector::new(Compiled::new(document).unwrap());
/// // Nothing was said, so nothing was resisted.
/// let outcome = detector.outcome(Place::default());
/// assert!(outcome.failure.is_some());
/// assert!(!outcome.is_decided());
/// ```
#[derive(Clone)]
pub struct Detector {
    session: RulesetSession,
}

/// A document that has no indicators can be played, and not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the document has no indicators, so nothing can be said about an agent")]
pub struct NoIndicators;

impl Detector {
    /// A detector that has seen nothing. There is no semantic engine: indicators that need one are skipped. The verdict of
    /// a document without indicators is an `error` whatever happens.
    pub fn new(document: impl Into<Arc<Compiled>>) -> Self {
        let ruleset = Ruleset::of_one(document.into());
        Self { session: RulesetSession::new(Arc::new(ruleset)) }
    }

    /// Refuses a document that decides nothing.
    pub fn require_indicators(self) -> Result<Self, NoIndicators> {
        if self.document().indicators().is_empty() { Err(NoIndicators) } else { Ok(self) }
    }

    /// Gives it an engine for semantic indicators. To be called before it is shown anything.
    #[must_use]
    pub fn with_semantic(mut self, engine: Arc<dyn SemanticEvaluator + Send + Sync>) -> Self {
        self.session.set_semantic(Some(engine));
        self
    }

    /// Counts silence as resistance even when the payload never reached the agent. Other failures
    /// stay what they are.
    #[must_use]
    pub fn lenient(mut self, lenient: bool) -> Self {
        self.session.lenient = lenient;
        self
    }

    /// Takes what was recorded elsewhere for all that happened, from the beginning to the end, as it is in a proof.
    #[must_use]
    pub fn complete(mut self) -> Self {
        self.session.complete = true;
        self
    }

    /// Takes note of a record, of whatever kind, the header too.
    pub fn lifecycle(&mut self, record: &Record) {
        self.session.lifecycle(record);
    }

    /// Whether any indicator can still have something to say about a message. When none has, it need not be
    /// [`observe`](Self::observe)d, and whoever derives can [`skip`](sortie_trace::Deriver::skip) it: most messages of most
    /// runs.
    pub fn looks_at(&self, message: &Message) -> bool {
        self.session.looks_at(message)
    }

    /// Whether its document reads `_transcript`, so that whoever derives has to
    /// [tell conversations](sortie_trace::Deriver::with_transcripts).
    pub fn reads_transcript(&self) -> bool {
        self.document().reads_transcript()
    }

    /// Evaluates a message; its record has been through [`lifecycle`](Self::lifecycle). Gives the positions of the
    /// indicators that match now and did not before.
    pub fn observe(&mut self, observed: &Observed<'_>) -> Vec<usize> {
        self.session.observe(observed).into_iter().map(|number| number as usize).collect()
    }

    /// The id of the indicator at a position.
    pub fn indicator_id(&self, index: usize) -> Option<&str> {
        self.document().indicators().get(index).map(|indicator| indicator.id.as_str())
    }

    /// How far each actor has got.
    pub fn actors(&self) -> Vec<ActorSummary> {
        self.session.actors(ONLY)
    }

    /// Whether the verdict would be `exploited` if the run ended here: the moment to stop on a match.
    pub fn is_exploited(&self) -> bool {
        self.session.is_exploited(ONLY)
    }

    /// What it makes of everything it has been shown.
    pub fn outcome(&self, place: Place) -> Outcome {
        self.session.outcome(ONLY, place)
    }

    fn document(&self) -> &Compiled {
        &self.session.rules.rules[ONLY].compiled
    }
}

/// The position of the only document.
const ONLY: usize = 0;

impl fmt::Debug for Detector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detector")
            .field("attack", &self.document().document().attack.id)
            .field("tallies", &self.session.tallies)
            .field("lifecycle", &self.session.lifecycle)
            .finish_non_exhaustive()
    }
}

/// Shows every record of a trace to every detector, in one pass: no more than one record is held at a time.
///
/// A live run does the same with its records as it writes them.
pub fn replay<R: BufRead>(trace: R, detectors: &mut [Detector]) -> Result<(), TraceError> {
    let (header, records) = Trace::open(trace)?;
    let mut shown = Shown::new(header, detectors);
    for record in records {
        shown.record(&record?);
    }
    Ok(())
}

/// Detectors that are shown a trace.
struct Shown<'d> {
    detectors: &'d mut [Detector],
    deriver: Deriver,
}

impl<'d> Shown<'d> {
    fn new(header: Header, detectors: &'d mut [Detector]) -> Self {
        let header = Record::Header(Box::new(header));
        for detector in &mut *detectors {
            detector.lifecycle(&header);
        }
        let reads_transcript = detectors.iter().any(Detector::reads_transcript);
        Self { detectors, deriver: Deriver::new().with_transcripts(reads_transcript) }
    }

    fn record(&mut self, record: &Record) {
        for detector in &mut *self.detectors {
            detector.lifecycle(record);
        }
        let Record::Message(message) = record else { return };
        if !self.detectors.iter().any(|detector| detector.looks_at(message)) {
            self.deriver.skip(message);
            return;
        }
        let observed = self.deriver.observe(message);
        for detector in self.detectors.iter_mut().filter(|detector| detector.looks_at(message)) {
            detector.observe(&observed);
        }
    }
}
