//! The word somebody probably meant.

/// So many candidates are looked at, and none that is longer than this: a document may have thousands of
/// names.
const MAX_CANDIDATES: usize = 256;
const MAX_LENGTH: usize = 128;

/// The candidate nearest to `word`, if one is near enough to be meant; the first of equals.
///
/// Words that differ only in case, hyphens and underscores are always near. Otherwise a third of the
/// letters may be wrong, counting a swap of neighbours as one.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let folded = fold(word);
    // A long word is not a typo of anything, and distances cost quadratic time.
    if folded.is_empty() || folded.len() > 64 {
        return None;
    }
    let limit = (folded.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .take(MAX_CANDIDATES)
        .filter(|candidate| candidate.len() <= MAX_LENGTH)
        .map(|candidate| (strsim::osa_distance(&folded, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The nearest of known words as a question, or all of them; `None` where there is none.
pub fn suggestion<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(word, known.iter().copied()) {
        Some(candidate) => Some(format!("did you mean `{candidate}`?")),
        None if known.is_empty() => None,
        None => {
            let known: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
            Some(format!("there is {}", known.join(", ")))
        }
    }
}

fn fold(word: &str) -> String {
    word.chars().filter(|letter| !matches!(letter, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::{nearest, suggestion};

    #[test]
    fn typos_are_near_and_other_words_are_not() {
        let fields = ["indicators", "execution", "severity", "on_enter"];
        assert_eq!(nearest("indicator", fields), Some("indicators"));
        assert_eq!(nearest("exeuction", fields), Some("execution"));
        assert_eq!(nearest("onEnter", fields), Some("on_enter"));
        assert_eq!(nearest("sevrity", fields), Some("severity"));
        assert_eq!(nearest("author", fields), None);
        assert_eq!(nearest("", fields), None);
    }

    #[test]
    fn typos_are_near_and_other_words_are_listed() {
        assert_eq!(suggestion("shpo", ["shop", "bank"]).unwrap(), "did you mean `shop`?");
        assert_eq!(suggestion("mail", ["shop", "bank"]).unwrap(), "there is `shop`, `bank`");
        assert_eq!(suggestion("mail", []), None);
    }
}
