//! How something is given away.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::behaviour::Behaviour;

/// How an `encoder` disguises what it gives away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As base64.
    Base64,
    /// As hexadecimal digits.
    Hex,
    /// In three pieces, one after the other.
    Split,
}

impl Encoding {
    /// In the order in which an encoder uses them when it is not told which.
    const ALL: [Self; 3] = [Self::Base64, Self::Hex, Self::Split];
}

/// The pieces in which an agent gives something away: one, unless it splits. `nth` counts what was given away before.
pub(crate) fn disguised(
    behaviour: Behaviour,
    wanted: Option<Encoding>,
    nth: usize,
    text: String,
) -> Vec<String> {
    if behaviour != Behaviour::Encoder || text.is_empty() {
        return vec![text];
    }
    match wanted.unwrap_or(Encoding::ALL[nth % Encoding::ALL.len()]) {
        Encoding::Base64 => vec![STANDARD.encode(text)],
        Encoding::Hex => {
            let mut digits = String::with_capacity(text.len() * 2);
            for byte in text.bytes() {
                // Writing to a string cannot fail.
                let _ = write!(digits, "{byte:02x}");
            }
            vec![digits]
        }
        Encoding::Split => {
            let letters: Vec<char> = text.chars().collect();
            letters.chunks(letters.len().div_ceil(3).max(1)).map(|piece| piece.iter().collect()).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoder_disguises_what_others_say_plainly() {
        let give = |behaviour, nth| disguised(behaviour, None, nth, "secret".to_owned());
        assert_eq!(give(Behaviour::Gullible, 0), ["secret"]);
        assert_eq!(give(Behaviour::Encoder, 0), ["c2VjcmV0"]);
        assert_eq!(give(Behaviour::Encoder, 1), ["736563726574"]);
        assert_eq!(give(Behaviour::Encoder, 2), ["se", "cr", "et"]);
        assert_eq!(disguised(Behaviour::Encoder, Some(Encoding::Hex), 0, "a".into()), ["61"]);
    }
}
