//! Dot-paths into messages: simple ones, and ones with `[*]`.

use std::fmt::{self, Write as _};
use std::ops::{ControlFlow, Range};

use serde_json::Value;

use crate::json;

/// Paths are walked to this depth at most; a longer one resolves to nothing.
pub const MAX_PATH_DEPTH: usize = 64;

/// Why a text is not a dot-path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct PathError {
    /// Byte of the text at which it goes wrong.
    pub at: usize,
    /// What is wrong.
    pub reason: PathErrorReason,
}

impl PathError {
    /// The part of the path that is wrong.
    pub fn extent(&self, path: &str) -> Range<usize> {
        let rest = path.get(self.at..).unwrap_or_default();
        let end = match self.reason {
            // There is nothing to point at but the dots around it.
            PathErrorReason::EmptySegment => {
                return self.at.saturating_sub(1)..(self.at + 1).min(path.len());
            }
            PathErrorReason::Character(found) => found.len_utf8(),
            _ => rest.find(']').map_or_else(|| rest.find('.').unwrap_or(rest.len()), |at| at + 1),
        };
        self.at..(self.at + end).min(path.len())
    }
}

/// What is wrong with a dot-path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathErrorReason {
    /// Nothing between two dots, or at either end.
    #[error("a segment of the path is empty")]
    EmptySegment,
    /// `[0]`: positions are for CEL.
    #[error("paths have no numeric index")]
    NumericIndex,
    /// `[*]` where only a simple path may stand.
    #[error("a simple path has no `[*]`")]
    Wildcard,
    /// A bracket that is not `[*]` at the end of a segment.
    #[error("a bracket must be `[*]` at the end of a segment")]
    Bracket,
    /// A character no segment may have.
    #[error("`{}` cannot stand in a path", .0.escape_debug())]
    Character(char),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PathSegment {
    name: Box<str>,
    fan_out: bool,
}

/// Splits and checks a path; `wildcards` says whether `[*]` may stand in it.
fn segments(path: &str, wildcards: bool) -> Result<Box<[PathSegment]>, PathError> {
    let mut segments = Vec::new();
    each_segment(path, wildcards, |name, fan_out| segments.push(PathSegment { name: name.into(), fan_out }))?;
    Ok(segments.into())
}

fn each_segment<'p>(
    path: &'p str,
    wildcards: bool,
    mut visit: impl FnMut(&'p str, bool),
) -> Result<(), PathError> {
    if path.is_empty() {
        return Ok(());
    }
    let mut start = 0;
    for part in path.split('.') {
        let (name, fan_out) = segment(part, start, wildcards)?;
        visit(name, fan_out);
        start += part.len() + 1;
    }
    Ok(())
}

/// The name in a part of a path, and whether `[*]` follows it.
fn segment(part: &str, start: usize, wildcards: bool) -> Result<(&str, bool), PathError> {
    let error = |at: usize, reason| PathError { at: start + at, reason };
    let name_len = part
        .find(|letter: char| !(letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')))
        .unwrap_or(part.len());
    let (name, rest) = part.split_at(name_len);
    let fan_out = match rest {
        "" => false,
        "[*]" if wildcards && !name.is_empty() => true,
        "[*]" if !name.is_empty() => return Err(error(name_len, PathErrorReason::Wildcard)),
        _ if rest.starts_with('[') => {
            let inside = rest[1..].split(']').next().unwrap_or_default();
            let numeric = !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit());
            let reason = if numeric { PathErrorReason::NumericIndex } else { PathErrorReason::Bracket };
            return Err(error(name_len, reason));
        }
        _ => {
            let found = rest.chars().next().unwrap_or_default();
            return Err(error(name_len, PathErrorReason::Character(found)));
        }
    };
    if name.is_empty() {
        return Err(error(0, PathErrorReason::EmptySegment));
    }
    Ok((name, fan_out))
}

/// A path of field names, split once: `arguments.command`. The empty path is the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimplePath(Box<[PathSegment]>);

impl SimplePath {
    /// Splits a path.
    pub fn parse(path: &str) -> Result<Self, PathError> {
        segments(path, false).map(Self)
    }

    /// The value at this path.
    pub fn resolve<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        if self.0.len() > MAX_PATH_DEPTH {
            return None;
        }
        self.0.iter().try_fold(value, |value, segment| json::field(value.as_object()?, &segment.name))
    }
}

/// A path of field names that may fan out over arrays: `tools[*].description`. The empty path is the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WildcardPath(Box<[PathSegment]>);

impl WildcardPath {
    /// Splits a path.
    pub fn parse(path: &str) -> Result<Self, PathError> {
        segments(path, true).map(Self)
    }

    /// Whether a text is a path, at no cost but the reading.
    pub fn check(path: &str) -> Result<(), PathError> {
        each_segment(path, true, |_, _| ())
    }

    /// Its names, and whether it fans out over an array behind each.
    pub fn segments(&self) -> impl Iterator<Item = (&str, bool)> {
        self.0.iter().map(|segment| (&*segment.name, segment.fan_out))
    }

    /// Visits every value at this path in document order, with the array positions it was reached by,
    /// until the visitor breaks.
    ///
    /// Nothing is allocated but the positions.
    pub fn visit<'v, B>(
        &self,
        value: &'v Value,
        visitor: &mut impl FnMut(&'v Value, &[usize]) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        if self.0.len() > MAX_PATH_DEPTH {
            return ControlFlow::Continue(());
        }
        let mut positions = Vec::new();
        visit(&self.0, value, &mut positions, visitor)
    }

    /// All values at this path, in document order.
    pub fn resolve<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let mut values = Vec::new();
        let _: ControlFlow<()> = self.visit(value, &mut |value, _| {
            values.push(value);
            ControlFlow::Continue(())
        });
        values
    }

    /// The path with the positions a value was reached by: `tools[2].description`.
    pub fn with_positions(&self, positions: &[usize]) -> String {
        let mut text = String::new();
        let mut positions = positions.iter();
        for (at, segment) in self.0.iter().enumerate() {
            if at > 0 {
                text.push('.');
            }
            text.push_str(&segment.name);
            if segment.fan_out {
                match positions.next() {
                    Some(position) => _ = write!(text, "[{position}]"), // a string takes whatever is written
                    None => text.push_str("[*]"),
                }
            }
        }
        text
    }
}

impl fmt::Display for WildcardPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with_positions(&[]))
    }
}

// Recursion is bounded by the number of segments, at most `MAX_PATH_DEPTH`.
fn visit<'v, B>(
    segments: &[PathSegment],
    mut value: &'v Value,
    positions: &mut Vec<usize>,
    visitor: &mut impl FnMut(&'v Value, &[usize]) -> ControlFlow<B>,
) -> ControlFlow<B> {
    for (at, segment) in segments.iter().enumerate() {
        let Some(next) = value.as_object().and_then(|object| json::field(object, &segment.name)) else {
            return ControlFlow::Continue(());
        };
        if !segment.fan_out {
            value = next;
            continue;
        }
        let Some(items) = next.as_array() else { return ControlFlow::Continue(()) };
        for (position, item) in items.iter().enumerate() {
            positions.push(position);
            let flow = visit(&segments[at + 1..], item, positions, visitor);
            positions.pop();
            flow?;
        }
        return ControlFlow::Continue(());
    }
    visitor(value, positions)
}

/// The value at a simple dot-path, or nothing (specification §5.1.1). A path that is none resolves to
/// nothing.
///
/// ```
/// let message = serde_json::json!({"arguments": {"command": "ls"}});
/// assert_eq!(sortie_expr::path::resolve_simple_path("arguments.command", &message).unwrap(), "ls");
/// assert!(sortie_expr::path::resolve_simple_path("arguments.path", &message).is_none());
/// ```
pub fn resolve_simple_path<'v>(path: &str, value: &'v Value) -> Option<&'v Value> {
    SimplePath::parse(path).ok()?.resolve(value)
}

/// All values at a wildcard dot-path (specification §5.1.2). A path that is none resolves to nothing.
///
/// ```
/// let message = serde_json::json!({"tools": [{"name": "a"}, {"name": "b"}]});
/// assert_eq!(sortie_expr::path::resolve_wildcard_path("tools[*].name", &message), ["a", "b"]);
/// ```
pub fn resolve_wildcard_path<'v>(path: &str, value: &'v Value) -> Vec<&'v Value> {
    WildcardPath::parse(path).map(|path| path.resolve(value)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_where_and_what() {
        let wrong = |path| WildcardPath::parse(path).map_err(|error| (error.at, error.reason)).unwrap_err();
        assert_eq!(wrong("tools[0].name"), (5, PathErrorReason::NumericIndex));
        assert_eq!(wrong("tools..name"), (6, PathErrorReason::EmptySegment));
        assert_eq!(wrong("tools[*.name"), (5, PathErrorReason::Bracket));
        assert_eq!(wrong("a.b c"), (3, PathErrorReason::Character(' ')));
        assert_eq!(wrong("a."), (2, PathErrorReason::EmptySegment));
        assert_eq!(wrong("[*].a"), (0, PathErrorReason::Bracket));
        assert_eq!(wrong("a[*][*]"), (1, PathErrorReason::Bracket));
        assert_eq!(SimplePath::parse("a[*].b").unwrap_err().reason, PathErrorReason::Wildcard);
    }

    #[test]
    fn errors_say_which_part() {
        let part = |path: &'static str| &path[WildcardPath::parse(path).unwrap_err().extent(path)];
        assert_eq!(part("tools[0].name"), "[0]");
        assert_eq!(part("tools..name"), "..");
        assert_eq!(part("a."), ".");
        assert_eq!(part("tools[*.name"), "[*");
        assert_eq!(part("a.b\u{e9}c"), "\u{e9}");
    }

    #[test]
    fn a_path_deeper_than_the_limit_resolves_to_nothing() {
        let mut value = serde_json::json!(1);
        for _ in 0..MAX_PATH_DEPTH {
            value = serde_json::json!({ "a": value });
        }
        let at_limit = vec!["a"; MAX_PATH_DEPTH].join(".");
        assert_eq!(resolve_wildcard_path(&at_limit, &value).len(), 1);
        assert!(resolve_simple_path(&at_limit, &value).is_some());
        let beyond = format!("{at_limit}.a");
        let value = serde_json::json!({ "a": value });
        assert!(resolve_wildcard_path(&beyond, &value).is_empty());
        assert!(resolve_simple_path(&beyond, &value).is_none());
    }
}
