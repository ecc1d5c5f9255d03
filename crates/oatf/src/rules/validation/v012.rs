use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::{NodePath, listed};

use crate::rules::Rule;

/// Exactly one of `pattern`, `expression` and `semantic` per indicator.
pub(crate) const V_012: Rule = Rule {
    code: "V-012",
    spec: "§11.1.11",
    title: "an indicator decides in exactly one way",
    severity: Error,
    explain: include_str!("v012.md"),
    check: Some(|document, report| {
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let given = [
                ("pattern", indicator.pattern.is_some()),
                ("expression", indicator.expression.is_some()),
                ("semantic", indicator.semantic.is_some()),
            ];
            let mut keys = given.into_iter().filter_map(|(key, is_given)| is_given.then_some(key));
            let path = || NodePath::root().key("attack").key("indicators").index(index);
            match (keys.next(), keys.next()) {
                (Some(_), None) => {}
                (None, _) => {
                    report
                        .add(&V_012, path(), "the indicator does not say what to look for")
                        .label("no `pattern`, `expression` or `semantic`")
                        .help("add one of the three, for example `pattern: {contains: \"id_rsa\"}`");
                }
                (Some(first), Some(second)) => {
                    let third = keys.next();
                    let given: Vec<_> = [Some(first), Some(second), third].into_iter().flatten().collect();
                    let mut finding = report
                        .add(&V_012, path(), format!("the indicator has {}; it decides in one way", listed(&given)))
                        .help("make an indicator of each, and say with `correlation` whether any or all must match");
                    for key in given {
                        finding = finding.also(&path().key(key), "one way to decide");
                    }
                }
            }
        }
    }),
};
