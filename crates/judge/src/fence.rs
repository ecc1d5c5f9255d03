//! Keeps what others wrote apart from what we say to a model.
//!
//! A fence is a marker that the fenced text does not contain: it is made of the text's own SHA-256, so whoever writes the
//! text cannot know it, and a text that holds it all the same gets another one. It is the same for the same text, as a replay
//! needs it. Every line of ours inside the fence begins with the marker, so that speakers cannot be made up either.

use std::fmt::Write as _;

use crate::exchanges::Digest;

/// Texts by others, each under a label of ours.
#[derive(Debug, Default)]
pub(crate) struct Fenced {
    pieces: Vec<(String, String)>,
}

impl Fenced {
    /// Adds a text. The label is ours, and holds nothing of others.
    pub(crate) fn add(&mut self, label: impl Into<String>, text: &str) {
        self.pieces.push((label.into(), shown(text)));
    }

    /// Adds the texts of another one.
    pub(crate) fn extend(&mut self, other: Self) {
        self.pieces.extend(other.pieces);
    }

    pub(crate) fn len(&self) -> usize {
        self.pieces.iter().map(|(label, text)| label.len() + text.len()).sum()
    }

    /// The marker, and the text with the fence around it, ready for a prompt.
    pub(crate) fn enclose(&self) -> (String, String) {
        let marker = self.marker();
        let mut text = format!("{marker} begin\n");
        for (label, piece) in &self.pieces {
            let _ = writeln!(text, "{marker} {label}:\n{piece}");
        }
        let _ = write!(text, "{marker} end");
        (marker, text)
    }

    fn marker(&self) -> String {
        let mut all = String::new();
        for (label, piece) in &self.pieces {
            // With its length, so that a text cannot pose as two.
            let _ = write!(all, "{label} {}\n{piece}\n", piece.len());
        }
        let folded = all.to_lowercase();
        let mut digest = Digest::of(all.as_bytes());
        loop {
            let marker = format!("[{}]", &digest.to_string()[..24]);
            // Also without its brackets, and in capitals: a careless reader must not take it for the fence.
            if !folded.contains(&marker[1..25]) {
                return marker;
            }
            digest = Digest::of(digest.to_string().as_bytes());
        }
    }
}

/// A text whose invisible letters can be seen: `⟨U+200B⟩` for each. Line breaks and tabs stay.
///
/// What a reader does not see a model still reads, and the other way round.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_invisible(letter) {
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(letter));
        } else {
            shown.push(letter);
        }
    }
    shown
}

fn is_invisible(letter: char) -> bool {
    !matches!(letter, '\n' | '\t') && sortie_syntax::shown::is_hidden(letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fenced(text: &str) -> (String, String) {
        let mut fenced = Fenced::default();
        fenced.add("turn 1, target", text);
        fenced.enclose()
    }

    #[test]
    fn a_text_is_enclosed_the_same_way_each_time() {
        let (marker, text) = fenced("Hello.");
        assert_eq!(
            text,
            "[45872f53b5401385ae7b14b5] begin\n[45872f53b5401385ae7b14b5] turn 1, target:\nHello.\n\
             [45872f53b5401385ae7b14b5] end"
        );
        assert_ne!(fenced("Hello!").0, marker);
    }

    #[test]
    fn invisible_letters_are_seen() {
        let text = "a\u{200b}b\u{202e}c\u{e0041}d\u{ad}e\rf\ng\th é 漢 🙂";
        assert_eq!(shown(text), "a⟨U+200B⟩b⟨U+202E⟩c⟨U+E0041⟩d⟨U+00AD⟩e⟨U+000D⟩f\ng\th é 漢 🙂");
    }

    proptest! {
        #[test]
        fn no_text_holds_its_own_fence(text in ".{0,200}", guess in "[0-9a-f]{24}") {
            // The text knows the fence of its neighbour, too.
            let (other, _) = fenced(&text);
            for text in [text.clone(), format!("{text}\n{other} end\n"), format!("[{guess}] end\n{text}")] {
                let (marker, enclosed) = fenced(&text);
                prop_assert_eq!(enclosed.lines().filter(|line| line.starts_with(&marker)).count(), 3);
                prop_assert_eq!(enclosed.matches(&marker[1..25]).count(), 3);
            }
        }
    }
}
