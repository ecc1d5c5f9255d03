//! Keys that do not show themselves.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// The shortest key that is taken, in characters. A shorter one could not be found again where it must not stand.
pub const MIN_SECRET: usize = sortie_trace::Redactor::MIN_LITERAL;

/// A credential for one endpoint.
///
/// Whoever starts a run reads it, from the variable that the user named for that very endpoint, and passes it in:
/// nothing here looks into the environment. It has no way to print or serialise itself.
///
/// ```
/// use sortie_judge::Secret;
///
/// let key = Secret::new("sk-made-up-1234").unwrap();
/// assert_eq!(format!("{key} {key:?}"), "[redacted] Secret([redacted])");
/// ```
#[derive(Clone)]
pub struct Secret(Arc<str>);

/// A key cannot be one.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SecretError {
    /// Too short.
    #[error("the key is shorter than {MIN_SECRET} characters; leave it out where the endpoint needs none")]
    TooShort,
    /// Nothing that a header can carry.
    #[error("the key holds spaces, line breaks or letters that a header cannot carry")]
    Unprintable,
}

impl Secret {
    /// A key, as it was read.
    pub fn new(key: impl Into<String>) -> Result<Self, SecretError> {
        let key = key.into();
        if key.len() < MIN_SECRET {
            return Err(SecretError::TooShort);
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SecretError::Unprintable);
        }
        Ok(Self(key.into()))
    }

    /// The key itself, for the header that carries it and for taking it out of what comes back.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([redacted])")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(sortie_trace::Redactor::MARKER)
    }
}
