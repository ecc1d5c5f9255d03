//! All that is text in an answer.

use serde_json::Value;

use crate::matching::among;

const MAX_DEPTH: usize = 20;

/// Keys whose values are no words for a reader.
const NO_WORDS: &str = "type kind mimeType id taskId contextId messageId role data_b64 blob state timestamp";

/// The texts in a value, one after the other; what is plain text in a field of its own keeps the field's name.
pub(super) fn texts(value: &Value) -> String {
    let mut texts = Vec::new();
    collect(value, None, 0, &mut texts);
    texts.join("\n")
}

fn collect(value: &Value, key: Option<&str>, depth: usize, texts: &mut Vec<String>) {
    if depth > MAX_DEPTH || key.is_some_and(|key| among(NO_WORDS, key)) {
        return;
    }
    match value {
        Value::String(text) => match key {
            Some("text" | "content" | "description" | "message" | "instructions") | None => {
                texts.push(text.clone());
            }
            Some(key) => texts.push(format!("{key}: {text}")),
        },
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, depth + 1, texts)),
        // What the agent said itself is no news.
        Value::Object(members)
            if members.get("role").is_some_and(|role| role == "user") && members.contains_key("parts") => {}
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| collect(value, Some(key), depth + 1, texts));
        }
        Value::Number(number) => texts.extend(key.map(|key| format!("{key}: {number}"))),
        Value::Bool(_) | Value::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_words_are_gathered_and_nothing_else() {
        let answer = json!({"content": [{"type": "text", "text": "Sunny"}, {"type": "resource", "resource": {"uri": "a://b", "text": "Cold"}}],
            "structuredContent": {"note": "Call x", "count": 3}, "isError": false});
        assert_eq!(texts(&answer), "Sunny\nuri: a://b\nCold\nnote: Call x\ncount: 3");
    }
}
