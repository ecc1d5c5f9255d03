//! How alike two names are, for suggestions.

/// Names longer than this are compared for equality only: documents are untrusted, and edit distance is
/// quadratic.
const LONGEST_COMPARED: usize = 64;

/// How far `written` is from `real`: 0 when equal, 1 when only case and punctuation differ, more for every
/// slip of the pen, and `None` when they are different words.
pub(super) fn distance(written: &str, real: &str) -> Option<usize> {
    if written == real {
        return Some(0);
    }
    if written.len() > LONGEST_COMPARED {
        return None;
    }
    let (written, real) = (letters(written), letters(real));
    if written == real {
        return Some(1);
    }
    let slips = strsim::osa_distance(&written, &real);
    // A third of the letters may be wrong; in shorter words than four any slip makes another word.
    let shorter = written.len().min(real.len());
    (shorter >= 4 && slips <= shorter / 3).then_some(1 + slips)
}

/// The candidate nearest to `written`, the earlier of two equally near ones, if any is near enough.
pub(super) fn closest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near =
        candidates.into_iter().filter_map(|candidate| Some((distance(written, candidate)?, candidate)));
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// A name without case and punctuation: `tool_call_name`, `toolCallName` and `TOOL-CALL-NAME` are one word.
fn letters(name: &str) -> String {
    let kept = name.chars().filter(|c| c.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_punctuation_weigh_less_than_a_slip() {
        assert_eq!(distance("inputSchema", "inputSchema"), Some(0));
        assert_eq!(distance("input_schema", "inputSchema"), Some(1));
        assert_eq!(distance("inputShcema", "inputSchema"), Some(2));
    }

    #[test]
    fn short_words_are_not_confused() {
        assert_eq!(distance("id", "uri"), None);
        assert_eq!(distance("to", "ttl"), None);
        assert_eq!(distance("body", "task"), None);
    }

    #[test]
    fn the_first_of_the_nearest_wins() {
        assert_eq!(closest("tools/lst", ["tools/call", "tools/list"]), Some("tools/list"));
        assert_eq!(closest("something", ["tools/call", "tools/list"]), None);
    }
}
