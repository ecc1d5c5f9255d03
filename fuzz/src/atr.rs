//! The body of the target `atr`: rules of another project, and patterns of another language.

use sortie_atr::{Imported, import, translate};
use sortie_expr::re2::Regex;

/// Takes a rule, or a pattern.
pub fn atr(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    pattern(text);
    let Ok(Imported::Document(rule)) = import(text) else { return };
    // What is written can be read, and stays as it is when it is formatted.
    let formatted = sortie_lint::format(&rule.document).expect("a document can be formatted");
    assert!(!formatted.changed, "{}", rule.document);
    assert_eq!(rule.compiled.indicators().is_empty(), rule.conditions == 0);
    let proofs = rule.proofs();
    assert!(proofs.starts_with("proofs:"), "{proofs}");
    for test in &rule.tests {
        assert_eq!(rule.disagreement(test).is_none(), rule.agrees(test));
    }
}

/// A pattern that is translated is one, and says the same when it is translated again, as far as both languages have it.
fn pattern(text: &str) {
    match translate(text) {
        Ok(translated) => {
            let regex = Regex::new(&translated).expect("a translated pattern compiles");
            // A text of letters and digits is a pattern that finds itself.
            if text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                assert!(regex.is_match(text) && regex.is_match(&text.to_ascii_uppercase()), "{text}");
            }
        }
        Err(error) => {
            assert!(error.span.start <= error.span.end && error.span.end <= text.len(), "{error:?}");
            assert!(
                text.is_char_boundary(error.span.start) && text.is_char_boundary(error.span.end),
                "{error:?}"
            );
        }
    }
}
