use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;
use crate::rules::walk::INDICATORS;

/// Every key of `expression.variables` is an identifier of CEL.
pub(crate) const V_039: Rule = Rule {
    code: "V-039",
    spec: "§11.1.15",
    title: "variables have names that CEL can use",
    severity: Error,
    explain: include_str!("v039.md"),
    check: Some(|document, report| {
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let variables =
                indicator.expression.as_ref().and_then(|expression| expression.variables.as_ref());
            for name in variables.into_iter().flat_map(|variables| variables.keys()) {
                let help = if !is_identifier(name) {
                    "names are letters, digits and `_`, and start with no digit: CEL would read the rest \
                     as operators"
                } else if RESERVED.contains(&name.as_str()) {
                    "the word means something in CEL, or is kept for it: choose another"
                } else {
                    continue;
                };
                let at = INDICATORS.index(index);
                let at = at.key("expression");
                report
                    .add(
                        &V_039,
                        at.key("variables").key(name),
                        format!("`{name}` cannot be a variable of CEL"),
                    )
                    .at_key()
                    .help(help);
            }
        }
    }),
};

/// The words that the grammar of CEL keeps for itself; none of them is an identifier.
const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
