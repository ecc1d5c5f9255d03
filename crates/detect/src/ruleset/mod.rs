//! Many documents, compiled into one thing that watches.
//!
//! | step | who |
//! |---|---|
//! | which indicators, deliveries, tasks and flows a message is for | `route`, once for each kind of message |
//! | which of them the texts of a message could concern | `prefilter`, one pass over the message as it was on the wire |
//! | which of them there is something for at the place they ask about | `places`, one walk over the message |
//! | what they say | [`CompiledIndicator::evaluate`], for those that are left |
//!
//! Whoever wants every match and no verdict asks otherwise, since there may be thousands of patterns that look at the same texts:
//!
//! | step | who |
//! |---|---|
//! | which patterns look at messages of a protocol, an operation and a side | `class`, once for each |
//! | each text of a message with the patterns that look where it stands | `walk`, over the message as it was on the wire |
//! | which words of each pattern are rare in this traffic | `sample` and `plan`, once |
//! | which texts that patterns need are there, and in which order | `scanner` and `texts`, one pass over each text |
//! | whether the pattern matches the text | its regular expression, from where its first text stands |
//! | what the indicator says | [`CompiledIndicator::evaluate`], for those that are left |
//!
//! So a message costs what it could match, and not what there is to be matched: `cargo xtask bench` guards that.

mod class;
mod look;
mod lookup;
mod memory;
mod places;
mod plan;
mod prefilter;
mod route;
mod sample;
mod scanner;
mod texts;
mod trigrams;
mod walk;

use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde_json::Value;
use sortie_oatf::canary::{self, CanaryValues};
use sortie_oatf::model::Attack;
use sortie_oatf::{Compiled, CompiledIndicator, SemanticEvaluator};
use sortie_trace::{Header, Message, Record, Trace, TraceError};

use crate::able::{self, Means};
use crate::alive::TaskRule;
use crate::dead_end::DeadEnd;
use crate::delivery::{self, Wanted};
use crate::flow::FlowRule;
use crate::foreign::Sight;
use crate::matches::CanaryRules;
use crate::reach::{ActorPlace, Stations};
pub use crate::session::{RuleMatch, RulesetSession};
use class::ClassLookup;
pub(crate) use look::TextScan;
use lookup::Lookup;
pub(crate) use prefilter::{Asked, Hits, is_plain};
pub(crate) use route::{Route, RouteList};

/// Kinds of messages that are kept. A trace may make up any number of them.
const MAX_ROUTES: usize = 1024;

/// Many documents, compiled once to watch any number of sessions, from any number of threads.
///
/// What it says of a document is what a [`Detector`](crate::Detector) of that document alone says.
///
/// ```
/// use std::sync::Arc;
///
/// use sortie_detect::{Place, Ruleset};
/// use sortie_oatf::{Compiled, load};
/// use sortie_trace::{Record, Trace};
///
/// let document = |id: &str, words: &str| {
///     let text = format!("
/// oatf: '0.1'
/// attack:
///   id: {id}
///   execution: {{mode: mcp_server, state: {{tools: []}}}}
///   indicators: [{{surface: tools/call, target: arguments.path, pattern: {{contains: {words}}}}}]
/// ");
///     Arc::new(Compiled::new(load(&text).unwrap().document).unwrap())
/// };
/// let ruleset = Arc::new(Ruleset::new([document("KEY-001", "id_rsa"), document("KEY-002", "passwd")]));
///
/// let trace = concat!(
///     r#"{"record":"header","version":1,"origin":"foreign","written_by":"me","time":"2026-11-17T10:00:00Z"}"#, "\n",
///     r#"{"record":"message","seq":1,"time":"2026-11-17T10:00:01Z","actor":"default","mode":"mcp_server","#,
///     r#""phase":"one","protocol":"mcp","surfaces":["tools/call"],"direction":"request","kind":"request","#,
///     r#""connection":"1","sender":"agent","content":{"jsonrpc":"2.0","id":1,"method":"tools/call","#,
///     r#""params":{"name":"read","arguments":{"path":"/home/ada/.ssh/id_rsa"}}}}"#, "\n",
/// );
/// let (header, records) = Trace::open(trace.as_bytes()).unwrap();
/// // One for each session; [`replay`](Self::replay) does the same in one call.
/// let mut session = ruleset.session();
/// session.record(&Record::Header(Box::new(header)));
/// let mut found = Vec::new();
/// for record in records {
///     found.extend(session.record(&record.unwrap()));
/// }
/// // The first indicator of the first document.
/// assert_eq!((found[0].document, found[0].indicator, found.len()), (0, 0, 1));
/// assert!(session.outcome(0, Place::default()).evidence[0].path == "arguments.path");
/// assert!(session.outcome(1, Place::default()).evidence.is_empty());
/// ```
#[derive(Default)]
pub struct Ruleset {
    pub(crate) rules: Vec<Rule>,
    pub(crate) indicators: Vec<IndicatorRule>,
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) means: Vec<Means>,
    pub(crate) flows: Vec<FlowRule>,
    pub(crate) stations: Stations,
    pub(crate) semantic: Option<Arc<dyn SemanticEvaluator + Send + Sync>>,
    pub(crate) lenient: bool,
    reads_transcript: bool,
    /// `None` where everything is asked about every message.
    lookup: Option<Lookup>,
    /// What looks for matches, and nothing else.
    classes: Option<ClassLookup>,
    routes: RwLock<HashMap<u64, Arc<Route>>>,
    /// What routes select, with a number for each.
    selections: Mutex<HashMap<Arc<[u32]>, u64>>,
    /// Documents that look for canaries, for each set of values that a session had.
    pub(crate) canary_rules: Mutex<HashMap<CanaryValues, Arc<CanaryRules>>>,
}

/// A document of a ruleset.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) compiled: Arc<Compiled>,
    pub(crate) indicators: Range<usize>,
    pub(crate) wanted: Range<usize>,
    pub(crate) means: Range<usize>,
    pub(crate) task: Option<TaskRule>,
    /// Whether it reads `_transcript`.
    pub(crate) reads_transcript: bool,
    /// Where its actors count.
    pub(crate) actors: Vec<ActorPlace>,
}

impl Rule {
    pub(crate) fn attack(&self) -> &Attack {
        &self.compiled.document().attack
    }
}

/// An indicator of a ruleset.
#[derive(Clone, Debug)]
pub(crate) struct IndicatorRule {
    /// Its document.
    pub(crate) rule: usize,
    /// Why it can never fire.
    pub(crate) dead_end: Option<DeadEnd>,
    /// What it can see of the recording of another program.
    pub(crate) sight: Sight,
    pub(crate) is_semantic: bool,
    /// Whether it looks for a canary of which nothing is known.
    pub(crate) looks_for_canary: bool,
}

impl Ruleset {
    /// Compiles documents. There is no semantic engine: indicators that need one are skipped.
    pub fn new<D: Into<Arc<Compiled>>>(documents: impl IntoIterator<Item = D>) -> Self {
        let mut ruleset = Self::exhaustive(documents);
        ruleset.lookup = Some(Lookup::new(&ruleset));
        ruleset
    }

    /// The same for whoever wants matches and no verdicts.
    pub(crate) fn for_matches<D: Into<Arc<Compiled>>>(documents: impl IntoIterator<Item = D>) -> Self {
        Self { classes: Some(ClassLookup::default()), ..Self::exhaustive(documents) }
    }

    /// Documents whose indicators are asked about every message that they look at. It says the same as [`new`](Self::new), and
    /// serves to show that.
    pub fn exhaustive<D: Into<Arc<Compiled>>>(documents: impl IntoIterator<Item = D>) -> Self {
        let mut ruleset = Self::default();
        for document in documents {
            ruleset.add(document.into());
        }
        ruleset
    }

    /// One document, whose indicators are asked about every message that they look at.
    pub(crate) fn of_one(document: Arc<Compiled>) -> Self {
        Self::exhaustive([document])
    }

    /// Gives it an engine for semantic indicators.
    #[must_use]
    pub fn with_semantic(mut self, engine: Arc<dyn SemanticEvaluator + Send + Sync>) -> Self {
        self.semantic = Some(engine);
        self
    }

    /// Counts silence as resistance even when the payload never reached the agent.
    #[must_use]
    pub fn lenient(mut self, lenient: bool) -> Self {
        self.lenient = lenient;
        self
    }

    /// The documents, in order.
    pub fn documents(&self) -> impl Iterator<Item = &Arc<Compiled>> {
        self.rules.iter().map(|rule| &rule.compiled)
    }

    /// Begins to watch a session, of which nothing was said yet.
    pub fn session(self: &Arc<Self>) -> RulesetSession {
        RulesetSession::new(Arc::clone(self))
    }

    /// Watches a session that is recorded as a trace. No more than one record is held at a time.
    pub fn replay<R: BufRead>(self: &Arc<Self>, trace: R) -> Result<RulesetSession, TraceError> {
        let (header, records) = Trace::open(trace)?;
        let mut session = self.session();
        session.record(&Record::Header(Box::new(header)));
        for record in records {
            session.record(&record?);
        }
        Ok(session)
    }

    /// Watches a session whose records are at hand.
    pub fn replay_records(
        self: &Arc<Self>,
        header: Header,
        records: impl IntoIterator<Item = Record>,
    ) -> RulesetSession {
        let mut session = self.session();
        session.record(&Record::Header(Box::new(header)));
        for record in records {
            session.record(&record);
        }
        session
    }

    /// Whether a document reads `_transcript`.
    pub(crate) fn reads_transcript(&self) -> bool {
        self.reads_transcript
    }

    fn add(&mut self, compiled: Arc<Compiled>) {
        let document = compiled.document();
        let described = document.attack.indicators.iter().flatten();
        let rule = self.rules.len();
        let (first, first_wanted, first_means) = (self.indicators.len(), self.wanted.len(), self.means.len());
        self.indicators.extend(described.map(|indicator| IndicatorRule {
            rule,
            dead_end: DeadEnd::of(document, indicator),
            sight: Sight::new(document, indicator),
            is_semantic: indicator.semantic.is_some(),
            looks_for_canary: canary::is_looked_for(indicator),
        }));
        self.wanted.extend(delivery::wanted(document));
        self.means.extend(able::means(document));
        let actors = self.stations.add(&document.attack);
        self.add_flows(&compiled, first);
        self.reads_transcript |= compiled.reads_transcript();
        self.rules.push(Rule {
            indicators: first..self.indicators.len(),
            wanted: first_wanted..self.wanted.len(),
            means: first_means..self.means.len(),
            task: TaskRule::of(document),
            reads_transcript: compiled.reads_transcript(),
            actors,
            compiled,
        });
    }

    /// The flows of a document whose first indicator is at this position.
    fn add_flows(&mut self, document: &Compiled, first: usize) {
        let flows = (first..).zip(document.indicators());
        let flows: Vec<_> = flows.filter_map(|(at, own)| Some((at, own.flow.clone()?))).collect();
        let asks_for_tools = flows.iter().any(|(_, flow)| FlowRule::names_tool(flow));
        let prompt: Option<Arc<str>> = document.document().extension().prompt.as_deref().map(Into::into);
        self.flows.extend(flows.into_iter().map(|(indicator, compiled)| FlowRule {
            indicator,
            compiled,
            prompt: prompt.clone(),
            asks_for_tools,
        }));
    }

    /// The indicator at a position.
    pub(crate) fn indicator(&self, number: u32) -> &CompiledIndicator {
        let at = number as usize;
        let rule = &self.rules[self.indicators[at].rule];
        &rule.compiled.indicators()[at - rule.indicators.start]
    }

    /// The same with what canaries stand for; `None` where no document looks for one.
    pub(crate) fn with_canaries(&self, values: &CanaryValues) -> Option<Self> {
        if values.is_empty() || !self.indicators.iter().any(|indicator| indicator.looks_for_canary) {
            return None;
        }
        let mut rules = self.rules.clone();
        let mut indicators = self.indicators.clone();
        for rule in &mut rules {
            let own = &mut indicators[rule.indicators.clone()];
            if own.iter().any(|indicator| indicator.looks_for_canary) {
                rule.compiled = Arc::new(canary::resolve(&rule.compiled, values));
                let resolved = rule.attack().indicators.iter().flatten();
                for (indicator, resolved) in own.iter_mut().zip(resolved) {
                    indicator.looks_for_canary = canary::is_looked_for(resolved);
                }
            }
        }
        let mut resolved = Self {
            rules,
            indicators,
            wanted: self.wanted.clone(),
            means: self.means.clone(),
            flows: self.flows.clone(),
            stations: self.stations.clone(),
            semantic: self.semantic.clone(),
            lenient: self.lenient,
            reads_transcript: self.reads_transcript,
            ..Self::default()
        };
        resolved.lookup = self.lookup.as_ref().map(|_| Lookup::new(&resolved));
        Some(resolved)
    }

    /// What messages like this one are for.
    pub(crate) fn route(&self, key: u64, message: &Message) -> Arc<Route> {
        let known = self.routes.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(route) = known.filter(|route| route.is_for(message)) {
            return route;
        }
        let route = Arc::new(Route::new(self, message));
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        if routes.len() >= MAX_ROUTES {
            routes.clear();
        }
        routes.insert(key, Arc::clone(&route));
        route
    }

    /// The same selection for all routes that select the same, with its number.
    fn selection(&self, selected: Vec<u32>) -> (Arc<[u32]>, u64) {
        let mut selections = self.selections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((selected, id)) = selections.get_key_value(&*selected) {
            return (Arc::clone(selected), *id);
        }
        if selections.len() >= MAX_ROUTES {
            selections.clear();
        }
        let (selected, id): (Arc<[u32]>, _) = (selected.into(), next_id());
        selections.insert(Arc::clone(&selected), id);
        (selected, id)
    }

    /// Adds what the texts of a JSON text could concern.
    pub(crate) fn look(&self, json: &str, hits: &mut Hits) {
        match &self.lookup {
            Some(lookup) => lookup.prefilter.look(json, hits),
            None => hits.everything = true,
        }
    }

    /// Adds the indicators that there is something for in a message.
    pub(crate) fn walk(&self, message: &Value, found: &mut Vec<u32>) {
        if let Some(lookup) = &self.lookup {
            lookup.places.walk(message, found);
        }
    }
}

impl fmt::Debug for Ruleset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ruleset")
            .field("documents", &self.rules.len())
            .field("indicators", &self.indicators.len())
            .finish_non_exhaustive()
    }
}

/// A number that nothing else has.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Documents are bounded, and so is how many fit into memory: there are fewer than four billion of anything.
fn u32_of(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
