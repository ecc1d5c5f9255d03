use super::{Diagnostic, Edit, Rule, Span, error, found, shown};
use crate::limits::MAX_NAME_BYTES;

pub(crate) const E_001: Rule = error("E-001", "an id is kebab-case", include_str!("e001.md"));

/// Whether a text is an id: lowercase letters and digits, in words that hyphens join.
///
/// ```
/// # use sortie_evaluators::is_kebab_case;
/// assert!(is_kebab_case("path-escape-2"));
/// assert!(!is_kebab_case("Path_Escape") && !is_kebab_case("-a") && !is_kebab_case("a--b") && !is_kebab_case(""));
/// ```
pub fn is_kebab_case(text: &str) -> bool {
    text.len() <= MAX_NAME_BYTES
        && text.split('-').all(|word| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
}

/// The same in kebab-case, as far as that can be told.
fn to_kebab_case(text: &str) -> Option<String> {
    let mut kebab = String::new();
    let mut before = None;
    for letter in text.trim().chars() {
        match letter {
            'A'..='Z' => {
                if before.is_some_and(|before: char| before.is_ascii_lowercase()) {
                    kebab.push('-');
                }
                kebab.push(letter.to_ascii_lowercase());
            }
            'a'..='z' | '0'..='9' => kebab.push(letter),
            '-' | '_' | ' ' | '.' | '/' if !kebab.is_empty() && !kebab.ends_with('-') => kebab.push('-'),
            '-' | '_' | ' ' | '.' | '/' => {}
            _ => return None,
        }
        before = Some(letter);
    }
    let kebab = kebab.trim_end_matches('-').to_owned();
    is_kebab_case(&kebab).then_some(kebab)
}

/// `what` has to be kebab-case; `span` is what a repair replaces.
pub(crate) fn not_kebab_case(text: &str, what: &str, at: Span, span: Span) -> Diagnostic {
    let finding = found(&E_001, format!("`{}` is not kebab-case", shown(text))).at(at).help(format!(
        "{what} is made of lowercase letters, digits and single hyphens, such as `path-escape`"
    ));
    match to_kebab_case(text) {
        Some(meant) => finding
            .label(format!("did you mean `{meant}`?"))
            .fix(format!("write `{meant}`"), vec![Edit { span, replacement: meant }]),
        None => finding,
    }
}
