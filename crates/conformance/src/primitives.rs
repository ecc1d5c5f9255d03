//! One suite for each primitive.

use std::collections::HashMap;

use serde_json::{Value, json};
use sortie_expr::path::{resolve_simple_path, resolve_wildcard_path};
use sortie_oatf::evaluate::{
    compute_effective_state, evaluate_condition, evaluate_extractor, evaluate_predicate, evaluate_trigger,
    select_response,
};
use sortie_oatf::model::{
    ExtractorSource, ProtocolEvent, ResponseEntry, TriggerResult, TriggerState, extract_protocol,
};
use sortie_oatf::template::{interpolate_template, interpolate_value};
use sortie_oatf::{fragment, parse_duration};
use sortie_syntax::yaml::Node;

use super::Checked;
use super::fixture::{Check, Fields, expect_value};

pub(super) fn for_file(name: &str) -> Option<Check> {
    Some(match name {
        "resolve-simple-path.yaml" => check_simple_path,
        "resolve-wildcard-path.yaml" => check_wildcard_path,
        "parse-duration.yaml" => check_duration,
        "evaluate-condition.yaml" => check_condition,
        "evaluate-predicate.yaml" => check_predicate,
        "interpolate-template.yaml" => check_template,
        "interpolate-value.yaml" => check_value,
        "evaluate-extractor.yaml" => check_extractor,
        "select-response.yaml" => check_response,
        "evaluate-trigger.yaml" => check_trigger,
        "extract-protocol.yaml" => check_protocol,
        "compute-effective-state.yaml" => check_state,
        _ => return None,
    })
}

fn check_simple_path(case: &mut Fields<'_>) -> Checked {
    let mut input = case.below("input")?;
    let (path, value) = (input.text("path")?, input.value("value")?);
    input.finish()?;
    let expected = case.value("expected")?;
    let found = match resolve_simple_path(&path, &value) {
        // A null that is there is told from nothing by this form.
        Some(Value::Null) => json!({"found": true, "value": null}),
        Some(found) => found.clone(),
        None => Value::Null,
    };
    expect_value("the value", &found, &expected)
}

fn check_wildcard_path(case: &mut Fields<'_>) -> Checked {
    let mut input = case.below("input")?;
    let (path, value) = (input.text("path")?, input.value("value")?);
    input.finish()?;
    let found: Vec<_> = resolve_wildcard_path(&path, &value).into_iter().cloned().collect();
    let mut expected = case.below("expected")?;
    expect_value("the values", &Value::Array(found), &expected.value("values")?)?;
    expected.finish()
}

fn check_duration(case: &mut Fields<'_>) -> Checked {
    let found = match parse_duration(&case.text("input")?) {
        Ok(duration) => json!({"seconds": duration.as_secs()}),
        Err(_) => json!({"error": true}),
    };
    expect_value("the duration", &found, &case.value("expected")?)
}

fn check_condition(case: &mut Fields<'_>) -> Checked {
    let mut input = case.below("input")?;
    let node = input.need("condition")?;
    let condition = input.part(node, &[], fragment::condition)?;
    let value = input.value("value")?;
    input.finish()?;
    let found = evaluate_condition(&condition, &value);
    expect_value("the condition", &json!(found), &case.value("expected")?)
}

fn check_predicate(case: &mut Fields<'_>) -> Checked {
    let mut input = case.below("input")?;
    let node = input.need("predicate")?;
    let predicate = input.part(node, &[], fragment::predicate)?.unwrap_or_default();
    let value = input.value("value")?;
    input.finish()?;
    let found = evaluate_predicate(&predicate, &value);
    expect_value("the predicate", &json!(found), &case.value("expected")?)
}

fn extractors(input: &mut Fields<'_>) -> Result<HashMap<String, String>, String> {
    let value = input.value("extractors")?;
    let fields = value.as_object().ok_or("`extractors` must be a mapping")?;
    let entries = fields.iter().map(|(name, value)| {
        let value = value.as_str().ok_or("extracted values are strings")?;
        Ok((name.clone(), value.to_owned()))
    });
    entries.collect()
}

fn check_template(case: &mut Fields<'_>) -> Checked {
    let mut input = case.below("input")?;
    let template = input.text("template")?;
    let extractors = extractors(&mut input)?;
    let (request, response) = (input.optional_value("request"), input.optional_value("response"));
    input.finish()?;
    let (found, _) = interpolate_template(&template, &extractors, request.as_ref(), response.as_ref());
    expect_value("the text", &json!(found), &case.value("expected")?)
}

fn check_value(case: &mut Fields<'_>) -> Checked {
    let mut input = case.below("input")?;
    let value = input.value("value")?;
    let extractors = extractors(&mut input)?;
    let (request, response) = (input.optional_value("request"), input.optional_value("response"));
    input.finish()?;
    let (found, _) = interpolate_value(&value, &extractors, request.as_ref(), response.as_ref());
    expect_value("the value", &found, &case.value("expected")?)
}

fn check_extractor(case: &mut Fields<'_>) -> Checked {
    let mut input = case.below("input")?;
    let node = input.need("extractor")?;
    let extractor = input.part(node, &[], fragment::extractor)?;
    let message = input.value("message")?;
    let direction = input.text("direction")?;
    let direction: ExtractorSource =
        direction.parse().map_err(|()| format!("`{direction}` is not a direction"))?;
    input.finish()?;
    let found = evaluate_extractor(&extractor, &message, direction);
    expect_value("the value", &json!(found), &case.value("expected")?)
}

fn check_response(case: &mut Fields<'_>) -> Checked {
    let mut input = case.below("input")?;
    let mut entries = Vec::new();
    for node in input.list("entries")? {
        let value = input.to_value(node);
        entries.push(ResponseEntry::from_value(&value).map_err(|error| error.to_string())?);
    }
    let request = input.value("request")?;
    input.finish()?;
    let found = select_response(&entries, &request);
    match found {
        None => expect_value("the entry", &Value::Null, &case.value("expected")?),
        Some(entry) => {
            let expected = case.value("expected")?;
            let found = match &entry.content {
                Some(content) => json!({"content": content}),
                None => json!({}),
            };
            expect_value("the entry", &found, &expected)
        }
    }
}

fn check_trigger(case: &mut Fields<'_>) -> Checked {
    let mut input = case.below("input")?;
    let node = input.need("trigger")?;
    let trigger = input.part(node, &[], fragment::trigger)?.unwrap_or_default();
    let event = match input.need("event")? {
        node if is_mapping(node) => {
            let mut fields = input.fields_of(node)?;
            let event =
                ProtocolEvent { event_type: fields.text("event_type")?, content: fields.value("content")? };
            fields.finish()?;
            Some(event)
        }
        _ => None,
    };
    let elapsed = parse_duration(&input.text("elapsed")?).map_err(|error| error.to_string())?;
    let mut before = input.below("state")?;
    let count = before.value("event_count")?.as_u64().ok_or("`event_count` must be a number")?;
    before.finish()?;
    input.finish()?;
    let mut state = TriggerState { event_count: count };
    let mut found = match evaluate_trigger(&trigger, event.as_ref(), elapsed, &mut state) {
        TriggerResult::Advanced { reason } => json!({"result": "advanced", "reason": reason}),
        TriggerResult::NotAdvanced => json!({"result": "not_advanced"}),
    };
    found["state"] = json!({"event_count": state.event_count});
    expect_value("the result", &found, &case.value("expected")?)
}

fn is_mapping(node: Node<'_>) -> bool {
    matches!(node.kind, sortie_syntax::yaml::NodeKind::Mapping(_))
}

fn check_protocol(case: &mut Fields<'_>) -> Checked {
    let mut input = case.below("input")?;
    let mode = input.text("mode")?;
    input.finish()?;
    expect_value("the protocol", &json!(extract_protocol(&mode)), &case.value("expected")?)
}

fn check_state(case: &mut Fields<'_>) -> Checked {
    let mut input = case.below("input")?;
    let node = input.need("phases")?;
    let phases = input.part(node, &[], fragment::phases)?.unwrap_or_default();
    let index = input.value("phase_index")?.as_u64().ok_or("`phase_index` must be a number")?;
    input.finish()?;
    let index = usize::try_from(index).map_err(|_| "`phase_index` is too large")?;
    let found = compute_effective_state(&phases, index).cloned().unwrap_or_default();
    expect_value("the state", &found, &case.value("expected")?)
}
