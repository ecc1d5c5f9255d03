//! A text in the forms in which a value may stand in it: as it is, and decoded.

use std::ops::Range;

use sortie_oatf::extension::flow::Decoding;

/// Which decodings are asked for, a bit for each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Decodings(u8);

impl Decodings {
    pub(super) fn new(all: &[Decoding]) -> Self {
        Self(all.iter().fold(0, |bits, one| bits | Self::bit(*one)))
    }

    const fn bit(one: Decoding) -> u8 {
        1 << one as u8
    }

    const fn has(self, one: Decoding) -> bool {
        self.0 & Self::bit(one) != 0
    }
}

/// One form of a text: its bytes as they are compared, and where each stands in the text.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) bytes: Vec<u8>,
    pub(super) places: Vec<TextPlace>,
    /// How it was encoded; `None` for the text as it is.
    pub(super) encoding: Option<Decoding>,
    wants_places: bool,
}

/// The bytes of a text that stand for one byte of a reading: the first in 28 bits, how many in four.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextPlace(u32);

impl TextPlace {
    fn new(start: usize, width: usize) -> Self {
        // Traces have shorter lines. What stands further back is shown where this ends.
        let start = u32::try_from(start).unwrap_or(u32::MAX).min((1 << 28) - 1);
        // The width is at most 15.
        Self(start << 4 | u32::try_from(width.min(15)).unwrap_or(15))
    }

    pub(super) fn start(self) -> usize {
        (self.0 >> 4) as usize
    }

    pub(super) fn end(self) -> usize {
        self.start() + (self.0 & 15) as usize
    }
}

/// A byte of a text or of what it decodes to, and where it stands.
type Unit = (u8, usize, usize);

impl Reading {
    /// An empty one. Where places are not wanted, `places` stays empty: most texts hold nothing, and then nobody asks where.
    pub(super) fn new(wants_places: bool) -> Self {
        Self { bytes: Vec::new(), places: Vec::new(), encoding: None, wants_places }
    }

    fn start(&mut self, encoding: Option<Decoding>) {
        self.bytes.clear();
        self.places.clear();
        self.encoding = encoding;
    }

    /// A text as it is.
    fn push_plain(&mut self, how: Decodings, bytes: &[u8]) {
        self.bytes.reserve(bytes.len());
        // Most texts are read for their bytes alone, and in the usual way.
        if !self.wants_places && how.has(Decoding::Space) && how.has(Decoding::Case) {
            let counted = bytes.iter().filter(|byte| !byte.is_ascii_whitespace());
            self.bytes.extend(counted.map(u8::to_ascii_lowercase));
            return;
        }
        for (at, byte) in bytes.iter().enumerate() {
            self.push(how, (*byte, at, 1));
        }
    }

    fn push(&mut self, how: Decodings, (byte, at, width): Unit) {
        if how.has(Decoding::Space) && byte.is_ascii_whitespace() {
            return;
        }
        self.bytes.push(if how.has(Decoding::Case) { byte.to_ascii_lowercase() } else { byte });
        if self.wants_places {
            self.places.push(TextPlace::new(at, width));
        }
    }
}

/// Every form of a text that has at least so many bytes. `reading` is where each is built.
///
/// All of them together are at most twelve times as long as the text: once as it is, once percent-decoded, and for each of the
/// two four alignments of base64 (three quarters of the length) and two of hexadecimal digits (half of it).
pub(super) fn each_reading(
    text: &str,
    how: Decodings,
    least: usize,
    reading: &mut Reading,
    see: &mut dyn FnMut(&Reading),
) {
    if text.len() < least {
        return;
    }
    let bytes = text.as_bytes();
    let plain = |at: usize| (bytes[at], at, 1);
    reading.start(None);
    reading.push_plain(how, bytes);
    if reading.bytes.len() >= least {
        see(reading);
    }
    each_run(bytes.len(), plain, how, least, reading, see);
    if let Some(units) = how.has(Decoding::Url).then(|| percent_decoded(bytes)).flatten() {
        reading.start(Some(Decoding::Url));
        for unit in &units {
            reading.push(how, *unit);
        }
        if reading.bytes.len() >= least {
            see(reading);
        }
        each_run(units.len(), |at| units[at], how, least, reading, see);
    }
}

/// A text with its percent-encoding taken off; `None` where it has none.
fn percent_decoded(bytes: &[u8]) -> Option<Vec<Unit>> {
    let digit = |at: usize| bytes.get(at).and_then(|byte| hex_digit(*byte));
    let escape =
        |at: usize| (bytes[at] == b'%').then(|| Some(digit(at + 1)? << 4 | digit(at + 2)?)).flatten();
    if !bytes.contains(&b'+') && (!bytes.contains(&b'%') || (0..bytes.len()).all(|at| escape(at).is_none())) {
        return None;
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let (byte, width) = match escape(at) {
            Some(byte) => (byte, 3),
            None if bytes[at] == b'+' => (b' ', 1),
            None => (bytes[at], 1),
        };
        units.push((byte, at, width));
        at += width;
    }
    Some(units)
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn base64_digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// What the runs of base64 and hexadecimal digits decode to, wherever in a run the value begins.
fn each_run(
    len: usize,
    unit: impl Fn(usize) -> Unit,
    how: Decodings,
    least: usize,
    reading: &mut Reading,
    see: &mut dyn FnMut(&Reading),
) {
    let (base64, hex) = (how.has(Decoding::Base64), how.has(Decoding::Hex));
    if !base64 && !hex {
        return;
    }
    // The digits of both, since most texts have no run that is long enough. Long lines are wrapped.
    let (mut start, mut count) = (0, 0);
    for at in 0..=len {
        let byte = if at < len { unit(at).0 } else { b' ' };
        if is_digit(byte) {
            count += 1;
            continue;
        }
        if matches!(byte, b'\r' | b'\n') {
            continue;
        }
        if count * 6 / 8 >= least {
            if base64 {
                digits(start..at, &unit, base64_digit, |run| {
                    each_alignment(run, 6, Decoding::Base64, how, least, reading, see);
                });
            }
            if hex {
                digits(start..at, &unit, hex_digit, |run| {
                    each_alignment(run, 4, Decoding::Hex, how, least, reading, see);
                });
            }
        }
        (start, count) = (at + 1, 0);
    }
}

/// Whether a byte is a digit of base64, or of hexadecimal numbers.
pub(super) fn is_digit(byte: u8) -> bool {
    IS_DIGIT[usize::from(byte)]
}

/// Which bytes are digits of base64. All of hexadecimal are among them.
static IS_DIGIT: [bool; 256] = {
    let mut is_digit = [false; 256];
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-/_";
    let mut at = 0;
    while at < digits.len() {
        is_digit[digits[at] as usize] = true;
        at += 1;
    }
    is_digit
};

/// The runs of digits in a range.
fn digits(
    range: Range<usize>,
    unit: &impl Fn(usize) -> Unit,
    digit: fn(u8) -> Option<u8>,
    mut see: impl FnMut(&[Unit]),
) {
    let mut run: Vec<Unit> = Vec::new();
    for at in range {
        let (byte, start, width) = unit(at);
        match digit(byte) {
            Some(digit) => run.push((digit, start, width)),
            None if matches!(byte, b'\r' | b'\n') => {}
            None => {
                see(&run);
                run.clear();
            }
        }
    }
    see(&run);
}

fn each_alignment(
    run: &[Unit],
    bits: usize,
    encoding: Decoding,
    how: Decodings,
    least: usize,
    reading: &mut Reading,
    see: &mut dyn FnMut(&Reading),
) {
    // After so many digits the bytes begin at a digit again.
    let alignments = if bits == 6 { 4 } else { 2 };
    for skipped in 0..alignments {
        let digits = run.get(skipped..).unwrap_or_default();
        if digits.len() * bits / 8 < least {
            return;
        }
        reading.start(Some(encoding));
        let (mut held, mut held_bits, mut first) = (0u32, 0, 0);
        for (index, (digit, start, width)) in digits.iter().enumerate() {
            held = held << bits | u32::from(*digit);
            held_bits += bits;
            if held_bits >= 8 {
                held_bits -= 8;
                let byte = u8::try_from(held >> held_bits & 0xff).unwrap_or_default();
                let at = digits[first].1;
                reading.push(how, (byte, at, start + width - at));
                // A digit of which bits are left belongs to the next byte too.
                first = if held_bits > 0 { index } else { index + 1 };
            }
        }
        if reading.bytes.len() >= least {
            see(reading);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(text: &str, least: usize) -> Vec<(Option<Decoding>, String)> {
        let mut all = Vec::new();
        each_reading(text, Decodings::new(Decoding::ALL), least, &mut Reading::new(true), &mut |reading| {
            all.push((reading.encoding, String::from_utf8_lossy(&reading.bytes).into_owned()));
        });
        all
    }

    #[test]
    fn a_text_is_read_as_it_is_and_decoded_wherever_the_value_begins() {
        let has = |text: &str, encoding, value: &str| {
            let all = readings(text, 8);
            let found = all.iter().any(|(how, read)| *how == encoding && read.contains(value));
            assert!(found, "{text}: {all:?}");
        };
        has("Secret Value", None, "secretvalue");
        has("data=U2VjcmV0IFZhbHVl", Some(Decoding::Base64), "secretvalue");
        has("xU2VjcmV0\r\nIFZhbHVl", Some(Decoding::Base64), "secretvalue");
        has("id-5365637265742056616c7565", Some(Decoding::Hex), "secretvalue");
        has("f5365637265742056616C7565", Some(Decoding::Hex), "secretvalue");
        has("?q=Secret%20V%61lue", Some(Decoding::Url), "secretvalue");
        has("?q=U2VjcmV0IFZhbHVl%3D&x=Secret+", Some(Decoding::Url), "secret");
        has("?q=U2Vj%63mV0IFZhbHVl%3D", Some(Decoding::Base64), "secretvalue");
    }

    #[test]
    fn a_byte_knows_where_it_stood() {
        let text = "q=%53ecret U2VjcmV0IFZhbHVl";
        let mut found = Vec::new();
        each_reading(text, Decodings::new(Decoding::ALL), 6, &mut Reading::new(true), &mut |reading| {
            let Some(at) = reading.bytes.windows(6).position(|window| window == b"secret") else { return };
            let range = reading.places[at].start()..reading.places[at + 5].end();
            found.push((reading.encoding, &text[range]));
        });
        let expected = [
            (Some(Decoding::Base64), "U2VjcmV0"),
            (Some(Decoding::Url), "%53ecret"),
            (Some(Decoding::Base64), "U2VjcmV0"),
        ];
        assert_eq!(found, expected);
    }
}
