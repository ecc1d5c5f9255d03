use super::{Diagnostic, Rule, Span, found, warning};
use crate::model::Check;

pub(crate) const E_104: Rule =
    warning("E-104", "a promised verdict has checks to give it", include_str!("e104.md"));

/// What `judge_needs_llm: false` promises, checks must be able to keep.
pub(crate) fn check(checks: &[Check], at: Span) -> Option<Diagnostic> {
    let message = "this promises a verdict without a judge, and has no checks to give one";
    let help = "add `checks`, or remove this: its cases are skipped otherwise";
    checks.is_empty().then(|| found(&E_104, message).at(at).help(help))
}
