use super::{Diagnostic, Rule, Span, error, found};

pub(crate) const E_007: Rule = error("E-007", "an evaluator has one layout", include_str!("e007.md"));

pub(crate) fn two_layouts(at: Span) -> Diagnostic {
    found(&E_007, "the patterns are in this file and in `patterns/` as well")
        .at(at)
        .label("two layouts at once")
        .help("move these into files of their own, or those into this list")
}
