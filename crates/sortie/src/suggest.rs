//! The word somebody probably meant.

/// The known word nearest to one, as a question at the end of a sentence; else what is known.
pub(crate) fn suggestion<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
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

/// The known word nearest to one, whatever its case, if a third of the letters or less is wrong.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = word.to_lowercase();
    let limit = (word.chars().count() / 3).max(1);
    let near = known.into_iter().map(|known| (strsim::osa_distance(&word, &known.to_lowercase()), known));
    near.filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::suggestion;

    #[test]
    fn typos_are_near_and_other_words_are_listed() {
        assert_eq!(suggestion("shpo", ["shop", "bank"]).unwrap(), "did you mean `shop`?");
        assert_eq!(suggestion("mail", ["shop", "bank"]).unwrap(), "there is `shop`, `bank`");
        assert_eq!(suggestion("mail", []), None);
    }
}
