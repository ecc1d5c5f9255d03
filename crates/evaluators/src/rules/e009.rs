use super::{Diagnostic, Rule, Span, error, found, shown};
use crate::model::Standard;
use sortie_oatf::frameworks::Problem;

pub(crate) const E_009: Rule =
    error("E-009", "a standard has the entry that is named", include_str!("e009.md"));

pub(crate) fn no_entry(written: &str, standard: Standard, problem: &Problem, at: Span) -> Diagnostic {
    let what = match problem {
        Problem::Form { .. } => "an identifier",
        Problem::NoEntry { .. } => "an entry",
    };
    found(&E_009, format!("`{}` is not {what} of `{standard}`", shown(written)))
        .at(at)
        .help(problem.to_string())
}
