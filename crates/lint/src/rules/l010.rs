use sortie_expr::cel;
use sortie_expr::re2::MAX_TOGETHER;
use sortie_oatf::bindings::{Reachability, Side, UnreachableReason, reachability};
use sortie_syntax::DiagnosticSeverity::Warning;

use super::Rule;
use super::scope::{Scope, scopes};

/// An expression reads no field that a message may lack.
pub(super) const L_010: Rule = Rule {
    code: "L-010",
    spec: "§6.3",
    title: "an expression reads no field that a message may lack",
    severity: Warning,
    explain: include_str!("l010.md"),
    check: Some(|document, report| {
        let mut patterns = 0;
        for scope in scopes(document) {
            let Some(expression) = &scope.indicator.expression else { continue };
            // What is no CEL is V-014's to report.
            let Ok(program) = cel::Program::compile(&expression.cel) else { continue };
            patterns += program.pattern_cost();
            if patterns > MAX_TOGETHER {
                // So is what takes too long.
                break;
            }
            let unguarded = program.unguarded_fields();
            let lacking = unguarded.iter().find_map(|field| Some((field, lacks(&scope, &field.path)?)));
            let Some((field, lacks)) = lacking else { continue };
            let start = expression.cel.find(&field.path).unwrap_or(0);
            report
                .add(
                    &L_010,
                    scope.path.clone().key("expression").key("cel"),
                    format!(
                        "this reads `{}` in messages that have no such field, which is an error",
                        field.path
                    ),
                )
                .within(
                    start
                        ..start
                            + if start > 0 || expression.cel.starts_with(&field.path) {
                                field.path.len()
                            } else {
                                0
                            },
                )
                .label("read without `has()`")
                .help(lacks)
                .help(format!("or ask first: `has({}) && ...`", field.path));
        }
    }),
};

/// What to add so that every message has the field; `None` when every one may have it already.
fn lacks(scope: &Scope<'_>, field: &str) -> Option<String> {
    let path = field.strip_prefix("message.")?;
    let Some(surface) = scope.surface() else {
        return Some(
            "name the operation it is about with `surface`, and its side with `direction`".to_owned(),
        );
    };
    if scope.side.is_some() {
        return None;
    }
    let never = |side| {
        let answer = reachability(scope.protocol?, Some(surface), Some(side), &scope.modes, path);
        match answer {
            Reachability::Possible => Some(false),
            // A side that the operation does not have has no messages to fail on.
            Reachability::Never { reason, .. } if !matches!(reason, UnreachableReason::NoMessage { .. }) => {
                Some(true)
            }
            _ => None,
        }
    };
    match (never(Side::Request), never(Side::Response)) {
        (Some(true), Some(false)) => Some(wanted(Side::Response, surface)),
        (Some(false), Some(true)) => Some(wanted(Side::Request, surface)),
        _ => None,
    }
}

fn wanted(side: Side, surface: &str) -> String {
    format!("only the {0} of `{surface}` has it: add `direction: {0}`", side.as_str())
}
