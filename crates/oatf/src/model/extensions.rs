//! Fields that start with `x-`: kept, in their place, and otherwise left alone.

use serde_json::Value;

/// One `x-` field.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtensionField {
    /// Its key.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// The field of the format it was written after; `None` when it came first.
    pub after: Option<String>,
}

/// The `x-` fields of one object, in source order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extensions(Vec<ExtensionField>);

impl Extensions {
    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|extension| extension.name == name).map(|extension| &extension.value)
    }

    /// All fields, in source order.
    pub fn iter(&self) -> std::slice::Iter<'_, ExtensionField> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a field after the given one.
    pub fn push(&mut self, name: impl Into<String>, value: Value, after: Option<&str>) {
        self.0.push(ExtensionField { name: name.into(), value, after: after.map(Into::into) });
    }

    /// Lets what followed one field follow another, which has taken its place.
    pub(crate) fn follow(&mut self, old: &str, new: &str) {
        for extension in &mut self.0 {
            if extension.after.as_deref() == Some(old) {
                extension.after = Some(new.to_owned());
            }
        }
    }

    /// Lets each follow the last of the `given` fields that does not come after its own, and sorts them as
    /// those fields stand in `order`. So they are listed as they would be written, and read back equal.
    pub(crate) fn arrange(&mut self, order: &[&str], given: &[&str]) {
        let rank =
            |field: &str| order.iter().position(|known| *known == field).map_or(usize::MAX, |at| at + 1);
        let rank_of = |extension: &ExtensionField| extension.after.as_deref().map_or(0, rank);
        for extension in &mut self.0 {
            let limit = rank_of(extension);
            let anchor = given.iter().filter(|field| rank(field) <= limit).max_by_key(|field| rank(field));
            extension.after = anchor.map(|field| (*field).to_owned());
        }
        self.0.sort_by_key(rank_of);
    }
}

impl<'e> IntoIterator for &'e Extensions {
    type Item = &'e ExtensionField;
    type IntoIter = std::slice::Iter<'e, ExtensionField>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
