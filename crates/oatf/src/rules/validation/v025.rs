use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::NodePath;

use crate::rules::Rule;

/// `indicator.confidence` is from 0 to 100.
pub(crate) const V_025: Rule = Rule {
    code: "V-025",
    spec: "§6.1",
    title: "the confidence of an indicator is from 0 to 100",
    severity: Error,
    explain: include_str!("v025.md"),
    check: Some(|document, report| {
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            if let Some(confidence) = indicator.confidence
                && !(0..=100).contains(&confidence)
            {
                let path = NodePath::root().key("attack").key("indicators").index(index).key("confidence");
                report
                    .add(&V_025, path, format!("a confidence of {confidence} is not between 0 and 100"))
                    .help("it is a percentage; left out, that of the attack's severity counts");
            }
        }
    }),
};
