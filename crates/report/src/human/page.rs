//! What is said about one case: a headline, and below it words with what they are about.

use std::fmt::Write as _;

use anstyle::Style;
use sortie_detect::Standing;

use crate::text::{line, style};

/// How far the words at the start of lines are padded, so that what they speak of is aligned.
const WORD: usize = 12;

/// A page about one case.
pub(super) struct Page {
    pub(super) text: String,
    pub(super) color: bool,
}

// Nothing here can fail: it is written to memory.
impl Page {
    pub(super) fn new(color: bool) -> Self {
        Self { text: String::new(), color }
    }

    /// What came of it, and what it is.
    pub(super) fn headline(&mut self, standing: Option<Standing>, outcome: &str, title: &str) {
        let style = match standing {
            Some(Standing::Resisted) => style::NOTE,
            Some(Standing::Exploited) => style::ERROR,
            // What does not apply to the target is no resistance either.
            Some(Standing::Skipped | Standing::Undecided) | None => style::WARNING,
        };
        let outcome = style::paint(self.color, style, outcome);
        let title = style::paint(self.color, style::STRONG, &line(title));
        let _ = writeln!(self.text, "{outcome}: {title}");
    }

    /// The file it comes from.
    pub(super) fn from(&mut self, file: &str) {
        let _ = writeln!(self.text, "  --> {}", line(file));
    }

    /// A word and what it is about. Later lines stand below the first.
    pub(super) fn entry(&mut self, word: &str, style: Style, text: &str) {
        let padding = WORD.saturating_sub(word.len());
        let word = style::paint(self.color, style, word);
        let _ = writeln!(self.text, "  {word}{:padding$} {}", "", line(text));
    }

    /// A line that stands below an entry, and may be painted.
    pub(super) fn below(&mut self, text: &str) {
        let _ = writeln!(self.text, "  {:WORD$} {text}", "");
    }
}
