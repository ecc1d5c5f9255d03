use super::{Diagnostic, Rule, Span, error, found};
use crate::parse::SuiteText;

pub(crate) const E_025: Rule = error("E-025", "a suite is not empty", include_str!("e025.md"));

pub(crate) fn includes_nothing(at: Span) -> Diagnostic {
    found(&E_025, "this suite includes nothing")
        .at(at)
        .help("a suite without cases would pass everything: list what is in it")
}

pub(crate) fn holds_nothing(suite: &SuiteText) -> Diagnostic {
    found(&E_025, format!("nothing is in the suite `{}`", suite.id))
        .at(suite.id_at)
        .help("a suite without cases would pass everything: include something")
}
