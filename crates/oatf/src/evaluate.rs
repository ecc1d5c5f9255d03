//! The specification's evaluation functions and primitives, one shot each.
//!
//! They compile what they are given and apply it once. Whoever evaluates many messages compiles a document
//! (see [`Compiled`](crate::Compiled)) instead.

use std::time::Duration;

use serde_json::Value;

use crate::compile::{
    CompiledCondition, CompiledExpression, CompiledExtractor, CompiledIndicator, CompiledPattern,
    CompiledPredicate, CompiledResponses, CompiledTrigger, Evaluators, IndicatorOutcome, NO_CEL,
};
use crate::error::{EvaluationError, EvaluationErrorKind};
use crate::extension_points::{CelEvaluator, SemanticEvaluator};
use crate::model::{
    Condition, ExpressionMatch, Extractor, ExtractorSource, Indicator, IndicatorVerdict, MatchPredicate,
    PatternMatch, Phase, ProtocolEvent, ResponseEntry, Trigger, TriggerResult, TriggerState,
};

/// Whether a pattern matches a message (specification §4.2). Its target is the root when it has none.
///
/// ```
/// use sortie_oatf::evaluate::evaluate_pattern;
/// use sortie_oatf::model::{Condition, PatternMatch};
/// use serde_json::json;
///
/// let pattern = PatternMatch {
///     target: Some("arguments.to".into()),
///     condition: Some(Condition::from_value(&json!({"ends_with": "@attacker.example"})).unwrap()),
///     shorthand: None,
/// };
/// assert_eq!(evaluate_pattern(&pattern, &json!({"arguments": {"to": "x@attacker.example"}})), Ok(true));
/// assert_eq!(evaluate_pattern(&pattern, &json!({"arguments": {}})), Ok(false));
/// ```
pub fn evaluate_pattern(pattern: &PatternMatch, message: &Value) -> Result<bool, EvaluationError> {
    Ok(CompiledPattern::new(pattern, "")?.is_match(message))
}

/// Whether a CEL expression holds for a message (specification §4.3).
pub fn evaluate_expression(
    expression: &ExpressionMatch,
    message: &Value,
    cel_evaluator: Option<&dyn CelEvaluator>,
) -> Result<bool, EvaluationError> {
    let missing = || EvaluationError::new(EvaluationErrorKind::UnsupportedMethod, NO_CEL);
    let cel = cel_evaluator.ok_or_else(missing)?;
    CompiledExpression::new(expression, "")?.is_match(message, cel)
}

/// What an indicator says about a message (specification §4.4).
///
/// The verdict has no timestamp: this crate reads no clock.
pub fn evaluate_indicator(
    indicator: &Indicator,
    message: &Value,
    cel_evaluator: Option<&dyn CelEvaluator>,
    semantic_evaluator: Option<&dyn SemanticEvaluator>,
) -> IndicatorVerdict {
    let evaluators = Evaluators { cel: cel_evaluator, semantic: semantic_evaluator };
    let outcome = IndicatorOutcome::of(indicator, message, evaluators);
    IndicatorVerdict {
        indicator_id: indicator.id.clone().unwrap_or_default(),
        result: outcome.result(),
        timestamp: None,
        evidence: outcome.evidence(),
        source: None,
    }
}

impl IndicatorOutcome {
    /// What an indicator says about a message, with its reasons, as evidence or a kind of error.
    pub fn of(indicator: &Indicator, message: &Value, evaluators: Evaluators<'_>) -> Self {
        match CompiledIndicator::new(indicator) {
            Ok(compiled) => compiled.evaluate(message, evaluators),
            // Without an evaluator an expression is skipped, whatever it says.
            Err(_) if indicator.expression.is_some() && evaluators.cel.is_none() => {
                IndicatorOutcome::Skipped(NO_CEL)
            }
            Err(error) => IndicatorOutcome::Error(error.into()),
        }
    }
}

/// Whether a value satisfies a condition (specification §5.3). A pattern that is not RE2 never matches.
///
/// ```
/// use sortie_oatf::evaluate::evaluate_condition;
/// use sortie_oatf::model::Condition;
/// use serde_json::json;
///
/// let condition = Condition::from_value(&json!({"regex": "^\\{\"a\":1"})).unwrap();
/// assert!(evaluate_condition(&condition, &json!({"b": 2, "a": 1})));
/// ```
pub fn evaluate_condition(condition: &Condition, value: &Value) -> bool {
    CompiledCondition::new(condition).is_ok_and(|condition| condition.matches(value))
}

/// Whether every entry of a predicate holds (specification §5.4). One with a wrong path or pattern never does.
pub fn evaluate_predicate(predicate: &MatchPredicate, value: &Value) -> bool {
    CompiledPredicate::new(predicate).is_ok_and(|predicate| predicate.matches(value))
}

/// What an extractor captures from a message (specification §5.6).
///
/// ```
/// use sortie_oatf::evaluate::evaluate_extractor;
/// use sortie_oatf::model::{Extractor, ExtractorSource, ExtractorType};
/// use serde_json::json;
///
/// let extractor = Extractor {
///     name: "file".into(),
///     source: ExtractorSource::Request,
///     r#type: ExtractorType::JsonPath,
///     selector: "$.arguments.files[0]".into(),
/// };
/// let message = json!({"arguments": {"files": ["notes.txt"]}});
/// assert_eq!(evaluate_extractor(&extractor, &message, ExtractorSource::Request).as_deref(), Some("notes.txt"));
/// assert_eq!(evaluate_extractor(&extractor, &message, ExtractorSource::Response), None);
/// ```
pub fn evaluate_extractor(
    extractor: &Extractor,
    message: &Value,
    direction: ExtractorSource,
) -> Option<String> {
    CompiledExtractor::new(extractor).ok()?.extract(message, direction)
}

/// The entry that answers a request (specification §5.7).
pub fn select_response<'e>(entries: &'e [ResponseEntry], request: &Value) -> Option<&'e ResponseEntry> {
    let index = CompiledResponses::new(entries).ok()?.select(request)?;
    entries.get(index)
}

/// Whether a phase advances (specification §5.8). `state` counts the events that matched.
pub fn evaluate_trigger(
    trigger: &Trigger,
    event: Option<&ProtocolEvent>,
    elapsed: Duration,
    state: &mut TriggerState,
) -> TriggerResult {
    let event = event.map(|event| (event.event_type.as_str(), &event.content));
    match CompiledTrigger::new(trigger) {
        Ok(trigger) => trigger.evaluate(event, elapsed, state),
        Err(_) => TriggerResult::NotAdvanced,
    }
}

/// The state in force in a phase (specification §5.10): its own, or the last one before it. `None` when no
/// phase up to it has one.
pub fn compute_effective_state(phases: &[Phase], phase_index: usize) -> Option<&Value> {
    phases.iter().take(phase_index.saturating_add(1)).rev().find_map(|phase| phase.state.as_ref())
}
