//! JSON Pointers (RFC 6901): one place in a value, such as `/messages/2/body`.

use std::fmt;

use serde_json::Value;

use crate::path::MAX_PATH_DEPTH;

/// The step that stands for the place after the last item of a list.
pub const END: &str = "-";

/// A place in a value, split once. The empty pointer is the root.
///
/// ```
/// use sortie_expr::pointer::Pointer;
///
/// let inbox = serde_json::json!({"messages": [{"a/b": 1}]});
/// let pointer = Pointer::parse("/messages/0/a~1b").unwrap();
/// assert_eq!(pointer.resolve(&inbox).unwrap(), 1);
/// assert_eq!(pointer.to_string(), "/messages/0/a~1b");
/// assert!(Pointer::parse("messages").is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pointer(Box<[Box<str>]>);

/// Why a text is not a JSON Pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PointerError {
    /// It does not begin with `/`.
    #[error("a pointer begins with `/`")]
    Start,
    /// A `~` that is neither `~0` nor `~1`.
    #[error("`~` is written `~0`, and `/` within a name `~1`")]
    Escape,
    /// It has more steps than values are deep.
    #[error("a pointer has at most {MAX_PATH_DEPTH} steps")]
    Depth,
}

impl Pointer {
    /// Splits a pointer.
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let rest = text.strip_prefix('/').ok_or(PointerError::Start)?;
        let steps = rest.split('/').map(unescaped).collect::<Result<Box<[_]>, _>>()?;
        if steps.len() > MAX_PATH_DEPTH {
            return Err(PointerError::Depth);
        }
        Ok(Self(steps))
    }

    /// Its steps: names of members, and positions in lists.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.0.iter().map(|step| &**step)
    }

    /// The value at this place.
    pub fn resolve<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.steps().try_fold(value, |value, step| match value {
            Value::Object(fields) => fields.get(step),
            Value::Array(items) => items.get(position(step)?),
            _ => None,
        })
    }
}

/// The position in a list that a step stands for: digits without a leading zero.
pub fn position(step: &str) -> Option<usize> {
    let canonical = step == "0" || (!step.starts_with('0') && step.bytes().all(|byte| byte.is_ascii_digit()));
    canonical.then(|| step.parse().ok())?
}

/// A name as a step of a pointer.
pub fn escaped(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

fn unescaped(step: &str) -> Result<Box<str>, PointerError> {
    let mut after_tilde = step.split('~').skip(1);
    if after_tilde.any(|rest| !rest.starts_with(['0', '1'])) {
        return Err(PointerError::Escape);
    }
    Ok(step.replace("~1", "/").replace("~0", "~").into())
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps().try_for_each(|step| write!(f, "/{}", escaped(step)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_names_and_positions() {
        let value = serde_json::json!({"": {"m~n": [1, {"0": 2}]}});
        let at = |text: &str| Pointer::parse(text).unwrap().resolve(&value).cloned();
        assert_eq!(at("//m~0n/1/0"), Some(2.into()));
        assert_eq!(at("//m~0n/01"), None);
        assert_eq!(at("//m~0n/-"), None);
        assert_eq!(at("//m~0n/0/x"), None);
        assert_eq!(at(""), Some(value.clone()));
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let wrong = |text: &str| Pointer::parse(text).unwrap_err();
        assert_eq!(wrong("a/b"), PointerError::Start);
        assert_eq!(wrong("/a~2"), PointerError::Escape);
        assert_eq!(wrong("/a~"), PointerError::Escape);
        assert_eq!(wrong(&"/a".repeat(MAX_PATH_DEPTH + 1)), PointerError::Depth);
    }
}
