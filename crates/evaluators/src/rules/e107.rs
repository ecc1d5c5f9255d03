use super::{Diagnostic, Rule, Span, found, warning};

pub(crate) const E_107: Rule = warning("E-107", "what looks like arguments is JSON", include_str!("e107.md"));

pub(crate) fn no_json(message: &str, placeholder: bool, at: Span) -> Diagnostic {
    let finding = found(&E_107, format!("this looks like arguments and is no JSON: {message}"))
        .at(at)
        .help("as it is, the whole text is put into each string argument of a tool");
    if placeholder {
        finding.help("put the placeholder into quotes: `\"{{name}}\"`")
    } else if message.contains("escape") {
        finding.help("in JSON, a backslash is written twice: `\\\\{{` for braces that are meant")
    } else {
        finding
    }
}
