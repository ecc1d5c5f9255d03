//! What was imported and what was left out, for people and for other programs.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::convert::ImportedRule;
use crate::reason::{Disagreement, ImportNote, LeftOut, LeftOutReason, SkippedCondition};
use crate::test::{RuleTest, TestLabel};

/// What became of the rules of a folder.
#[derive(Clone, Debug, Serialize)]
pub struct AtrReport<'r> {
    /// The version of this form.
    version: u32,
    /// Counts.
    pub totals: AtrTotals,
    /// The rules that have a document, by file.
    documents: Vec<DocumentEntry<'r>>,
    /// The rules that have none, by file.
    left_out: &'r [LeftOut],
}

/// Counts of an [`AtrReport`].
#[derive(Clone, Debug, Default, Serialize)]
pub struct AtrTotals {
    /// Rules that were read.
    pub rules: usize,
    /// Rules with a document.
    pub documents: usize,
    /// Those of them whose document lacks a condition, or differs from the rule otherwise.
    pub partial: usize,
    /// Rules without a document.
    pub left_out: usize,
    /// The reasons of those.
    pub left_out_by_reason: BTreeMap<LeftOutReason, usize>,
    /// Conditions that documents have.
    pub conditions: usize,
    /// Conditions that documents lack.
    pub conditions_skipped: usize,
    /// The reasons of those.
    pub skipped_by_reason: BTreeMap<LeftOutReason, usize>,
    /// Indicators of all documents.
    pub indicators: usize,
    /// Tests of rules with a document.
    pub tests: usize,
    /// Those of them on which the document and the author of the rule agree.
    pub tests_agreed: usize,
    /// Why they disagree on the others.
    pub disagreements: BTreeMap<Disagreement, usize>,
    /// Tests of rules without a document.
    pub tests_left_out: usize,
}

#[derive(Clone, Debug, Serialize)]
struct DocumentEntry<'r> {
    id: &'r str,
    title: &'r str,
    file: &'r Path,
    conditions: usize,
    indicators: usize,
    tests: usize,
    skipped: &'r [SkippedCondition],
    notes: &'r [ImportNote],
    disagreements: Vec<DisagreementEntry>,
}

#[derive(Clone, Debug, Serialize)]
struct DisagreementEntry {
    label: TestLabel,
    number: usize,
    because: Disagreement,
}

impl<'r> AtrReport<'r> {
    /// The report on what [`load`](crate::load) gave. Every test is evaluated.
    pub fn new(imported: &'r [ImportedRule], left_out: &'r [LeftOut]) -> Self {
        let documents: Vec<DocumentEntry<'r>> = imported.iter().map(entry).collect();
        let mut totals = AtrTotals {
            rules: imported.len() + left_out.len(),
            documents: imported.len(),
            partial: imported.iter().filter(|rule| !rule.is_whole()).count(),
            left_out: left_out.len(),
            tests_left_out: left_out.iter().map(|rule| rule.tests).sum(),
            ..AtrTotals::default()
        };
        for rule in left_out {
            *totals.left_out_by_reason.entry(rule.reason).or_default() += 1;
        }
        for document in &documents {
            totals.conditions += document.conditions;
            totals.conditions_skipped += document.skipped.len();
            totals.indicators += document.indicators;
            totals.tests += document.tests;
            totals.tests_agreed += document.tests - document.disagreements.len();
            for skipped in document.skipped {
                *totals.skipped_by_reason.entry(skipped.reason).or_default() += 1;
            }
            for disagreement in &document.disagreements {
                *totals.disagreements.entry(disagreement.because).or_default() += 1;
            }
        }
        Self { version: 1, totals, documents, left_out }
    }

    /// Whether everything that the rules say is in documents.
    pub fn is_whole(&self) -> bool {
        self.totals.left_out == 0 && self.totals.partial == 0
    }
}

fn entry(rule: &ImportedRule) -> DocumentEntry<'_> {
    let disagreement = |test: &RuleTest| {
        let because = rule.disagreement(test)?;
        Some(DisagreementEntry { label: test.label, number: test.number, because })
    };
    DocumentEntry {
        id: &rule.id,
        title: &rule.title,
        file: &rule.file,
        conditions: rule.conditions,
        indicators: rule.compiled.indicators().len(),
        tests: rule.tests.len(),
        skipped: &rule.skipped,
        notes: &rule.notes,
        disagreements: rule.tests.iter().filter_map(disagreement).collect(),
    }
}
