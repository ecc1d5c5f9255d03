//! Why a pattern is refused, and where.

use std::ops::Range;

/// A pattern that is refused: what is wrong, where, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default())]
pub struct Re2Error {
    /// The sort of mistake, for callers that treat some of them differently.
    pub kind: Re2ErrorKind,
    /// The bytes of the pattern that are at fault.
    pub span: Range<usize>,
    /// One sentence without a full stop, fit for the headline of a diagnostic.
    pub message: String,
    /// What to write instead, where there is something to say.
    pub help: Option<String>,
}

/// The sorts of mistake for which a pattern is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Re2ErrorKind {
    /// `(?=`, `(?!`, `(?<=` or `(?<!`.
    LookAround,
    /// `\1`, `\k<name>`, `\g{1}` or `(?P=name)`.
    Backreference,
    /// A possessive repeat such as `a++`.
    Possessive,
    /// An atomic group, `(?>`.
    AtomicGroup,
    /// A comment inside the pattern, `(?#`.
    Comment,
    /// A group that calls another one, `(?R)`, `(?1)`, `(?&name)` or `(?P>name)`.
    Recursion,
    /// A conditional group, `(?(1)`.
    Conditional,
    /// A branch reset group, `(?|`.
    BranchReset,
    /// `(?` followed by something that is no flag.
    UnknownGroupFlag,
    /// A group name that is empty, not closed, or holds something other than letters, digits and `_`.
    BadGroupName,
    /// A repeat of a repeat, such as `a**`.
    BadRepeat,
    /// A repeat with nothing before it.
    MissingRepeatArgument,
    /// A counted repeat that goes backwards, such as `a{3,2}`.
    BadRepeatRange,
    /// A counted repeat above 1000, alone or multiplied by the repeats inside it.
    RepeatTooLarge,
    /// A `[` that is never closed.
    MissingBracket,
    /// A `(` that is never closed.
    MissingParen,
    /// A `)` that closes nothing.
    UnexpectedParen,
    /// A range in brackets that goes backwards, such as `[z-a]`.
    BadClassRange,
    /// A named class RE2 does not know, such as `\p{Letter}` or `[[:foo:]]`.
    UnknownClass,
    /// An escape RE2 does not know, or one that is not finished.
    BadEscape,
    /// A backslash at the end of the pattern.
    TrailingBackslash,
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
    pub(super) fn new(kind: Re2ErrorKind, span: Range<usize>, message: impl Into<String>) -> Self {
        Self { kind, span, message: message.into(), help: None }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::Re2ErrorKind::{self, *};

    /// The kind, the text that the span covers, and the message.
    fn refusal(pattern: &str) -> (Re2ErrorKind, &str, String) {
        let error = check(pattern).expect_err(pattern);
        (error.kind, &pattern[error.span], error.message)
    }

    #[test]
    fn spans_cover_what_is_wrong() {
        for (pattern, kind, span) in [
            ("a(?=b)", LookAround, "(?="),
            ("(?!.*example)", LookAround, "(?!"),
            ("(?<=a)b", LookAround, "(?<="),
            ("(?<!a)b", LookAround, "(?<!"),
            (r"(a)\1", Backreference, r"\1"),
            (r"(?P<n>a)\k<n>", Backreference, r"\k"),
            ("(?P<n>a)(?P=n)", Backreference, "(?P="),
            ("xa++", Possessive, "++"),
            ("xa*+", Possessive, "*+"),
            ("a{2}+b", Possessive, "{2}+"),
            ("a**", BadRepeat, "**"),
            ("a{2}{3}", BadRepeat, "{2}{3}"),
            ("(?>a)", AtomicGroup, "(?>"),
            ("(?#note)a", Comment, "(?#"),
            ("(?R)", Recursion, "(?R"),
            ("(?1)", Recursion, "(?1"),
            ("(?P>n)", Recursion, "(?P>"),
            ("(?(1)a|b)", Conditional, "(?("),
            ("(?|a|b)", BranchReset, "(?|"),
            ("(?x)a", UnknownGroupFlag, "(?x"),
            ("(?i-)a", UnknownGroupFlag, "(?i-)"),
            ("(?P<a b>c)", BadGroupName, "a b"),
            ("(?P<>c)", BadGroupName, ">"),
            ("a|*", MissingRepeatArgument, "*"),
            ("x{3,2}", BadRepeatRange, "{3,2}"),
            ("x{1001}", RepeatTooLarge, "{1001}"),
            ("(x{50}){50}", RepeatTooLarge, "{50}"),
            ("a[^b", MissingBracket, "[^"),
            ("a[b", MissingBracket, "["),
            ("(a(?i:b(c", MissingParen, "("),
            ("a(?i:b(c)", MissingParen, "(?i:"),
            ("a)", UnexpectedParen, ")"),
            ("[z-a]", BadClassRange, "z-a"),
            (r"\p{Letter}", UnknownClass, r"\p{Letter}"),
            ("[[:foo:]]", UnknownClass, "[:foo:]"),
            (r"a\Z", BadEscape, r"\Z"),
            (r"\x{110000}", BadEscape, r"\x{110000}"),
            (r"[a-\d]", BadEscape, r"\d"),
            (r"a\", TrailingBackslash, r"\"),
            (r"a\C", Unsupported, r"\C"),
        ] {
            let (found, covered, _) = refusal(pattern);
            assert_eq!((found, covered), (kind, span), "{pattern}");
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
        assert_eq!(refusal(r"\u00e9").2, r"`\u` is not an escape in RE2");
    }
}
