//! Texts and paths that are nearly another one.

/// The first and the last half of a text, where both are shorter than it.
pub(super) fn halves(text: &str) -> Option<(&str, &str)> {
    let count = text.chars().count();
    if count < 2 {
        return None;
    }
    let half = count.div_ceil(2);
    let boundary = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
    Some((&text[..boundary(half)], &text[boundary(count - half)..]))
}

/// Whether a text has letters that can be written in another way.
pub(super) fn has_case(text: &str) -> bool {
    text.chars().any(|letter| letter.is_lowercase() || letter.is_uppercase())
}

/// An RE2 pattern that matches a text and nothing else.
pub(super) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii_punctuation() {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

/// A text as a report quotes it: on one line, and not longer than one reads.
pub(super) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("`{}`", shown.replace('\n', "␊").replace('\t', "␉"))
}

/// The path of what is around a field; `None` for the whole message.
pub(super) fn above(target: &str) -> Option<&str> {
    let around = || target.rsplit_once('.').map(|(above, _)| above);
    target.strip_suffix("[*]").or_else(around).or((!target.is_empty()).then_some(""))
}

/// A path as a report names it.
pub(super) fn named(target: &str) -> String {
    if target.is_empty() { "the whole message".to_owned() } else { quoted(target) }
}

#[cfg(test)]
mod tests {
    use sortie_expr::re2::Regex;

    use super::*;

    #[test]
    fn halves_are_cut_between_characters() {
        assert_eq!(halves("abcd"), Some(("ab", "cd")));
        assert_eq!(halves("abcde"), Some(("abc", "cde")));
        assert_eq!(halves("äöü"), Some(("äö", "öü")));
        assert_eq!(halves("ab"), Some(("a", "b")));
        assert_eq!(halves("ä"), None);
        assert_eq!(halves(""), None);
    }

    #[test]
    fn an_escaped_text_matches_itself() {
        let ascii: String = (1u8..128).map(char::from).collect();
        for text in [ascii.as_str(), "a.b", "x\ny", "(?i)[é]{2}\\", "-----BEGIN"] {
            let pattern = Regex::new(&format!(r"\A{}\z", escaped(text))).unwrap();
            assert!(pattern.is_match(text), "{text:?}");
            assert!(!pattern.is_match(&format!("{text}x")), "{text:?}");
        }
        assert!(!Regex::new(&escaped("a.b")).unwrap().is_match("axb"));
    }

    #[test]
    fn every_path_but_the_root_has_something_around_it() {
        assert_eq!(above("a.b[*].c"), Some("a.b[*]"));
        assert_eq!(above("a.b[*]"), Some("a.b"));
        assert_eq!(above("a"), Some(""));
        assert_eq!(above(""), None);
    }
}
