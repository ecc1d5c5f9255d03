//! RE2 on another engine.

use sortie_expr::re2::{Re2ErrorKind, Regex, check};

use super::line_and_rest;

/// A pattern is refused with a place, or matches in a way that hangs together.
pub fn regex(data: &[u8]) {
    let Some((pattern, text)) = line_and_rest(data) else { return };
    let regex = match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(error) => {
            assert!(pattern.get(error.span.clone()).is_some(), "`{pattern}`: {error:?}");
            return assert_eq!(check(pattern), Err(error));
        }
    };
    assert!(check(pattern).is_ok(), "`{pattern}` compiles, and is refused");
    assert_eq!(regex.as_str(), pattern);
    assert_eq!(regex.matches_empty(), regex.is_match(""));
    let found = regex.find(text);
    assert_eq!(regex.is_match(text), found.is_some(), "`{pattern}` on {text:?}");
    if let Some(found) = &found {
        assert!(found.start <= found.end && found.end <= text.len());
        assert!(
            text.get(found.clone()).is_some() || found.is_empty(),
            "`{pattern}` on {text:?}: {found:?} cuts a character"
        );
    }
    if let Some(group) = regex.first_group(text) {
        assert!(found.is_some() && regex.group_count() > 0);
        assert!(text.contains(group));
    }
    in_a_group(pattern, text, found.as_ref());
    quoted(text);
}

/// A group around a whole pattern changes nothing. (`\Q` would quote the end of the group, and a group may be what
/// is too much.)
fn in_a_group(pattern: &str, text: &str, found: Option<&std::ops::Range<usize>>) {
    use Re2ErrorKind::{TooDeep, TooLarge, TooLong};
    if pattern.contains("\\Q") {
        return;
    }
    match Regex::new(&format!("(?:{pattern})")) {
        Ok(grouped) => assert_eq!(grouped.find(text).as_ref(), found, "`{pattern}` in a group on {text:?}"),
        Err(error) => assert!(matches!(error.kind, TooDeep | TooLarge | TooLong), "`{pattern}`: {error}"),
    }
}

/// Any text that is no longer than a pattern is found in itself when it is quoted.
fn quoted(text: &str) {
    if text.len() > 4096 || text.contains("\\E") || text.ends_with('\\') {
        return;
    }
    let pattern = format!("\\Q{text}\\E");
    let regex = Regex::new(&pattern).unwrap_or_else(|error| panic!("`{pattern}`: {error}"));
    assert_eq!(regex.find(text), Some(0..text.len()), "{pattern:?}");
}
