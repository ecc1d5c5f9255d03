use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::NodePath;

use crate::rules::Rule;

/// `semantic.threshold` is from 0 to 1.
pub(crate) const V_022: Rule = Rule {
    code: "V-022",
    spec: "§6.4",
    title: "a semantic threshold is from 0 to 1",
    severity: Error,
    explain: include_str!("v022.md"),
    check: Some(|document, report| {
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            if let Some(threshold) = indicator.semantic.as_ref().and_then(|semantic| semantic.threshold)
                && !(0.0..=1.0).contains(&threshold)
            {
                let path = NodePath::root().key("attack").key("indicators").index(index);
                report
                    .add(
                        &V_022,
                        path.key("semantic").key("threshold"),
                        format!("a threshold of {threshold} is not between 0 and 1"),
                    )
                    .help("it is the score from which a text counts as a match; 0.7 is used when it is left out");
            }
        }
    }),
};
