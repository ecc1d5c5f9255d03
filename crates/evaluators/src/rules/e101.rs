use super::{Diagnostic, Rule, Span, found, optionally_at, warning};

pub(crate) const E_101: Rule =
    warning("E-101", "a file is named after its evaluator", include_str!("e101.md"));

/// `what` is an evaluator or a suite.
pub(crate) fn other_name(stem: &str, what: &str, id: &str, at: Option<Span>) -> Diagnostic {
    let finding = found(&E_101, format!("the file is called `{stem}.yaml`, and the {what} `{id}`"))
        .help(format!("call the file `{id}.yaml`, so that it is found by its id"));
    optionally_at(finding, at)
}
