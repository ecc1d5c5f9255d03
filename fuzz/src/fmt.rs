//! Layout.

use sortie_lint::{FormatError, format};
use sortie_oatf::{normalize, parse};

/// What is laid out says the same, keeps its comments, and is laid out for good; what is not is left alone for a
/// reason that is not ours.
pub fn fmt(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let before = parse(text);
    let formatted = match format(text) {
        Ok(formatted) => formatted,
        Err(FormatError::Parse(errors)) => return assert_eq!(Err(errors), before),
        Err(FormatError::Comment { text: comment, line, column }) => {
            assert!(line >= 1 && column >= 1);
            return assert!(text.contains(&comment), "there is no such comment: {comment:?}");
        }
        Err(FormatError::TooLong { .. }) => return,
        Err(error @ FormatError::Unsound { .. }) => panic!("{error}\n{text}"),
    };
    assert_eq!(formatted.changed, formatted.text != text);
    let after = parse(&formatted.text);
    let (Ok(before), Ok(after)) = (&before, &after) else {
        panic!("it was a document, or is one no more\n{}", formatted.text)
    };
    assert_eq!(normalize(before), normalize(after), "{}", formatted.text);
    let again = format(&formatted.text).map(|again| again.text);
    assert_eq!(again.as_ref(), Ok(&formatted.text), "laid out differently again");
    for comment in plain_comments(text) {
        assert!(formatted.text.contains(comment), "{comment:?} is lost\n{}", formatted.text);
    }
}

/// Lines that are comments, or text of a block that keeps its lines: where there is no quote, nothing else can be.
fn plain_comments(text: &str) -> impl Iterator<Item = &str> {
    let lines = if text.contains(['"', '\'']) { "" } else { text };
    lines.lines().map(str::trim).filter(|line| line.starts_with('#'))
}
