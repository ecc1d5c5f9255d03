use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::NodePath;

use crate::rules::Rule;

/// `severity.confidence` is from 0 to 100.
pub(crate) const V_017: Rule = Rule {
    code: "V-017",
    spec: "§4.3",
    title: "the confidence of a severity is from 0 to 100",
    severity: Error,
    explain: include_str!("v017.md"),
    check: Some(|document, report| {
        let confidence = document.attack.severity.as_ref().and_then(|severity| severity.confidence);
        if let Some(confidence) = confidence
            && !(0..=100).contains(&confidence)
        {
            let path = NodePath::root().key("attack").key("severity").key("confidence");
            report
                .add(&V_017, path, format!("a confidence of {confidence} is not between 0 and 100"))
                .help("it is a percentage: 0 is a guess, 100 is certain, 50 is assumed when it is left out");
        }
    }),
};
