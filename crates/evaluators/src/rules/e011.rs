use super::{Diagnostic, Rule, Span, error, found};
use sortie_oatf::model::OPERATORS;
use sortie_syntax::listed;

pub(crate) const E_011: Rule =
    error("E-011", "a check is a pattern or an expression", include_str!("e011.md"));

pub(crate) fn one_test(has_both: bool, at: Span) -> Diagnostic {
    let message = if has_both {
        "a check has `pattern` or `cel`, not both"
    } else {
        "a check needs `pattern` or `cel`"
    };
    found(&E_011, message)
        .at(at)
        .help("`pattern: {target: 'answers[*]', contains: text}` looks at values")
        .help("`cel: transcript.calls.exists(c, c.name == 'send_email')` says anything else")
}

pub(crate) fn two_conditions(at: Span) -> Diagnostic {
    found(&E_011, "a pattern has `condition` or operators of its own, not both")
        .at(at)
        .help("move the operator into `condition`")
}

pub(crate) fn no_condition(at: Span) -> Diagnostic {
    found(&E_011, "the pattern of a check needs a condition").at(at).help(operators())
}

pub(crate) fn empty_condition(at: Span) -> Diagnostic {
    found(&E_011, "this condition compares with nothing").at(at).help(operators())
}

fn operators() -> String {
    format!("give one of {}", listed(OPERATORS))
}
