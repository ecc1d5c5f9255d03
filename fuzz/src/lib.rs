//! The bodies of the fuzz targets, without libFuzzer: `crates/oatf/tests/fuzz_corpus.rs` includes this file and
//! runs them on stable over the seeds in `corpus/` and the findings kept in `regressions/`.
//!
//! A body takes any bytes, must not panic, hang or overflow the stack, and asserts what must hold for every
//! input. Bodies with two inputs split the bytes at the first line break: the first line, then the rest.

use std::collections::HashMap;

use serde_json::Value;
use sortie_oatf::{
    SimplePath, WildcardPath, analyze, interpolate_template, interpolate_value, parse_bytes, parse_duration,
    resolve_simple_path, resolve_wildcard_path,
};

/// A body.
pub type Body = fn(&[u8]);

/// Every target, by the name of its file in `fuzz_targets/`.
pub const TARGETS: &[(&str, Body)] =
    &[("duration", duration), ("parse", parse), ("paths", paths), ("templates", templates)];

/// Any bytes parse, or give errors that have a place in them; what is said for people agrees with what is said for
/// programs.
pub fn parse(data: &[u8]) {
    let parsed = parse_bytes(data);
    if let Err(errors) = &parsed {
        assert!(!errors.is_empty(), "refused without a reason");
    }
    let Ok(text) = std::str::from_utf8(data) else {
        assert!(parsed.is_err(), "accepted what is not UTF-8");
        return;
    };
    let analysis = analyze(text);
    assert!(parsed.is_ok() || !analysis.is_valid(), "refused by `parse`, valid for `analyze`");
    for finding in &analysis.diagnostics {
        if let Some(span) = finding.span {
            assert!(span.start <= span.end && span.end <= text.len(), "{finding:?} is outside the text");
            assert!(text.get(span.range()).is_some(), "{finding:?} cuts a character");
        }
        if let Some(fix) = &finding.fix {
            for edit in &fix.edits {
                assert!(text.get(edit.span.range()).is_some(), "{finding:?} would edit outside the text");
            }
        }
    }
}

/// A path resolves in a message or does not; a simple path is a wildcard path without wildcards.
pub fn paths(data: &[u8]) {
    let Some((path, message)) = line_and_json(data) else { return };
    let values = resolve_wildcard_path(path, &message);
    if let Ok(parsed) = WildcardPath::parse(path) {
        let printed = parsed.to_string();
        assert_eq!(resolve_wildcard_path(&printed, &message), values, "`{path}` prints as `{printed}`");
    } else {
        assert!(values.is_empty(), "`{path}` is no path, and resolves");
    }
    if SimplePath::parse(path).is_ok() {
        let value = resolve_simple_path(path, &message);
        assert_eq!(
            value.into_iter().collect::<Vec<_>>(),
            values,
            "`{path}` is simple, and resolves differently"
        );
    }
}

/// Templates fill; what has no reference and no escape is left as it is, and results are not filled again.
pub fn templates(data: &[u8]) {
    let Some((template, message)) = line_and_json(data) else { return };
    let extractors = HashMap::from([
        ("name".to_owned(), "{{request.name}}".to_owned()),
        ("actor.name".to_owned(), String::new()),
    ]);
    let (text, _) = interpolate_template(template, &extractors, Some(&message), None);
    if !template.contains("{{") {
        assert_eq!(text, template);
    }
    let (once, _) = interpolate_template("{{name}}", &extractors, Some(&message), None);
    assert_eq!(once, "{{request.name}}", "a result was filled again");
    let (filled, _) = interpolate_value(&message, &extractors, Some(&message), Some(&message));
    assert_eq!(shape(&filled), shape(&message), "filling changed the shape of a value");
}

/// A duration is read or refused.
pub fn duration(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if parse_duration(text).is_ok() {
        assert!(text.contains(|character: char| character.is_ascii_digit()), "`{text}` has no number");
        assert!(!text.contains(['+', '-', ' ', '.']), "`{text}` is not a duration of the specification");
    }
}

fn line_and_json(data: &[u8]) -> Option<(&str, Value)> {
    let (line, rest) = std::str::from_utf8(data).ok()?.split_once('\n')?;
    Some((line, serde_json::from_str(rest).ok()?))
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
