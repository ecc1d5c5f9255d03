//! Fields that start with `x-`: kept, in their place, and otherwise left alone.

use serde_json::Value;

/// One `x-` field.
#[derive(Clone, Debug, PartialEq)]
pub struct Extension {
    /// Its key.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// The field of the format it was written after; `None` when it came first.
    pub after: Option<String>,
}

/// The `x-` fields of one object, in source order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extensions(Vec<Extension>);

impl Extensions {
    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|extension| extension.name == name).map(|extension| &extension.value)
    }

    /// All fields, in source order.
    pub fn iter(&self) -> std::slice::Iter<'_, Extension> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a field after the given one.
    pub fn push(&mut self, name: impl Into<String>, value: Value, after: Option<&str>) {
        self.0.push(Extension { name: name.into(), value, after: after.map(Into::into) });
    }
}

impl<'e> IntoIterator for &'e Extensions {
    type Item = &'e Extension;
    type IntoIter = std::slice::Iter<'e, Extension>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
