//! Objects as they are written: some members are replaced, and the others stay what they were.

use std::fmt::{self, Write as _};

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The members of a JSON object in their order, each as the text it is.
///
/// ```
/// use sortie_protocol::Members;
///
/// let mut members = Members::read(r#"{"b":1.00,"a":"x"}"#).unwrap();
/// members.set("a", "[]");
/// assert_eq!(members.to_string(), r#"{"b":1.00,"a":[]}"#);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Members(Vec<(String, Box<str>)>);

impl Members {
    /// The members of an object; `None` when it is none.
    pub fn read(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The text of a member. When a name stands there twice the last one counts.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, json)| &**json)
    }

    /// The text of a member that is a string.
    pub fn string(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// A member that is an object.
    pub fn object(&self, name: &str) -> Option<Self> {
        Self::read(self.get(name)?)
    }

    /// Sets a member, which stands where it was before, or else at the end. `json` is its text.
    pub fn set(&mut self, name: &str, json: &str) {
        match self.0.iter_mut().rev().find(|(key, _)| key == name) {
            Some((_, text)) => *text = json.into(),
            None => self.0.push((name.to_owned(), json.into())),
        }
    }

    /// All members, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, json)| (name.as_str(), &**json))
    }

    /// Adds a member at the end, also when there is one of that name.
    pub fn push(&mut self, name: &str, json: &str) {
        self.0.push((name.to_owned(), json.into()));
    }

    /// Sets a member that is not there yet.
    pub fn set_missing(&mut self, name: &str, json: &str) {
        if self.get(name).is_none() {
            self.set(name, json);
        }
    }
}

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('{')?;
        for (at, (name, json)) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{}:{json}", Value::from(name.as_str()))?;
        }
        f.write_char('}')
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some((name, json)) = map.next_entry::<String, Box<RawValue>>()? {
                    members.push((name, json.get().into()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}
