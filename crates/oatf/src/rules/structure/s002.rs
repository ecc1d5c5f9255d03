use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;

/// No `any_of` is an empty list: in patterns, triggers and `when` inside states.
pub(crate) const S_002: Rule = Rule {
    code: "S-002",
    spec: "",
    title: "`any_of` offers something",
    severity: Error,
    explain: include_str!("s002.md"),
    check: Some(|document, report| {
        document.each_condition(|at, condition| {
            if condition.any_of().is_some_and(<[_]>::is_empty) {
                report
                    .add(&S_002, at.key("any_of"), "`any_of` is empty, so nothing can be one of it")
                    .help("list the values that count, or remove the operator");
            }
        });
    }),
};
