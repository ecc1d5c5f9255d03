//! Compiled documents on messages.

use std::time::Duration;

use serde_json::Value;
use sortie_expr::path::MAX_PATH_DEPTH;
use sortie_oatf::compile::MAX_EXCERPT_CHARS;
use sortie_oatf::evaluate::{evaluate_extractor, evaluate_indicator, evaluate_trigger};
use sortie_oatf::model::{
    Condition, ExtractorSource, Indicator, ProtocolEvent, SemanticExamples, SemanticIntentClass, TriggerState,
};
use sortie_oatf::{
    Compiled, CompiledIndicator, DefaultCelEvaluator, EvaluationError, Evaluators, IndicatorOutcome,
    MatchEvidence, SemanticEvaluator, load,
};

use super::plain;

/// The first line is an indicator, the second a phase, the rest a message: what is compiled once says what the
/// one-shot functions and the plain interpreter say, and its evidence is true.
pub fn evaluate(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some((indicator, rest)) = text.split_once('\n') else { return };
    let Some((phase, message)) = rest.split_once('\n') else { return };
    let Ok(message) = serde_json::from_str::<Value>(message) else { return };
    // In flow style, so that the lines can be JSON.
    let document = format!(
        "{{oatf: '0.1', attack: {{execution: {{mode: mcp_server, phases: [{{state: {{}}, \
         trigger: {{event: tools/call}}}}, \n{phase}\n]}}, indicators: [\n{indicator}\n]}}}}"
    );
    let Ok(loaded) = load(&document) else { return };
    let compiled =
        Compiled::new(loaded.document).unwrap_or_else(|error| panic!("valid, and does not compile: {error}"));
    let attack = &compiled.document().attack;
    for (indicator, compiled) in attack.indicators.iter().flatten().zip(compiled.indicators()) {
        check_indicator(indicator, compiled, &message);
    }
    let phases = attack.execution.actors.iter().flatten().flat_map(|actor| &actor.phases);
    let compiled_phases = compiled.actors().iter().flat_map(|actor| &actor.phases);
    for (phase, compiled) in phases.zip(compiled_phases) {
        for (extractor, compiled) in phase.extractors.iter().flatten().zip(&compiled.extractors) {
            let source = ExtractorSource::Request;
            assert_eq!(compiled.extract(&message, source), evaluate_extractor(extractor, &message, source));
        }
        if let (Some(trigger), Some(compiled)) = (&phase.trigger, &compiled.trigger) {
            for seconds in [0, 5, u64::MAX] {
                let elapsed = Duration::from_secs(seconds);
                let event_type = trigger.event.clone().unwrap_or_default();
                let event = ProtocolEvent { event_type, content: message.clone() };
                let (mut state, mut other) = (TriggerState::default(), TriggerState::default());
                let fast = compiled.evaluate(Some((&event.event_type, &message)), elapsed, &mut state);
                assert_eq!(fast, evaluate_trigger(trigger, Some(&event), elapsed, &mut other));
                assert_eq!(state, other);
            }
        }
    }
}

fn check_indicator(indicator: &Indicator, compiled: &CompiledIndicator, message: &Value) {
    let evaluators = Evaluators { cel: Some(&DefaultCelEvaluator), semantic: Some(&Letters) };
    let outcome = compiled.evaluate(message, evaluators);
    let context = || format!("{indicator:?}\non {message}");
    assert_eq!(compiled.evaluate(message, evaluators), outcome, "not the same twice: {}", context());
    match (compiled.is_match(message, evaluators), &outcome) {
        (Ok(matched), IndicatorOutcome::Matched(_) | IndicatorOutcome::NotMatched) => {
            assert_eq!(matched, matches!(outcome, IndicatorOutcome::Matched(_)), "{}", context());
        }
        (Err(_), IndicatorOutcome::Error(_)) => {}
        (fast, slow) => panic!("{fast:?} is not {slow:?}: {}", context()),
    }
    let once = evaluate_indicator(indicator, message, evaluators.cel, evaluators.semantic);
    assert_eq!(once.result, outcome.result(), "{}", context());
    if let IndicatorOutcome::Matched(evidence) = &outcome {
        check_evidence(evidence, message, &context);
    }
    if let Some(condition) = indicator.pattern.as_ref().and_then(|pattern| pattern.condition.as_ref())
        && let Some(condition) = plain_condition(condition)
        && numbers_are_known(&condition)
        && numbers_are_known(message)
    {
        let target = indicator.pattern.as_ref().and_then(|pattern| pattern.target.as_deref());
        let target = target.unwrap_or(&indicator.target);
        if target.split('.').count() <= MAX_PATH_DEPTH {
            let expected = plain::pattern(target, &condition, message);
            assert_eq!(
                matches!(outcome, IndicatorOutcome::Matched(_)),
                expected,
                "the plain one differs: {}",
                context()
            );
        }
    }
}

fn check_evidence(evidence: &MatchEvidence, message: &Value, context: &dyn Fn() -> String) {
    let Some(excerpt) = &evidence.excerpt else {
        return assert_eq!(evidence.range, None, "{}", context());
    };
    assert!(excerpt.chars().count() <= MAX_EXCERPT_CHARS + 2, "{}", context());
    let value = plain::at(&evidence.path, message);
    let value = value.unwrap_or_else(|| panic!("nothing at `{}`: {}", evidence.path, context()));
    let text = plain::text(value);
    assert!(text.contains(excerpt.trim_matches('…')), "{excerpt:?} is not in it: {}", context());
    if let Some(range) = &evidence.range {
        assert!(text.get(range.clone()).is_some(), "{range:?} cuts a character: {}", context());
    }
}

/// A condition as it would be written, for the plain interpreter.
fn plain_condition(condition: &Condition) -> Option<Value> {
    let condition = match condition {
        // An object is written as operators if it can be: the plain interpreter would read it so.
        Condition::Value(value) => {
            return matches!(Condition::from_value(value), Ok(Condition::Value(_))).then(|| value.clone());
        }
        Condition::Match(condition) => condition,
    };
    let mut operators = serde_json::Map::new();
    for (name, text) in [
        ("contains", &condition.contains),
        ("starts_with", &condition.starts_with),
        ("ends_with", &condition.ends_with),
        ("regex", &condition.regex),
    ] {
        operators.extend(text.clone().map(|text| (name.to_owned(), text.into())));
    }
    for (name, number) in
        [("gt", &condition.gt), ("lt", &condition.lt), ("gte", &condition.gte), ("lte", &condition.lte)]
    {
        operators.extend(number.clone().map(|number| (name.to_owned(), number.into())));
    }
    operators.extend(condition.any_of.clone().map(|values| ("any_of".to_owned(), values.into())));
    operators.extend(condition.exists.map(|exists| ("exists".to_owned(), exists.into())));
    (!operators.is_empty()).then_some(operators.into())
}

/// The plain interpreter compares only the numbers of its table.
fn numbers_are_known(value: &Value) -> bool {
    match value {
        Value::Number(_) => (0..plain::NUMBERS.len()).any(|at| plain::number(at) == *value),
        Value::Array(items) => items.iter().all(numbers_are_known),
        Value::Object(fields) => fields.values().all(numbers_are_known),
        _ => true,
    }
}

/// Means what it says: the share of the intent's letters that the text has.
struct Letters;

impl SemanticEvaluator for Letters {
    fn evaluate(
        &self,
        text: &str,
        intent: &str,
        _: Option<SemanticIntentClass>,
        _: Option<f64>,
        _: Option<&SemanticExamples>,
    ) -> Result<f64, EvaluationError> {
        let there = intent.chars().filter(|letter| text.contains(*letter)).count();
        // Both are at most the length of an input.
        #[allow(clippy::cast_precision_loss)]
        Ok(there as f64 / intent.chars().count().max(1) as f64)
    }
}
