//! The catalogue as a file: one JSON value for each class, the same bytes for the same evaluators.

use serde_json::{Map, Value, json};

use crate::catalogue::{Catalogue, CatalogueEntry};
use crate::model::TargetClass;
use crate::suites::Suites;

const CATALOGUE_VERSION: u32 = 1;

impl Catalogue {
    /// One catalogue as JSON, with a line feed at its end.
    pub fn to_json(&self, class: TargetClass, suites: &Suites) -> String {
        let evaluators: Vec<Value> = self.of(class).map(|entry| written(entry, suites)).collect();
        let written = json!({"version": CATALOGUE_VERSION, "catalogue": class, "evaluators": evaluators});
        format!("{written:#}\n")
    }
}

fn written(entry: &CatalogueEntry, suites: &Suites) -> Value {
    let evaluator = &entry.evaluator;
    let standards = evaluator.standards.iter().map(|(standard, id)| (standard.to_string(), id.into()));
    let checks = evaluator.checks.iter().map(|check| json!({"name": check.name, "says": check.says}));
    let patterns = evaluator.patterns.iter().map(|pattern| {
        json!({
            "name": pattern.name,
            "template": pattern.template.text(),
            "placeholders": pattern.template.placeholders(),
            "judge_hint": pattern.judge_hint,
        })
    });
    json!({
        "id": evaluator.id,
        "name": evaluator.name,
        "severity": evaluator.severity,
        "file": entry.file,
        "categories": entry.categories,
        "suites": suites.of_evaluator(&evaluator.id).collect::<Vec<_>>(),
        "standards": standards.collect::<Map<_, _>>(),
        "description": evaluator.description,
        "pass_criteria": evaluator.pass_criteria,
        "fail_criteria": evaluator.fail_criteria,
        "judge_hint": evaluator.judge_hint,
        "judge_needs_llm": evaluator.judge_needs_llm,
        "applies_to_all_tools": evaluator.applies_to_all_tools,
        "surfaces": evaluator.surfaces,
        "turn_mode": evaluator.turn_mode,
        "depends_on": evaluator.depends_on,
        "tags": evaluator.tags,
        "fixtures": entry.fixtures.is_some(),
        "checks": checks.collect::<Vec<_>>(),
        "patterns": patterns.collect::<Vec<_>>(),
    })
}
