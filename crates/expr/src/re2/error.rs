//! Why a pattern is refused, and where.

use std::ops::Range;

/// A pattern that is refused: what is wrong, where, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default())]
pub struct Re2Error {
    /// Whether RE2 refuses the pattern too.
    pub kind: Re2ErrorKind,
    /// The bytes of the pattern that are at fault.
    pub span: Range<usize>,
    /// One sentence without a full stop, fit for the headline of a diagnostic.
    pub message: String,
    /// What to write instead, where there is something to say.
    pub help: Option<String>,
}

/// Who refuses a pattern: RE2, or only we.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Re2ErrorKind {
    /// RE2 refuses it too.
    Syntax,
    /// RE2 accepts this, and it cannot be matched faithfully here.
    Unsupported,
    /// The pattern text is longer than is accepted here.
    TooLong,
    /// The pattern compiles to more than is accepted here.
    TooLarge,
    /// The repeats in the pattern nest deeper than is accepted here.
    TooDeep,
}

impl Re2Error {
    /// RE2 refuses the pattern.
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { kind: Re2ErrorKind::Syntax, span, message: message.into(), help: None }
    }

    /// RE2 would accept the pattern.
    pub(super) fn beyond(kind: Re2ErrorKind, span: Range<usize>, message: impl Into<String>) -> Self {
        Self { kind, ..Self::new(span, message) }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::Re2ErrorKind::{Syntax, Unsupported};

    #[test]
    fn spans_cover_what_is_wrong() {
        for (pattern, message, span) in [
            ("a(?=b)", "look-", "(?="),
            ("(?!.*example)", "look-", "(?!"),
            ("(?<=a)b", "look-", "(?<="),
            ("(?<!a)b", "look-", "(?<!"),
            (r"(a)\1", "backreferences", r"\1"),
            (r"(?P<n>a)\k<n>", "backreferences", r"\k"),
            ("(?P<n>a)(?P=n)", "backreferences", "(?P="),
            ("xa++", "possessive", "++"),
            ("xa*+", "possessive", "*+"),
            ("a{2}+b", "possessive", "{2}+"),
            ("a**", "cannot be repeated", "**"),
            ("a{2}{3}", "cannot be repeated", "{2}{3}"),
            ("(?>a)", "atomic", "(?>"),
            ("(?#note)a", "comments", "(?#"),
            ("(?R)", "recursion", "(?R"),
            ("(?1)", "calling", "(?1"),
            ("(?P>n)", "calling", "(?P>"),
            ("(?(1)a|b)", "conditional", "(?("),
            ("(?|a|b)", "branch reset", "(?|"),
            ("(?x)a", "the flag `x`", "(?x"),
            ("(?i-)a", "a `-` comes once", "(?i-)"),
            ("(?P<a b>c)", "cannot name", "a b"),
            ("(?P<>c)", "is empty", ">"),
            ("a|*", "nothing here to repeat", "*"),
            ("x{3,2}", "repeat ends before", "{3,2}"),
            ("x{1001}", "a repeat counts to 1000", "{1001}"),
            ("(x{50}){50}", "counts to more than 1000", "{50}"),
            ("a[^b", "bracket is never closed", "[^"),
            ("a[b", "bracket is never closed", "["),
            ("(a(?i:b(c", "group is never closed", "("),
            ("a(?i:b(c)", "group is never closed", "(?i:"),
            ("a)", "closes nothing", ")"),
            ("[z-a]", "range ends before", "z-a"),
            (r"\p{Letter}", "knows no", r"\p{Letter}"),
            ("[[:foo:]]", "knows no", "[:foo:]"),
            (r"a\Z", "is not an escape", r"\Z"),
            (r"\x{110000}", "no such character", r"\x{110000}"),
            (r"[a-\d]", "cannot stand here", r"\d"),
            (r"a\", "ends the pattern", r"\"),
            (r"a\C", "half a character", r"\C"),
        ] {
            let error = check(pattern).expect_err(pattern);
            assert!(error.message.contains(message), "{pattern}: {error}");
            assert_eq!(&pattern[error.span], span, "{pattern}");
            assert_eq!(error.kind, if pattern == r"a\C" { Unsupported } else { Syntax }, "{pattern}");
        }
    }

    #[test]
    fn messages_say_what_and_help_says_what_instead() {
        let error = check("https?://(?!example)").unwrap_err();
        assert_eq!(error.message, "look-ahead is not part of RE2");
        assert_eq!(
            error.to_string(),
            "look-ahead is not part of RE2 (match the text here, and exclude the rest with a second condition or a CEL \
             expression)"
        );
        let error = check(r"\p{greek}").unwrap_err();
        assert_eq!(error.message, "RE2 knows no Unicode class called `greek`");
        assert_eq!(error.help.as_deref(), Some(r"`\p{Greek}` may be meant"));
        assert_eq!(check(r"\u00e9").unwrap_err().message, r"`\u` is not an escape in RE2");
    }
}
