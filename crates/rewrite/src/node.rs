//! Values as they stand in a JSON text, with their places.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use sortie_expr::pointer::position;

/// A value within a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'t> {
    /// The value as it is written.
    text: &'t str,
    /// Where it begins in the whole text.
    start: usize,
}

/// A member of an object.
#[derive(Clone, Debug)]
pub(crate) struct Member<'t> {
    /// Its name, read.
    pub(crate) name: String,
    /// From the quote of the name to the end of the value.
    pub(crate) range: Range<usize>,
    /// Its value.
    pub(crate) value: Node<'t>,
}

impl<'t> Node<'t> {
    /// The value that a text is; `None` where it is not JSON.
    pub(crate) fn read(text: &'t str) -> Option<Self> {
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        Some(Self { text, start: 0 }.child(raw))
    }

    fn child(self, raw: &'t RawValue) -> Self {
        // A raw value borrows from the text that it was read from.
        let offset = raw.get().as_ptr().addr() - self.text.as_ptr().addr();
        Self { text: raw.get(), start: self.start + offset }
    }

    /// The value as it is written.
    pub(crate) fn text(self) -> &'t str {
        self.text
    }

    /// Where it stands in the whole text.
    pub(crate) fn range(self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    /// The place after its opening bracket.
    pub(crate) fn inside(self) -> usize {
        self.start + 1
    }

    /// The value, read; `None` where it is nested too deeply.
    pub(crate) fn value(self) -> Option<Value> {
        serde_json::from_str(self.text).ok()
    }

    /// The text that a string is.
    pub(crate) fn string(self) -> Option<String> {
        self.is_string().then(|| serde_json::from_str(self.text).ok())?
    }

    pub(crate) fn is_string(self) -> bool {
        self.text.starts_with('"')
    }

    /// The members of an object, in their order.
    pub(crate) fn members(self) -> Option<Vec<Member<'t>>> {
        if !self.text.starts_with('{') {
            return None;
        }
        let pairs: Pairs<'t> = serde_json::from_str(self.text).ok()?;
        let members = pairs.0.into_iter().map(|(name, value)| {
            let (key, value) = (self.child(name), self.child(value));
            let range = key.range().start..value.range().end;
            // A name with half a character in it is not a name that anybody asks for.
            Member { name: key.string().unwrap_or_default(), range, value }
        });
        Some(members.collect())
    }

    /// The items of a list.
    pub(crate) fn items(self) -> Option<Vec<Self>> {
        if !self.text.starts_with('[') {
            return None;
        }
        let items: Vec<&'t RawValue> = serde_json::from_str(self.text).ok()?;
        Some(items.into_iter().map(|item| self.child(item)).collect())
    }

    /// A member of an object. When a name stands there twice the last one counts.
    pub(crate) fn get(self, name: &str) -> Option<Self> {
        self.members()?.into_iter().rev().find(|member| member.name == name).map(|member| member.value)
    }

    /// One step of a pointer further: a member, or an item.
    pub(crate) fn step(self, step: &str) -> Option<Self> {
        match self.items() {
            Some(items) => items.get(position(step)?).copied(),
            None => self.get(step),
        }
    }
}

/// The members of an object as they are written.
struct Pairs<'t>(Vec<(&'t RawValue, &'t RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_where_they_stand() {
        let text = r#" {"a" : [1, {"b":"x"} ],"a":{"c":2.50} } "#;
        let root = Node::read(text).unwrap();
        let last = root.get("a").unwrap();
        assert_eq!(&text[last.range()], r#"{"c":2.50}"#);
        assert_eq!(&text[last.step("c").unwrap().range()], "2.50");
        let first = root.members().unwrap().remove(0);
        assert_eq!(&text[first.range.clone()], r#""a" : [1, {"b":"x"} ]"#);
        assert_eq!(first.value.step("1").unwrap().step("b").unwrap().string().as_deref(), Some("x"));
        assert!(Node::read("{").is_none() && root.step("z").is_none() && root.items().is_none());
    }
}
