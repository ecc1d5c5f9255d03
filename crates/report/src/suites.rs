//! Suites, counted by the entries of the frameworks that they are about.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sortie_detect::{CaseInfo, Outcome, Standing};
use sortie_evaluators::suites::SuiteOrigin;
use sortie_evaluators::{Catalogue, DocumentEntry, Standard, Suite};
use sortie_oatf::frameworks::entry_name;

/// What came of a suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteTable {
    /// The id of the suite.
    pub suite: String,
    /// What people call it.
    pub name: String,
    /// All of its cases.
    pub totals: CaseCounts,
    /// The framework it follows from; where somebody wrote the suite, all that something in it is mapped to.
    pub frameworks: Vec<FrameworkTable>,
}

/// A framework, as far as a suite is about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameworkTable {
    /// Its key, as evaluators write it: `owasp-mcp`.
    pub framework: String,
    /// What people call it.
    pub name: String,
    /// Its entries: all of them where their list is closed, else those that something of the suite is mapped to.
    pub entries: Vec<EntryCounts>,
    /// Whether the list is closed, so that what is not covered is known.
    pub closed: bool,
    /// How many entries have a case that was decided here.
    pub covered: usize,
    /// The entries that have none.
    pub not_covered: Vec<String>,
}

/// The cases that are mapped to an entry of a framework.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryCounts {
    /// The entry: `MCP03`.
    pub entry: String,
    /// What the framework calls it.
    pub name: Option<String>,
    /// How many there are of each sort.
    #[serde(flatten)]
    pub counts: CaseCounts,
}

/// How many cases there are of each sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseCounts {
    /// All of them.
    pub cases: usize,
    /// The target gave in, at least in part.
    pub exploited: usize,
    /// The target resisted.
    pub resisted: usize,
    /// Nobody can say: errors, cases that were skipped, or not played to their end.
    pub undecided: usize,
    /// The target cannot be attacked with them.
    pub not_applicable: usize,
}

impl CaseCounts {
    /// Counts a case by what it counts as.
    pub fn add(&mut self, standing: Option<Standing>) {
        self.cases += 1;
        *match standing {
            Some(Standing::Exploited) => &mut self.exploited,
            Some(Standing::Resisted) => &mut self.resisted,
            Some(Standing::Skipped | Standing::Undecided) => &mut self.undecided,
            None => &mut self.not_applicable,
        } += 1;
    }

    /// Those that say something about the target.
    pub fn decided(self) -> usize {
        self.exploited + self.resisted
    }
}

impl SuiteTable {
    /// Counts the cases of a suite among all cases of a run. `documents` says what documents are mapped to; `unfinished` are ids
    /// of cases that were not played to their end.
    pub fn of(
        suite: &Suite,
        catalogue: &Catalogue,
        documents: &[DocumentEntry],
        runs: &[Outcome],
        unfinished: &[String],
    ) -> Self {
        let mut totals = CaseCounts::default();
        let mut tables: BTreeMap<Standard, BTreeMap<String, CaseCounts>> = BTreeMap::new();
        if let SuiteOrigin::Standard(standard) = suite.origin {
            tables.insert(standard, BTreeMap::new());
        }
        let played = runs.iter().map(|run| (Member::of(run), run.standing));
        let missed = unfinished.iter().map(|id| (Member::named(id, suite), Some(Standing::Undecided)));
        for (member, standing) in played.chain(missed) {
            let entries = match member {
                Member::Evaluator(id) if suite.evaluators.iter().any(|own| own == id) => {
                    of_evaluator(catalogue, id)
                }
                Member::Document(id) if suite.documents.iter().any(|own| own == id) => {
                    of_document(documents, id)
                }
                _ => continue,
            };
            totals.add(standing);
            for (standard, entry) in entries {
                if matches!(suite.origin, SuiteOrigin::Standard(own) if own != standard) {
                    continue;
                }
                tables.entry(standard).or_default().entry(entry).or_default().add(standing);
            }
        }
        let frameworks = tables.into_iter().map(|(standard, counts)| FrameworkTable::new(standard, counts));
        Self { suite: suite.id.clone(), name: suite.name.clone(), totals, frameworks: frameworks.collect() }
    }
}

impl FrameworkTable {
    /// The table of a framework whose cases were counted by entry.
    pub(crate) fn new(standard: Standard, mut counted: BTreeMap<String, CaseCounts>) -> Self {
        let all: Vec<String> = standard.entries().collect();
        let closed = !all.is_empty();
        let row = |entry: String, counts| EntryCounts {
            name: entry_name(standard.framework(), &entry).map(str::to_owned),
            entry,
            counts,
        };
        let known = all.into_iter().map(|entry| {
            let counts = counted.remove(&entry).unwrap_or_default();
            row(entry, counts)
        });
        let mut entries: Vec<_> = known.collect();
        entries.extend(counted.into_iter().map(|(entry, counts)| row(entry, counts)));
        let not_covered: Vec<_> =
            entries.iter().filter(|row| row.counts.decided() == 0).map(|row| row.entry.clone()).collect();
        Self {
            framework: standard.as_str().to_owned(),
            name: standard.name().to_owned(),
            closed,
            covered: entries.len() - not_covered.len(),
            entries,
            not_covered,
        }
    }
}

/// What a case belongs to.
enum Member<'r> {
    Evaluator(&'r str),
    Document(&'r str),
}

impl<'r> Member<'r> {
    fn of(run: &'r Outcome) -> Self {
        match &run.case {
            CaseInfo::Evaluator { evaluator } => Self::Evaluator(&evaluator.id),
            CaseInfo::Document { document } => Self::Document(document.case_id()),
        }
    }

    /// A case of an evaluator is named by it and by its pattern, a document by itself.
    fn named(id: &'r str, suite: &Suite) -> Self {
        if suite.documents.iter().any(|own| own == id) {
            return Self::Document(id);
        }
        Self::Evaluator(id.split_once('/').map_or(id, |(evaluator, _)| evaluator))
    }
}

fn of_evaluator(catalogue: &Catalogue, id: &str) -> Vec<(Standard, String)> {
    let standards = catalogue.get(id).map(|entry| entry.evaluator.standards.iter());
    standards.into_iter().flatten().map(|(standard, entry)| (standard, entry.to_owned())).collect()
}

/// Once for each entry, however often the document names it.
fn of_document(documents: &[DocumentEntry], id: &str) -> Vec<(Standard, String)> {
    let mappings = documents.iter().filter(|document| document.id == id).flat_map(|own| &own.mappings);
    let mut entries: Vec<_> = mappings
        .filter_map(|(framework, id)| {
            let standard = Standard::of_framework(framework)?;
            Some((standard, standard.entry(id).ok()?))
        })
        .collect();
    entries.sort();
    entries.dedup();
    entries
}
