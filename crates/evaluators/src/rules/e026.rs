use super::{Diagnostic, Rule, error, found, way};
use crate::parse::Include;

pub(crate) const E_026: Rule = error("E-026", "a suite is not a part of itself", include_str!("e026.md"));

pub(crate) fn cycle(include: &Include, ids: &[String]) -> Diagnostic {
    found(&E_026, format!("these suites include each other: {}", way(ids)))
        .at(include.span)
        .help("remove one of these: a suite cannot be a part of itself")
}
