use super::{Diagnostic, Rule, Span, error, found};
use sortie_expr::re2::Re2Error;

pub(crate) const E_012: Rule =
    error("E-012", "the regular expression of a check is RE2", include_str!("e012.md"));

pub(crate) fn not_re2(problem: Re2Error, at: Span) -> Diagnostic {
    let help = problem.help.unwrap_or_else(|| "write it as RE2 takes it".to_owned());
    found(&E_012, problem.message).at(at).help(help)
}
