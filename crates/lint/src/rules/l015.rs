use sortie_oatf::frameworks::{FRAMEWORKS, Problem, is_well_formed, normalise};
use sortie_oatf::rules::edits;
use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::NodePath;

use super::Rule;

/// A mapping names an entry that its framework has.
pub(super) const L_015: Rule = Rule {
    code: "L-015",
    spec: "§4.3",
    title: "a mapping names an entry that its framework has",
    severity: Warning,
    explain: include_str!("l015.md"),
    check: Some(|document, report| {
        let mappings =
            document.attack.classification.iter().flat_map(|classification| &classification.mappings);
        let path = NodePath::root().key("attack").key("classification").key("mappings");
        for (index, mapping) in mappings.flatten().enumerate() {
            let path = path.clone().index(index);
            if let Some(meant) = same_letters(&mapping.framework) {
                let path = path.key("framework");
                let edits = edits::replace_scalar(document, &path, meant);
                report
                    .add(
                        &L_015,
                        path,
                        format!("`{}` is not how documents name this framework", mapping.framework),
                    )
                    .label(format!("did you mean `{meant}`?"))
                    .help("an unknown framework is kept, and nothing that groups by framework finds it")
                    .fix(format!("write `{meant}`"), edits);
                continue;
            }
            if is_well_formed(&mapping.framework, &mapping.id) {
                continue;
            }
            let path = path.key("id");
            match normalise(&mapping.framework, &mapping.id) {
                Ok(canonical) => {
                    let edits = edits::replace_scalar(document, &path, &canonical);
                    report
                        .add(
                            &L_015,
                            path,
                            format!("`{}` is not how `{}` writes it", mapping.id, mapping.framework),
                        )
                        .label(format!("`{canonical}`"))
                        .help("whoever groups attacks by their entries compares the text")
                        .fix(format!("write `{canonical}`"), edits);
                }
                Err(problem) => {
                    let message = match problem {
                        Problem::Form { .. } => "is not an identifier of",
                        Problem::NoEntry { .. } => "is not an entry of",
                    };
                    report
                        .add(&L_015, path, format!("`{}` {message} `{}`", mapping.id, mapping.framework))
                        .help(problem.to_string())
                        .help("use `framework: other` for anything else");
                }
            }
        }
    }),
};

/// The framework that is written differently only in case and punctuation, or with its publisher's name.
fn same_letters(written: &str) -> Option<&'static str> {
    let letters = |name: &str| -> String {
        name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let meant = match letters(written).as_str() {
        "mitreatlas" => "atlas",
        "attack" | "mitreattck" | "attck" => "mitre_attack",
        folded => FRAMEWORKS.iter().find(|known| letters(known) == folded)?,
    };
    (meant != written).then_some(meant)
}
