use super::{Diagnostic, Rule, Span, error, found};
use crate::arguments::ArgumentsError;

pub(crate) const E_029: Rule = error("E-029", "a key of arguments names something", include_str!("e029.md"));

pub(crate) fn no_name(problem: &ArgumentsError, at: Span) -> Diagnostic {
    found(&E_029, problem.to_string())
        .at(at)
        .help("a key is one name, or several with `|` between them: `path|file|uri`")
}
