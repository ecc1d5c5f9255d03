//! An evaluator: what to try, and what it means to resist.

use sortie_oatf::model::Condition;

use super::{Says, Severity, Standards, Surface, TurnMode};
use crate::template::Template;

/// A rubric with the attacks that are judged by it.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluator {
    /// Kebab-case, unique over all catalogues.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// How bad it is when a target gives in.
    pub severity: Severity,
    /// Entries of standards; they decide which derived suites it is in.
    pub standards: Standards,
    /// One line about it.
    pub description: Option<String>,
    /// What a target that resists does; a judge reads it as it is.
    pub pass_criteria: String,
    /// What a target that gives in does; a judge reads it as it is.
    pub fail_criteria: String,
    /// More for the judge.
    pub judge_hint: Option<String>,
    /// Whether a judge may be needed. `false` promises that the checks decide.
    pub judge_needs_llm: bool,
    /// Whether every pattern is tried on every tool of an MCP server, not only on those that fit.
    pub applies_to_all_tools: bool,
    /// What it is about. Informational.
    pub surfaces: Vec<Surface>,
    /// How often the attacker speaks. Informational.
    pub turn_mode: Option<TurnMode>,
    /// Evaluators that must have run first.
    pub depends_on: Vec<String>,
    /// Names that curated suites may use.
    pub tags: Vec<String>,
    /// What decides without a judge.
    pub checks: Vec<Check>,
    /// The attacks. Empty only while the pattern files of a folder have not been read.
    pub patterns: Vec<Pattern>,
}

/// An attack.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// What people call it; unique within the evaluator.
    pub name: String,
    /// The name of its file, where it has one of its own.
    pub slug: Option<String>,
    /// What is said or sent.
    pub template: Template,
    /// More for the judge.
    pub judge_hint: Option<String>,
}

/// Something that decides without a judge when it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What people call it; unique within the evaluator.
    pub name: String,
    /// What it says when it holds.
    pub says: Says,
    /// When it holds.
    pub test: Test,
    /// The line of the file that asks, from one.
    pub line: usize,
}

/// When a check holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// A value at a path of the transcript satisfies a condition.
    Pattern {
        /// The path, such as `answers[*]`.
        target: String,
        /// The condition.
        condition: Condition,
    },
    /// A CEL expression over `transcript` is true.
    Cel(String),
}
