//! Suites: those that follow from standards, and those that somebody wrote.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::catalogue::{Catalogue, MOST_SUGGESTIONS, Unknown};
use crate::depends::{told_cycle, walk};
use crate::model::Standard;
use crate::parse::{Include, IncludeKind, SuiteText};

/// Names that are used elsewhere for suites, and the suite that each means.
pub const ALIASES: &[(&str, &str)] = &[
    ("atlas", "mitre-atlas"),
    ("eu-ai-act", "eu-ai-act-bias"),
    ("nist", "nist-ai-rmf"),
    ("owasp-agentic", "owasp-agentic-ai"),
    ("owasp-agentic-top10", "owasp-agentic-ai"),
    ("owasp-llm", "owasp-llm-top10"),
    ("owasp-mcp", "owasp-mcp-top10"),
];

/// An OATF document, as far as suites need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentEntry {
    /// Its id.
    pub id: String,
    /// `classification.mappings`: framework and id.
    pub mappings: Vec<(String, String)>,
    /// Its tags.
    pub tags: Vec<String>,
}

/// Evaluators and documents that are run together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Where it comes from.
    pub origin: SuiteOrigin,
    /// Ids of evaluators, in order.
    pub evaluators: Vec<String>,
    /// Ids of documents, in order.
    pub documents: Vec<String>,
}

/// Where a suite comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuiteOrigin {
    /// It holds whatever is mapped to a standard.
    Standard(Standard),
    /// Somebody wrote it, in this file.
    File(String),
}

/// All suites, in the order of their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suites(Vec<Suite>);

impl Suites {
    /// All of them, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Suite> {
        self.0.iter()
    }

    /// The suite with this id or alias, or which was probably meant.
    pub fn resolve(&self, name: &str) -> Result<&Suite, Unknown> {
        let id = suite_id(name);
        let found = self.0.binary_search_by(|suite| suite.id.as_str().cmp(id));
        found.map(|at| &self.0[at]).map_err(|_| {
            let aliases = ALIASES.iter().map(|(alias, _)| *alias);
            Unknown::new("suite", name, self.0.iter().map(|suite| suite.id.as_str()).chain(aliases))
        })
    }

    /// The ids of the suites that an evaluator is in.
    pub fn of_evaluator<'s>(&'s self, id: &'s str) -> impl Iterator<Item = &'s str> {
        let holds = |suite: &&Suite| suite.evaluators.binary_search_by(|own| own.as_str().cmp(id)).is_ok();
        self.0.iter().filter(holds).map(|suite| suite.id.as_str())
    }
}

/// The id that a name means.
fn suite_id(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, id)| id)
}

/// Whether an id is taken by a suite that follows from a standard, or by an alias.
pub(crate) fn is_derived(id: &str) -> bool {
    Standard::ALL.iter().any(|standard| standard.suite() == Some(id))
        || ALIASES.iter().any(|(alias, _)| *alias == id)
}

/// So many things that are not there are told.
const MOST_FAULTS: usize = 1_000;

#[derive(Clone, Default)]
struct Members {
    evaluators: BTreeSet<String>,
    documents: BTreeSet<String>,
    /// Whether something that is named is not in it.
    incomplete: bool,
}

/// A curated suite, and the file it comes from.
pub(crate) struct Curated {
    pub(crate) suite: SuiteText,
    pub(crate) file: String,
}

/// What is wrong with a curated suite.
pub(crate) enum SuiteFault<'c> {
    /// It names what is not there.
    Unknown(&'c Include, Option<String>),
    /// It includes itself by way of others.
    Cycle(&'c Include, Vec<String>),
    /// There is nothing in it.
    Empty,
}

/// Makes the suites. What is broken is there and did not load: nothing is said about who names it.
pub(crate) fn make<'c>(
    catalogue: &Catalogue,
    documents: &[DocumentEntry],
    curated: &'c [Curated],
    broken_evaluators: &BTreeSet<String>,
    broken_suites: &BTreeSet<String>,
) -> (Suites, Vec<(usize, SuiteFault<'c>)>) {
    let mut faults = Vec::new();
    let mut members: HashMap<String, Members> = derived(catalogue, documents);
    let by_id: HashMap<&str, usize> =
        curated.iter().enumerate().map(|(at, curated)| (curated.suite.id.as_str(), at)).collect();
    let tags = tags(catalogue, documents);
    let resolver = Resolver { catalogue, documents, curated, by_id, broken_evaluators, broken_suites, tags };
    for at in resolver.in_order(&mut faults) {
        let own = resolver.members(at, &members, &mut faults);
        members.insert(curated[at].suite.id.clone(), own);
    }
    let mut suites: Vec<Suite> = Vec::new();
    for standard in Standard::ALL {
        let Some(id) = standard.suite() else { continue };
        suites.push(suite(id, standard.name(), None, SuiteOrigin::Standard(*standard), members.remove(id)));
    }
    for Curated { suite: text, file } in curated {
        // One that is smaller than it says would be passed too easily.
        let own = members.remove(&text.id).filter(|own| !own.incomplete && !own.is_empty());
        let Some(own) = own else { continue };
        let origin = SuiteOrigin::File(file.clone());
        suites.push(suite(&text.id, &text.name, text.description.clone(), origin, Some(own)));
    }
    suites.sort_by(|a, b| a.id.cmp(&b.id));
    (Suites(suites), faults)
}

fn suite(
    id: &str,
    name: &str,
    description: Option<String>,
    origin: SuiteOrigin,
    members: Option<Members>,
) -> Suite {
    let Members { evaluators, documents, .. } = members.unwrap_or_default();
    Suite {
        id: id.to_owned(),
        name: name.to_owned(),
        description,
        origin,
        evaluators: evaluators.into_iter().collect(),
        documents: documents.into_iter().collect(),
    }
}

fn derived(catalogue: &Catalogue, documents: &[DocumentEntry]) -> HashMap<String, Members> {
    let mut members: HashMap<String, Members> = HashMap::new();
    for entry in catalogue.entries() {
        for (standard, _) in entry.evaluator.standards.iter() {
            if let Some(suite) = standard.suite() {
                members.entry(suite.to_owned()).or_default().evaluators.insert(entry.evaluator.id.clone());
            }
        }
    }
    for document in documents {
        for (framework, id) in &document.mappings {
            // Documents may name any framework; a lint speaks about entries that it does not have.
            let Some(standard) = Standard::of_framework(framework) else { continue };
            if let (Some(suite), Ok(_)) = (standard.suite(), standard.entry(id)) {
                members.entry(suite.to_owned()).or_default().documents.insert(document.id.clone());
            }
        }
    }
    members
}

fn tags<'d>(catalogue: &'d Catalogue, documents: &'d [DocumentEntry]) -> BTreeMap<&'d str, Members> {
    let mut tags: BTreeMap<&str, Members> = BTreeMap::new();
    for entry in catalogue.entries() {
        for tag in entry.tags() {
            tags.entry(tag).or_default().evaluators.insert(entry.evaluator.id.clone());
        }
    }
    for document in documents {
        for tag in &document.tags {
            tags.entry(tag).or_default().documents.insert(document.id.clone());
        }
    }
    tags
}

/// Why something that a suite names is not in it.
enum Missing {
    /// It is not there; what was probably meant.
    Unknown(Option<String>),
    /// It has errors of its own.
    SaidElsewhere,
}

struct Resolver<'d, 'c> {
    catalogue: &'d Catalogue,
    documents: &'d [DocumentEntry],
    curated: &'c [Curated],
    by_id: HashMap<&'c str, usize>,
    broken_evaluators: &'d BTreeSet<String>,
    broken_suites: &'d BTreeSet<String>,
    tags: BTreeMap<&'d str, Members>,
}

impl<'c> Resolver<'_, 'c> {
    /// The suites, each after those it includes. One that includes itself is left out.
    fn in_order(&self, faults: &mut Vec<(usize, SuiteFault<'c>)>) -> Vec<usize> {
        let includes = |at: usize| &self.curated[at].suite.include;
        let edge = |at: usize, nth: usize| {
            let suite = |include: &Include| self.by_id.get(suite_id(&include.name)).copied();
            let include = includes(at).get(nth)?;
            Some(if include.kind == IncludeKind::Suite { suite(include) } else { None })
        };
        walk(self.curated.len(), 0..self.curated.len(), edge, |way, to| {
            let (last, taken) = way[way.len() - 1];
            let include = &includes(last)[taken - 1];
            let ids = told_cycle(way, to, |at| &self.curated[at].suite.id, &include.name);
            faults.push((last, SuiteFault::Cycle(include, ids)));
            true
        })
    }

    /// What is in a suite.
    fn members(
        &self,
        at: usize,
        known: &HashMap<String, Members>,
        faults: &mut Vec<(usize, SuiteFault<'c>)>,
    ) -> Members {
        let mut members = Members::default();
        for include in &self.curated[at].suite.include {
            let suggests = faults.len() < MOST_SUGGESTIONS;
            let Err(missing) = self.one(include, known, suggests, &mut members) else { continue };
            members.incomplete = true;
            if let Missing::Unknown(nearest) = missing
                && faults.len() < MOST_FAULTS
            {
                faults.push((at, SuiteFault::Unknown(include, nearest)));
            }
        }
        if members.is_empty() && !members.incomplete {
            faults.push((at, SuiteFault::Empty));
        }
        members
    }

    /// Adds what is included.
    fn one(
        &self,
        include: &Include,
        known: &HashMap<String, Members>,
        suggests: bool,
        members: &mut Members,
    ) -> Result<(), Missing> {
        let name = include.name.as_str();
        let missing = |names: &mut dyn Iterator<Item = &str>| {
            Missing::Unknown(suggests.then(|| Unknown::new("", name, names).nearest).flatten())
        };
        match include.kind {
            IncludeKind::Evaluator => match self.catalogue.get(name) {
                Some(_) => _ = members.evaluators.insert(name.to_owned()),
                None if self.broken_evaluators.contains(name) => return Err(Missing::SaidElsewhere),
                None => {
                    let entries = self.catalogue.entries().iter();
                    return Err(missing(&mut entries.map(|entry| entry.evaluator.id.as_str())));
                }
            },
            IncludeKind::Document => {
                if self.documents.iter().any(|document| document.id == name) {
                    members.documents.insert(name.to_owned());
                } else {
                    return Err(missing(&mut self.documents.iter().map(|document| document.id.as_str())));
                }
            }
            IncludeKind::Suite => {
                let id = suite_id(name);
                match known.get(id) {
                    Some(other) => members.add(other),
                    // A cycle, which is said elsewhere, or a derived suite that holds nothing.
                    None if self.by_id.contains_key(id) => return Err(Missing::SaidElsewhere),
                    None if is_derived(id) => {}
                    None if self.broken_suites.contains(id) => return Err(Missing::SaidElsewhere),
                    None => {
                        let derived = Standard::ALL.iter().filter_map(|standard| standard.suite());
                        let own = self.curated.iter().map(|curated| curated.suite.id.as_str());
                        return Err(missing(&mut own.chain(derived)));
                    }
                }
            }
            IncludeKind::Tag => match self.tags.get(name) {
                Some(other) => members.add(other),
                None => return Err(missing(&mut self.tags.keys().copied())),
            },
        }
        Ok(())
    }
}

impl Members {
    fn is_empty(&self) -> bool {
        self.evaluators.is_empty() && self.documents.is_empty()
    }

    fn add(&mut self, other: &Members) {
        self.evaluators.extend(other.evaluators.iter().cloned());
        self.documents.extend(other.documents.iter().cloned());
        self.incomplete |= other.incomplete;
    }
}
