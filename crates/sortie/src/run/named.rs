//! `ACTOR=` in front of a value.

/// Whether a text is the name of an actor (V-031).
pub(super) fn is_actor(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The actor in front of a value, when there is one.
pub(super) fn split(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((actor, rest)) if is_actor(actor) => (Some(actor), rest),
        _ => (None, text),
    }
}
