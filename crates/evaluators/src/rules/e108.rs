use super::{Diagnostic, Rule, Span, found, warning};
use crate::model::{Surface, TargetClass};

pub(crate) const E_108: Rule = warning("E-108", "surfaces agree with the folder", include_str!("e108.md"));

pub(crate) fn check(surfaces: &[Surface], folder: Option<TargetClass>, at: Span) -> Option<Diagnostic> {
    let class = folder?;
    let contradicts = match class {
        TargetClass::Agent => surfaces == [Surface::Mcp],
        TargetClass::Mcp => !surfaces.is_empty() && !surfaces.contains(&Surface::Mcp),
    };
    contradicts.then(|| {
        found(&E_108, format!("this lies in the folder `{class}`, and says something else"))
            .at(at)
            .help(format!("the folder decides: name `{class}` too, or move the file"))
    })
}
