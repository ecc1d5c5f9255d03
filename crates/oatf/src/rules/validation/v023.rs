use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::NodePath;

use crate::rules::Rule;

/// `attack.id` is a name and a number.
pub(crate) const V_023: Rule = Rule {
    code: "V-023",
    spec: "§4.2",
    title: "the id of an attack is a name and a number",
    severity: Error,
    explain: include_str!("v023.md"),
    check: Some(|document, report| {
        if let Some(id) = &document.attack.id
            && !is_attack_id(id)
        {
            report
                .add(
                    &V_023,
                    NodePath::root().key("attack").key("id"),
                    format!("`{id}` cannot be the id of an attack"),
                )
                .help(
                    "capital letters, digits and hyphens, then a number of three digits or more: `ACME-001`",
                );
        }
    }),
};

/// `[A-Z][A-Z0-9-]*-[0-9]{3,}`
fn is_attack_id(id: &str) -> bool {
    let Some((name, number)) = id.rsplit_once('-') else { return false };
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-')
        && number.len() >= 3
        && number.bytes().all(|byte| byte.is_ascii_digit())
}
