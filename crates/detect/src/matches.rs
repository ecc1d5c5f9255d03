//! Every message of a session that an indicator matches.
//!
//! A [`RulesetSession`](crate::ruleset::RulesetSession) computes verdicts, for which the first match of an indicator is enough. Who looks through
//! recorded traffic asks for all matches and for no verdict, so a [`MatchSession`] keeps no account of deliveries, tasks and failures.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError};

use foldhash::fast::RandomState;
use serde_json::Value;
use sortie_oatf::canary::{self, CanaryValues};
use sortie_oatf::{
    Compiled, DefaultCelEvaluator, EvaluationError, Evaluators, IndicatorOutcome, MatchEvidence,
};
use sortie_trace::{Deriver, Header, Message, Observed, Record, Sender, agent_answer};

use crate::flow::FlowWatch;
use crate::ruleset::{Route, Ruleset, TextScan};
use crate::selection::looks_at_answers;

/// Kinds of messages that are remembered.
const MAX_ROUTES: usize = 1024;
/// Sets of canaries whose documents are kept compiled.
const MAX_CANARY_SETS: usize = 32;

/// Documents, compiled once to find every match in any number of sessions, from any number of threads.
///
/// It finds what each of its documents finds alone. An expression that fails on a message does not match it; that it failed is said where the
/// message has the texts without which it cannot be true.
#[derive(Debug)]
pub struct MatchRuleset(Ruleset);

impl MatchRuleset {
    /// Compiles documents.
    pub fn new<D: Into<Arc<Compiled>>>(documents: impl IntoIterator<Item = D>) -> Self {
        Self(Ruleset::for_matches(documents))
    }

    /// Documents whose indicators are asked about every message that they look at. It finds the same, and serves to show that.
    pub fn exhaustive<D: Into<Arc<Compiled>>>(documents: impl IntoIterator<Item = D>) -> Self {
        Self(Ruleset::exhaustive(documents))
    }
}

/// What an indicator says about a message, where it is more than that it does not match.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageMatch {
    /// The position of the document in its ruleset.
    pub document: usize,
    /// The position of the indicator in the document.
    pub indicator: usize,
    /// Whether other messages of the session decided with this one.
    pub needs_session: bool,
    /// Why it matches, or why it could not be evaluated.
    pub found: Result<MatchEvidence, EvaluationError>,
}

/// Finds every message of a session that an indicator of a [`MatchRuleset`] matches.
///
/// It is shown every record of a session, in order. A header begins another session. Indicators that need a judge are not evaluated.
///
/// ```
/// use std::sync::Arc;
///
/// use sortie_detect::matches::{MatchRuleset, MatchSession};
/// use sortie_oatf::{Compiled, load};
/// use sortie_trace::Record;
///
/// let text = "
/// oatf: '0.1'
/// attack:
///   id: KEY-001
///   execution: {mode: mcp_server, state: {tools: []}}
///   indicators: [{surface: tools/call, target: arguments.path, pattern: {contains: id_rsa}}]
/// ";
/// let document = Arc::new(Compiled::new(load(text).unwrap().document).unwrap());
/// let mut session = MatchSession::new(Arc::new(MatchRuleset::new([document])));
/// let line = r#"{"record":"message","seq":1,"time":"2026-11-17T10:00:01Z","actor":"default","mode":"mcp_server","phase":"one",
///   "protocol":"mcp","surfaces":["tools/call"],"direction":"request","kind":"request","connection":"1","sender":"agent",
///   "content":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"~/.ssh/id_rsa"}}}}"#;
/// let record = Record::from_line(&line.replace('\n', "")).unwrap();
/// for _ in 0..2 {
///     let found = session.record(&record);
///     assert_eq!(found[0].found.as_ref().unwrap().path, "arguments.path");
/// }
/// ```
#[derive(Clone)]
pub struct MatchSession {
    rules: Arc<MatchRuleset>,
    /// Documents that look for canaries, with those of this session.
    canaries: Option<Box<CanaryMatches>>,
    /// Whether messages are looked at one by one, without what other messages add.
    is_alone: bool,
    flows: FlowWatch,
    deriver: Deriver,
    routes: HashMap<u64, Arc<Route>, RandomState>,
    candidates: Vec<u32>,
}

thread_local! {
    /// What looks at texts takes room for every text that is looked for: too much for each of thousands of sessions.
    static SCAN: RefCell<TextScan> = RefCell::default();
}

/// The documents of a ruleset that look for canaries, with their values.
#[derive(Clone, Debug)]
pub(crate) struct CanaryRules {
    rules: Arc<MatchRuleset>,
    /// The position of each in the ruleset that they are of.
    documents: Vec<usize>,
    /// For each, which of its indicators look for a canary that is known.
    asked: Vec<Vec<bool>>,
}

#[derive(Clone)]
struct CanaryMatches {
    rules: Arc<CanaryRules>,
    session: MatchSession,
}

impl MatchSession {
    /// Begins with a session of which nothing was said yet.
    pub fn new(rules: Arc<MatchRuleset>) -> Self {
        Self {
            canaries: None,
            is_alone: false,
            flows: FlowWatch::new(&rules.0.flows),
            deriver: Deriver::new().with_transcripts(rules.0.reads_transcript()),
            routes: HashMap::default(),
            candidates: Vec::new(),
            rules,
        }
    }

    /// Looks at each message alone, in whatever order: gives the matches of a session whose
    /// [`needs_session`](MessageMatch::needs_session) is false, and no others.
    pub fn of_single_messages(rules: Arc<MatchRuleset>) -> Self {
        Self { is_alone: true, ..Self::new(rules) }
    }

    /// The documents.
    pub fn ruleset(&self) -> &Arc<MatchRuleset> {
        &self.rules
    }

    /// About how many bytes of memory the session takes: mostly what flows remember of it.
    pub fn memory(&self) -> usize {
        let canaries = self.canaries.as_ref().map_or(0, |canaries| canaries.session.memory());
        size_of::<Self>() + self.flows.memory() + canaries
    }

    /// What indicators say about a record, in the order of documents. Records other than messages say nothing.
    pub fn record(&mut self, record: &Record) -> Vec<MessageMatch> {
        match record {
            Record::Header(header) => {
                self.begin(header);
                Vec::new()
            }
            Record::Message(message) => self.message(message),
            _ => Vec::new(),
        }
    }

    /// Begins another session.
    pub fn begin(&mut self, header: &Header) {
        self.begin_with(&header.canaries);
    }

    fn begin_with(&mut self, values: &CanaryValues) {
        if self.is_alone {
            return;
        }
        self.flows = FlowWatch::new(&self.rules.0.flows);
        self.flows.take_canaries(values);
        self.deriver = Deriver::new().with_transcripts(self.rules.0.reads_transcript());
        let canaries = CanaryRules::of(&self.rules.0, values).map(|rules| {
            let mut session = Self::new(Arc::clone(&rules.rules));
            session.flows.take_canaries(values);
            Box::new(CanaryMatches { rules, session })
        });
        self.canaries = canaries;
    }

    /// What indicators say about a message.
    pub fn message(&mut self, message: &Message) -> Vec<MessageMatch> {
        let mut found = self.own(message);
        if let Some(canaries) = &mut self.canaries {
            let CanaryMatches { rules, session } = &mut **canaries;
            let asked =
                session.own(message).into_iter().filter(|one| rules.asked[one.document][one.indicator]);
            found.extend(asked.map(|one| MessageMatch {
                document: rules.documents[one.document],
                needs_session: true,
                ..one
            }));
            found.sort_by_key(|one| (one.document, one.indicator));
        }
        found
    }

    fn own(&mut self, message: &Message) -> Vec<MessageMatch> {
        let route = self.route(message);
        // An answer to a client actor carries its request.
        let is_derived = route.is_client && message.sender == Sender::Agent;
        if self.is_alone {
            if is_derived || route.selected.is_empty() {
                return Vec::new();
            }
        } else {
            self.flows.message(message, &route.sources);
            if route.selected.is_empty() && !self.flows.is_source(message, |_| true) {
                self.deriver.skip(message);
                return Vec::new();
            }
        }
        self.candidates.clear();
        let looks_at_answer = route.class.as_ref().is_none_or(|class| !class.answers.is_empty())
            && agent_answer::may_hold(message);
        let is_looked_at = self.look_at_wire(&route, message);
        self.candidates.retain(|number| self.flows.may_leave(*number as usize, message));
        if is_looked_at && self.candidates.is_empty() && !looks_at_answer {
            if !self.is_alone {
                self.flows.take_in(message, |_| true, || Deriver::text_of(message).map(Cow::Borrowed));
                self.deriver.skip(message);
            }
            return Vec::new();
        }
        let observed =
            if self.is_alone { Deriver::new().observe(message) } else { self.deriver.observe(message) };
        let answer = if looks_at_answer { agent_answer::of(message, &observed.message) } else { None };
        self.collect(&route, &observed, answer.as_ref(), is_looked_at);
        let found = self.evaluate(&observed, is_derived);
        if !self.is_alone {
            self.take_in(&observed, Deriver::text_of(message));
        }
        found
    }

    /// Finds the indicators that a message could concern in what was on the wire; `false` where that takes a reader.
    fn look_at_wire(&mut self, route: &Route, message: &Message) -> bool {
        let Some(class) = route.class.as_ref().filter(|class| !class.messages.always_asks()) else {
            return false;
        };
        let Some(json) = Deriver::text_of(message) else { return false };
        let Self { rules, candidates, .. } = self;
        let look = |scan: &mut TextScan| scan.wire(&class.messages, &rules.0, route, json, candidates);
        let looked = SCAN.with_borrow_mut(look);
        candidates.retain(|number| route.selects(*number));
        looked.is_some()
    }

    /// The indicators that a message could concern, in order.
    fn collect(
        &mut self,
        route: &Route,
        observed: &Observed<'_>,
        answer: Option<&Value>,
        is_looked_at: bool,
    ) {
        let Self { rules, candidates, .. } = self;
        let rules = &rules.0;
        let Some(class) = &route.class else {
            candidates.clear();
            candidates.extend_from_slice(&route.selected);
            return;
        };
        if !is_looked_at {
            candidates.clear();
            SCAN.with_borrow_mut(|scan| {
                scan.value(&class.messages, rules, route, &observed.message, candidates);
            });
        }
        if let Some(answer) = answer {
            SCAN.with_borrow_mut(|scan| scan.value(&class.answers, rules, route, answer, candidates));
        }
        candidates.retain(|number| route.selects(*number));
        if observed.transcript.is_some() {
            // A document that reads conversations sees this one in every message that carries it.
            let reads =
                |number: &&u32| rules.rules[rules.indicators[**number as usize].rule].reads_transcript;
            candidates.extend(route.selected.iter().filter(reads));
        }
        candidates.sort_unstable();
        candidates.dedup();
    }

    fn evaluate(&mut self, observed: &Observed<'_>, is_derived: bool) -> Vec<MessageMatch> {
        let Self { rules, candidates, flows, is_alone, .. } = self;
        let rules = &rules.0;
        let evaluators = Evaluators { cel: Some(&DefaultCelEvaluator), semantic: None };
        let mut with_transcript: Option<Cow<'_, Value>> = None;
        let mut answer: Option<Option<Value>> = None;
        let mut found = Vec::new();
        for number in &*candidates {
            let at = *number as usize;
            let about = &rules.indicators[at];
            let rule = &rules.rules[about.rule];
            let indicator = rules.indicator(*number);
            let needs_session = is_derived || rule.reads_transcript || indicator.flow.is_some();
            if about.looks_for_canary
                || about.is_semantic
                || (*is_alone && needs_session)
                || !flows.may_leave(at, observed.record)
            {
                continue;
            }
            let message: &Value = if rule.reads_transcript {
                with_transcript.get_or_insert_with(|| observed.with_transcript())
            } else {
                &observed.message
            };
            let seen = if looks_at_answers(indicator) {
                let answer = answer.get_or_insert_with(|| agent_answer::of(observed.record, message));
                let Some(answer) = answer else { continue };
                &*answer
            } else {
                message
            };
            let mut outcome = indicator.evaluate(seen, evaluators);
            if indicator.flow.is_some() {
                outcome = flows.narrowed(at, outcome, observed.record, seen);
            }
            let said = match outcome {
                IndicatorOutcome::Matched(evidence) => Ok(evidence),
                IndicatorOutcome::Error(error) => Err(error),
                IndicatorOutcome::NotMatched | IndicatorOutcome::Skipped(_) => continue,
            };
            let indicator = at - rule.indicators.start;
            found.push(MessageMatch { document: about.rule, indicator, needs_session, found: said });
        }
        found
    }

    /// Lets a message come in by the sources of flows, after it was evaluated: what comes in with a message does not leave with it.
    fn take_in(&mut self, observed: &Observed<'_>, on_wire: Option<&str>) {
        let Self { rules, flows, .. } = self;
        let rules = &rules.0;
        let reads_transcript = |at: usize| rules.rules[rules.indicators[at].rule].reads_transcript;
        let seen = || on_wire.map_or_else(|| Cow::Owned(observed.message.to_string()), Cow::Borrowed);
        flows.take_in(observed.record, |at| !reads_transcript(at), || Some(seen()));
        let with_transcript = || Some(Cow::Owned(observed.with_transcript().to_string()));
        flows.take_in(observed.record, reads_transcript, with_transcript);
    }

    /// What a message is for.
    fn route(&mut self, message: &Message) -> Arc<Route> {
        let key = Route::key(message);
        if let Some(route) = self.routes.get(&key).filter(|route| route.is_for(message)) {
            return Arc::clone(route);
        }
        let route = self.rules.0.route(key, message);
        if self.routes.len() >= MAX_ROUTES {
            self.routes.clear();
        }
        self.routes.insert(key, Arc::clone(&route));
        route
    }
}

impl CanaryRules {
    /// The documents that look for one of these canaries; `None` where there is none.
    fn of(rules: &Ruleset, values: &CanaryValues) -> Option<Arc<Self>> {
        if values.is_empty() || !rules.indicators.iter().any(|indicator| indicator.looks_for_canary) {
            return None;
        }
        let mut known = rules.canary_rules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(values) {
            return Some(Arc::clone(known));
        }
        let made = Arc::new(Self::new(rules, values));
        if known.len() >= MAX_CANARY_SETS {
            known.clear();
        }
        known.insert(values.clone(), Arc::clone(&made));
        Some(made)
    }

    fn new(rules: &Ruleset, values: &CanaryValues) -> Self {
        let (mut documents, mut asked, mut resolved) = (Vec::new(), Vec::new(), Vec::new());
        for (number, rule) in rules.rules.iter().enumerate() {
            let before = &rules.indicators[rule.indicators.clone()];
            if !before.iter().any(|indicator| indicator.looks_for_canary) {
                continue;
            }
            let document = Arc::new(canary::resolve(&rule.compiled, values));
            let after = document.document().attack.indicators.iter().flatten().map(canary::is_looked_for);
            asked.push(
                before.iter().zip(after).map(|(before, after)| before.looks_for_canary && !after).collect(),
            );
            documents.push(number);
            resolved.push(document);
        }
        Self { rules: Arc::new(MatchRuleset::new(resolved)), documents, asked }
    }
}

impl fmt::Debug for MatchSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchSession").field("rules", &self.rules).finish_non_exhaustive()
    }
}
