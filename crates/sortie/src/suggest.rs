//! The word somebody probably meant.

/// The known word nearest to one, as a question at the end of a sentence; else what is known.
pub(crate) fn suggestion<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    // A third of the letters may be wrong.
    let limit = (word.chars().count() / 3).max(1);
    let near = known.iter().map(|candidate| (strsim::osa_distance(word, candidate), candidate));
    let near = near.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance);
    match near {
        Some((_, candidate)) => Some(format!("did you mean `{candidate}`?")),
        None if known.is_empty() => None,
        None => {
            let known: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
            Some(format!("there is {}", known.join(", ")))
        }
    }
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
