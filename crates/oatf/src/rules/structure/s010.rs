use sortie_syntax::DiagnosticSeverity::Error;

use crate::extension;
use crate::rules::{Rule, edits};

/// `x-sortie` is understood, all of it.
pub(crate) const S_010: Rule = Rule {
    code: "S-010",
    spec: "",
    title: "`x-sortie` has known keys, the right types and names that exist",
    severity: Error,
    explain: include_str!("s010.md"),
    check: Some(|document, report| {
        for error in extension::check(document) {
            let edits = match &error.meant {
                // Another name would not make it right.
                Some(_) if !error.fits => Vec::new(),
                Some(meant) if error.is_key => edits::rename_key(document, &error.path, meant),
                Some(meant) => edits::replace_scalar(document, &error.path, meant),
                None => Vec::new(),
            };
            let mut finding = report.add(&S_010, error.path, error.message);
            if error.is_key {
                finding = finding.at_key();
            }
            if let Some(help) = error.help {
                finding = finding.help(help);
            }
            if let Some(meant) = error.meant {
                finding.label(format!("did you mean `{meant}`?")).fix(format!("write `{meant}`"), edits);
            }
        }
    }),
};
