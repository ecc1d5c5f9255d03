//! The document that is made of a case.

use serde_json::{Value, json};
use sortie_detect::{EvaluatorCase, EvidenceSource, Outcome};
use sortie_evaluators::CatalogueEntry;
use sortie_oatf::extension::{Extension, Need, RequiredDelivery};
use sortie_oatf::{parse, serialize};

use super::FreezeError;
use super::actor::Played;
use super::indicators::Look;

/// What a document says beside its attack.
pub(super) struct Title<'t> {
    pub(super) id: &'t str,
    pub(super) outcome: &'t Outcome,
    pub(super) case: &'t EvaluatorCase,
    pub(super) entry: &'t CatalogueEntry,
}

/// The text of the document.
pub(super) fn text(title: &Title<'_>, played: &Played, looks: &[Look]) -> Result<String, FreezeError> {
    let Title { id, outcome, case, entry } = title;
    let evaluator = &entry.evaluator;
    let mut document = json!({
        "oatf": "0.1",
        "attack": {
            "id": id,
            "name": name(title),
            "version": 1,
            "status": "draft",
            "description": description(title),
            "severity": {"level": evaluator.severity.as_str(), "confidence": confidence(outcome)},
            "classification": {"tags": ["frozen", evaluator.id]},
            "x-sortie": extension(case, played),
            "execution": {"actors": [played.actor]},
            // Those that were found come in their place.
            "indicators": [{"target": "x", "pattern": {"contains": "x"}}],
        },
    });
    let mappings: Vec<Value> = evaluator
        .standards
        .iter()
        .map(|(standard, entry)| json!({"framework": standard.framework(), "id": entry}))
        .collect();
    if !mappings.is_empty() {
        document["attack"]["classification"]["mappings"] = mappings.into();
    }
    let mut document = parse(&document.to_string()).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        FreezeError::Unwritable(errors.join("; "))
    })?;
    document.attack.indicators = Some(looks.iter().map(|look| look.indicator.clone()).collect());
    Ok(format!("{}{}", comment(title), serialize(&document)))
}

/// What must be served, and what a server must offer: one that no longer has the tool has not resisted.
fn extension(case: &EvaluatorCase, played: &Played) -> Extension {
    let actor = played.actor["name"].as_str().unwrap_or_default().to_owned();
    let needs = case.tool.iter().map(|tool| Need { actor: actor.clone(), tools: vec![tool.clone()] });
    Extension {
        needs: needs.collect(),
        delivered: vec![RequiredDelivery {
            actor,
            phase: Some(played.last.clone()),
            surface: played.asks.to_owned(),
            contains: None,
        }],
        ..Extension::default()
    }
}

pub(super) fn name(title: &Title<'_>) -> String {
    let evaluator = &title.entry.evaluator;
    match &title.case.pattern {
        Some(pattern) => format!("{}: {pattern}", evaluator.name),
        None => evaluator.name.clone(),
    }
}

/// What a judge said is less sure than what a check finds again.
fn confidence(outcome: &Outcome) -> u32 {
    if outcome.evidence.iter().any(|found| found.by == EvidenceSource::Check) { 90 } else { 60 }
}

fn description(title: &Title<'_>) -> String {
    let evaluator = &title.entry.evaluator;
    let about = evaluator.description.as_deref().unwrap_or(&evaluator.name).trim().trim_end_matches('.');
    let mut text = format!("{about}. The target gave in to this once, and must not again.\n");
    if let Some(tool) = &title.case.tool {
        text = format!("{} It takes a server that has the tool `{tool}`.\n", text.trim_end());
    }
    text
}

/// Where it comes from. A case's id and a reason may hold anything, a line break too.
fn comment(title: &Title<'_>) -> String {
    let line = |text: &str| {
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect::<String>()
    };
    format!(
        "# Frozen by `sortie freeze` from the case {}\n# of the evaluator {}: {}.\n",
        line(&title.outcome.id),
        line(&title.entry.evaluator.id),
        line(title.outcome.verdict.reason.as_deref().unwrap_or_default().trim_end_matches('.')),
    )
}
