//! Paths that lead beside what is meant.

use super::Operator;
use super::draft::{About, Drafts};
use super::text::quoted;
use crate::scene::Scene;

/// So many neighbours of a field are tried.
const MOST_NEIGHBOURS: usize = 3;

pub(super) fn mutate(scene: &Scene<'_>, drafts: &mut Drafts<'_>) {
    let target = scene.target();
    let mut add = |operator, to: &str, change: String, wanted: String| {
        drafts.add(About { operator, from: target, to, change, wanted }, |indicator| {
            // Normalisation copies the target into the pattern; both say the same then.
            if indicator.target == target {
                to.clone_into(&mut indicator.target);
            }
            if let Some(pattern) = &mut indicator.pattern {
                pattern.target = Some(to.to_owned());
            }
        });
    };
    for neighbour in scene.neighbours(target).into_iter().take(MOST_NEIGHBOURS) {
        let wanted = format!(
            "{}, or one in which it stands in {} and nowhere else",
            scene.trace_with("is what is looked for, and nothing else"),
            quoted(&neighbour),
        );
        let change = format!("looks at {} instead of {}", quoted(&neighbour), named(target));
        add(Operator::ShiftTarget, &neighbour, change, wanted);
    }
    let above = above(target);
    let root = (!target.is_empty() && above != Some("")).then_some("");
    for wider in above.into_iter().chain(root) {
        let wanted = format!(
            "a trace in which {} with what is looked for in {}, and not in {}",
            scene.sent(),
            if wider.is_empty() { "another field".to_owned() } else { format!("another field of {}", quoted(wider)) },
            named(target),
        );
        let change = format!("looks at {} instead of {}", named(wider), named(target));
        add(Operator::TruncateTarget, wider, change, wanted);
    }
}

/// The path of what is around a field; `None` for the whole message.
pub(super) fn above(target: &str) -> Option<&str> {
    if let Some(list) = target.strip_suffix("[*]") {
        return Some(list);
    }
    match target.rsplit_once('.') {
        Some((above, _)) => Some(above),
        None if target.is_empty() => None,
        None => Some(""),
    }
}

/// A path as a report names it.
pub(super) fn named(target: &str) -> String {
    if target.is_empty() { "the whole message".to_owned() } else { quoted(target) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_but_the_root_has_something_around_it() {
        assert_eq!(above("a.b[*].c"), Some("a.b[*]"));
        assert_eq!(above("a.b[*]"), Some("a.b"));
        assert_eq!(above("a"), Some(""));
        assert_eq!(above(""), None);
    }
}
