//! Words that could be what a field wants.

use crate::matching::among;
use crate::reading::quoted;

patterns! {
    WORD = r"[\p{L}\p{N}][\p{L}\p{N}_./@+-]*";
}

/// The word that follows the field's own name: `project alpha`, `report ID is R-1`, `the sales table`.
pub(super) fn after_name(parts: &[&str], sentence: &str) -> Option<String> {
    const SMALL: &str = "id is the a an named called number of name to for with at on in and s profile details status \
        page data metadata info information using then agent notes dataset report";
    let words: Vec<&str> =
        WORD.find_iter(sentence).map(|found| found.as_str().trim_end_matches(['.', ','])).collect();
    let noun = parts.iter().find(|part| !["id", "name", "code", "key"].contains(part))?;
    let places =
        words.iter().enumerate().filter(|(_, word)| word.eq_ignore_ascii_case(noun)).map(|(at, _)| at);
    for at in places {
        let next = words[at + 1..]
            .iter()
            .filter(|word| !word.eq_ignore_ascii_case(noun))
            .find(|word| !among(SMALL, &word.to_lowercase()));
        let near = next.filter(|next| words[at + 1..].iter().take(3).any(|word| word == *next));
        if let Some(next) = near.filter(|next| looks_like_a_name(next)) {
            return Some((*next).to_owned());
        }
        let before = at.checked_sub(1).map(|before| words[before]);
        if let Some(before) =
            before.filter(|before| !among(SMALL, &before.to_lowercase()) && looks_like_a_name(before))
        {
            return Some(before.to_owned());
        }
        if let Some(next) = near.filter(|next| next.len() > 2) {
            return Some((*next).to_owned());
        }
    }
    None
}

fn looks_like_a_name(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_digit() || "-_./".contains(c))
        || word.chars().skip(1).any(char::is_uppercase)
}

/// A word that can only be a name: with a digit, a hyphen, or capitals in it.
pub(super) fn identifier(text: &str) -> Option<String> {
    let words = WORD.find_iter(text).map(|found| found.as_str().trim_end_matches(['.', ',']));
    words
        .filter(|word| word.len() > 1 && !word.contains('@') && !word.contains("//"))
        .find(|word| looks_like_a_name(word))
        .map(str::to_owned)
}

/// A word with a capital that begins no sentence.
pub(super) fn proper(text: &str) -> Option<String> {
    for found in WORD.find_iter(text) {
        let gap = text[..found.start()].trim_end().chars().next_back().unwrap_or('.');
        let word = found.as_str().trim_end_matches(['.', ',']);
        if word.starts_with(char::is_uppercase) && !matches!(gap, '.' | '!' | '?' | ':' | '"') {
            return Some(word.to_owned());
        }
    }
    None
}

pub(super) fn last(text: &str) -> Option<String> {
    WORD.find_iter(text).last().map(|found| found.as_str().trim_end_matches(['.', ',']).to_owned())
}

/// What is looked for: what follows `for` or `about`, else all of it.
pub(super) fn searched(sentence: &str) -> String {
    if let Some(only) = quoted(sentence).into_iter().next() {
        return only;
    }
    let lower = sentence.to_lowercase();
    let starts = [" for ", " about ", ": "];
    let cut = starts.iter().filter_map(|start| lower.find(start).map(|at| at + start.len())).min();
    let rest = cut.and_then(|at| sentence.get(at..)).unwrap_or(sentence);
    rest.trim().trim_end_matches(['.', '?', '!']).to_owned()
}
