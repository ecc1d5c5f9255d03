//! Answers that must be one JSON object.

use serde::de::DeserializeOwned;
use thiserror::Error;

/// How much of an answer is shown when it is none.
const SHOWN: usize = 120;

/// What an answer is instead of the JSON object that was asked for.
#[derive(Debug, Error)]
pub(crate) enum BadObject {
    /// Something else, which begins like this.
    #[error("not one JSON object, but `{0}`")]
    NoObject(String),
    /// An object that is cut off, which begins like this.
    #[error("a JSON object that does not end: `{0}`")]
    Unfinished(String),
    #[error("not the JSON object that was asked for: {0}")]
    Shape(serde_json::Error),
}

/// Reads an answer that must be one JSON object of a given shape, and nothing else. A fenced code block around it is what many
/// models cannot leave out, and is tolerated.
pub(crate) fn read<T: DeserializeOwned>(answer: &str) -> Result<T, BadObject> {
    let inner = without_code_block(answer.trim());
    // A struct is also read from an array of its members, which is not what was asked for.
    if !inner.starts_with('{') {
        return Err(BadObject::NoObject(beginning(answer)));
    }
    serde_json::from_str(inner).map_err(|error| {
        if error.is_eof() { BadObject::Unfinished(beginning(answer)) } else { BadObject::Shape(error) }
    })
}

fn without_code_block(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else { return text };
    let Some((language, inner)) = inner.split_once('\n') else { return text };
    if matches!(language.trim(), "" | "json" | "JSON") { inner.trim() } else { text }
}

pub(crate) fn beginning(text: &str) -> String {
    let mut shown: String = text.trim().chars().take(SHOWN).collect();
    if shown.len() < text.trim().len() {
        shown.push('…');
    }
    shown.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Yes {
        yes: bool,
    }

    #[test]
    fn one_object_is_an_answer_and_anything_else_is_none() {
        for answer in
            ["{\"yes\":true}", " {\"yes\": true}\n", "```json\n{\"yes\":true}\n```", "```\n{\"yes\":true}```"]
        {
            assert_eq!(read::<Yes>(answer).unwrap(), Yes { yes: true }, "{answer}");
        }
        for (answer, expected) in [
            ("", "not one JSON object, but ``"),
            ("Yes.", "not one JSON object, but `Yes.`"),
            ("[true]", "not one JSON object, but `[true]`"),
            ("Sure: {\"yes\":true}", "not one JSON object, but `Sure: {\\\"yes\\\":true}`"),
            ("{\"yes\":tr", "a JSON object that does not end: `{\\\"yes\\\":tr`"),
            ("```rust\n{\"yes\":true}\n```", "not one JSON object, but ````rust\\n{\\\"yes\\\":true}\\n````"),
        ] {
            assert_eq!(read::<Yes>(answer).unwrap_err().to_string(), expected);
        }
        for answer in [
            "{\"yes\":true} {\"yes\":true}",
            "{\"yes\":true,\"yes\":false}",
            "{\"yes\":true,\"no\":false}",
            "{\"yes\":\"true\"}",
            "{}",
            "{'yes': true}",
        ] {
            let error = read::<Yes>(answer).unwrap_err().to_string();
            assert!(error.starts_with("not the JSON object that was asked for: "), "{answer}: {error}");
        }
        assert!(read::<Yes>(&format!("{{\"yes\":{}", "[".repeat(100_000))).is_err());
    }
}
