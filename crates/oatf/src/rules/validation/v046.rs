use sortie_syntax::DiagnosticSeverity::Error;

use crate::duration::parse_duration;
use crate::rules::Rule;
use crate::rules::validation::v036::suggest;
use crate::rules::walk::ATTACK;

/// `attack.grace_period` is a duration.
pub(crate) const V_046: Rule = Rule {
    code: "V-046",
    spec: "§4.2",
    title: "`grace_period` is a duration",
    severity: Error,
    explain: include_str!("v046.md"),
    check: Some(|document, report| {
        if let Some(period) = &document.attack.grace_period
            && let Err(error) = parse_duration(period)
        {
            suggest(report.add(&V_046, ATTACK.key("grace_period"), error.to_string()), period);
        }
    }),
};
