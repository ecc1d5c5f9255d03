use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;
use crate::rules::walk::is_name;

/// Extractor names are `[a-z][a-z0-9_]*`.
pub(crate) const V_037: Rule = Rule {
    code: "V-037",
    spec: "§5.5",
    title: "extractors have names that templates can use",
    severity: Error,
    explain: include_str!("v037.md"),
    check: Some(|document, report| {
        document.each_phase(|phase| {
            for (index, extractor) in phase.phase.extractors.iter().flatten().enumerate() {
                if is_name(&extractor.name) {
                    continue;
                }
                let at = phase.at.key("extractors");
                let finding = report
                    .add(
                        &V_037,
                        at.index(index).key("name"),
                        format!("`{}` cannot be the name of an extractor", extractor.name),
                    )
                    .help("names start with a small letter, and go on with small letters, digits and `_`");
                // No fix: the templates that use the name would have to change with it.
                let meant = extractor.name.to_ascii_lowercase().replace(['-', ' ', '.'], "_");
                if is_name(&meant) {
                    finding
                        .label(format!("`{meant}` can"))
                        .help(format!("templates use it as `{{{{{meant}}}}}`"));
                }
            }
        });
    }),
};
