//! Coverage by entries of frameworks: which of them were tried, and what came of it.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use sortie_detect::Standing;
use sortie_evaluators::Standard;

use super::view::short;
use crate::baseline::observed;
use crate::human::coverage;
use crate::rules::{RuleInfo, rule_id};
use crate::text::line;
use crate::{CaseCounts, FrameworkTable, Report};

/// So many undecided cases are named for an entry.
const NAMED: usize = 12;

/// All cases of a report, by the entries of frameworks that their documents and evaluators are mapped to.
#[derive(Debug, Serialize)]
pub(super) struct CoverageView {
    frameworks: Vec<FrameworkView>,
    /// How many cases are mapped to no entry.
    unmapped: usize,
}

/// A framework.
#[derive(Debug, Serialize)]
struct FrameworkView {
    name: String,
    entries: Vec<EntryView>,
    /// How many entries have a decided case, in a sentence.
    sentence: String,
}

/// An entry of a framework.
#[derive(Debug, Serialize)]
struct EntryView {
    entry: String,
    name: Option<String>,
    counts: CaseCounts,
    /// Attempts that were exploited, of those that were decided: `3 of 40`.
    hits: String,
    /// The first of the undecided cases by name, and how many more there are.
    undecided: Option<String>,
}

/// What is counted for an entry besides its cases.
#[derive(Debug, Default)]
struct EntryDetails {
    hits: u64,
    attempts: u64,
    undecided: Vec<String>,
}

impl CoverageView {
    /// `None` where nothing is known about any case.
    pub(super) fn of(report: &Report, rules: &[RuleInfo]) -> Option<Self> {
        let known: HashMap<&str, &RuleInfo> = rules.iter().map(|rule| (rule.id.as_str(), rule)).collect();
        let mut counts: BTreeMap<Standard, BTreeMap<String, CaseCounts>> = BTreeMap::new();
        let mut details: HashMap<(Standard, String), EntryDetails> = HashMap::new();
        let mut unmapped = 0;
        let played = report.runs.iter().map(|run| (run.id.as_str(), rule_id(run), Some(run)));
        // A case of an evaluator is called after it and its pattern.
        let missed = report.unfinished.iter().map(|id| {
            let rule = if known.contains_key(id.as_str()) { id } else { id.split('/').next().unwrap_or(id) };
            (id.as_str(), rule, None)
        });
        for (id, rule, run) in played.chain(missed) {
            let entries = known.get(rule).map(|rule| rule.entries.as_slice()).unwrap_or_default();
            unmapped += usize::from(entries.is_empty());
            let standing = run.map_or(Some(Standing::Undecided), |run| run.standing);
            for (standard, entry) in entries {
                counts.entry(*standard).or_default().entry(entry.clone()).or_default().add(standing);
                let details = details.entry((*standard, entry.clone())).or_default();
                if let Some(run) = run {
                    let (seen, _) = observed(run);
                    details.hits += u64::from(seen.hits);
                    details.attempts += u64::from(seen.n());
                }
                if matches!(standing, Some(Standing::Undecided | Standing::Skipped)) {
                    details.undecided.push(short(id));
                }
            }
        }
        let frameworks = counts.into_iter().map(|(standard, counts)| {
            let table = FrameworkTable::new(standard, counts);
            let sentence = line(&coverage(&table));
            let entries = table.entries.into_iter().map(|row| {
                let details = details.remove(&(standard, row.entry.clone())).unwrap_or_default();
                EntryView {
                    entry: short(&row.entry),
                    name: row.name.as_deref().map(short),
                    counts: row.counts,
                    hits: match details.attempts {
                        0 => "–".to_owned(),
                        attempts => format!("{} of {attempts}", details.hits),
                    },
                    undecided: named(&details.undecided),
                }
            });
            FrameworkView { name: short(&table.name), entries: entries.collect(), sentence }
        });
        let frameworks: Vec<_> = frameworks.collect();
        (!frameworks.is_empty()).then_some(Self { frameworks, unmapped })
    }
}

fn named(ids: &[String]) -> Option<String> {
    let more = match ids.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!ids.is_empty()).then(|| format!("{}{more}", ids[..ids.len().min(NAMED)].join(", ")))
}
