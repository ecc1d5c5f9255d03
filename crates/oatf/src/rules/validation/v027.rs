use sortie_expr::path::{PathErrorReason, SimplePath};
use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;

/// Every key of a predicate is a simple dot-path: in `trigger.match`, and in `when` inside states.
pub(crate) const V_027: Rule = Rule {
    code: "V-027",
    spec: "§5.4",
    title: "predicates name simple paths",
    severity: Error,
    explain: include_str!("v027.md"),
    check: Some(|document, report| {
        document.each_predicate_entry(|at, key, _| {
            if let Err(error) = SimplePath::parse(key) {
                let message = format!("`{key}` is not a simple path: {error}");
                let finding = report.add(&V_027, at.key(key), message).at_key().help(
                    "a predicate looks at one value: field names with dots between them, such as \
                           `arguments.path`",
                );
                if matches!(error.reason, PathErrorReason::Wildcard | PathErrorReason::NumericIndex) {
                    finding.help(
                        "to look anywhere in a list, put a string operator on the list itself: it is \
                         compared as JSON",
                    );
                }
            }
        });
    }),
};
