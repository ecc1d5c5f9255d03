//! Character classes: `[...]`, `\d`, `[:alpha:]`, `\pN` and `\p{Greek}`.

use std::ops::Range;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::cursor::Cursor;
use super::error::Re2Error;
use super::escape;
use super::node::Budget;
use super::unicode;

/// A class that is written as an escape or within brackets: its ranges, in ASCII.
type Ascii = &'static [(char, char)];

const DIGIT: Ascii = &[('0', '9')];
/// Without the vertical tab, unlike `[:space:]`.
const PERL_SPACE: Ascii = &[('\t', '\n'), ('\x0C', '\r'), (' ', ' ')];
const WORD: Ascii = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];

fn posix(name: &str) -> Option<Ascii> {
    Some(match name {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "ascii" => &[('\0', '\x7F')],
        "blank" => &[('\t', '\t'), (' ', ' ')],
        "cntrl" => &[('\0', '\x1F'), ('\x7F', '\x7F')],
        "digit" => DIGIT,
        "graph" => &[('!', '~')],
        "lower" => &[('a', 'z')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[('\t', '\r'), (' ', ' ')],
        "upper" => &[('A', 'Z')],
        "word" => WORD,
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => return None,
    })
}

/// Reads an escape that stands for a class, such as `\d` or `\p{Greek}`; the cursor is at its backslash.
///
/// `None`, without moving, if the escape is of another sort.
pub(super) fn escaped(
    cursor: &mut Cursor<'_>,
    fold_case: bool,
    budget: &mut Budget,
) -> Result<Option<ClassUnicode>, Re2Error> {
    let start = cursor.at();
    let mut ahead = *cursor;
    ahead.eat("\\");
    let Some(letter) = ahead.next() else {
        return Ok(None);
    };
    let mut negated = letter.is_ascii_uppercase();
    let set = match letter {
        'd' | 'D' => ascii(DIGIT),
        's' | 'S' => ascii(PERL_SPACE),
        'w' | 'W' => ascii(WORD),
        'p' | 'P' => {
            let (set, caret) = unicode_group(&mut ahead, start)?;
            negated ^= caret;
            set
        }
        _ => return Ok(None),
    };
    *cursor = ahead;
    finish(set, fold_case, negated, budget, cursor.since(start)).map(Some)
}

/// Reads what follows `\p` or `\P`: one letter, or a name in braces. Also says whether a `^` negates it.
fn unicode_group(cursor: &mut Cursor<'_>, start: usize) -> Result<(ClassUnicode, bool), Re2Error> {
    let unfinished = |cursor: &Cursor<'_>| {
        Re2Error::new(cursor.since(start), "a Unicode class needs one letter, or a name in braces")
            .help("for example `\\pL` or `\\p{Greek}`")
    };
    let name = if cursor.eat("{") {
        match cursor.until("}") {
            Some(name) => name,
            None => return Err(unfinished(cursor)),
        }
    } else {
        let letter = cursor.at();
        cursor.next().ok_or_else(|| unfinished(cursor))?;
        cursor.text_since(letter)
    };
    let (positive, negated) = name.strip_prefix('^').map_or((name, false), |rest| (rest, true));
    let set = unicode::group(positive).ok_or_else(|| {
        let help = match unicode::similar_group(positive) {
            Some(known) => format!("`\\p{{{known}}}` may be meant"),
            None => {
                "RE2 knows the general categories, such as `\\p{Lu}`, and the scripts, such as `\\p{Greek}`"
                    .into()
            }
        };
        Re2Error::new(
            cursor.since(start),
            format!("RE2 knows no Unicode class called `{}`", positive.escape_debug()),
        )
        .help(help)
    })?;
    Ok((set, negated))
}

/// Reads a class in brackets; the cursor is at its `[`.
pub(super) fn bracketed(
    cursor: &mut Cursor<'_>,
    fold_case: bool,
    budget: &mut Budget,
) -> Result<ClassUnicode, Re2Error> {
    let start = cursor.at();
    cursor.eat("[");
    let negated = cursor.eat("^");
    let mut ranges: Vec<ClassUnicodeRange> = Vec::new();
    // A `]` that comes first is one of the characters.
    let mut first = true;
    while first || !cursor.looking_at("]") {
        if cursor.rest().is_empty() {
            return Err(missing_bracket(start, cursor));
        }
        first = false;
        if let Some(set) = named(cursor, fold_case, budget)? {
            ranges.extend(set.iter());
            continue;
        }
        if cursor.looking_at("\\")
            && let Some(set) = escaped(cursor, fold_case, budget)?
        {
            ranges.extend(set.iter());
            continue;
        }
        ranges.extend(range(cursor, start)?);
    }
    cursor.eat("]");
    finish(ClassUnicode::new(ranges), fold_case, negated, budget, cursor.since(start))
}

/// Reads `[:name:]` within brackets. Without a `:]` anywhere behind it, the `[` is a character like any
/// other.
fn named(
    cursor: &mut Cursor<'_>,
    fold_case: bool,
    budget: &mut Budget,
) -> Result<Option<ClassUnicode>, Re2Error> {
    let start = cursor.at();
    let mut ahead = *cursor;
    if !ahead.eat("[:") {
        return Ok(None);
    }
    let Some(name) = ahead.until_class_end() else {
        return Ok(None);
    };
    let (positive, negated) = name.strip_prefix('^').map_or((name, false), |rest| (rest, true));
    let span = ahead.since(start);
    let Some(set) = posix(positive) else {
        return Err(Re2Error::new(span,
            format!("RE2 knows no class called `[:{}:]`", name.escape_debug()),
        )
        .help("alnum, alpha, ascii, blank, cntrl, digit, graph, lower, print, punct, space, upper, word or xdigit"));
    };
    *cursor = ahead;
    finish(ascii(set), fold_case, negated, budget, span).map(Some)
}

/// Reads one character or a range of them. A range of nothing but surrogates is empty.
fn range(cursor: &mut Cursor<'_>, class: usize) -> Result<Option<ClassUnicodeRange>, Re2Error> {
    let start = cursor.at();
    let first = endpoint(cursor, class)?;
    let mut last = first;
    let mut ahead = *cursor;
    // A `-` before the closing bracket is itself.
    if ahead.eat("-") && !ahead.looking_at("]") && !ahead.rest().is_empty() {
        *cursor = ahead;
        last = endpoint(cursor, class)?;
    }
    if last < first {
        return Err(Re2Error::new(cursor.since(start), "this range ends before it begins")
            .help("swap the two ends, or write `\\-` for a hyphen itself"));
    }
    // Cutting surrogates off the ends changes nothing: no text holds one.
    let first = char::from_u32(first).unwrap_or('\u{E000}');
    let last = char::from_u32(last).unwrap_or('\u{D7FF}');
    Ok((first <= last).then(|| ClassUnicodeRange::new(first, last)))
}

fn endpoint(cursor: &mut Cursor<'_>, class: usize) -> Result<u32, Re2Error> {
    match cursor.peek() {
        Some('\\') => escape::code_point(cursor),
        Some(c) => {
            cursor.next();
            Ok(u32::from(c))
        }
        None => Err(missing_bracket(class, cursor)),
    }
}

fn missing_bracket(start: usize, cursor: &Cursor<'_>) -> Re2Error {
    let opening = if cursor.text_since(start).starts_with("[^") { 2 } else { 1 };
    Re2Error::new(start..start + opening, "this bracket is never closed")
        .help("a `]` that comes first is part of the class; write `\\[` for a bracket itself")
}

fn ascii(ranges: Ascii) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|&(first, last)| ClassUnicodeRange::new(first, last)))
}

/// Folds, then negates: `(?i)[^k]` excludes `K` as well.
///
/// That a negated class may be folded again as part of a larger one does no harm: the cases of a character
/// are either all in it or all outside.
fn finish(
    mut set: ClassUnicode,
    fold_case: bool,
    negated: bool,
    budget: &mut Budget,
    span: Range<usize>,
) -> Result<ClassUnicode, Re2Error> {
    let mut cost = set.ranges().len();
    if fold_case {
        cost += unicode::fold(&mut set);
    }
    budget.spend(cost, span)?;
    if negated {
        set.negate();
    }
    Ok(set)
}
