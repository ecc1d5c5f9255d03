//! The document, and its memory of where it came from.

use std::sync::Arc;

use serde_json::Value;
use sortie_syntax::yaml::Tree;
use sortie_syntax::{LineColumn, NodePath, Segment, Span};

use super::Attack;

/// An OATF document as its author wrote it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Version of the format (`0.1`).
    pub oatf: String,
    /// Address of a JSON Schema (`$schema`): kept, and ignored.
    pub schema: Option<String>,
    /// The attack.
    pub attack: Attack,
    pub(crate) origin: Origin,
}

/// The source a document was parsed from, if any. Two documents that say the same are equal wherever
/// they came from, so all origins are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin(pub(crate) Option<Arc<Tree>>);

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Document {
    /// The tree this document was parsed from; `None` for one made in memory.
    pub fn tree(&self) -> Option<&Tree> {
        self.origin.0.as_deref()
    }

    /// Where the value at `path` stands in the source. The path may be that of the document as written
    /// or as normalised; what does not exist gives its nearest ancestor that does.
    pub fn span_of(&self, path: &NodePath) -> Option<Span> {
        let tree = self.tree()?;
        if tree.find(path).is_some() {
            return Some(tree.span_of(path));
        }
        Some(tree.span_of(&as_written(tree, path)))
    }

    /// The line and column of the value at `path`.
    pub fn line_column_of(&self, path: &NodePath) -> Option<LineColumn> {
        let span = self.span_of(path)?;
        Some(self.tree()?.source().line_column(span.start))
    }
}

/// Undoes what normalisation did to a path: actor forms, the `condition` around a shorthand, and the
/// `target` that was copied from the indicator.
fn as_written(tree: &Tree, path: &NodePath) -> NodePath {
    let execution = NodePath::root().key("attack").key("execution");
    let mut segments = path.segments().to_vec();
    let default_actor = execution.clone().key("actors").index(0);
    if tree.find(&execution.clone().key("actors")).is_none() && default_actor.is_prefix_of(path) {
        // attack.execution.actors[0].phases[N]… was attack.execution.phases[N]… or attack.execution…
        let tail = segments.split_off(default_actor.segments().len());
        let phases = execution.clone().key("phases");
        let multi_phase = tree.find(&phases).is_some();
        segments = match tail.first() {
            Some(Segment::Key(key)) if key == "phases" && multi_phase => {
                [execution.segments(), &tail].concat()
            }
            Some(Segment::Key(key)) if key == "phases" => {
                [execution.segments(), tail.get(2..).unwrap_or_default()].concat()
            }
            Some(Segment::Key(key)) if key == "mode" => {
                let mode = execution.clone().key("mode");
                let of_phase = phases.index(0).key("mode");
                if tree.find(&mode).is_none() && tree.find(&of_phase).is_some() { of_phase } else { mode }
                    .segments()
                    .to_vec()
            }
            _ => execution.segments().to_vec(),
        };
    }
    let indicators = NodePath::root().key("attack").key("indicators");
    let is_key = |segment: Option<&Segment>, key: &str| matches!(segment, Some(Segment::Key(k)) if k == key);
    if indicators.is_prefix_of(path)
        && segments.len() > 4
        && tree.find(&segments[..=4].to_vec().into()).is_none()
    {
        // attack.indicators[N].pattern.…
        let method = segments.get(3);
        if is_key(method, "pattern") && is_key(segments.get(4), "condition") {
            segments.remove(4);
        } else if (is_key(method, "pattern") || is_key(method, "semantic"))
            && is_key(segments.get(4), "target")
        {
            segments.remove(3);
        }
    }
    segments.into()
}

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
