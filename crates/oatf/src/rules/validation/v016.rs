use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;
use crate::template::{Piece, pieces};

/// No template reference is left open.
pub(crate) const V_016: Rule = Rule {
    code: "V-016",
    spec: "§5.7",
    title: "every template reference is closed",
    severity: Error,
    explain: include_str!("v016.md"),
    check: Some(|document, report| {
        document.each_template(|at, template, _| {
            let unclosed = pieces(template).find_map(|piece| match piece {
                Piece::Unclosed { at, .. } => Some(at),
                _ => None,
            });
            if let Some(start) = unclosed {
                report
                    .add(&V_016, *at, "`{{` is never closed")
                    .within(start..start + 2)
                    .label("opens a reference")
                    .help("close it with `}}`, or write `\\{{` for the two braces themselves");
            }
        });
    }),
};
