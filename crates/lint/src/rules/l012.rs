use serde_json::Value;
use sortie_oatf::model::{Condition, OPERATORS};
use sortie_oatf::rules::edits;
use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::nearest;

use super::Rule;

/// A condition that looks like an operator is one.
pub(super) const L_012: Rule = Rule {
    code: "L-012",
    spec: "§5.3",
    title: "a condition that looks like an operator is one",
    severity: Warning,
    explain: include_str!("l012.md"),
    check: Some(|document, report| {
        for (path, condition) in document.conditions() {
            let Condition::Value(Value::Object(fields)) = condition else { continue };
            // An object that is meant to be one has other words in it too.
            if fields.is_empty() || !fields.keys().all(|key| meant_by(key).is_some()) {
                continue;
            }
            for key in fields.keys() {
                let Some(meant) = meant_by(key) else { continue };
                let path = path.clone().key(key);
                let finding = report
                    .add(
                        &L_012,
                        path.clone(),
                        format!("`{key}` is no operator, so this compares with an object"),
                    )
                    .at_key();
                match meant {
                    Meant::Operator(operator) => {
                        finding
                            .label(format!("did you mean `{operator}`?"))
                            .help(format!("as it stands, only the object `{{{key}: ...}}` itself matches"))
                            .fix(format!("write `{operator}`"), edits::rename_key(document, &path, operator));
                    }
                    Meant::Equality => {
                        finding.label("not an operator").help(
                            "to compare with a value, write it without an operator: `condition: VALUE`",
                        );
                    }
                    Meant::Negation => {
                        finding
                            .label("not an operator")
                            .help("no operator negates; use a CEL expression with `!`");
                    }
                }
            }
        }
    }),
};

/// What an author had in mind.
enum Meant {
    Operator(&'static str),
    Equality,
    Negation,
}

/// What a key means that people bring along from other languages, or have misspelt.
fn meant_by(key: &str) -> Option<Meant> {
    Some(match key.to_ascii_lowercase().as_str() {
        "equals" | "equal" | "eq" => Meant::Equality,
        "not" | "ne" | "neq" | "not_equals" | "not_contains" | "not_regex" | "not_exists" => Meant::Negation,
        "matches" | "match" | "regexp" | "re" | "pattern" => Meant::Operator("regex"),
        "in" | "one_of" | "oneof" => Meant::Operator("any_of"),
        "prefix" | "begins_with" => Meant::Operator("starts_with"),
        "suffix" => Meant::Operator("ends_with"),
        "includes" | "substring" => Meant::Operator("contains"),
        "ge" => Meant::Operator("gte"),
        "le" => Meant::Operator("lte"),
        // Shorter words are one slip away from too many others.
        _ if key.len() >= 4 => {
            let operator = nearest(key, OPERATORS.iter().copied())?;
            Meant::Operator(OPERATORS.iter().find(|known| **known == operator)?)
        }
        _ => return None,
    })
}
