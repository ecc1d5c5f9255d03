//! A text that a pattern matches.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::Regex;

/// Longer examples explain nothing.
const LONGEST: usize = 200;

impl Regex {
    /// A short text that the pattern matches; `None` where none is found at once, as for patterns with `\b` in odd places.
    ///
    /// ```
    /// use sortie_expr::re2::Regex;
    ///
    /// assert_eq!(Regex::new(r"(?i)api[_-]key:\s*\w{4}").unwrap().example().as_deref(), Some("api-key:aaaa"));
    /// assert_eq!(Regex::new(r"a\Bb\b c").unwrap().example().as_deref(), Some("ab c"));
    /// assert_eq!(Regex::new(r"a\bb").unwrap().example(), None);
    /// ```
    pub fn example(&self) -> Option<String> {
        let mut text = String::new();
        write(self.hir(), &mut text)?;
        self.is_match(&text).then_some(text)
    }
}

// The parser bounds the depth of the tree.
fn write(hir: &Hir, text: &mut String) -> Option<()> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(class) => text.push(member(class)?),
        HirKind::Repetition(repetition) => {
            for _ in 0..repetition.min {
                write(&repetition.sub, text)?;
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, text)?,
        HirKind::Concat(parts) => {
            for part in parts {
                write(part, text)?;
            }
        }
        HirKind::Alternation(alternatives) => write(alternatives.first()?, text)?,
    }
    (text.len() <= LONGEST).then_some(())
}

/// The most ordinary character of a class: a small letter, else a digit, else what is first and visible.
fn member(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let ranges = || class.iter().map(|range| (range.start(), range.end()));
    let within = |from: char, to: char| {
        ranges().find(|(first, last)| *first <= to && *last >= from).map(|(first, _)| first.max(from))
    };
    within('a', 'z').or_else(|| within('0', '9')).or_else(|| within('!', '~')).or_else(|| {
        let (first, _) = ranges().next()?;
        Some(first)
    })
}
