//! The catalogue as a file: one JSON value for each class, the same bytes for the same evaluators.

use serde::Serialize;

use crate::catalogue::{Catalogue, CatalogueEntry};
use crate::model::{Says, Severity, Surface, TargetClass, TurnMode};
use crate::suites::Suites;

/// The version of the catalogue's form.
const CATALOGUE_VERSION: u32 = 1;

#[derive(Serialize)]
struct Written<'c> {
    version: u32,
    catalogue: TargetClass,
    evaluators: Vec<WrittenEntry<'c>>,
}

#[derive(Serialize)]
struct WrittenEntry<'c> {
    id: &'c str,
    name: &'c str,
    severity: Severity,
    file: &'c str,
    categories: &'c [String],
    suites: Vec<&'c str>,
    standards: serde_json::Map<String, serde_json::Value>,
    description: Option<&'c str>,
    pass_criteria: &'c str,
    fail_criteria: &'c str,
    judge_hint: Option<&'c str>,
    judge_needs_llm: bool,
    applies_to_all_tools: bool,
    surfaces: &'c [Surface],
    turn_mode: Option<TurnMode>,
    depends_on: &'c [String],
    tags: &'c [String],
    fixtures: bool,
    checks: Vec<WrittenCheck<'c>>,
    patterns: Vec<WrittenPattern<'c>>,
}

#[derive(Serialize)]
struct WrittenCheck<'c> {
    name: &'c str,
    says: Says,
}

#[derive(Serialize)]
struct WrittenPattern<'c> {
    name: &'c str,
    template: &'c str,
    placeholders: Vec<&'c str>,
    judge_hint: Option<&'c str>,
}

impl Catalogue {
    /// One catalogue as JSON, with a line feed at its end.
    pub fn to_json(&self, class: TargetClass, suites: &Suites) -> String {
        let evaluators = self.of(class).map(|entry| written(entry, suites)).collect();
        let written = Written { version: CATALOGUE_VERSION, catalogue: class, evaluators };
        // Its keys are strings and its values have a JSON form, so nothing can go wrong.
        let mut text = serde_json::to_string_pretty(&written).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn written<'c>(entry: &'c CatalogueEntry, suites: &'c Suites) -> WrittenEntry<'c> {
    let evaluator = &entry.evaluator;
    let standards = evaluator.standards.iter();
    WrittenEntry {
        id: &evaluator.id,
        name: &evaluator.name,
        severity: evaluator.severity,
        file: &entry.file,
        categories: &entry.categories,
        suites: suites.of_evaluator(&evaluator.id).collect(),
        standards: standards.map(|(standard, id)| (standard.to_string(), id.into())).collect(),
        description: evaluator.description.as_deref(),
        pass_criteria: &evaluator.pass_criteria,
        fail_criteria: &evaluator.fail_criteria,
        judge_hint: evaluator.judge_hint.as_deref(),
        judge_needs_llm: evaluator.judge_needs_llm,
        applies_to_all_tools: evaluator.applies_to_all_tools,
        surfaces: &evaluator.surfaces,
        turn_mode: evaluator.turn_mode,
        depends_on: &evaluator.depends_on,
        tags: &evaluator.tags,
        fixtures: entry.fixtures.is_some(),
        checks: evaluator
            .checks
            .iter()
            .map(|check| WrittenCheck { name: &check.name, says: check.says })
            .collect(),
        patterns: evaluator
            .patterns
            .iter()
            .map(|pattern| WrittenPattern {
                name: &pattern.name,
                template: pattern.template.text(),
                placeholders: pattern.template.placeholders(),
                judge_hint: pattern.judge_hint.as_deref(),
            })
            .collect(),
    }
}
