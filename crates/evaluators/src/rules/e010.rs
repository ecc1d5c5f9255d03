use super::{Diagnostic, Rule, Span, error, found, optionally_at, shown};
use std::collections::HashMap;

pub(crate) const E_010: Rule =
    error("E-010", "names tell patterns and checks apart", include_str!("e010.md"));

const HELP: &str = "reports and fixtures tell them apart by name";

/// Of two things with the same name in one file, the second is reported.
pub(crate) fn check<'n>(what: &str, names: impl Iterator<Item = (&'n str, Span)>) -> Vec<Diagnostic> {
    let mut seen = HashMap::new();
    let mut findings = Vec::new();
    for (name, at) in names {
        if let Some(first) = seen.insert(name, at) {
            findings.push(second(what, name).at(at).also(first, "first used here").help(HELP));
        }
    }
    findings
}

/// Two patterns with the same name, in two files.
pub(crate) fn in_files(name: &str, other: &str, at: Option<Span>) -> Diagnostic {
    optionally_at(second("patterns", name).help(format!("the other is `{other}`")).help(HELP), at)
}

fn second(what: &str, name: &str) -> Diagnostic {
    found(&E_010, format!("two {what} are called `{}`", shown(name))).label("second use")
}
