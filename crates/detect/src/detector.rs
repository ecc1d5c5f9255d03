//! One evaluator for live runs and recordings.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

use serde_json::Value;
use sortie_oatf::bindings::LOCAL;
use sortie_oatf::canary;
use sortie_oatf::model::{Attack, CorrelationLogic, Direction as Side, IndicatorResult};
use sortie_oatf::{
    Compiled, CompiledIndicator, DefaultCelEvaluator, Evaluators, SemanticEvaluator, compute_verdict,
};
use sortie_trace::{
    Deriver, Direction, Header, Message, Note, Observed, Record, StopReason, Trace, TraceError, TraceOrigin,
    agent_answer,
};

use crate::able::Needs;
use crate::alive::Signs;
use crate::canary_watch::CanaryWatch;
use crate::dead_end::DeadEnd;
use crate::delivery::Delivery;
use crate::failure::{Failure, FailureKind, Fault};
use crate::flow::FlowWatch;
use crate::foreign::{Runs, Sight};
use crate::lifecycle::{Lifecycle, Watched, not_delivered};
use crate::outcome::{
    ActorSummary, CaseInfo, CaseResult, Delivered, DocumentInfo, Evidence, EvidenceSource, Excerpt,
    IndicatorFinding, Match, Outcome, Reach, SOURCE, Verdict,
};
use crate::reach;
use crate::resistance::{Fact, Holds, Resistance};
use crate::tally::Tally;

/// Watches one run with the indicators of one document.
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
    document: Arc<Compiled>,
    semantic: Option<Arc<dyn SemanticEvaluator + Send + Sync>>,
    lenient: bool,
    tallies: Vec<Tally>,
    /// Why an indicator can never fire, for each.
    dead_ends: Vec<Option<DeadEnd>>,
    /// What each indicator can see of the recording of another program.
    sights: Vec<Sight>,
    runs: Runs,
    complete: bool,
    lifecycle: Lifecycle,
    actors: Vec<ActorSummary>,
    delivery: Delivery,
    signs: Signs,
    needs: Needs,
    canaries: CanaryWatch,
    flows: FlowWatch,
    /// What kept messages from being seen as they were: the first of each sort, and how many.
    notes: Vec<(Note, u64, u64)>,
}

/// A document that has no indicators can be played, and not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the document has no indicators, so nothing can be said about an agent")]
pub struct NoIndicators;

/// Where the things that a run is about can be found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The document.
    pub document: String,
    /// The trace, when it is in a file.
    pub trace: Option<String>,
}

impl Detector {
    /// A detector that has seen nothing. There is no semantic engine: indicators that need one are skipped. The verdict of
    /// a document without indicators is an `error` whatever happens.
    pub fn new(document: impl Into<Arc<Compiled>>) -> Self {
        let document = document.into();
        let attack = &document.document().attack;
        let tallies = attack.indicators.iter().flatten().map(|indicator| match indicator.semantic {
            Some(_) => Tally::skipped("there is no semantic evaluator"),
            None => Tally::default(),
        });
        let described = attack.indicators.iter().flatten();
        let sights = described.clone().map(|indicator| Sight::new(document.document(), indicator));
        Self {
            sights: sights.collect(),
            runs: Runs::default(),
            complete: false,
            dead_ends: described.map(|indicator| DeadEnd::of(document.document(), indicator)).collect(),
            tallies: tallies.collect(),
            semantic: None,
            lenient: false,
            lifecycle: Lifecycle::default(),
            signs: Signs::new(document.document()),
            needs: Needs::new(document.document()),
            actors: reach::actors(attack),
            delivery: Delivery::new(document.document()),
            canaries: CanaryWatch::default(),
            flows: FlowWatch::new(&document),
            notes: Vec::new(),
            document,
        }
    }

    /// Refuses a document that decides nothing.
    pub fn require_indicators(self) -> Result<Self, NoIndicators> {
        if self.document.indicators().is_empty() { Err(NoIndicators) } else { Ok(self) }
    }

    /// Gives it an engine for semantic indicators. To be called before it is shown anything.
    #[must_use]
    pub fn with_semantic(mut self, engine: Arc<dyn SemanticEvaluator + Send + Sync>) -> Self {
        self.semantic = Some(engine);
        self.tallies.fill(Tally::default());
        self
    }

    /// Lets silence count as resistance even when the agent was not served what the attack takes. Other failures
    /// stay what they are.
    #[must_use]
    pub fn lenient(mut self, lenient: bool) -> Self {
        self.lenient = lenient;
        self
    }

    /// Takes what was recorded elsewhere for all that happened, from the beginning to the end, as it is in a proof.
    #[must_use]
    pub fn complete(mut self) -> Self {
        self.complete = true;
        self
    }

    /// Takes note of a record, of whatever kind, the header too.
    pub fn lifecycle(&mut self, record: &Record) {
        self.lifecycle.record(record);
        match record {
            Record::Header(header) => self.take_header(header),
            Record::Phase(entered) => reach::entered(&mut self.actors, entered),
            Record::Message(message) => {
                reach::said(&mut self.actors, message);
                self.delivery.message(message);
                self.signs.message(message);
                self.needs.message(message);
                self.canaries.message(message);
                let tallies = &self.tallies;
                self.flows.message(message, |index| tallies[index].is_settled());
                self.runs.message(message);
                let indicators = self.document.indicators().iter().zip(&mut self.tallies);
                for ((indicator, tally), sight) in indicators.zip(&self.sights) {
                    tally.within_sight |= is_within_sight(indicator, message, sight);
                }
            }
            _ => {}
        }
    }

    fn take_header(&mut self, header: &Header) {
        if let Some(recorded) = &header.recorded {
            let described = self.document.document().attack.indicators.iter().flatten();
            for (indicator, sight) in described.zip(&mut self.sights) {
                sight.take(indicator, recorded);
            }
        }
        self.take_canaries(header);
    }

    /// Puts in what `{{canary.…}}` stood for in this run. An indicator that looks for one of which the trace does not say that
    /// is skipped: it could never match.
    fn take_canaries(&mut self, header: &Header) {
        if header.origin == TraceOrigin::Run {
            self.canaries = CanaryWatch::new(&header.canaries);
        }
        self.flows.take_canaries(&header.canaries);
        if !self.document.document().attack.indicators.iter().flatten().any(canary::is_looked_for) {
            return;
        }
        self.document = Arc::new(canary::resolve(&self.document, &header.canaries));
        let indicators = self.document.document().attack.indicators.iter().flatten();
        for (indicator, tally) in indicators.zip(&mut self.tallies) {
            if canary::is_looked_for(indicator) {
                *tally = Tally::skipped("nothing says what its canary stands for");
            }
        }
    }

    /// Whether any indicator can still have something to say about a message. When none has, it need not be
    /// [`observe`](Self::observe)d, and whoever derives can [`skip`](sortie_trace::Deriver::skip) it: most messages of most
    /// runs.
    pub fn looks_at(&self, message: &Message) -> bool {
        let mut indicators = self.document.indicators().iter().zip(&self.tallies).enumerate();
        indicators.any(|(index, (indicator, tally))| {
            !tally.is_settled()
                && (is_selected(indicator, message, &self.sights[index])
                    || self.flows.is_source(index, message))
        })
    }

    /// Whether its document reads `_transcript`, so that whoever derives has to
    /// [tell conversations](sortie_trace::Deriver::with_transcripts).
    pub fn reads_transcript(&self) -> bool {
        self.document.reads_transcript()
    }

    /// Evaluates a message; its record has been through [`lifecycle`](Self::lifecycle). Gives the positions of the
    /// indicators that match now and did not before.
    pub fn observe(&mut self, observed: &Observed<'_>) -> Vec<usize> {
        self.note(observed);
        let message = if self.reads_transcript() {
            observed.with_transcript()
        } else {
            Cow::Borrowed(&observed.message)
        };
        let mut matched = Vec::new();
        let cel = &DefaultCelEvaluator;
        let semantic = self.semantic.as_deref().map(|engine| engine as &dyn SemanticEvaluator);
        let evaluators = Evaluators { cel: Some(cel), semantic };
        let indicators = self.document.indicators().iter().zip(&mut self.tallies);
        for (index, ((indicator, tally), dead_end)) in indicators.zip(&mut self.dead_ends).enumerate() {
            if tally.is_settled() {
                continue;
            }
            if is_selected(indicator, observed.record, &self.sights[index]) {
                if dead_end.as_ref().is_some_and(|dead_end| dead_end.is_refuted_by(&message)) {
                    *dead_end = None;
                }
                if let Some(seen) = seen_by(indicator, observed.record, &message) {
                    tally.saw |= self.sights[index].sees(&seen);
                    let outcome = indicator.evaluate(&seen, evaluators);
                    let outcome = self.flows.narrowed(index, outcome, observed.record, &seen);
                    if tally.add(outcome, observed) {
                        matched.push(index);
                    }
                }
            }
            // What comes in with a message does not leave with it.
            self.flows.take_in(index, observed.record, &message);
        }
        matched
    }

    /// The id of the indicator at a position.
    pub fn indicator_id(&self, index: usize) -> Option<&str> {
        self.document.indicators().get(index).map(|indicator| indicator.id.as_str())
    }

    /// How far each actor has got.
    pub fn actors(&self) -> &[ActorSummary] {
        &self.actors
    }

    /// Whether the verdict would be `exploited` if the run ended here: the moment to stop on a match.
    pub fn is_exploited(&self) -> bool {
        let logic = self.attack().correlation.as_ref().and_then(|correlation| correlation.logic);
        let mut tallies = self.tallies.iter();
        match logic.unwrap_or(CorrelationLogic::Any) {
            CorrelationLogic::Any => {
                !tallies.clone().any(Tally::has_failed) && tallies.any(Tally::is_matched)
            }
            CorrelationLogic::All => tallies.all(Tally::is_matched),
        }
    }

    /// What it makes of everything it has been shown.
    pub fn outcome(&self, place: Place) -> Outcome {
        let reach = self.reach();
        let undelivered = not_delivered(&reach);
        let waved_through = self.lenient || self.lifecycle.stopped_by == Some(StopReason::Match);
        let watched = Watched {
            // An import says for each indicator why not.
            anything: self.lifecycle.is_import()
                || (0..self.tallies.len()).any(|index| self.blind_spot(index).is_none()),
            exploited: self.is_exploited(),
        };
        let resistance = self.resistance(&reach);
        let cut = self.runs.cut().filter(|_| !self.complete);
        let failure = self.lifecycle.failure(self.attack(), &self.actors, watched, self.signs.health(), cut);
        // Who cannot be attacked like this, has resisted nothing; who gave in, could.
        let unable = Some(&resistance.able)
            .filter(|able| able.holds == Holds::No && failure.is_none())
            .filter(|_| !self.tallies.iter().any(Tally::is_matched))
            .filter(|_| resistance.alive.holds != Holds::No);
        let failure = failure
            .or_else(|| undelivered.clone().filter(|_| !waved_through && unable.is_none()))
            .or_else(|| nothing_done(&resistance.alive).filter(|_| self.would_pass()))
            .or_else(|| self.all_blind().filter(|_| unable.is_none()));
        let mut warnings: Vec<_> = self.notes.iter().map(noted).collect();
        if failure.is_none() && unable.is_none() {
            warnings.extend(self.blind());
            let waved_through = undelivered.filter(|_| self.lenient);
            warnings.extend(waved_through.map(|undelivered| {
                format!("{}; this counts as resistance, as was asked for", undelivered.message)
            }));
        }
        let document = DocumentInfo::new(place.document, self.attack());
        let mut verdict = self.verdict(failure.as_ref());
        if let Some(unable) = unable {
            (verdict.result, verdict.reason) = (CaseResult::NotApplicable, Some(unable.why.clone()));
        }
        let matches: Vec<u64> =
            verdict.indicator_verdicts.iter().filter_map(|one| Some(one.r#match.as_ref()?.seq)).collect();
        warnings.extend(self.canaries.warnings(|seq| matches.contains(&seq)));
        Outcome {
            evidence: verdict.indicator_verdicts.iter().filter_map(evidence).collect(),
            reach,
            actors: self.actors.clone(),
            stopped_by: self.lifecycle.stopped_by.clone(),
            trace: place.trace,
            warnings,
            resistance: Some(resistance),
            task: self.signs.task(),
            ..Outcome::new(document.case_id().to_owned(), CaseInfo::Document { document }, verdict, failure)
        }
    }

    /// Why silence counts, or does not.
    fn resistance(&self, reach: &Reach) -> Resistance {
        let seq = self.delivery.seq();
        let foreign = || Fact::unknown("it was recorded elsewhere");
        let reached = match reach.delivered {
            Delivered::Yes => Fact::yes(seq, "it was served all that the document names"),
            Delivered::Assumed => {
                Fact::assumed(seq, "its last phase was served, and the document names nothing")
            }
            Delivered::No => Fact::no(None, "it was not served what the attack takes"),
            Delivered::Unknown => foreign(),
        };
        let (alive, able) = if self.lifecycle.is_import() {
            // What an agent may do is in no recording.
            (self.signs.alive(seq, false), foreign())
        } else if self.lifecycle.is_foreign() {
            (foreign(), foreign())
        } else {
            (self.signs.alive(seq, self.lifecycle.control_worked()), self.needs.able(&self.actors))
        };
        Resistance { reached, alive, able, watched: self.watched() }
    }

    /// Why the recording of another program could not have shown what an indicator looks for.
    fn blind_spot(&self, index: usize) -> Option<Cow<'_, str>> {
        let (indicator, tally, sight) =
            (&self.document.indicators()[index], &self.tallies[index], &self.sights[index]);
        if tally.is_matched() {
            return None;
        }
        if !self.lifecycle.is_foreign() {
            let why =
                "only the agent's own recording shows calls of its own functions (`sortie eval --from`)";
            return (indicator.protocol.as_deref() == Some(LOCAL)).then_some(Cow::Borrowed(why));
        }
        if self.complete {
            // What is not in a proof did not happen, as long as it has something to say.
            return (!tally.within_sight).then_some(Cow::Borrowed("there is no message of its protocol"));
        }
        if !self.lifecycle.is_import() {
            // An agent that was shown the attack, and did not do what an indicator looks for, did not do it.
            let reached =
                matches!(self.delivery.foreign_reach().delivered, Delivered::Yes | Delivered::Assumed);
            let nothing = Cow::Borrowed("there is no message that it looks at");
            return (!tally.saw && !reached).then_some(nothing);
        }
        if let Some(why) = &sight.unseen {
            return Some(Cow::Borrowed(why));
        }
        let actor = indicator.actor.as_ref().filter(|_| sight.names_tell && !tally.within_sight)?;
        Some(Cow::Owned(format!("the recording has nobody called `{actor}`")))
    }

    /// Whether every indicator could have fired.
    fn watched(&self) -> Fact {
        let indicators = self.document.indicators().iter().enumerate();
        let mut blind = indicators.filter_map(|(index, indicator)| {
            let skipped = self.tallies[index].why_skipped().map(str::to_owned);
            let why = self.blindness(index).or(skipped)?;
            Some(format!("{}: {why}", indicator.id))
        });
        blind
            .next()
            .map_or_else(|| Fact::yes(None, "every indicator could have fired"), |why| Fact::no(None, why))
    }

    /// The failure of a document none of whose indicators can fire. Each keeps its own reason, the first stands for all.
    fn all_blind(&self) -> Option<Failure> {
        let mut blind = (0..self.tallies.len()).map(|index| self.blindness(index));
        let first = blind.next().flatten()?;
        blind.all(|why| why.is_some()).then(|| {
            // A flow could fire in another run.
            let when =
                if self.dead_ends.iter().all(Option::is_some) { "can ever fire" } else { "could fire" };
            let message = format!("no indicator of this document {when}: {first}");
            Failure::new(FailureKind::Blind, Fault::None, message)
        })
    }

    /// Whether it passes but for what is known of the agent. That nothing came in by a flow's source often follows from that.
    fn would_pass(&self) -> bool {
        let is_open = |index: usize| self.dead_ends[index].is_none() && !self.tallies[index].is_settled();
        let waits_for_source = |index| is_open(index) && self.flows.why_silent(index).is_some();
        let mut all = (0..self.tallies.len()).peekable();
        self.verdict(None).result.is_pass() || (all.peek().is_some() && all.all(waits_for_source))
    }

    /// Why the silence of an indicator says nothing; `None` where it does, or it did not stay silent.
    fn blindness(&self, index: usize) -> Option<String> {
        if self.tallies[index].sum().result != IndicatorResult::NotMatched {
            return None;
        }
        let dead_end = self.dead_ends[index].as_ref().map(|dead_end| dead_end.reason.clone());
        let spot = || self.blind_spot(index).filter(|_| !self.complete).map(Cow::into_owned);
        dead_end.or_else(|| self.flows.why_silent(index)).or_else(spot)
    }

    fn note(&mut self, observed: &Observed<'_>) {
        // What is no JSON is looked at as text, which is all there is to it.
        for note in observed.notes.iter().filter(|note| **note != Note::NotJson) {
            let same = |known: &Note| std::mem::discriminant(known) == std::mem::discriminant(note);
            match self.notes.iter_mut().find(|(known, ..)| same(known)) {
                Some((.., count)) => *count += 1,
                None => self.notes.push((*note, observed.record.seq, 1)),
            }
        }
    }

    fn attack(&self) -> &Attack {
        &self.document.document().attack
    }

    fn reach(&self) -> Reach {
        if self.lifecycle.is_foreign() {
            // A proof tells what its indicators look at, and not the attack.
            let unknown = || Reach { delivered: Delivered::Unknown, missing: Vec::new() };
            return if self.complete { unknown() } else { self.delivery.foreign_reach() };
        }
        if self.lifecycle.other_document(self.attack()).is_some() {
            return self.delivery.nothing();
        }
        self.delivery.reach()
    }

    /// With a failure, what matched stays matched and the rest is skipped, for that reason.
    fn verdict(&self, failure: Option<&Failure>) -> Verdict {
        let verdicts: Vec<_> = self.indicator_verdicts(failure).collect();
        let bare = verdicts.iter().map(|verdict| {
            let bare = sortie_oatf::model::IndicatorVerdict {
                indicator_id: verdict.indicator_id.clone(),
                result: verdict.result,
                timestamp: None,
                evidence: None,
                source: None,
            };
            (verdict.indicator_id.clone(), bare)
        });
        let computed = compute_verdict(self.attack(), &bare.collect::<HashMap<_, _>>());
        Verdict {
            attack_id: computed.attack_id,
            result: computed.result.into(),
            reason: None,
            max_tier: computed.max_tier,
            // `informational` is no severity of a finding.
            severity: self
                .attack()
                .severity
                .as_ref()
                .and_then(|severity| severity.level.as_str().parse().ok()),
            indicator_verdicts: verdicts,
            evaluation_summary: computed.evaluation_summary,
            timestamp: self.lifecycle.time.clone(),
            source: SOURCE.to_owned(),
        }
    }

    fn indicator_verdicts(&self, failure: Option<&Failure>) -> impl Iterator<Item = IndicatorFinding> {
        let described = self.attack().indicators.iter().flatten();
        let indicators = self.document.indicators().iter().zip(described);
        let indicators = indicators.zip(&self.tallies).enumerate();
        indicators.map(move |(index, ((indicator, described), tally))| {
            let mut sum = tally.sum();
            if let Some(why) = self.blindness(index) {
                sum.result = IndicatorResult::Skipped;
                sum.text = Some(why);
            }
            let failed = failure.filter(|failure| failure.kind != FailureKind::Blind);
            if let Some(failure) = failed.filter(|_| !tally.is_matched()) {
                sum.result = IndicatorResult::Skipped;
                sum.text = Some(failure.message.clone());
                sum.at = None;
            }
            let time = sum.at.map_or(self.lifecycle.time.as_ref(), |at| Some(&at.time));
            let matched = sum.evidence.zip(sum.at).map(|(evidence, at)| Match {
                seq: at.seen.seq,
                path: evidence.path.clone(),
                start: evidence.range.as_ref().map(|range| range.start),
                end: evidence.range.as_ref().map(|range| range.end),
                document_line: evidence.line,
                origin: evidence.origin.clone(),
            });
            let excerpt = sum.evidence.and_then(|evidence| {
                let text = evidence.excerpt.clone()?;
                Some(Excerpt { text, marked: evidence.marked.clone() })
            });
            IndicatorFinding {
                indicator_id: indicator.id.clone(),
                result: sum.result,
                timestamp: time.cloned(),
                evidence: sum.text,
                source: self.source(described.semantic.is_some() && failure.is_none()),
                r#match: matched,
                description: described.description.clone(),
                tier: indicator.tier,
                seen: sum.at.map(|at| at.seen.clone()),
                excerpt,
            }
        })
    }

    /// Who says so: this program, and for a semantic indicator the engine too, since another one may say something else.
    fn source(&self, scored: bool) -> String {
        match self.semantic.as_deref().filter(|_| scored).and_then(SemanticEvaluator::engine) {
            Some(engine) => format!("{SOURCE}, {engine}"),
            None => SOURCE.to_owned(),
        }
    }

    /// Indicators that had nothing to look at, in a run that had something for others.
    fn blind(&self) -> impl Iterator<Item = String> {
        let indicators = self.document.indicators().iter().zip(&self.tallies);
        indicators.filter(|(_, tally)| !tally.within_sight).map(|(indicator, _)| {
            let protocol = indicator.protocol.as_deref().unwrap_or_default();
            let whose = indicator.actor.as_ref().map(|actor| format!(" of actor `{actor}`"));
            let whose = whose.unwrap_or_default();
            format!("`{}`: there is no `{protocol}` message{whose} to look at", indicator.id)
        })
    }
}

/// Where an indicator matched, as evidence.
fn evidence(verdict: &IndicatorFinding) -> Option<Evidence> {
    let found = verdict.r#match.as_ref()?;
    Some(Evidence {
        by: EvidenceSource::Indicator,
        name: verdict.indicator_id.clone(),
        seq: Some(found.seq),
        path: found.path.clone(),
        start: found.start,
        end: found.end,
        line: found.document_line,
        turn: None,
        text: verdict.excerpt.as_ref().map(|excerpt| excerpt.text.clone()),
    })
}

fn noted((note, seq, count): &(Note, u64, u64)) -> String {
    match count {
        1 => format!("message {seq}: {note}"),
        count => format!("message {seq}: {note}; the same with {} more", count - 1),
    }
}

impl fmt::Debug for Detector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detector")
            .field("attack", &self.attack().id)
            .field("tallies", &self.tallies)
            .field("lifecycle", &self.lifecycle)
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

/// The same with records that are at hand.
pub fn replay_records(header: Header, records: impl IntoIterator<Item = Record>, detectors: &mut [Detector]) {
    let mut shown = Shown::new(header, detectors);
    for record in records {
        shown.record(&record);
    }
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
        for detector in &mut *self.detectors {
            detector.observe(&observed);
        }
    }
}

/// An agent that only looked at what there is has not shown that it works.
fn nothing_done(alive: &Fact) -> Option<Failure> {
    let message = match alive.seq {
        Some(_) => format!("the agent did not show that it works: {}", alive.why),
        None => "the agent did nothing that only a working one does: no call, no message, no answer that says anything".to_owned(),
    };
    (alive.holds == Holds::No).then(|| Failure::new(FailureKind::NothingDone, Fault::Agent, message))
}

/// Whether a message is of the protocol, and on the connection, that an indicator looks at: whether the
/// indicator could have something to say at all.
fn is_within_sight(indicator: &CompiledIndicator, message: &Message, sight: &Sight) -> bool {
    let wanted = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
    let of_protocol = if looks_at_answers(indicator) {
        agent_answer::may_hold(message)
    } else {
        wanted(&indicator.protocol, &message.protocol)
    };
    of_protocol && (sight.is_any_actor(message) || wanted(&indicator.actor, &message.actor))
}

/// What an indicator sees of a message that it looks at: the message, or the answer in it where it looks at those; `None` where
/// there is none.
pub fn seen_by<'v>(
    indicator: &CompiledIndicator,
    message: &Message,
    seen: &'v Value,
) -> Option<Cow<'v, Value>> {
    if looks_at_answers(indicator) {
        return agent_answer::of(message, seen).map(Cow::Owned);
    }
    Some(Cow::Borrowed(seen))
}

/// Whether an indicator looks at what the agent tells its user, whatever it is reached by.
fn looks_at_answers(indicator: &CompiledIndicator) -> bool {
    indicator.protocol.as_deref() == Some(agent_answer::PROTOCOL)
}

/// Whether a message is within sight, and of the operation and of the half of the exchange that an indicator
/// looks at. No direction given means both.
fn is_selected(indicator: &CompiledIndicator, message: &Message, sight: &Sight) -> bool {
    let operation = indicator.surface.as_deref();
    let of_operation = operation.is_none_or(|wanted| {
        if looks_at_answers(indicator) {
            wanted == agent_answer::SURFACE
        } else {
            message.surfaces.iter().any(|surface| surface == wanted)
        }
    });
    let of_side = match indicator.direction {
        None => true,
        Some(Side::Request) => message.direction == Direction::Request,
        Some(Side::Response) => message.direction == Direction::Response,
    };
    of_operation && of_side && is_within_sight(indicator, message, sight)
}

/// Whether an indicator looks at a message (format specification, §6): it is of the indicator's protocol, operation,
/// actor and direction, as far as the indicator names them.
pub fn selects(indicator: &CompiledIndicator, observed: &Observed<'_>) -> bool {
    is_selected(indicator, observed.record, &Sight::default())
}
