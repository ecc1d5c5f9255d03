//! One session, watched with all documents of a ruleset.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use sortie_oatf::{DefaultCelEvaluator, Evaluators, SemanticEvaluator};
use sortie_trace::health::Health;
use sortie_trace::{Content, Deriver, Header, Message, Note, Observed, Record, TraceOrigin};

use crate::able::declares;
use crate::canary_watch::CanaryWatch;
use crate::delivery::Served;
use crate::flow::FlowWatch;
use crate::foreign::Runs;
use crate::lifecycle::Lifecycle;
use crate::reach::Progress;
use crate::refusal::Refusals;
use crate::ruleset::{Asked, Hits, Route, RouteList, Ruleset, is_plain};
use crate::selection::seen_by;
use crate::tally::Tally;

/// Kinds of messages that are remembered of one session.
const MAX_ROUTES: usize = 1024;

/// Members that are added to what was on the wire, from other messages.
const ADDED: [&str; 4] = ["_request", "_text", "_arguments", "toolCallName"];

/// Watches one session with the documents of a [`Ruleset`].
///
/// It is shown every record of the session, in order, from the header on. Of a document nothing of which ever matches, it keeps a few
/// words for each indicator.
#[derive(Clone)]
pub struct RulesetSession {
    pub(crate) rules: Arc<Ruleset>,
    pub(crate) semantic: Option<Arc<dyn SemanticEvaluator + Send + Sync>>,
    pub(crate) lenient: bool,
    /// Whether it is all that happened, from the beginning to the end.
    pub(crate) complete: bool,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) runs: Runs,
    pub(crate) health: Health,
    pub(crate) progress: Progress,
    pub(crate) canaries: CanaryWatch,
    /// What each indicator says.
    pub(crate) tallies: Vec<Tally>,
    /// Whether a message came by that an indicator could have had something to say about.
    pub(crate) within_sight: Vec<bool>,
    /// Whether it looked at one that has what it looks at.
    pub(crate) saw: Vec<bool>,
    /// Whether there was something where it looks, and nothing was to be expected.
    pub(crate) refuted: Vec<bool>,
    pub(crate) served: Vec<Served>,
    /// The record that shows each thing that an attack needs.
    pub(crate) shown: Vec<Option<u64>>,
    /// The last record that shows that the task of a document was done.
    pub(crate) tasks_done: Vec<Option<u64>>,
    pub(crate) flows: FlowWatch,
    /// Calls that the agent's client refused, for each document.
    pub(crate) refusals: Vec<Refusals>,
    /// What kept messages from being seen as they were.
    pub(crate) notes: Vec<SessionNote>,
    deriver: Deriver,
    /// Kinds of messages that were there.
    routes: HashMap<u64, Arc<Route>>,
    hits: Hits,
    candidates: Vec<u32>,
}

/// Something that kept messages from being seen as they were, for one document: the first of a sort, and how many.
#[derive(Clone, Debug)]
pub(crate) struct SessionNote {
    pub(crate) rule: usize,
    pub(crate) note: Note,
    pub(crate) seq: u64,
    pub(crate) count: u64,
}

/// An indicator that matches for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleMatch {
    /// The position of the document in its ruleset.
    pub document: usize,
    /// The position of the indicator in the document.
    pub indicator: usize,
}

impl RulesetSession {
    pub(crate) fn new(rules: Arc<Ruleset>) -> Self {
        let indicators = rules.indicators.len();
        let mut session = Self {
            semantic: None,
            lenient: rules.lenient,
            complete: false,
            lifecycle: Lifecycle::default(),
            runs: Runs::default(),
            health: Health::default(),
            progress: rules.stations.progress(),
            canaries: CanaryWatch::default(),
            tallies: Vec::new(),
            within_sight: vec![false; indicators],
            saw: vec![false; indicators],
            refuted: vec![false; indicators],
            served: vec![Served::default(); rules.wanted.len()],
            shown: vec![None; rules.means.len()],
            tasks_done: vec![None; rules.rules.len()],
            flows: FlowWatch::new(&rules.flows),
            refusals: vec![Refusals::default(); rules.rules.len()],
            notes: Vec::new(),
            deriver: Deriver::new().with_transcripts(rules.reads_transcript()),
            routes: HashMap::new(),
            hits: Hits::default(),
            candidates: Vec::new(),
            rules,
        };
        session.set_semantic(session.rules.semantic.clone());
        session
    }

    /// Gives it an engine for semantic indicators, or none. To be called before it is shown anything.
    pub(crate) fn set_semantic(&mut self, engine: Option<Arc<dyn SemanticEvaluator + Send + Sync>>) {
        let tallies = self.rules.indicators.iter().map(|indicator| {
            if indicator.is_semantic && engine.is_none() {
                Tally::skipped("no judge or embedding model is configured")
            } else {
                Tally::default()
            }
        });
        self.tallies = tallies.collect();
        self.semantic = engine;
    }

    /// Takes note of a record, and evaluates it where it is a message. Gives the indicators that match now and did not before.
    pub fn record(&mut self, record: &Record) -> Vec<RuleMatch> {
        let Record::Message(message) = record else {
            self.take_record(record);
            return Vec::new();
        };
        let route = self.route(message);
        let is_plain = match &message.content {
            Content::Json(json) => Deriver::is_on_wire(message) && is_plain(json.get()),
            Content::Bytes(_) => false,
        };
        self.hits.clear();
        self.hits.everything = !is_plain;
        if is_plain && route.has_texts {
            self.rules.look(&message.content.text(), &mut self.hits);
        }
        self.take_record(record);
        self.take_message(&route, message);
        let matched = self.look(&route, message);
        matched.into_iter().map(|number| self.rule_match(number)).collect()
    }

    fn rule_match(&self, number: u32) -> RuleMatch {
        let document = self.rules.indicators[number as usize].rule;
        RuleMatch { document, indicator: number as usize - self.rules.rules[document].indicators.start }
    }

    /// Takes note of a record, of whatever kind, without evaluating it.
    pub(crate) fn lifecycle(&mut self, record: &Record) {
        self.take_record(record);
        if let Record::Message(message) = record {
            self.hits.clear();
            self.hits.everything = true;
            let route = self.route(message);
            self.take_message(&route, message);
        }
    }

    fn take_record(&mut self, record: &Record) {
        self.lifecycle.record(record);
        match record {
            Record::Header(header) => self.take_header(header),
            Record::Phase(entered) => self.progress.entered(&self.rules.stations, entered),
            _ => {}
        }
    }

    /// Puts in what `{{canary.…}}` stood for in this session. An indicator that looks for one of which the trace does not say that
    /// is skipped: it could never match.
    fn take_header(&mut self, header: &Header) {
        if header.origin == TraceOrigin::Run {
            self.canaries = CanaryWatch::new(&header.canaries);
        }
        self.flows.take_canaries(&header.canaries);
        if let Some(rules) = self.rules.with_canaries(&header.canaries) {
            self.rules = Arc::new(rules);
            self.routes.clear();
        }
        for (at, indicator) in self.rules.indicators.iter().enumerate() {
            if indicator.looks_for_canary {
                self.tallies[at] = Tally::skipped("the trace does not record the value of its canary");
            }
            if self.tallies[at].is_settled() {
                self.flows.settle(at);
            }
        }
    }

    /// What a message is for.
    fn route(&mut self, message: &Message) -> Arc<Route> {
        let key = Route::key(message);
        if let Some(route) = self.routes.get(&key).filter(|route| route.is_for(message)) {
            return Arc::clone(route);
        }
        let route = self.rules.route(key, message);
        if self.routes.len() >= MAX_ROUTES {
            self.routes.clear();
        }
        self.routes.insert(key, Arc::clone(&route));
        self.take_first(&route, message);
        route
    }

    /// Takes note of what any message of a kind shows, with the first of them. Once more does no harm.
    fn take_first(&mut self, route: &Route, message: &Message) {
        for number in &route.within_sight {
            self.within_sight[*number as usize] = true;
        }
        for number in &*route.selected {
            let at = *number as usize;
            self.saw[at] |= !self.tallies[at].is_settled() && !route.sees_some.contains(number);
        }
        for number in &route.possible {
            self.served[*number as usize].set_possible();
        }
        for number in &route.served_by_first {
            let at = *number as usize;
            self.served[at].sent(&self.rules.wanted[at], message);
        }
        for number in &route.shown {
            self.shown[*number as usize].get_or_insert(message.seq);
        }
    }

    /// Takes note of a message, apart from what indicators say about it.
    fn take_message(&mut self, route: &Route, message: &Message) {
        if let Some(station) = route.station {
            self.progress.said(station, message.sender);
        }
        let Self { rules, served, hits, .. } = self;
        each_asked(&route.served, hits, Asked::wanted, |at| served[at].sent(&rules.wanted[at], message));
        for number in &route.answered {
            self.served[*number as usize].answered(message);
        }
        self.take_task(route, message);
        self.take_declared(route, message);
        self.canaries.message(message);
        self.flows.message(message, &route.sources);
        self.runs.message(message);
    }

    fn take_task(&mut self, route: &Route, message: &Message) {
        let before = self.health.acted();
        self.health.observe(message);
        let works = self.health.acted() != before;
        let Self { rules, tasks_done, health, hits, .. } = self;
        each_asked(&route.tasks, hits, Asked::task, |at| {
            let task = rules.rules[at].task.as_ref();
            if task.is_some_and(|task| task.is_done_by(message, works, health)) {
                tasks_done[at] = Some(message.seq);
            }
        });
    }

    /// Takes note of what a client says that it can do. Nobody asks for that of what was recorded elsewhere.
    fn take_declared(&mut self, route: &Route, message: &Message) {
        if route.declared.is_empty() || self.lifecycle.is_foreign() {
            return;
        }
        let mut asked: Option<(&str, bool)> = None;
        for (capability, number) in &route.declared {
            let shown = &mut self.shown[*number as usize];
            if shown.is_some() {
                continue;
            }
            let is_declared = match asked {
                Some((known, is_declared)) if known == *capability => is_declared,
                _ => declares(message, capability),
            };
            asked = Some((capability, is_declared));
            *shown = is_declared.then_some(message.seq);
        }
    }

    /// Whether an indicator can still have something to say about a message.
    pub(crate) fn looks_at(&self, message: &Message) -> bool {
        let key = Route::key(message);
        let known = self.routes.get(&key).filter(|route| route.is_for(message));
        let route = known.map_or_else(|| self.rules.route(key, message), Arc::clone);
        self.is_open(&route) || self.flows.is_source(message, |_| true)
    }

    fn is_open(&self, route: &Route) -> bool {
        route.selected.iter().any(|number| !self.tallies[*number as usize].is_settled())
    }

    /// Evaluates a message with the indicators that it could concern.
    fn look(&mut self, route: &Route, message: &Message) -> Vec<u32> {
        let is_open = self.is_open(route);
        if !is_open && !self.flows.is_source(message, |_| true) {
            self.deriver.skip(message);
            return Vec::new();
        }
        let wants_value = route.is_client || self.hits.everything || (is_open && self.needs_value(route));
        if !wants_value {
            self.flows.take_in(message, |_| true, || Deriver::text_of(message).map(Cow::Borrowed));
            return Vec::new();
        }
        let observed = self.deriver.observe(message);
        self.note(route, &observed);
        let mut candidates = std::mem::take(&mut self.candidates);
        self.collect(route, &observed, &mut candidates);
        let matched = self.evaluate(route, &observed, &candidates);
        self.candidates = candidates;
        self.take_in(&observed, Deriver::text_of(message));
        matched
    }

    /// Whether somebody has to look at more than the texts of a message.
    fn needs_value(&self, route: &Route) -> bool {
        let is_open = |number: &u32| !self.tallies[*number as usize].is_settled();
        let is_asked = |number: &u32| is_open(number) && !self.flows.excludes(*number as usize);
        route.places.iter().any(is_asked)
            || route.always.iter().any(is_asked)
            || route.dead_ends.iter().any(|number| is_open(number) && !self.refuted[*number as usize])
            || route.sees_some.iter().any(|number| is_open(number) && !self.saw[*number as usize])
            || self
                .hits
                .asked
                .iter()
                .filter_map(|asked| asked.indicator())
                .any(|number| route.selects(number) && is_open(&number))
    }

    /// The indicators that a message could concern, in order.
    fn collect(&mut self, route: &Route, observed: &Observed<'_>, candidates: &mut Vec<u32>) {
        candidates.clear();
        if route.is_client && route.has_texts && !self.hits.everything {
            // What is added to a message is not in what was on the wire.
            for member in ADDED.iter().filter_map(|name| observed.message.get(name)) {
                self.rules.look(&member.to_string(), &mut self.hits);
            }
        }
        if self.hits.everything {
            candidates.extend_from_slice(&route.selected);
            return;
        }
        candidates.extend(&route.always);
        candidates.extend(self.hits.asked.iter().filter_map(|asked| asked.indicator()));
        if !route.places.is_empty() {
            self.rules.walk(&observed.message, candidates);
        }
        candidates.retain(|number| route.selects(*number));
        if observed.transcript.is_some() {
            // A document that reads conversations sees this one in every message that carries it.
            let reads = |number: &&u32| self.rule_of(**number).reads_transcript;
            candidates.extend(route.selected.iter().filter(reads));
        }
        candidates.sort_unstable();
        candidates.dedup();
    }

    fn rule_of(&self, number: u32) -> &crate::ruleset::Rule {
        &self.rules.rules[self.rules.indicators[number as usize].rule]
    }

    /// Evaluates a message that was made elsewhere, with all indicators that look at it.
    pub(crate) fn observe(&mut self, observed: &Observed<'_>) -> Vec<u32> {
        let route = self.route(observed.record);
        for rule in 0..self.rules.rules.len() {
            self.note_for(rule, observed);
        }
        let matched = self.evaluate(&route, observed, &route.selected);
        self.take_in(observed, None);
        matched
    }

    /// Asks these indicators about a message. Gives those that match now and did not before.
    fn evaluate(&mut self, route: &Route, observed: &Observed<'_>, candidates: &[u32]) -> Vec<u32> {
        let rules = Arc::clone(&self.rules);
        let with_transcript = if rules.reads_transcript() {
            observed.with_transcript()
        } else {
            Cow::Borrowed(&observed.message)
        };
        let message = |number: u32| -> &Value {
            let rule = rules.indicators[number as usize].rule;
            if rules.rules[rule].reads_transcript { &with_transcript } else { &observed.message }
        };
        self.take_signs(route, observed, message);
        let semantic = self.semantic.clone();
        let semantic = semantic.as_deref().map(|engine| engine as &dyn SemanticEvaluator);
        let evaluators = Evaluators { cel: Some(&DefaultCelEvaluator), semantic };
        let mut matched = Vec::new();
        for number in candidates {
            let at = *number as usize;
            if self.tallies[at].is_settled() || self.flows.excludes(at) {
                continue;
            }
            let indicator = rules.indicator(*number);
            let Some(seen) = seen_by(indicator, observed.record, message(*number)) else { continue };
            let outcome = indicator.evaluate(&seen, evaluators);
            let outcome = self.flows.narrowed(at, outcome, observed.record, &seen);
            if let Some(words) = &observed.record.refused {
                self.refusals[rules.indicators[at].rule].add(&indicator.id, &outcome, observed, words);
            } else if self.tallies[at].add(outcome, observed) {
                matched.push(*number);
            }
            if self.tallies[at].is_settled() {
                self.flows.settle(at);
            }
        }
        matched
    }

    /// Lets a message come in by the sources of flows, after it was evaluated: what comes in with a message does not leave with it.
    /// `on_wire` is what indicators see of it, where that stands in what was on the wire.
    fn take_in(&mut self, observed: &Observed<'_>, on_wire: Option<&str>) {
        let rules = Arc::clone(&self.rules);
        let reads_transcript = |at: usize| rules.rules[rules.indicators[at].rule].reads_transcript;
        let seen = || on_wire.map_or_else(|| Cow::Owned(observed.message.to_string()), Cow::Borrowed);
        self.flows.take_in(observed.record, |at| !reads_transcript(at), || Some(seen()));
        let with_transcript = || Some(Cow::Owned(observed.with_transcript().to_string()));
        self.flows.take_in(observed.record, reads_transcript, with_transcript);
    }

    /// Takes note of what indicators see in a message, before they are asked.
    fn take_signs<'v>(&mut self, route: &Route, observed: &Observed<'_>, message: impl Fn(u32) -> &'v Value) {
        for number in &route.dead_ends {
            let at = *number as usize;
            let dead_end = self.rules.indicators[at].dead_end.as_ref();
            self.refuted[at] |= !self.tallies[at].is_settled()
                && dead_end.is_some_and(|dead_end| dead_end.is_refuted_by(message(*number)));
        }
        for number in &route.sees_some {
            let at = *number as usize;
            if self.saw[at] || self.tallies[at].is_settled() {
                continue;
            }
            let seen = seen_by(self.rules.indicator(*number), observed.record, message(*number));
            self.saw[at] = seen.is_some_and(|seen| self.rules.indicators[at].sight.sees(&seen));
        }
    }

    /// Takes note of what keeps a message from being seen as it was, for those that look at it.
    fn note(&mut self, route: &Route, observed: &Observed<'_>) {
        if observed.notes.is_empty() {
            return;
        }
        let rules = Arc::clone(&self.rules);
        for (at, rule) in rules.rules.iter().enumerate() {
            let looks = rule.indicators.clone().any(|at| {
                route.selects(u32::try_from(at).unwrap_or(u32::MAX)) && !self.tallies[at].is_settled()
            });
            if looks
                || self.flows.is_source(observed.record, |indicator| rule.indicators.contains(&indicator))
            {
                self.note_for(at, observed);
            }
        }
    }

    fn note_for(&mut self, rule: usize, observed: &Observed<'_>) {
        let reads_transcript = self.rules.rules[rule].reads_transcript;
        for note in &observed.notes {
            let is_for = match note {
                // What is not JSON is looked at as text, which is all there is to it.
                Note::NotJson => false,
                Note::ConversationTooLong => reads_transcript,
                _ => true,
            };
            let same = |known: &&mut SessionNote| {
                known.rule == rule && std::mem::discriminant(&known.note) == std::mem::discriminant(note)
            };
            match self.notes.iter_mut().find(same) {
                _ if !is_for => {}
                Some(known) => known.count += 1,
                None => {
                    self.notes.push(SessionNote { rule, note: *note, seq: observed.record.seq, count: 1 });
                }
            }
        }
    }
}

/// What is asked of a list: all of it, or what is always asked and what was hit.
fn each_asked(list: &RouteList, hits: &Hits, number: fn(Asked) -> Option<u32>, mut ask: impl FnMut(usize)) {
    if hits.everything {
        list.all.iter().for_each(|number| ask(*number as usize));
        return;
    }
    list.always.iter().for_each(|number| ask(*number as usize));
    let hit = hits.asked.iter().filter_map(|asked| number(*asked)).filter(|number| list.contains(*number));
    hit.for_each(|number| ask(number as usize));
}

impl fmt::Debug for RulesetSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RulesetSession")
            .field("rules", &self.rules)
            .field("lifecycle", &self.lifecycle)
            .finish_non_exhaustive()
    }
}
