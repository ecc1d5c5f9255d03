use super::{Diagnostic, Rule, found, warning};

pub(crate) const E_105: Rule =
    warning("E-105", "a placeholder is not a misspelt one", include_str!("e105.md"));

pub(crate) fn misspelt(name: &str, meant: &str) -> Diagnostic {
    found(&E_105, format!("`{{{{{name}}}}}` is no name that a run fills"))
        .label(format!("did you mean `{{{{{meant}}}}}`?"))
        .help("other names are for the user to give: call yours something else")
}
