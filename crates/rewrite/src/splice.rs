//! A text with other text at some places.

use std::ops::Range;

/// Other text in the place of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    /// The bytes that go.
    pub(crate) range: Range<usize>,
    /// What comes.
    pub(crate) text: String,
}

impl Splice {
    pub(crate) fn insert(at: usize, text: String) -> Self {
        Self { range: at..at, text }
    }
}

/// The text with every splice made. They do not overlap, and lie between characters.
pub(crate) fn spliced(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| splice.range.start);
    let added: usize = splices.iter().map(|splice| splice.text.len()).sum();
    let mut result = String::with_capacity(text.len() + added);
    let mut done = 0;
    for Splice { range, text: new } in splices {
        result.push_str(&text[done..range.start]);
        result.push_str(&new);
        done = range.end;
    }
    result.push_str(&text[done..]);
    result
}

/// Takes elements out of a list of them, with the commas between; at least one stays a separator apart from its neighbours.
pub(crate) fn removal(elements: &[Range<usize>], is_gone: impl Fn(usize) -> bool) -> Vec<Splice> {
    let cut = |range: Range<usize>| Splice { range, text: String::new() };
    let Some(first_kept) = (0..elements.len()).find(|index| !is_gone(*index)) else {
        let whole = elements.first().zip(elements.last());
        return whole.map(|(first, last)| cut(first.start..last.end)).into_iter().collect();
    };
    let mut splices = Vec::new();
    if first_kept > 0 {
        splices.push(cut(elements[0].start..elements[first_kept].start));
    }
    let later = (first_kept + 1..elements.len()).filter(|index| is_gone(*index));
    splices.extend(later.map(|index| cut(elements[index - 1].end..elements[index].end)));
    splices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_go_with_one_comma_each() {
        let text = "[ a, b ,c,d ]";
        let elements = [2..3, 5..6, 8..9, 10..11];
        let without = |gone: &[usize]| spliced(text, removal(&elements, |index| gone.contains(&index)));
        assert_eq!(without(&[0]), "[ b ,c,d ]");
        assert_eq!(without(&[0, 1, 3]), "[ c ]");
        assert_eq!(without(&[1, 2]), "[ a,d ]");
        assert_eq!(without(&[0, 1, 2, 3]), "[  ]");
        assert_eq!(without(&[]), text);
    }
}
