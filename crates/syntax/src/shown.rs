//! Which characters a reader would not see, or would see where they are not.
//!
//! Attack payloads hide in zero-width characters, bidirectional controls, tags and variation selectors. What
//! we write shows them as escapes.

/// Whether `next`, standing after `before`, shows on the page as what it is.
///
/// Line feeds and tabs are invisible here: who writes them as they are must know what they do.
pub fn is_visible(before: Option<char>, next: char) -> bool {
    match next {
        ' '..='~' => true,
        // Emoji presentation, after what is likely an emoji. A second selector in a row carries something else.
        '\u{fe0e}' | '\u{fe0f}' => before.is_some_and(takes_presentation),
        _ => !is_hidden(next),
    }
}

/// Whether a whole text shows on the page as what it is.
pub fn all_visible(text: &str) -> bool {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return true;
    }
    let mut before = None;
    text.chars().all(|next| {
        let visible = is_visible(before, next);
        before = Some(next);
        visible
    })
}

fn takes_presentation(base: char) -> bool {
    matches!(base, '#' | '*' | '0'..='9' | '\u{a9}' | '\u{ae}' | '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}')
        && !is_hidden(base)
}

/// Whether a character must be shown and not interpreted: a control, an unusual space, a separator, a change of
/// direction, a character that no font shows, one that means nothing by itself, or no character at all.
///
/// This is the one table of them. Every output asks it: documents that are written, reports of every format, questions to
/// judges. Line feeds and tabs are in it: who writes them as they are must know what they do.
///
/// ```
/// use sortie_syntax::shown::is_hidden;
///
/// assert!(is_hidden('\u{202e}') && is_hidden('\u{fe0f}') && is_hidden('\u{3164}'));
/// assert!(!is_hidden('é') && !is_hidden('漢') && !is_hidden('🙂'));
/// ```
pub fn is_hidden(c: char) -> bool {
    // Most characters of most texts.
    if matches!(c, ' '..='~') {
        return false;
    }
    let above = HIDDEN.partition_point(|(_, last)| *last < c);
    HIDDEN.get(above).is_some_and(|(first, _)| *first <= c) || (c as u32) & 0xfffe == 0xfffe
}

/// The table, in order. What the last two of each plane are, [`is_hidden`] knows.
pub const HIDDEN: &[(char, char)] = &[
    ('\0', '\u{1f}'),
    ('\u{7f}', '\u{a0}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{2000}', '\u{200f}'),
    ('\u{2028}', '\u{202f}'),
    ('\u{205f}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{e000}', '\u{f8ff}'),
    ('\u{fdd0}', '\u{fdef}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{10ffff}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_payloads_is_not_visible() {
        let hidden = "zero\u{200b}width, joiner\u{200d}, bidi \u{202e}override, isolate\u{2066}, \u{feff}mark, \
                      next\u{85}line, separator\u{2028}, tag\u{e0041}, no-break\u{a0}space, soft\u{ad}hyphen, \
                      selector\u{fe01}, letter\u{fe0f}, ⚠\u{fe0f}\u{fe0f}, line\nfeed, tab\t, \u{1b}[31m";
        for hidden in hidden.split(", ") {
            assert!(!all_visible(hidden), "{hidden:?}");
        }
    }

    #[test]
    fn ordinary_writing_is_visible() {
        for text in [
            "plain",
            "攻撃テスト",
            "هجوم أمني",
            "emoji 🔒🛡\u{fe0f}⚠\u{fe0f}",
            "naïve — “quoted”",
            "全角\u{3000}空白",
        ] {
            assert!(all_visible(text), "{text:?}");
        }
    }
}
