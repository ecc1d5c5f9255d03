use super::{Diagnostic, Edit, Rule, Span, found, shown, warning};
use crate::model::Standard;

pub(crate) const E_102: Rule =
    warning("E-102", "an entry of a standard is written as the standard writes it", include_str!("e102.md"));

/// `span` is what a repair replaces.
pub(crate) fn other_form(written: &str, standard: Standard, entry: &str, at: Span, span: Span) -> Diagnostic {
    found(&E_102, format!("`{}` is not how `{standard}` writes it", shown(written)))
        .at(at)
        .label(format!("`{entry}`"))
        .help("it is understood; whoever compares texts does not understand it")
        .fix(format!("write `{entry}`"), vec![Edit { span, replacement: entry.to_owned() }])
}
