use super::{Diagnostic, Rule, Span, found, warning};

pub(crate) const E_103: Rule =
    warning("E-103", "an evaluator says what it is about", include_str!("e103.md"));

pub(crate) fn no_description(at: Span) -> Diagnostic {
    found(&E_103, "nothing says what this evaluator is about")
        .at(at)
        .label("no `description` here")
        .help("say it in one line: `description: …`; lists, judges and reports show it")
}
