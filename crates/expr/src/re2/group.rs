//! What stands behind `(?`: flags, names, and what RE2 does not have.

use super::cursor::Cursor;
use super::error::Re2Error;
use super::unicode;

/// The flags in force at some point of a pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are four independent switches, in RE2 as here")]
pub(super) struct Flags {
    /// `i`: letters match in either case.
    pub(super) fold_case: bool,
    /// `m`: `^` and `$` match at lines as well.
    pub(super) multi_line: bool,
    /// `s`: `.` matches a newline as well.
    pub(super) dot_newline: bool,
    /// `U`: repeats prefer fewer, and `?` makes them prefer more.
    pub(super) swap_greed: bool,
}

/// How a group begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// `(` or `(?P<name>`. Names are checked and then forgotten: groups are asked for by number.
    Capture,
    /// `(?i:`: a group under these flags.
    Group(Flags),
    /// `(?i)`: no group; these flags hold for the rest of the one around it.
    Flags(Flags),
}

/// Reads the beginning of a group; the cursor is at its `(`.
pub(super) fn opening(cursor: &mut Cursor<'_>, flags: Flags) -> Result<Opening, Re2Error> {
    let start = cursor.at();
    cursor.eat("(");
    if !cursor.looking_at("?") {
        return Ok(Opening::Capture);
    }
    if let Some(error) = foreign(cursor, start) {
        return Err(error);
    }
    cursor.eat("?");
    if cursor.eat("P<") || cursor.eat("<") {
        return name(cursor, start).map(|()| Opening::Capture);
    }
    let mut flags = flags;
    let mut set = true;
    // A `-` has to be followed by a flag before the end.
    let mut pending_minus = false;
    loop {
        match cursor.next() {
            Some('i') => flags.fold_case = set,
            Some('m') => flags.multi_line = set,
            Some('s') => flags.dot_newline = set,
            Some('U') => flags.swap_greed = set,
            Some('-') if set => {
                set = false;
                pending_minus = true;
                continue;
            }
            Some(':') if !pending_minus => return Ok(Opening::Group(flags)),
            Some(')') if !pending_minus => return Ok(Opening::Flags(flags)),
            other => return Err(unknown_flag(cursor, start, other)),
        }
        pending_minus = false;
    }
}

/// Reads a group's name and its `>`.
fn name(cursor: &mut Cursor<'_>, start: usize) -> Result<(), Re2Error> {
    let first = cursor.at();
    let Some(name) = cursor.until(">") else {
        return Err(Re2Error::new(cursor.since(start), "the name of this group is never closed")
            .help("write `(?P<name>...)`"));
    };
    if name.is_empty() || !name.chars().all(unicode::is_name_char) {
        let message = match name {
            "" => "this group's name is empty".to_owned(),
            name => format!("`{}` cannot name a group", name.escape_debug()),
        };
        return Err(Re2Error::new(first..first + name.len().max(1), message)
            .help("names are made of letters, digits and `_`"));
    }
    Ok(())
}

/// Recognises what other dialects write behind `(?`.
fn foreign(cursor: &Cursor<'_>, start: usize) -> Option<Re2Error> {
    const NO_LOOK: &str =
        "match the text here, and exclude the rest with a second condition or a CEL expression";
    const NO_CALL: &str = "write the group out as often as it is needed";
    let table = [
        ("?=", "look-ahead is", "match the text itself: what follows may be part of the match"),
        ("?!", "look-ahead is", NO_LOOK),
        ("?<=", "look-behind is", "match the text before as well, and put what matters in a group"),
        ("?<!", "look-behind is", NO_LOOK),
        ("?>", "atomic groups are", "use `(?:`: RE2 searches in linear time without them"),
        ("?#", "comments are", "put the comment next to the pattern"),
        (
            "?P=",
            "backreferences are",
            "match the repeated text here, and compare the two with a CEL expression",
        ),
        ("?P>", "calling a group is", NO_CALL),
        ("?&", "calling a group is", NO_CALL),
        ("?R", "recursion is", "write out as many levels as are needed"),
        ("?(", "conditional groups are", "write the two cases as alternatives: `(?:a|b)`"),
        ("?|", "branch reset groups are", "use `(?:`, with a group of its own in each alternative"),
        ("?'", "group names in quotes are", "write `(?P<name>...)`"),
    ];
    let (prefix, what, help) = table.into_iter().find(|(prefix, ..)| cursor.looking_at(prefix))?;
    let message = format!("{what} not part of RE2");
    Some(Re2Error::new(start..start + 1 + prefix.len(), message).help(help))
}

/// The error for `found`, which has just been read and is not a flag.
fn unknown_flag(cursor: &Cursor<'_>, start: usize, found: Option<char>) -> Re2Error {
    let span = cursor.since(start);
    let error = |message: String| Re2Error::new(span.clone(), message);
    match found {
        None => Re2Error::new(span, "this group is never closed"),
        Some('0'..='9' | '+') => Re2Error::new(span, "calling a group is not part of RE2")
            .help("write the group out as often as it is needed"),
        Some('x') => error("the flag `x` is not part of RE2".into())
            .help("write the pattern without spaces and comments"),
        Some('u') => error("the flag `u` is not part of RE2".into())
            .help("RE2 always reads text as Unicode; `\\pL` and `\\p{Nd}` match beyond ASCII"),
        Some('-' | ':' | ')') => {
            error("a `-` comes once, before the flags to clear".into()).help("for example `(?i-s)`")
        }
        Some(c) => error(format!("`{}` is not a flag in RE2", c.escape_debug()))
            .help("RE2 has the flags `i`, `m`, `s` and `U`"),
    }
}
