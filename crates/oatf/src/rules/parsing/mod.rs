//! Why a text is not a document. These are found while it is read, so they have a page each and no check.

use super::Rule;

#[rustfmt::skip] // one line per rule
pub(super) const RULES: &[&Rule] = &[
    &found_by_parser("P-001", "a document is YAML", include_str!("p001.md")),
    &found_by_parser("P-002", "a document is UTF-8", include_str!("p002.md")),
    &found_by_parser("P-003", "a document is not empty", include_str!("p003.md")),
    &found_by_parser("P-004", "a file holds one document", include_str!("p004.md")),
    &found_by_parser("P-005", "a document is a mapping", include_str!("p005.md")),
    &found_by_parser("P-006", "keys are unique", include_str!("p006.md")),
    &found_by_parser("P-007", "a key is a string", include_str!("p007.md")),
    &found_by_parser("P-008", "every field is known", include_str!("p008.md")),
    &found_by_parser("P-009", "every value has the right type", include_str!("p009.md")),
    &found_by_parser("P-010", "required fields are present", include_str!("p010.md")),
    &found_by_parser("P-011", "a document is within the size limits", include_str!("p011.md")),
    &found_by_parser("P-012", "a template is quoted", include_str!("p012.md")),
    &found_by_parser("P-013", "a shorthand pattern has one operator", include_str!("p013.md")),
    &found_by_parser("P-014", "a condition has operators or a value", include_str!("p014.md")),
];

const fn found_by_parser(code: &'static str, title: &'static str, explain: &'static str) -> Rule {
    Rule::error(code, "SDK §3.1", explain).titled(title).check(None)
}
