//! JSON objects whose members stay the text they are.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of a JSON object, in their order, as text. What is not set reaches the wire to the byte, but for the spaces
/// between tokens.
#[derive(Clone, Debug)]
pub(crate) struct Members<'j>(Vec<(Cow<'j, str>, Cow<'j, str>)>);

impl<'j> Members<'j> {
    /// The members of an object; `None` when it is none.
    pub(crate) fn of(json: &'j str) -> Option<Self> {
        let mut reader = serde_json::Deserializer::from_str(json);
        let members = reader.deserialize_map(Reader).ok()?;
        reader.end().ok()?;
        Some(Self(members))
    }

    /// An object of our own making: names, and values as JSON text. What has no value is left out.
    pub(crate) fn from_pairs<V: Into<Cow<'j, str>>>(
        pairs: impl IntoIterator<Item = (&'j str, Option<V>)>,
    ) -> Self {
        let pairs = pairs.into_iter().filter_map(|(name, value)| Some((text(name).into(), value?.into())));
        Self(pairs.collect())
    }

    /// The text of a member. Of two of one name the last counts, as it does for readers.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| is(key, name)).map(|(_, value)| &**value)
    }

    /// A member that is a string.
    pub(crate) fn string(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// Gives a member another text where it stands, or puts a new one behind the others.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Cow<'j, str>>) {
        match self.0.iter_mut().rev().find(|(key, _)| is(key, name)) {
            Some((_, text)) => *text = value.into(),
            None => self.0.push((text(name).into(), value.into())),
        }
    }

    /// The object as JSON text.
    pub(crate) fn write(&self) -> String {
        let length = self.0.iter().map(|(key, value)| key.len() + value.len() + 2).sum::<usize>();
        let mut json = String::with_capacity(length + 2);
        json.push('{');
        for (at, (key, value)) in self.0.iter().enumerate() {
            if at > 0 {
                json.push(',');
            }
            json.push_str(key);
            json.push(':');
            json.push_str(value);
        }
        json.push('}');
        json
    }
}

/// The items of a JSON array, as text; `None` when it is none.
pub(crate) fn items(json: &str) -> Option<Vec<&str>> {
    let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

/// Items as a JSON array.
pub(crate) fn array<'i>(items: impl IntoIterator<Item = &'i str>) -> String {
    let mut json = String::from("[");
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            json.push(',');
        }
        json.push_str(item);
    }
    json.push(']');
    json
}

/// A text as a JSON string.
pub(crate) fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether a key, as it is written, says this name.
fn is(key: &str, name: &str) -> bool {
    let plain = key.get(1..key.len() - 1) == Some(name);
    plain || (key.contains('\\') && serde_json::from_str::<String>(key).is_ok_and(|key| key == name))
}

struct Reader;

impl<'j> Visitor<'j> for Reader {
    type Value = Vec<(Cow<'j, str>, Cow<'j, str>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'j>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut read = Vec::new();
        while let Some((key, value)) = members.next_entry::<&'j RawValue, &'j RawValue>()? {
            read.push((key.get().into(), value.get().into()));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_stays_to_the_byte() {
        let json = r#"{"b" : 1.00, "a":{"x":[1e400]}, "b":2, "\u0063": "\ud800"}"#;
        let mut members = Members::of(json).unwrap();
        assert_eq!((members.get("b"), members.get("c")), (Some("2"), Some(r#""\ud800""#)));
        members.set("a", "0");
        members.set("d", "[]");
        assert_eq!(members.write(), r#"{"b":1.00,"a":0,"b":2,"\u0063":"\ud800","d":[]}"#);
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        for json in ["[]", "1", "{", "{} {}", "", r#"{"a":}"#] {
            assert!(Members::of(json).is_none(), "{json}");
        }
        assert_eq!(items("{}"), None);
        assert_eq!(items(r#"[1.0, {"a": 2}]"#), Some(vec!["1.0", r#"{"a": 2}"#]));
        assert_eq!(array(["1.0", "{}"]), "[1.0,{}]");
    }
}
