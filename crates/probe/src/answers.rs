//! Whether an answer shows that a tool worked, and the values in it.

use serde_json::{Map, Value};
use sortie_trace::Turn;

/// So many values of one answer are kept.
const MAX_VALUES: usize = 100;
/// A value is at most so long.
const MAX_VALUE_BYTES: usize = 300;
/// So much of an answer in words is read.
const MAX_TEXT_BYTES: usize = 20_000;
/// So deep a value of JSON is followed.
const MAX_DEPTH: usize = 12;

/// How an answer begins that says in words what it does not say in `isError`.
const FAILURES: &[&str] = &[
    "error",
    "failed",
    "failure",
    "invalid",
    "exception",
    "traceback",
    "unable to",
    "could not",
    "couldn't",
    "cannot",
    "can't",
    "not found",
    "no such",
    "unknown",
    "missing",
    "unauthorized",
    "forbidden",
    "access denied",
    "permission denied",
    "please provide",
    "usage:",
];

/// Signs of a program or a login that is not there, wherever they stand in a short answer.
const MISSING: &[&str] = &[
    "command not found",
    ": not found",
    "enoent",
    "is not installed",
    "not logged in",
    "authentication required",
    "api key",
    "unauthorized",
    "econnrefused",
    "enotfound",
    "getaddrinfo",
    "name resolution",
    "network is unreachable",
    "max retries exceeded",
    "connection refused",
];

/// A sign of a program that is not there, or of a file that was named.
const NO_FILE: &str = "no such file or directory";

/// Whether an answer shows that the tool did what it is for.
pub(crate) fn works(answer: &Turn) -> bool {
    if answer.is_error || says_error(&answer.text) {
        return false;
    }
    let text = answer.text.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    let beginning = text[..text.floor_char_boundary(400)].to_lowercase();
    let begins_with = |sign: &&str| {
        beginning
            .strip_prefix(sign)
            .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
    };
    let is_json = answer.text.trim_start().starts_with(['{', '[']);
    let fails = !is_json && (FAILURES.iter().any(begins_with) || begins_with_failure(&beginning));
    let misses = text.len() < 400 && has_sign_of_missing(&answer.text);
    !fails && !misses
}

/// Whether a text begins as `Database error: …` or `Query failed: …` does.
fn begins_with_failure(beginning: &str) -> bool {
    let Some((head, _)) = beginning.split_once(':') else { return false };
    let words: Vec<&str> = head.split_whitespace().collect();
    let is_failure = |word: &&str| ["error", "exception", "failed", "failure"].contains(word);
    words.len() <= 3 && words.last().is_some_and(is_failure)
}

/// Whether an answer says that a program, a login or a network is missing: its arguments were good enough to come that far.
pub(crate) fn lacks_surroundings(answer: &Turn) -> bool {
    has_sign_of_missing(&answer.text) && !answer.text.to_lowercase().contains(NO_FILE)
}

fn has_sign_of_missing(text: &str) -> bool {
    let beginning = text[..text.floor_char_boundary(400)].to_lowercase();
    beginning.contains(NO_FILE) || MISSING.iter().any(|sign| beginning.contains(sign))
}

/// An object whose only news is an error: `{"error": "…"}`, `{"success": false, …}`, `{"status": "error", …}`.
fn says_error(text: &str) -> bool {
    let Ok(Value::Object(object)) = serde_json::from_str::<Value>(text) else { return false };
    let has_error = object.get("error").is_some_and(|error| !error.is_null() && *error != Value::Bool(false));
    has_error
        || object.get("status").and_then(Value::as_str).is_some_and(|status| {
            ["error", "failed", "failure"].contains(&status.to_ascii_lowercase().as_str())
        })
        || object.get("success") == Some(&Value::Bool(false))
        || object.get("ok") == Some(&Value::Bool(false))
}

/// The values in an answer, with the key that each stands under; empty where it stands under none.
pub(crate) fn values(answer: &Turn) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let structured = answer.result.as_ref().and_then(|result| result.get("structuredContent"));
    let parsed = match structured {
        Some(value) if !value.is_null() => Some(value.clone()),
        _ => read_json(&answer.text).or_else(|| read_json(&json_of_python(&answer.text))),
    };
    match parsed {
        Some(value) => walk("", &value, 0, &mut found),
        None => lines(&answer.text, &mut found),
    }
    found.truncate(MAX_VALUES);
    found
}

/// An object or a list.
fn read_json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(|value: &Value| value.is_object() || value.is_array())
}

/// What Python prints for a list or an object of plain texts, as JSON.
fn json_of_python(text: &str) -> String {
    if text.len() > MAX_TEXT_BYTES || !text.starts_with(['[', '{']) {
        return String::new();
    }
    let text = text.replace('\'', "\"");
    [("None", "null"), ("True", "true"), ("False", "false")]
        .iter()
        .fold(text, |text, (python, json)| text.replace(&format!(": {python}"), &format!(": {json}")))
}

fn walk(key: &str, value: &Value, depth: usize, found: &mut Vec<(String, String)>) {
    if depth > MAX_DEPTH || found.len() >= MAX_VALUES {
        return;
    }
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| walk(key, value, depth + 1, found)),
        Value::Array(items) => items.iter().for_each(|item| walk(key, item, depth + 1, found)),
        // A text may hold the lines of a listing.
        Value::String(text) if text.contains('\n') => lines(text, found),
        Value::String(text) => keep(key, text, found),
        Value::Number(number) => keep(key, &number.to_string(), found),
        Value::Bool(_) | Value::Null => {}
    }
}

/// `key: value` lines, items of lists, and whatever looks like a path.
fn lines(text: &str, found: &mut Vec<(String, String)>) {
    for line in text[..text.floor_char_boundary(MAX_TEXT_BYTES)].lines().take(MAX_VALUES) {
        let line = line.trim();
        let item =
            ["[FILE] ", "[DIR] ", "- ", "* ", "\u{2022} "].iter().find_map(|mark| line.strip_prefix(mark));
        let plain = item.unwrap_or(line);
        match plain.split_once(": ") {
            Some((key, value)) if key.len() <= 40 && !key.contains('/') => {
                keep(key, value.trim().trim_matches(['\'', '"', '`']), found);
            }
            _ if item.is_some() => keep("", plain, found),
            _ => {}
        }
        for word in line.split([' ', '\'', '"', '`', ',', '(', ')']) {
            if word.starts_with('/') && word.len() > 1 || has_ending(word) {
                keep("path", word.trim_end_matches([':', '.']), found);
            }
        }
    }
}

/// The absolute paths in an answer.
pub(crate) fn places(answer: &Turn) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    lines(&answer.text, &mut found);
    found.into_iter().filter(|(key, value)| key == "path" && value.starts_with('/')).map(|(_, value)| value)
}

/// Whether a word looks like the name of a file.
pub(crate) fn has_ending(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(name, ending)| {
        let is_plain =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte));
        !name.is_empty()
            && (1..=5).contains(&ending.len())
            && is_plain(name)
            && ending.bytes().all(|byte| byte.is_ascii_alphabetic())
    })
}

fn keep(key: &str, value: &str, found: &mut Vec<(String, String)>) {
    if is_kept(value) && found.len() < MAX_VALUES {
        found.push((key.to_owned(), value.to_owned()));
    }
}

/// Whether a value is short enough to be one that a tool takes.
pub(crate) fn is_kept(value: &str) -> bool {
    !value.is_empty() && value.len() <= MAX_VALUE_BYTES && !value.contains('\n')
}

/// The values that were sent in a call that worked, by their properties.
pub(crate) fn sent(arguments: &Map<String, Value>) -> impl Iterator<Item = (&str, String)> {
    arguments.iter().filter_map(|(name, value)| match value {
        Value::String(text) => Some((name.as_str(), text.clone())),
        Value::Number(number) => Some((name.as_str(), number.to_string())),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_says_an_error_in_words_is_one() {
        for text in [
            "Error: no such repository",
            "❌ Failed to connect",
            "Database error: near \"x\": syntax error",
            "/bin/sh: 1: adb: not found",
            r#"{"error": "login"}"#,
            r#"{"status": "error", "output": "Commands must start with 'aws'"}"#,
        ] {
            assert!(!works(&Turn::target(text)), "{text}");
        }
        for text in ["", "no records found", "Errors: 0", r#"{"error": null, "rows": []}"#, "up"] {
            assert!(works(&Turn::target(text)), "{text}");
        }
    }

    #[test]
    fn values_are_found_in_json_and_in_words() {
        let found = values(&Turn::target(r#"{"notes": [{"id": "n-1", "tags": ["a", "b"]}], "total": 1}"#));
        let of = |key: &str| {
            found.iter().filter(|(own, _)| own == key).map(|(_, value)| value.as_str()).collect::<Vec<_>>()
        };
        assert_eq!((of("id"), of("tags"), of("total")), (vec!["n-1"], vec!["a", "b"], vec!["1"]));
        let found = values(&Turn::target("[{'name': 'notes', 'rows': None}, {'name': 'accounts'}]"));
        assert!(found.contains(&("name".to_owned(), "accounts".to_owned())), "{found:?}");
        let found =
            values(&Turn::target("Allowed directories:\n/srv/files\n[FILE] inside.txt\nCommit: '5f3a9c'"));
        assert!(found.contains(&("path".to_owned(), "/srv/files".to_owned())), "{found:?}");
        assert!(found.contains(&(String::new(), "inside.txt".to_owned())), "{found:?}");
        assert!(found.contains(&("Commit".to_owned(), "5f3a9c".to_owned())), "{found:?}");
    }
}
