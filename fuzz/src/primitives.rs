//! Templates and durations.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use sortie_oatf::parse_duration;
use sortie_oatf::template::{interpolate_template, interpolate_value};

use super::line_and_json;

/// Templates fill as the specification says it, letter by letter; results are not filled again, and a reference
/// that stands for itself changes nothing.
pub fn templates(data: &[u8]) {
    let Some((template, message)) = line_and_json(data) else { return };
    let extractors = HashMap::from([
        ("name".to_owned(), "{{request.name}}".to_owned()),
        ("actor.name".to_owned(), String::new()),
    ]);
    let (text, warnings) = interpolate_template(template, &extractors, Some(&message), None);
    if !template.contains("{{") {
        assert_eq!(text, template);
    }
    let names = references(template);
    assert!(warnings.len() <= names.len(), "more warnings than references: {warnings:?}");
    assert!(warnings.iter().all(|warning| warning.code == "W-004"));

    let (once, _) = interpolate_template("{{name}}", &extractors, Some(&message), None);
    assert_eq!(once, "{{request.name}}", "a result was filled again");

    let themselves: HashMap<String, String> =
        names.iter().map(|name| ((*name).to_owned(), format!("{{{{{name}}}}}"))).collect();
    let (text, warnings) = interpolate_template(template, &themselves, None, None);
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(text, without_escapes(template), "the pieces are not the whole");

    let (filled, _) = interpolate_value(&message, &extractors, Some(&message), Some(&message));
    assert_eq!(shape(&filled), shape(&message), "filling changed the shape of a value");
}

/// What stands between `{{` and the next `}}`, wherever the `{{` is not escaped.
fn references(template: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("\\{{") {
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix("{{").and_then(|body| body.split_once("}}")) {
            names.push(name);
            rest = after;
        } else if rest.starts_with("{{") {
            break;
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    names
}

/// `\{{` is `{{`, outside references and before an unclosed one.
fn without_escapes(template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("\\{{") {
            text.push_str("{{");
            rest = after;
        } else if rest.starts_with("{{") {
            let end = rest[2..].find("}}").map_or(rest.len(), |at| at + 4);
            text.push_str(&rest[..end]);
            rest = &rest[end..];
        } else {
            text.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    text
}

/// The number of values, and the keys, in order.
fn shape(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(items) => std::iter::once("[").chain(items.iter().flat_map(shape)).collect(),
        Value::Object(fields) => {
            fields.iter().flat_map(|(key, value)| std::iter::once(key.as_str()).chain(shape(value))).collect()
        }
        _ => vec!["."],
    }
}

/// A duration is read or refused; what is read means the same however it is written.
pub fn duration(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let duration = match parse_duration(text) {
        Ok(duration) => duration,
        Err(error) => return assert_eq!(error.input, text),
    };
    assert!(
        text.chars().all(|letter| letter.is_ascii_digit() || "PTDHMSdhms".contains(letter)),
        "`{text}` is not a duration of the specification"
    );
    let seconds = duration.as_secs();
    assert_eq!(Duration::from_secs(seconds), duration, "`{text}` has a fraction");
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    for same in [
        format!("{seconds}s"),
        format!("PT{seconds}S"),
        format!("P{days}DT{hours}H{minutes}M{}S", seconds % 60),
        format!("P{days}DT{}S", seconds % 86_400),
    ] {
        assert_eq!(parse_duration(&same), Ok(duration), "`{text}` is not `{same}`");
    }
}
