use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;
use crate::rules::walk::ConditionAt;

/// No condition is an empty mapping: in patterns, triggers and `when` inside states.
pub(crate) const S_001: Rule = Rule {
    code: "S-001",
    spec: "",
    title: "a condition compares with something",
    severity: Error,
    explain: include_str!("s001.md"),
    check: Some(|document, report| {
        document.each_condition(|at, condition| {
            // The shorthand form only exists where an operator was written.
            if !condition.is_empty()
                || matches!(condition, ConditionAt::Shorthand(_))
                || report.is_damaged(*at)
            {
                return;
            }
            report
                .add(&S_001, *at, "this condition compares with nothing")
                .help("add an operator such as `contains`, or a value to be equal to")
                .help("to ask only whether the field is there, write `exists: true`");
        });
    }),
};
