//! Rows of scans, in a form in which they can be compared.

use std::collections::BTreeMap;

use serde_json::Value;

/// Which rows are compared, and which of their members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowScope {
    /// All of them, whole.
    Session,
    /// Findings that need no other message, without what only a session knows.
    Message,
}

/// The rows of JSON Lines, sorted. Lines that are no rows, such as the totals of a scan, are left out.
pub fn rows_of(lines: &str, scope: RowScope) -> Result<Vec<String>, serde_json::Error> {
    let mut rows = Vec::new();
    for line in lines.lines().filter(|line| !line.is_empty()) {
        rows.extend(row_of(serde_json::from_str(line)?, scope));
    }
    rows.sort_unstable();
    Ok(rows)
}

/// A row with its members in order, without those that say nothing.
fn row_of(row: Value, scope: RowScope) -> Option<String> {
    let Value::Object(mut members) = row else { return None };
    // A finding of one message stands in a list, beside its session.
    if let Some(Value::Object(inner)) = members.shift_remove("finding") {
        members.extend(inner);
    }
    match members.get("record").and_then(Value::as_str) {
        Some("finding" | "error") | None => {}
        Some(_) => return None,
    }
    if scope == RowScope::Message {
        if members.get("needs_session") == Some(&Value::Bool(true)) {
            return None;
        }
        // What cannot be read is the same text, with another name.
        if let Some(error) = members.shift_remove("error") {
            members.insert("reason".to_owned(), error);
        }
        for name in ["record", "id", "needs_session", "at"] {
            members.shift_remove(name);
        }
    }
    let says_something =
        |name: &str, value: &Value| !(value.is_null() || (name == "refused" && *value == Value::Bool(false)));
    let members: BTreeMap<_, _> = members
        .into_iter()
        .filter(|(name, value)| says_something(name, value))
        .map(|(name, value)| (name, without_nulls(value)))
        .collect();
    serde_json::to_string(&members).ok()
}

/// Nested nulls: one writer leaves them out, the other does not.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.into_iter().filter(|(_, value)| !value.is_null()).collect();
            members.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Object(members.into_iter().collect())
        }
        other => other,
    }
}

/// The first rows that only one side has; empty where both have the same.
pub fn differences(left: &[String], right: &[String], limit: usize) -> Vec<String> {
    let (mut at, mut other, mut found) = (0, 0, Vec::new());
    while (at < left.len() || other < right.len()) && found.len() < limit {
        match (left.get(at), right.get(other)) {
            (Some(one), Some(two)) if one == two => {
                at += 1;
                other += 1;
            }
            (Some(one), two) if two.is_none_or(|two| one < two) => {
                found.push(format!("- {one}"));
                at += 1;
            }
            (_, Some(two)) => {
                found.push(format!("+ {two}"));
                other += 1;
            }
            (_, None) => break,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_same_whatever_is_left_out() {
        let left = r#"{"record":"finding","id":"1","seq":2,"refused":false,"title":null,"needs_session":false,"from":{"seq":1,"encoding":null}}"#;
        let right = r#"{"from":{"seq":1},"seq":2,"record":"finding","id":"1","needs_session":false}"#;
        let rows = |line: &str| rows_of(line, RowScope::Session).unwrap();
        assert_eq!(rows(left), rows(right));
        assert!(rows(r#"{"record":"summary"}"#).is_empty());
        assert_ne!(rows(left), rows(&right.replace("\"seq\":2", "\"seq\":3")));
    }

    #[test]
    fn a_message_alone_is_compared_without_its_session() {
        let scan = "{\"record\":\"finding\",\"id\":\"1\",\"source\":\"a\",\"session\":\"s\",\"seq\":2,\"needs_session\":false}\n{\"record\":\"finding\",\"id\":\"2\",\"seq\":3,\"needs_session\":true}";
        let sql = r#"{"source":"a","session":"s","finding":{"seq":2,"refused":false}}"#;
        assert_eq!(rows_of(scan, RowScope::Message).unwrap(), rows_of(sql, RowScope::Message).unwrap());
    }

    #[test]
    fn what_one_side_has_is_listed() {
        let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            differences(&texts(&["a", "b", "d"]), &texts(&["b", "c", "d", "d"]), 9),
            ["- a", "+ c", "+ d"]
        );
        assert!(differences(&texts(&["a"]), &texts(&["a"]), 9).is_empty());
        assert_eq!(differences(&texts(&["a", "b"]), &[], 1), ["- a"]);
    }
}
