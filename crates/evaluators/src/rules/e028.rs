use super::{Diagnostic, Rule, Span, error, found};
use std::fmt::Display;

pub(crate) const E_028: Rule = error("E-028", "the version of the schema is known", include_str!("e028.md"));

pub(crate) fn unknown_version(version: impl Display, at: Span) -> Diagnostic {
    found(&E_028, format!("there is no version {version} of evaluators"))
        .at(at)
        .label("this is 1, or left out")
        .help("write `schema_version: 1`")
}
