//! The suites of entry points and evaluation.

use std::collections::HashMap;

use serde_json::{Value, json};
use sortie_oatf::model::{
    Attack, Correlation, CorrelationLogic, Document, IndicatorResult, IndicatorVerdict, SemanticExamples,
    SemanticIntentClass,
};
use sortie_oatf::{
    DefaultCelEvaluator, EvaluationError, Evaluators, IndicatorOutcome, SemanticEvaluator, compute_verdict,
    fragment, normalize, parse, serialize, validate,
};
use sortie_syntax::Diagnostic;

use super::Checked;
use super::failure::{BadFixture, CaseFailure};
use super::fixture::{Check, Fields, expect, expect_value};

pub(super) fn for_folder(folder: &str) -> Option<Check> {
    Some(match folder {
        "validate" => check_validate,
        "normalize" => check_normalize,
        "roundtrip" => check_roundtrip,
        "evaluate" => check_evaluate,
        "verdict" => check_verdict,
        _ => return None,
    })
}

/// A finding as a fixture sees it.
struct Found {
    rule: &'static str,
    path: String,
}

/// What `parse` and `validate` say about a text: errors, and warnings.
fn findings(text: &str) -> (Vec<Found>, Vec<Found>) {
    let warning = |finding: &Diagnostic| Found {
        rule: finding.code,
        path: finding.path.as_ref().map(ToString::to_string).unwrap_or_default(),
    };
    match parse(text) {
        // A wrong enum value, and what else a rule forbids and a type cannot hold, is found while parsing.
        Err(errors) => (errors.iter().map(|error| warning(&error.diagnostic)).collect(), Vec::new()),
        Ok(document) => {
            let result = validate(&document);
            let errors =
                result.errors.iter().map(|error| Found { rule: error.rule, path: error.path.clone() });
            (errors.collect(), result.warnings.iter().map(warning).collect())
        }
    }
}

fn check_validate(case: &mut Fields<'_>) -> Checked {
    let (errors, warnings) = findings(&case.text("input")?);
    let mut expected = case.below("expected")?;
    if let Some(valid) = expected.optional_value("valid") {
        let listed = list(&errors);
        expect(&format!("valid (errors: {listed})"), &Value::Bool(errors.is_empty()), &valid)?;
    }
    for (key, found) in [("errors", &errors), ("warnings", &warnings)] {
        if let Some(node) = expected.take(key) {
            let wanted = expected.to_value(node);
            let wanted = wanted.as_array().ok_or(BadFixture::Type(key, "a list"))?;
            // The official format lists the findings that must be there. An empty list means none.
            if wanted.is_empty() && !found.is_empty() {
                return Err(CaseFailure::NotNone { key, found: list(found) });
            }
            for wanted in wanted {
                check_listed(key, wanted, found)?;
            }
        }
    }
    Ok(expected.finish()?)
}

fn check_listed(key: &'static str, wanted: &Value, found: &[Found]) -> Checked {
    let fields = wanted.as_object().ok_or(BadFixture::EntryType(key))?;
    if let Some(unknown) = fields.keys().find(|field| !matches!(field.as_str(), "rule" | "path")) {
        return Err(BadFixture::UnknownEntryField(unknown.clone(), key).into());
    }
    let rule = fields.get("rule").and_then(Value::as_str).ok_or(BadFixture::NoRule)?;
    let path = fields.get("path").map(|path| path.as_str().ok_or(BadFixture::Type("path", "a string")));
    let path = path.transpose()?;
    let there = found.iter().any(|found| found.rule == rule && path.is_none_or(|path| found.path == path));
    if there {
        return Ok(());
    }
    let (rule, path) = (rule.to_owned(), path.map(ToOwned::to_owned));
    Err(CaseFailure::NotListed { key, rule, path, found: list(found) })
}

fn list(found: &[Found]) -> String {
    if found.is_empty() {
        return "none".to_owned();
    }
    let listed: Vec<_> = found.iter().map(|found| format!("{} at `{}`", found.rule, found.path)).collect();
    listed.join(", ")
}

fn document(what: &'static str, text: &str) -> Result<Document, CaseFailure> {
    parse(text).map_err(|errors| CaseFailure::Unparsed { what, errors })
}

fn check_normalize(case: &mut Fields<'_>) -> Checked {
    let input = document("the input", &case.text("input")?)?;
    let expected = document("the expectation", &case.text("expected")?)?;
    let errors = validate(&input).errors;
    if let Some(error) = errors.into_iter().next() {
        return Err(BadFixture::Invalid(error).into());
    }
    let found = normalize(&input);
    expect("the normalised document", &found, &expected)?;
    expect("normalising again", &normalize(&found), &found)
}

fn check_roundtrip(case: &mut Fields<'_>) -> Checked {
    let before = normalize(&document("the input", &case.text("input")?)?);
    let text = serialize(&before);
    let after = normalize(&document("the serialised document", &text)?);
    let mut expected = case.below("expected")?;
    expect("identical", &json!(before == after), &expected.value("identical")?)?;
    Ok(expected.finish()?)
}

/// Stands in for a semantic engine, as the fixtures ask: it gives the same score to everything.
struct Scripted(f64);

impl SemanticEvaluator for Scripted {
    fn evaluate(
        &self,
        _: &str,
        _: &str,
        _: Option<SemanticIntentClass>,
        _: Option<f64>,
        _: Option<&SemanticExamples>,
    ) -> Result<f64, EvaluationError> {
        Ok(self.0)
    }
}

fn check_evaluate(case: &mut Fields<'_>) -> Checked {
    let mut input = case.below("input")?;
    let indicator = input.read("indicator", fragment::indicator)?;
    let message = input.value("message")?;
    let cel = match input.optional_value("cel_evaluator") {
        None => true,
        Some(word) if word == "present" => true,
        Some(word) if word == "absent" => false,
        Some(other) => return Err(BadFixture::CelEvaluator(other).into()),
    };
    let semantic = match input.take("semantic_evaluator") {
        None => None,
        Some(node) => {
            let mut fields = input.fields_of(node)?;
            let present = fields.value("present")? == true;
            let score = fields.optional_value("mock_score").and_then(|score| score.as_f64());
            fields.finish()?;
            present
                .then(|| score.map(Scripted).ok_or(BadFixture::Type("mock_score", "a number")))
                .transpose()?
        }
    };
    input.finish()?;
    let evaluators = Evaluators {
        cel: cel.then_some(&DefaultCelEvaluator as _),
        semantic: semantic.as_ref().map(|scripted| scripted as _),
    };
    let outcome = IndicatorOutcome::of(&indicator, &message, evaluators);
    let why = outcome.evidence().unwrap_or_default();
    expect(&format!("the result ({why})"), &outcome.result().as_str(), &case.text("expected")?.as_str())?;
    if let Some(kind) = case.optional_value("expected_error_kind") {
        let found = match &outcome {
            IndicatorOutcome::Error(error) => error.kind.as_str(),
            _ => "",
        };
        expect_value("the error kind", &json!(found), &kind)?;
    }
    Ok(())
}

fn check_verdict(case: &mut Fields<'_>) -> Checked {
    let mut input = case.below("input")?;
    let logic = input.text("correlation_logic")?;
    let logic: CorrelationLogic =
        logic.parse().map_err(|()| BadFixture::UnknownWord(logic, "a correlation logic"))?;
    let mut indicators = Vec::new();
    for node in input.list("indicators")? {
        // These indicators have an id and a tier only: nothing is evaluated.
        indicators.push(input.part(node, &["P-010"], fragment::indicator)?);
    }
    let mut verdicts = HashMap::new();
    for node in input.list("verdicts")? {
        let mut fields = input.fields_of(node)?;
        let indicator_id = fields.text("indicator_id")?;
        let result = fields.text("result")?;
        let result: IndicatorResult =
            result.parse().map_err(|()| BadFixture::UnknownWord(result, "a result"))?;
        fields.take("timestamp");
        let evidence = fields.optional_value("evidence").map(|evidence| evidence.to_string());
        fields.finish()?;
        let verdict = IndicatorVerdict {
            indicator_id: indicator_id.clone(),
            result,
            timestamp: None,
            evidence,
            source: None,
        };
        verdicts.insert(indicator_id, verdict);
    }
    input.finish()?;
    let attack = Attack {
        indicators: Some(indicators),
        correlation: Some(Correlation { logic: Some(logic) }),
        ..Attack::default()
    };
    let verdict = compute_verdict(&attack, &verdicts);
    let mut expected = case.below("expected")?;
    expect("the result", &verdict.result.as_str(), &expected.text("result")?.as_str())?;
    let summary = verdict.evaluation_summary;
    let found = json!({
        "matched": summary.matched, "not_matched": summary.not_matched,
        "error": summary.error, "skipped": summary.skipped,
    });
    expect_value("the summary", &found, &expected.value("evaluation_summary")?)?;
    if let Some(tier) = expected.take("max_tier") {
        let tier = expected.to_value(tier);
        expect_value("the tier", &json!(verdict.max_tier.map(sortie_oatf::model::Tier::as_str)), &tier)?;
    }
    Ok(expected.finish()?)
}
