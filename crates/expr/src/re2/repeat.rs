//! Counted repeats: `{n}`, `{n,}` and `{n,m}`.

use super::cursor::Cursor;
use super::error::Re2Error;

/// The highest count RE2 takes, for one repeat and for the product of nested ones.
pub(super) const MAX_REPEAT: u32 = 1000;

/// How often something may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) min: u32,
    /// `None` is without end.
    pub(super) max: Option<u32>,
}

impl Bounds {
    /// How many copies of its argument this repeat is compiled to.
    pub(super) fn copies(self) -> u32 {
        self.max.unwrap_or(self.min).max(1)
    }
}

/// Reads a counted repeat; the cursor is at its `{`.
///
/// `None`, without moving, if this is not a repeat: RE2 then takes the brace literally, as in `{{name}}`.
pub(super) fn counted(cursor: &mut Cursor<'_>) -> Option<Bounds> {
    let mut ahead = *cursor;
    ahead.eat("{");
    let min = count(&mut ahead)?;
    let max = if !ahead.eat(",") {
        Some(min)
    } else if ahead.looking_at("}") {
        None
    } else {
        Some(count(&mut ahead)?)
    };
    if !ahead.eat("}") {
        return None;
    }
    *cursor = ahead;
    Some(Bounds { min, max })
}

/// Refuses bounds that RE2 refuses; `start` is where the repeat begins.
pub(super) fn check(bounds: Bounds, cursor: &Cursor<'_>, start: usize) -> Result<(), Re2Error> {
    let Bounds { min, max } = bounds;
    if min.max(max.unwrap_or(0)) > MAX_REPEAT {
        return Err(Re2Error::new(cursor.since(start), "a repeat counts to 1000 at most")
            .help("use `*` or `+`, or check the length with a CEL expression"));
    }
    if max.is_some_and(|max| max < min) {
        return Err(Re2Error::new(cursor.since(start), "this repeat ends before it begins")
            .help("the smaller number comes first"));
    }
    Ok(())
}

/// Reads a number. RE2 takes neither leading zeros nor ten digits and more: braces around those are
/// literal.
fn count(cursor: &mut Cursor<'_>) -> Option<u32> {
    let digits = cursor.take_while(|c| c.is_ascii_digit());
    if digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    // Nine digits always fit; ten and more RE2 reads as text.
    if digits.len() > 9 {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Bounds> {
        counted(&mut Cursor::new(text))
    }

    #[test]
    fn the_three_forms_are_repeats() {
        let bounds = |min, max| Some(Bounds { min, max });
        assert_eq!(read("{2}"), bounds(2, Some(2)));
        assert_eq!(read("{2,}"), bounds(2, None));
        assert_eq!(read("{2,7}"), bounds(2, Some(7)));
        assert_eq!(read("{0}"), bounds(0, Some(0)));
    }

    #[test]
    fn anything_else_in_braces_is_text() {
        for text in ["{", "{}", "{,5}", "{2", "{2,", "{ 2}", "{2 }", "{01}", "{1,01}", "{a}", "{1234567890}"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
