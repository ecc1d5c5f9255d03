use sortie_expr::path::{PathErrorReason, WildcardPath};
use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::NodePath;

use crate::rules::Rule;

/// Every `target` is a wildcard dot-path.
pub(crate) const V_021: Rule = Rule {
    code: "V-021",
    spec: "§6.1, §6.2, §6.4",
    title: "every target is a wildcard dot-path",
    severity: Error,
    explain: include_str!("v021.md"),
    check: Some(|document, report| {
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let of_pattern = indicator.pattern.as_ref().and_then(|pattern| pattern.target.as_deref());
            let of_semantic = indicator.semantic.as_ref().and_then(|semantic| semantic.target.as_deref());
            let targets = [
                (None, Some(&*indicator.target)),
                (Some("pattern"), of_pattern),
                (Some("semantic"), of_semantic),
            ];
            for (within, target) in targets {
                let Some(target) = target else { continue };
                let Err(error) = WildcardPath::check(target) else { continue };
                let mut path = NodePath::root().key("attack").key("indicators").index(index);
                path = within.into_iter().fold(path, NodePath::key).key("target");
                report
                    .add(&V_021, path, format!("this is not a path: {}", error.reason))
                    .within(error.extent(target))
                    .help(match error.reason {
                        PathErrorReason::NumericIndex => {
                            "write `[*]` to look at every element; to look at one, use a CEL expression"
                        }
                        PathErrorReason::EmptySegment => {
                            "field names are separated by single dots; `\"\"` is the whole message"
                        }
                        _ => "field names, separated by dots, each with `[*]` after it where it holds a list",
                    });
            }
        }
    }),
};
