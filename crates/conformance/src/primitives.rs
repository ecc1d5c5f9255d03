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
use sortie_syntax::yaml::NodeKind;

use super::Checked;
use super::failure::BadFixture;
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
    let (path, value) = case.input(|input| Ok((input.text("path")?, input.value("value")?)))?;
    let found = match resolve_simple_path(&path, &value) {
        // A null that is there is told from nothing by this form.
        Some(Value::Null) => json!({"found": true, "value": null}),
        Some(found) => found.clone(),
        None => Value::Null,
    };
    case.expect("the value", &found)
}

fn check_wildcard_path(case: &mut Fields<'_>) -> Checked {
    let (path, value) = case.input(|input| Ok((input.text("path")?, input.value("value")?)))?;
    let found: Vec<_> = resolve_wildcard_path(&path, &value).into_iter().cloned().collect();
    let mut expected = case.below("expected")?;
    expect_value("the values", &Value::Array(found), &expected.value("values")?)?;
    Ok(expected.finish()?)
}

fn check_duration(case: &mut Fields<'_>) -> Checked {
    let found = match parse_duration(&case.text("input")?) {
        Ok(duration) => json!({"seconds": duration.as_secs()}),
        Err(_) => json!({"error": true}),
    };
    case.expect("the duration", &found)
}

fn check_condition(case: &mut Fields<'_>) -> Checked {
    let (condition, value) =
        case.input(|input| Ok((input.read("condition", fragment::condition)?, input.value("value")?)))?;
    case.expect("the condition", &json!(evaluate_condition(&condition, &value)))
}

fn check_predicate(case: &mut Fields<'_>) -> Checked {
    let (predicate, value) =
        case.input(|input| Ok((input.read("predicate", fragment::predicate)?, input.value("value")?)))?;
    case.expect("the predicate", &json!(evaluate_predicate(&predicate.unwrap_or_default(), &value)))
}

/// What fills templates: extracted values, a request and a response.
type Filling = (HashMap<String, String>, Option<Value>, Option<Value>);

fn filling(input: &mut Fields<'_>) -> Result<Filling, BadFixture> {
    let value = input.value("extractors")?;
    let fields = value.as_object().ok_or(BadFixture::Type("extractors", "a mapping"))?;
    let entries = fields.iter().map(|(name, value)| {
        let value = value.as_str().ok_or(BadFixture::ExtractedType)?;
        Ok((name.clone(), value.to_owned()))
    });
    let extractors = entries.collect::<Result<_, BadFixture>>()?;
    Ok((extractors, input.optional_value("request"), input.optional_value("response")))
}

fn check_template(case: &mut Fields<'_>) -> Checked {
    let (template, (extractors, request, response)) =
        case.input(|input| Ok((input.text("template")?, filling(input)?)))?;
    let (found, _) = interpolate_template(&template, &extractors, request.as_ref(), response.as_ref());
    case.expect("the text", &json!(found))
}

fn check_value(case: &mut Fields<'_>) -> Checked {
    let (value, (extractors, request, response)) =
        case.input(|input| Ok((input.value("value")?, filling(input)?)))?;
    let (found, _) = interpolate_value(&value, &extractors, request.as_ref(), response.as_ref());
    case.expect("the value", &found)
}

fn check_extractor(case: &mut Fields<'_>) -> Checked {
    let found = case.input(|input| {
        let extractor = input.read("extractor", fragment::extractor)?;
        let message = input.value("message")?;
        let direction = input.text("direction")?;
        let direction: ExtractorSource =
            direction.parse().map_err(|()| BadFixture::UnknownWord(direction, "a direction"))?;
        Ok(evaluate_extractor(&extractor, &message, direction))
    })?;
    case.expect("the value", &json!(found))
}

fn check_response(case: &mut Fields<'_>) -> Checked {
    let found = case.input(|input| {
        let entries = input.list("entries")?.into_iter();
        let entries = entries.map(|node| ResponseEntry::from_value(&input.to_value(node)));
        let entries = entries.collect::<Result<Vec<_>, _>>().map_err(BadFixture::Operand)?;
        let request = input.value("request")?;
        Ok(match select_response(&entries, &request).map(|entry| &entry.content) {
            None => Value::Null,
            Some(Some(content)) => json!({"content": content}),
            Some(None) => json!({}),
        })
    })?;
    case.expect("the entry", &found)
}

fn check_trigger(case: &mut Fields<'_>) -> Checked {
    let found = case.input(|input| {
        let trigger = input.read("trigger", fragment::trigger)?.unwrap_or_default();
        let event = match input.need("event")? {
            node if matches!(node.kind, NodeKind::Mapping(_)) => {
                let mut fields = input.fields_of(node)?;
                let (event_type, content) = (fields.text("event_type")?, fields.value("content")?);
                fields.finish()?;
                Some(ProtocolEvent { event_type, content })
            }
            _ => None,
        };
        let elapsed = parse_duration(&input.text("elapsed")?).map_err(BadFixture::Duration)?;
        let mut before = input.below("state")?;
        let event_count = before.value("event_count")?.as_u64();
        let event_count = event_count.ok_or(BadFixture::Type("event_count", "a number"))?;
        before.finish()?;
        let mut state = TriggerState { event_count };
        let mut found = match evaluate_trigger(&trigger, event.as_ref(), elapsed, &mut state) {
            TriggerResult::Advanced { reason } => json!({"result": "advanced", "reason": reason}),
            TriggerResult::NotAdvanced => json!({"result": "not_advanced"}),
        };
        found["state"] = json!({"event_count": state.event_count});
        Ok(found)
    })?;
    case.expect("the result", &found)
}

fn check_protocol(case: &mut Fields<'_>) -> Checked {
    let mode = case.input(|input| input.text("mode"))?;
    case.expect("the protocol", &json!(extract_protocol(&mode)))
}

fn check_state(case: &mut Fields<'_>) -> Checked {
    let found = case.input(|input| {
        let phases = input.read("phases", fragment::phases)?.unwrap_or_default();
        let index = input.value("phase_index")?.as_u64();
        let index = index.ok_or(BadFixture::Type("phase_index", "a number"))?;
        let index = usize::try_from(index).map_err(|_| BadFixture::TooLarge("phase_index"))?;
        Ok(compute_effective_state(&phases, index).cloned().unwrap_or_default())
    })?;
    case.expect("the state", &found)
}
