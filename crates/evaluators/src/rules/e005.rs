use super::{Diagnostic, Rule, Span, error, found};

pub(crate) const E_005: Rule = error("E-005", "a text says something", include_str!("e005.md"));

pub(crate) fn empty(at: Span) -> Diagnostic {
    found(&E_005, "this text says nothing").at(at).label("empty").help("write what it is about")
}
