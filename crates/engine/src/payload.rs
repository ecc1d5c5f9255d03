//! Pass-through content of a document, on its way to the wire.

use std::collections::HashMap;

use serde_json::Value;
use sortie_oatf::template::interpolate_value;
use sortie_syntax::ExactNumbers;

/// How large a payload may become when its templates are filled, in bytes. Templates multiply what a peer sends.
const MAX_FILLED_BYTES: usize = 64 * 1024 * 1024;

/// A piece of pass-through content. It is written as the document has it: the order of its keys, unknown fields and the
/// digits of its numbers; only its templates are filled.
#[derive(Clone, Debug)]
pub struct WirePayload {
    value: Value,
    numbers: ExactNumbers,
    /// How many references it may hold. Without any, `text` is what goes on the wire, whoever asks.
    references: usize,
    text: Box<str>,
}

/// What templates refer to is too large to be put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the templates would make a message of more than {MAX_FILLED_BYTES} bytes")]
pub struct TooLarge;

impl WirePayload {
    /// The content at a JSON pointer of a phase's state, whose exact numbers are `numbers`.
    pub fn new(value: Value, numbers: &ExactNumbers, pointer: &str) -> Self {
        let below = |(at, literal): (&String, &String)| {
            let rest = at.strip_prefix(pointer)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| (rest.to_owned(), literal.clone()))
        };
        let numbers = ExactNumbers(numbers.0.iter().filter_map(below).collect());
        let text = write(&value, &numbers).into_boxed_str();
        let references = text.matches("{{").count();
        Self { value, numbers, references, text }
    }

    /// Content of our own, such as a default.
    pub fn plain(value: Value) -> Self {
        Self::new(value, &ExactNumbers::default(), "")
    }

    pub(crate) fn object(members: &[(&str, &Self)]) -> Self {
        Self::plain(Value::Object(serde_json::Map::new())).preceded_by(members)
    }

    pub(crate) fn list(items: &[Self]) -> Self {
        let exact = items.iter().enumerate().flat_map(|(at, item)| {
            item.numbers.0.iter().map(move |(below, literal)| (format!("/{at}{below}"), literal.clone()))
        });
        let values = items.iter().map(|item| item.value.clone()).collect();
        Self::new(values, &ExactNumbers(exact.collect()), "")
    }

    /// The content as the document has it, its templates unfilled.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The same content without some of its members: what belongs to OATF and not to the protocol.
    #[must_use]
    pub fn without(&self, keys: &[&str]) -> Self {
        let Value::Object(fields) = &self.value else { return self.clone() };
        // Not `remove`, which does not keep the order.
        let kept = fields.iter().filter(|(key, _)| !keys.contains(&key.as_str()));
        let kept = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
        Self::new(Value::Object(kept), &self.numbers, "")
    }

    /// The same content with members before its own, those left out that it has itself.
    #[must_use]
    pub fn preceded_by(&self, members: &[(&str, &Self)]) -> Self {
        let Value::Object(own) = &self.value else { return self.clone() };
        let mut fields = serde_json::Map::new();
        let mut numbers = self.numbers.clone();
        for (key, member) in members.iter().filter(|(key, _)| !own.contains_key(*key)) {
            fields.insert((*key).to_owned(), member.value.clone());
            let exact = member.numbers.0.iter();
            numbers.0.extend(exact.map(|(at, literal)| (format!("/{}{at}", escaped(key)), literal.clone())));
        }
        fields.extend(own.iter().map(|(key, value)| (key.clone(), value.clone())));
        Self::new(Value::Object(fields), &numbers, "")
    }

    /// The same content with some of its texts replaced.
    #[must_use]
    pub fn with_texts(&self, mut replaced: impl FnMut(&str) -> Option<String>) -> Self {
        let mut value = self.value.clone();
        replace(&mut value, &mut replaced);
        Self::new(value, &self.numbers, "")
    }

    /// A member of the content.
    pub fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.as_object()?.get(key)?.clone();
        Some(Self::new(value, &self.numbers, &format!("/{}", escaped(key))))
    }

    /// The items of the content, when it is a list.
    pub fn items(&self) -> Vec<Self> {
        let items = self.value.as_array().into_iter().flatten().enumerate();
        items.map(|(at, item)| Self::new(item.clone(), &self.numbers, &format!("/{at}"))).collect()
    }

    /// Whether there is anything to fill.
    pub fn has_templates(&self) -> bool {
        self.references > 0
    }

    /// The text for the wire when there is nothing to fill; with templates it is as the document has it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same with its templates filled, and the references that stand for nothing, as sentences. What it says now is never
    /// filled again.
    ///
    /// Templates refer to extracted values (`name`, and `actor.name` of every actor) and to the exchange, as indicators see it.
    pub(crate) fn filled(
        &self,
        extracted: &HashMap<String, String>,
        request: Option<&Value>,
        response: Option<&Value>,
    ) -> Result<(Self, Vec<String>), TooLarge> {
        let longest = extracted.values().map(String::len).max().unwrap_or(0);
        let longest = longest.max(request.map_or(0, size)).max(response.map_or(0, size));
        if self.references.saturating_mul(longest) > MAX_FILLED_BYTES {
            return Err(TooLarge);
        }
        let (value, warnings) = interpolate_value(&self.value, extracted, request, response);
        let text = write(&value, &self.numbers).into_boxed_str();
        let unresolved = warnings.into_iter().map(|warning| warning.message).collect();
        Ok((Self { value, numbers: self.numbers.clone(), references: 0, text }, unresolved))
    }
}

// Documents are at most 100 deep, so recursion is bounded.
fn replace(value: &mut Value, replaced: &mut impl FnMut(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(new) = replaced(text) {
                *text = new;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, replaced)),
        Value::Object(fields) => fields.values_mut().for_each(|value| replace(value, replaced)),
        _ => {}
    }
}

/// No more bytes than this stand for a value when it is put into a text.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len().saturating_mul(2),
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| key.len() * 2 + size(value) + 4).sum::<usize>() + 2
        }
        _ => 32,
    }
}

/// A value as JSON, with the numbers as the document has them.
fn write(value: &Value, numbers: &ExactNumbers) -> String {
    if numbers.is_empty() {
        return value.to_string();
    }
    let mut text = String::new();
    write_at(value, numbers, "", &mut text);
    text
}

// Documents are at most 100 deep, so recursion is bounded.
fn write_at(value: &Value, numbers: &ExactNumbers, pointer: &str, text: &mut String) {
    match value {
        Value::Number(number) => match numbers.get(pointer) {
            Some(literal) => text.push_str(literal),
            None => text.push_str(&number.to_string()),
        },
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at > 0 { "," } else { "" });
                write_at(item, numbers, &format!("{pointer}/{at}"), text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            text.push('{');
            for (at, (key, value)) in fields.iter().enumerate() {
                text.push_str(if at > 0 { "," } else { "" });
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_at(value, numbers, &format!("{pointer}/{}", escaped(key)), text);
            }
            text.push('}');
        }
        other => text.push_str(&other.to_string()),
    }
}

/// A key as a step of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn numbers(pairs: &[(&str, &str)]) -> ExactNumbers {
        ExactNumbers(pairs.iter().map(|(at, literal)| ((*at).to_owned(), (*literal).to_owned())).collect())
    }

    #[test]
    fn numbers_reach_the_wire_as_they_were_written() {
        let state = json!({"tools": [{"name": "a", "x/y": {"min": 1.1}, "big": 0}]});
        let exact =
            numbers(&[("/tools/0/x~1y/min", "1.10"), ("/tools/0/big", "123456789012345678901234567890")]);
        let tool = WirePayload::new(state["tools"][0].clone(), &exact, "/tools/0");
        assert_eq!(tool.text(), r#"{"name":"a","x/y":{"min":1.10},"big":123456789012345678901234567890}"#);
        assert_eq!(tool.get("x/y").unwrap().text(), r#"{"min":1.10}"#);
        let list = WirePayload::object(&[("min", &WirePayload::list(&[tool.get("x/y").unwrap()]))]);
        assert_eq!(list.text(), r#"{"min":[{"min":1.10}]}"#);
        assert_eq!(
            tool.without(&["name"]).text(),
            r#"{"x/y":{"min":1.10},"big":123456789012345678901234567890}"#
        );
    }

    #[test]
    fn templates_are_filled_once_and_numbers_stay() {
        let payload = WirePayload::new(
            json!({"n": 1.5, "t": "{{who}} {{request.name}}{{gone}}"}),
            &numbers(&[("/n", "1.50")]),
            "",
        );
        let extracted = HashMap::from([("who".to_owned(), "{{who}}".to_owned())]);
        let request = json!({"name": "mail"});
        let (filled, unresolved) = payload.filled(&extracted, Some(&request), None).unwrap();
        assert_eq!(filled.text(), r#"{"n":1.50,"t":"{{who}} mail"}"#);
        assert_eq!(unresolved.len(), 1);
    }

    #[test]
    fn a_peer_cannot_make_templates_explode() {
        let payload = WirePayload::plain(json!("{{request.x}}".repeat(1000)));
        let request = json!({"x": "y".repeat(100_000)});
        assert_eq!(payload.filled(&HashMap::new(), Some(&request), None).unwrap_err(), TooLarge);
    }
}
