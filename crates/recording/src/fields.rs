//! The members of a JSON object, each of which has to be accounted for.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// How many members or items one object or list may have: each takes memory that its text, `0,`, does not.
const MANY: usize = 1 << 20;

/// The members of an object, as they were written. What is not [taken](Self::take) is left over, and has to be
/// [accounted](crate::session::SessionBuilder::leave) for.
#[derive(Debug, Default)]
pub struct Fields<'j> {
    members: Vec<(Cow<'j, str>, &'j RawValue)>,
}

impl<'j> Fields<'j> {
    /// The members of an object; `None` for anything else.
    pub fn of(json: &'j str) -> Option<Self> {
        // Most of what is asked about is a long text, which would be read to its end for an error message.
        json.trim_ascii_start().starts_with('{').then(|| serde_json::from_str(json).ok())?
    }

    /// The members of a member that is an object, which is taken.
    pub fn object(&mut self, key: &str) -> Option<Self> {
        self.take(key).and_then(|raw| Self::of(raw.get()))
    }

    /// Takes a member as it was written. The last of several of one name counts, as it does for whoever wrote the file.
    pub fn take(&mut self, key: &str) -> Option<&'j RawValue> {
        let mut taken = None;
        self.members.retain(|(name, value)| {
            let is_it = name == key;
            if is_it {
                taken = Some(*value);
            }
            !is_it
        });
        taken
    }

    /// Looks at a member without taking it.
    pub fn peek(&self, key: &str) -> Option<&'j RawValue> {
        self.members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// Takes a member of a type. One of another type stays, and is accounted for as not known.
    pub fn get<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let value = serde_json::from_str(self.peek(key)?.get()).ok()?;
        self.take(key);
        Some(value)
    }

    /// Takes a member that is a text.
    pub fn text(&mut self, key: &str) -> Option<String> {
        self.get(key)
    }

    /// Takes the items of a member that is a list.
    pub fn items(&mut self, key: &str) -> Option<Vec<&'j RawValue>> {
        let items = list(self.peek(key)?)?;
        self.take(key);
        Some(items)
    }

    /// Takes over the members of another object, which count where both have one.
    pub fn append(&mut self, other: Self) {
        self.members.extend(other.members);
    }

    /// All members that nobody took, by name.
    pub fn into_members(self) -> impl Iterator<Item = (String, &'j RawValue)> {
        self.members.into_iter().map(|(name, value)| (name.into_owned(), value))
    }

    /// The names of what nobody took.
    pub fn left(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(name, _)| &**name)
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(map.size_hint().unwrap_or(8).min(64));
                while let Some((Name(name), value)) = map.next_entry()? {
                    if members.len() == MANY {
                        return Err(A::Error::custom("it has too many members"));
                    }
                    members.push((name, value));
                }
                Ok(Fields { members })
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// The name of a member, borrowed where nothing in it is escaped: a recording has millions of them.
struct Name<'j>(Cow<'j, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// The items of a list; `None` for anything else, and for one that is too long.
pub fn list(raw: &RawValue) -> Option<Vec<&RawValue>> {
    struct Items;
    impl<'de> Visitor<'de> for Items {
        type Value = Vec<&'de RawValue>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = seq.next_element()? {
                if items.len() == MANY {
                    return Err(A::Error::custom("it has too many items"));
                }
                items.push(item);
            }
            Ok(items)
        }
    }
    serde_json::Deserializer::from_str(raw.get()).deserialize_seq(Items).ok()
}

/// A value that a program wrote as JSON in a text: what it says, as JSON. A text that is not JSON stays a text.
pub fn unquoted(raw: &RawValue) -> Box<RawValue> {
    if raw.get().starts_with('"')
        && let Ok(text) = serde_json::from_str::<String>(raw.get())
        && let Ok(inner) = serde_json::from_str::<Box<RawValue>>(&text)
    {
        return inner;
    }
    raw.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_accounted_for() {
        let mut fields =
            Fields::of(r#"{"a": 1, "b": "x", "a": 2, "c": {"d": [1.00]}, "b\u0032": null}"#).unwrap();
        assert_eq!(fields.get::<u64>("a"), Some(2));
        assert_eq!(fields.get::<u64>("b"), None);
        let mut inner = fields.object("c").unwrap();
        assert_eq!(inner.items("d").unwrap()[0].get(), "1.00");
        assert_eq!(fields.left().collect::<Vec<_>>(), ["b", "b2"]);
        assert!(Fields::of("[]").is_none() && Fields::of("{").is_none());
    }

    #[test]
    fn json_in_a_text_is_read() {
        let raw = |text: &str| serde_json::from_str::<Box<RawValue>>(text).unwrap();
        assert_eq!(unquoted(&raw(r#""{\"a\": 1.00}""#)).get(), r#"{"a": 1.00}"#);
        assert_eq!(unquoted(&raw(r#""hello""#)).get(), r#""hello""#);
        assert_eq!(unquoted(&raw("{}")).get(), "{}");
    }
}
