use super::{Diagnostic, Rule, Span, error, found};
use crate::parse::{Include, IncludeKind};

pub(crate) const E_024: Rule = error("E-024", "a suite names what is there", include_str!("e024.md"));

pub(crate) fn unknown(include: &Include, nearest: Option<&str>) -> Diagnostic {
    let message = match include.kind {
        IncludeKind::Tag => format!("nothing has the tag `{}`", include.name),
        kind => format!("there is no {kind} `{}`", include.name),
    };
    let finding = found(&E_024, message).at(include.span);
    match nearest {
        Some(meant) => finding
            .label(format!("did you mean `{meant}`?"))
            .help("a suite that names nothing would look larger than it is"),
        None => finding.help("name something that is loaded too, or remove it"),
    }
}

pub(crate) fn several(at: Span) -> Diagnostic {
    found(&E_024, "each item includes one thing")
        .at(at)
        .help("write an item for each: `- evaluator: a` and `- tag: b`")
}
