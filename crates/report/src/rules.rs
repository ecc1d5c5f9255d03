//! What is known about the documents and evaluators that cases come from, besides what a report says.
//!
//! Outcomes name their document or evaluator, and do not repeat what stands in it. Formats that need more, such as what it is mapped
//! to, look it up here.

use std::path::PathBuf;

use sortie_detect::{CaseInfo, Outcome};
use sortie_evaluators::{Severity, Standard};

/// A document or an evaluator, as far as reports tell about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleInfo {
    /// Its id; the name of a document without one.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it is about.
    pub description: Option<String>,
    /// When a target gives in, in the words of an evaluator.
    pub fail_criteria: Option<String>,
    /// How bad that is.
    pub severity: Option<Severity>,
    /// What it is mapped to.
    pub entries: Vec<(Standard, String)>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// The file of an evaluator, where it is the user's.
    pub file: Option<PathBuf>,
    /// The file of the user's that asks for it, and the line, where it comes with Sortie.
    pub selected_by: Option<(PathBuf, usize)>,
}

impl RuleInfo {
    /// One of which nothing is known but its id.
    pub fn new(id: impl Into<String>) -> Self {
        let id = id.into();
        Self { name: id.clone(), id, ..Self::default() }
    }
}

/// The id of the document or evaluator that a case comes from.
pub(crate) fn rule_id(run: &Outcome) -> &str {
    match &run.case {
        CaseInfo::Document { document } => document.case_id(),
        CaseInfo::Evaluator { evaluator } => &evaluator.id,
    }
}
