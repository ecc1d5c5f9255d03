use super::{Diagnostic, Rule, Span, error, found};
use crate::parse::Layout;

pub(crate) const E_006: Rule = error("E-006", "an evaluator has patterns", include_str!("e006.md"));

pub(crate) fn empty(at: Span) -> Diagnostic {
    found(&E_006, "an evaluator needs at least one pattern")
        .at(at)
        .label("empty")
        .help("write `- {name: …, template: …}` for each attack")
}

pub(crate) fn missing(layout: Layout, at: Span) -> Diagnostic {
    let help = match layout {
        Layout::Flat => "write `patterns:` with `- {name: …, template: …}` for each attack",
        Layout::Folder { .. } => "put each pattern into `patterns/<slug>.yaml`, beside this file",
    };
    found(&E_006, "an evaluator needs `patterns`").at(at).label("no patterns here").help(help)
}
