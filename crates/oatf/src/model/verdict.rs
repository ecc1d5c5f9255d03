//! What evaluation says.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{AttackResult, IndicatorResult, Tier};

/// What one indicator found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndicatorVerdict {
    /// The indicator.
    pub indicator_id: String,
    /// What it found.
    pub result: IndicatorResult,
    /// When. The evaluation functions have no clock, so whoever calls them sets it.
    pub timestamp: Option<SystemTime>,
    /// What matched, or why nothing could be said.
    pub evidence: Option<String>,
    /// The tool that says so; set by that tool.
    pub source: Option<String>,
}

/// What became of an attack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttackVerdict {
    /// The attack, when it has an id.
    pub attack_id: Option<String>,
    /// What became of it.
    pub result: AttackResult,
    /// The worst tier among the matched indicators that have one.
    pub max_tier: Option<Tier>,
    /// All indicator verdicts, in the order of the document.
    pub indicator_verdicts: Vec<IndicatorVerdict>,
    /// How many of each.
    pub evaluation_summary: EvaluationSummary,
    /// When. Set by whoever calls.
    pub timestamp: Option<SystemTime>,
    /// The tool that says so; set by that tool.
    pub source: Option<String>,
}

/// How many indicators gave which result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvaluationSummary {
    /// Matched.
    pub matched: u64,
    /// Evaluated, and did not match.
    pub not_matched: u64,
    /// Could not be evaluated on what was seen.
    pub error: u64,
    /// Were not evaluated.
    pub skipped: u64,
}
