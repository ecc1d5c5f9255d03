//! Where a value stands in a document, as a list of keys and indices.

use std::fmt;

/// One step of a [`NodePath`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A key of a mapping.
    Key(String),
    /// A position in a sequence, from zero.
    Index(usize),
}

/// The place of a value in a document.
///
/// It is written as a dot-path (`attack.indicators[0].target`), but kept as segments, since a key may
/// itself contain a dot (`trigger.match` has keys such as `arguments.command`).
///
/// ```
/// use sortie_syntax::NodePath;
///
/// let path = NodePath::root().key("attack").key("indicators").index(0).key("target");
/// assert_eq!(path.to_string(), "attack.indicators[0].target");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodePath(Vec<Segment>);

impl NodePath {
    /// The document itself.
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// This path, one key further.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.0.push(Segment::Key(key.into()));
        self
    }

    /// This path, one position further.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(Segment::Index(index));
        self
    }

    /// This path with all segments of `tail` appended.
    #[must_use]
    pub fn join(mut self, tail: &NodePath) -> Self {
        self.0.extend_from_slice(&tail.0);
        self
    }

    /// Goes one key further.
    pub fn push_key(&mut self, key: &str) {
        self.0.push(Segment::Key(key.to_owned()));
    }

    /// Goes one position further.
    pub fn push_index(&mut self, index: usize) {
        self.0.push(Segment::Index(index));
    }

    /// Goes one step back.
    pub fn pop(&mut self) {
        self.0.pop();
    }

    /// The path one step up, or `None` at the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, rest) = self.0.split_last()?;
        Some(Self(rest.to_vec()))
    }

    /// The steps from the root.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether `self` is `other` or stands above it.
    pub fn is_prefix_of(&self, other: &NodePath) -> bool {
        other.0.starts_with(&self.0)
    }
}

impl From<Vec<Segment>> for NodePath {
    fn from(segments: Vec<Segment>) -> Self {
        Self(segments)
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if position == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
