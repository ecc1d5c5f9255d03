//! What tells one exchange from another.

use std::fmt;

use ring::digest;
use serde_json::{Map, Value};

/// What tells one exchange from another: with whom, what was asked, and for the how manieth time.
///
/// None of it may hold a credential: keys go into headers, and headers are not part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// With whom, such as [`ModelEndpoint::identity`](crate::ModelEndpoint::identity).
    pub endpoint: String,
    /// What was asked.
    pub request: Value,
    /// Keeps equal requests apart which are to have answers of their own, such as votes.
    pub ordinal: u32,
}

/// A key's SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Key {
    /// A key whose request has its members in order.
    pub fn new(endpoint: impl Into<String>, request: &Value, ordinal: u32) -> Self {
        Self { endpoint: endpoint.into(), request: canonical(request), ordinal }
    }

    /// The same for equal keys, and for no others.
    pub fn digest(&self) -> Digest {
        let mut context = digest::Context::new(&digest::SHA256);
        // Lengths first, so that no part can be taken for the beginning of the next.
        let mut part = |bytes: &[u8]| {
            context.update(&(bytes.len() as u64).to_le_bytes());
            context.update(bytes);
        };
        part(b"sortie exchange 1");
        part(self.endpoint.as_bytes());
        part(b"json");
        part(self.request.to_string().as_bytes());
        part(&self.ordinal.to_le_bytes());
        context.finish().into()
    }
}

impl Digest {
    /// Of any bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self::from(digest::digest(&digest::SHA256, bytes))
    }

    /// Its first eight bytes as a number, for whatever should look random and be the same each time.
    pub(crate) fn number(self) -> u64 {
        let (first, _) = self.0.as_chunks();
        first.first().copied().map_or(0, u64::from_le_bytes)
    }
}

impl From<digest::Digest> for Digest {
    fn from(digest: digest::Digest) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The value with its members in order of their names, all the way down.
///
/// It recurses as deep as the value, which either was parsed, so `serde_json` stopped it at 128, or was built by us.
pub(crate) fn canonical(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        Value::Object(members) => {
            let mut names: Vec<_> = members.keys().collect();
            names.sort_unstable();
            let sorted = names.into_iter().map(|name| (name.clone(), canonical(&members[name])));
            Value::Object(sorted.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}
