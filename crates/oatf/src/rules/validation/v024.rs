use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::NodePath;

use crate::model::Indicator;
use crate::rules::Rule;

/// With `attack.id`, indicator ids are that id, a hyphen and a number.
///
/// Whether `attack.id` itself has the right form is V-023's to say.
pub(crate) const V_024: Rule = Rule {
    code: "V-024",
    spec: "§6.1",
    title: "the id of an indicator continues that of its attack",
    severity: Error,
    explain: include_str!("v024.md"),
    check: Some(|document, report| {
        let attack = &document.attack;
        let (Some(attack_id), Some(indicators)) = (&attack.id, &attack.indicators) else { return };
        let attack_path = NodePath::root().key("attack").key("id");
        if report.is_unreadable(&attack_path) {
            return;
        }
        for (index, indicator) in indicators.iter().enumerate() {
            let Some(id) = &indicator.id else { continue };
            if continues(id, attack_id) {
                continue;
            }
            let path = NodePath::root().key("attack").key("indicators").index(index).key("id");
            report
                .add(&V_024, path, format!("`{id}` does not belong to the attack `{attack_id}`"))
                .also(&attack_path, "the id of the attack")
                .help(format!(
                    "write `{}`, or leave `id` out: it is generated in this form",
                    Indicator::generated_id(Some(attack_id), index)
                ));
        }
    }),
};

/// Whether an id is `{attack_id}-` and two digits or more.
fn continues(id: &str, attack_id: &str) -> bool {
    let number = id.strip_prefix(attack_id).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| number.len() >= 2 && number.bytes().all(|byte| byte.is_ascii_digit()))
}
