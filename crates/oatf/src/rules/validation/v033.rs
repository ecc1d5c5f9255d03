use serde_json::Value;
use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;

/// At most one entry of a response list has no `when`.
///
/// `elicitations` is no such list: each of its entries may be sent, so several may come without a condition.
pub(crate) const V_033: Rule = Rule {
    code: "V-033",
    spec: "§11.1.14",
    title: "a response list has one fallback",
    severity: Error,
    explain: include_str!("v033.md"),
    check: Some(|document, report| {
        document.each_response_list(|list| {
            if list.key == "elicitations" {
                return;
            }
            let fallback = |(_, entry): &(usize, &Value)| {
                entry.as_object().is_some_and(|entry| !entry.contains_key("when"))
            };
            let mut fallbacks = list.entries().iter().enumerate().filter(fallback);
            if let (Some((first, _)), Some((second, _))) = (fallbacks.next(), fallbacks.next()) {
                report
                    .add(&V_033, list.at, format!("`{}` has more than one entry without `when`", list.key))
                    .label("one fallback at most")
                    .also(&list.at.index(first).path(), "the fallback")
                    .also(&list.at.index(second).path(), "never chosen")
                    .help("give all but one of them a `when`");
            }
        });
    }),
};
