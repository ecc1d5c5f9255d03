use super::{Diagnostic, Rule, Span, error, found, shown};
use crate::model::Evaluator;
use sortie_syntax::nearest;

pub(crate) const E_021: Rule =
    error("E-021", "a case names a pattern of its evaluator", include_str!("e021.md"));

pub(crate) fn check(name: &str, evaluator: &Evaluator, at: Span) -> Option<Diagnostic> {
    let names = || evaluator.patterns.iter().map(|pattern| pattern.name.as_str());
    if names().any(|known| known == name) {
        return None;
    }
    let finding = found(&E_021, format!("the evaluator has no pattern `{}`", shown(name))).at(at);
    Some(match nearest(name, names()) {
        Some(meant) => {
            finding.label(format!("did you mean `{meant}`?")).help("name the pattern as it is written")
        }
        None => finding.help("leave it out to mean the first one"),
    })
}
