use super::{Diagnostic, Rule, Span, error, found};
use crate::parse::DeadEnd;
use sortie_expr::path::PathError;

pub(crate) const E_013: Rule =
    error("E-013", "the target of a check is in the transcript", include_str!("e013.md"));

pub(crate) fn no_path(problem: &PathError, at: Span) -> Diagnostic {
    found(&E_013, format!("this is no path: {problem}"))
        .at(at)
        .help("a path is made of keys with dots between them; `[*]` looks into every item of a list")
}

pub(crate) fn never_found(dead_end: DeadEnd, at: Span) -> Diagnostic {
    let finding = found(&E_013, format!("this target can never be found: {}", dead_end.message)).at(at);
    dead_end.explain(finding)
}
