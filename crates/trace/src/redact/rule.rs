//! What is to be taken out.

use std::str::FromStr;

use sortie_expr::path::{PathError, WildcardPath};
use sortie_expr::re2::Re2Error;

use super::REDACTED;

pub(super) const MIN_LITERAL: usize = 4;

/// HTTP headers that carry credentials, in lower case.
const CREDENTIAL_HEADERS: &str = "api-key authentication authorization cookie mcp-session-id private-token \
    proxy-authorization set-cookie x-access-token x-amz-security-token x-api-key x-auth-token \
    x-csrf-token x-goog-api-key x-goog-iam-authorization-token";

pub(super) fn is_credential_header(name: &str) -> bool {
    CREDENTIAL_HEADERS.split(' ').any(|known| known.eq_ignore_ascii_case(name))
}

/// What is to be taken out of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedactRule {
    /// A value, such as that of an environment variable: wherever it stands, in keys and numbers too, however its letters are
    /// escaped, and also as JSON within text and as part of a URL.
    Literal(String),
    /// An RE2 pattern: what it matches in a key, a string or a number.
    Regex(String),
    /// The name of a JSON member, in upper or lower case: its value, whatever that is.
    Field(String),
    /// A path of JSON members (`params.arguments.token`, `tools[*].key`), from the root of a message or below its
    /// `params`, `result` or `error`, as the target of an indicator has it: the value there.
    Path(String),
    /// The name of an HTTP header: its value, in headers and where JSON repeats them, as
    /// `{"x-key": …}` or as `{"name": "x-key", "value": …}`.
    Header(String),
}

/// `value:TEXT`, `regex:PATTERN`, `field:NAME`, `path:PATH` or `header:NAME`.
impl FromStr for RedactRule {
    type Err = RedactError;

    fn from_str(text: &str) -> Result<Self, RedactError> {
        let (kind, rest) = text.split_once(':').ok_or(RedactError::UnknownRule)?;
        let make = match kind {
            "value" => Self::Literal,
            "regex" => Self::Regex,
            "field" => Self::Field,
            "path" => Self::Path,
            "header" => Self::Header,
            _ => return Err(RedactError::UnknownRule),
        };
        Ok(make(rest.to_owned()))
    }
}

/// Why a rule is refused. No message repeats a literal, which is a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedactError {
    /// A literal is too short.
    #[error(
        "a value of fewer than {MIN_LITERAL} characters cannot be redacted: it would be found by chance everywhere"
    )]
    LiteralTooShort,
    /// A literal is part of what it would be replaced by.
    #[error("a value that is part of `{REDACTED}` cannot be redacted: it would still be there")]
    LiteralInMarker,
    /// A pattern is not RE2.
    #[error("`{pattern}` is not a pattern: {source}")]
    Regex {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        source: Re2Error,
    },
    /// A pattern matches nothing at all, everywhere.
    #[error("the pattern `{0}` matches the empty text, so it would match everywhere")]
    MatchesEmpty(String),
    /// A path is none.
    #[error("`{path}` is not a path: {source}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        source: PathError,
    },
    /// A name is empty.
    #[error("a field or a header needs a name")]
    NoName,
    /// It begins like no rule. It may be the secret itself, for want of `value:`.
    #[error("that is not a rule: it begins with one of `value:`, `regex:`, `field:`, `path:` and `header:`")]
    UnknownRule,
}

/// A name, as names are compared.
pub(super) fn name(name: &str) -> Result<String, RedactError> {
    if name.is_empty() { Err(RedactError::NoName) } else { Ok(name.to_lowercase()) }
}

/// A step from a value to one within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Member(String),
    Element,
}

#[derive(Clone, Debug)]
pub(super) struct PathRule(Vec<Step>);

impl PathRule {
    pub(super) fn parse(path: &str) -> Result<Self, RedactError> {
        WildcardPath::parse(path).map_err(|source| RedactError::Path { path: path.to_owned(), source })?;
        let mut steps = Vec::new();
        for part in path.split('.').filter(|part| !part.is_empty()) {
            let name = part.strip_suffix("[*]");
            steps.push(Step::Member(name.unwrap_or(part).to_owned()));
            if name.is_some() {
                steps.push(Step::Element);
            }
        }
        Ok(Self(steps))
    }

    /// The name of the member that it leads to; `None` for the root.
    pub(super) fn last_name(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|step| match step {
            Step::Member(name) => Some(&**name),
            Step::Element => None,
        })
    }

    /// Whether it leads to this place in a message.
    pub(super) fn leads_to(&self, place: &[Step]) -> bool {
        let below_envelope = match place.split_first() {
            Some((Step::Member(first), rest)) if ["params", "result", "error"].contains(&&**first) => {
                rest == self.0
            }
            _ => false,
        };
        below_envelope || place == self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Redactor;

    #[test]
    fn rules_are_written_with_their_kind() {
        assert_eq!("value:a:b".parse::<RedactRule>().unwrap(), RedactRule::Literal("a:b".into()));
        assert_eq!("path:a.b[*]".parse::<RedactRule>().unwrap(), RedactRule::Path("a.b[*]".into()));
        let error = "hunter2".parse::<RedactRule>().unwrap_err().to_string();
        assert!(error.contains("`value:`") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn rules_that_would_not_do_what_they_say_are_refused() {
        let refused = |rule: RedactRule| Redactor::new([rule]).unwrap_err();
        assert!(matches!(refused(RedactRule::Literal("abc".into())), RedactError::LiteralTooShort));
        assert!(matches!(refused(RedactRule::Literal("redact".into())), RedactError::LiteralInMarker));
        assert!(matches!(refused(RedactRule::Regex("a*".into())), RedactError::MatchesEmpty(_)));
        assert!(matches!(refused(RedactRule::Regex("(?!a)".into())), RedactError::Regex { .. }));
        assert!(matches!(refused(RedactRule::Path("a[0]".into())), RedactError::Path { .. }));
        assert!(matches!(refused(RedactRule::Field(String::new())), RedactError::NoName));
        assert!(Redactor::default().is_empty());
    }
}
