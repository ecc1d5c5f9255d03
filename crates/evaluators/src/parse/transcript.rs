//! What a transcript has, so that a path that leads nowhere is noticed before it never matches.

use sortie_syntax::nearest;

/// What a place of a transcript holds.
#[derive(Clone, Copy)]
enum Shape {
    /// These keys and no others.
    Keys(&'static [(&'static str, Shape)]),
    List(&'static Shape),
    /// A text or a boolean.
    Leaf,
    Free,
}

const CALL: &[(&str, Shape)] = &[("name", Shape::Leaf), ("arguments", Shape::Free)];
const OBSERVED: &[(&str, Shape)] =
    &[("name", Shape::Leaf), ("arguments", Shape::Free), ("result", Shape::Free), ("is_error", Shape::Leaf)];
const CALLS: Shape = Shape::List(&Shape::Keys(OBSERVED));
const TURN: &[(&str, Shape)] = &[
    ("role", Shape::Leaf),
    ("text", Shape::Leaf),
    ("is_error", Shape::Leaf),
    ("call", Shape::Keys(CALL)),
    ("result", Shape::Free),
    ("calls", CALLS),
    ("elapsed_ms", Shape::Leaf),
];
const TRANSCRIPT: Shape = Shape::Keys(&[
    ("turns", Shape::List(&Shape::Keys(TURN))),
    ("sent", Shape::List(&Shape::Leaf)),
    ("answers", Shape::List(&Shape::Leaf)),
    ("calls", CALLS),
    ("tools", Shape::List(&Shape::Free)),
    ("server", Shape::Free),
]);

/// Why a path leads nowhere.
pub(crate) struct DeadEnd {
    pub(crate) message: String,
    pub(crate) help: String,
    /// The key that was probably meant in place of the last one that was looked at.
    pub(crate) meant: Option<&'static str>,
}

/// Follows a path (`turns[*].text`), and says where it leads to nothing.
pub(super) fn dead_end(path: &str) -> Option<DeadEnd> {
    let nowhere = |message, help, meant| Some(DeadEnd { message, help, meant });
    let mut shape = TRANSCRIPT;
    let mut way = String::new();
    for segment in path.split('.').filter(|segment| !segment.is_empty()) {
        let (key, position) = match segment.split_once('[') {
            Some((key, position)) => (key, Some(position)),
            None => (segment, None),
        };
        let of = if way.is_empty() { "a transcript".to_owned() } else { format!("`{way}`") };
        shape = match shape {
            Shape::Free => return None,
            Shape::Keys(keys) => {
                let Some((_, shape)) = keys.iter().find(|(known, _)| *known == key) else {
                    let names: Vec<_> = keys.iter().map(|(name, _)| *name).collect();
                    let help = format!("it has {}", sortie_syntax::listed(&names));
                    return nowhere(format!("{of} has no `{key}`"), help, nearest(key, names));
                };
                *shape
            }
            Shape::List(_) => {
                let help = format!("look into each item: `{way}[*].{key}`");
                return nowhere(format!("{of} is a list, and has no `{key}`"), help, None);
            }
            Shape::Leaf => {
                let message = format!("{of} is a text or a boolean, and has no `{key}`");
                return nowhere(message, format!("look at `{way}` itself"), None);
            }
        };
        if !way.is_empty() {
            way.push('.');
        }
        way.push_str(segment);
        if position.is_some() {
            shape = match shape {
                Shape::List(item) => *item,
                Shape::Free => return None,
                _ => return nowhere(format!("`{key}` is not a list"), "leave `[*]` away".to_owned(), None),
            };
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_transcript_has_is_found() {
        for path in [
            "",
            "answers[*]",
            "turns[*].text",
            "turns[*].result.content[*].text",
            "calls[*].arguments.path",
            "turns[*].calls[*].name",
            "tools[*].inputSchema",
            "server.instructions",
            // What is free may be anything.
            "server[*].name",
        ] {
            assert!(dead_end(path).is_none(), "{path}");
        }
    }

    #[test]
    fn what_it_has_not_leads_nowhere() {
        for (path, meant) in [
            ("answer[*]", Some("answers")),
            ("turns.text", None),
            ("turns[*].tex", Some("text")),
            ("answers[*].text", None),
            ("calls[*].argument.path", Some("arguments")),
        ] {
            assert_eq!(dead_end(path).map(|found| found.meant), Some(meant), "{path}");
        }
    }
}
