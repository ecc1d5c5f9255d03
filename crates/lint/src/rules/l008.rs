use sortie_syntax::DiagnosticSeverity::Warning;

use super::Rule;

/// A semantic indicator has two positive and two negative examples.
pub(super) const L_008: Rule = Rule {
    code: "L-008",
    spec: "§6.4",
    title: "a semantic indicator has two positive and two negative examples",
    severity: Warning,
    explain: include_str!("l008.md"),
    check: Some(|document, report| {
        for (path, indicator) in document.indicators() {
            let Some(semantic) = &indicator.semantic else { continue };
            let path = path.key("semantic");
            let count = |list: &Option<Vec<String>>| list.as_ref().map_or(0, Vec::len);
            let (positive, negative) = match &semantic.examples {
                Some(examples) => (count(&examples.positive), count(&examples.negative)),
                None => (0, 0),
            };
            if positive >= WANTED && negative >= WANTED {
                continue;
            }
            let message = if positive + negative == 0 {
                "this semantic indicator has no examples to calibrate with".to_owned()
            } else {
                format!(
                    "this semantic indicator has {positive} positive and {negative} negative examples, two of each are needed"
                )
            };
            let at = if semantic.examples.is_some() { path.key("examples") } else { path };
            report.add(&L_008, at, message).help(
                "a score means something else in every engine; examples say what must match and what must not",
            );
        }
    }),
};

/// How many of each kind.
const WANTED: usize = 2;
