use super::{Diagnostic, Rule, Span, found, shown, warning};

pub(crate) const E_106: Rule =
    warning("E-106", "what is between braces is a placeholder", include_str!("e106.md"));

pub(crate) fn unclosed(at: Span) -> Diagnostic {
    found(&E_106, "`{{` is never closed")
        .at(at)
        .label("no `}}` follows")
        .help("close it, or write `\\{{` to say that this is meant")
}

pub(crate) fn half_open(at: Span) -> Diagnostic {
    found(&E_106, "`}}` closes what one `{` opens")
        .at(at)
        .label("not filled")
        .help("write two braces on both sides of a name")
}

pub(crate) fn blanks(name: &str) -> Diagnostic {
    not_filled(name)
        .label("a name has no blanks around it")
        .help(format!("write `{{{{{}}}}}`, or `\\{{{{` to say that this is meant", name.trim()))
}

pub(crate) fn no_name(name: &str) -> Diagnostic {
    not_filled(name)
        .label("this is no name")
        .help("a name is made of letters, digits and `_`; write `\\{{` to say that this is meant")
}

fn not_filled(name: &str) -> Diagnostic {
    found(&E_106, format!("`{{{{{}}}}}` is not filled", shown(name)))
}
