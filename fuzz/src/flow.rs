//! The body of the target `flow`, without libFuzzer: `crates/detect/tests/it/fuzz_corpus.rs` includes this file.

use sortie_detect::flow::FlowIndex;
use sortie_oatf::extension::flow::Decoding;

/// The first line begins with the least length and the letters of decodings; the others are texts that were known (`k`), came
/// in (`i`) or leave (`o`). What is found is really there, at both ends, and where nothing is decoded a matcher that compares
/// every place with every other finds as much.
pub fn flow(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default();
    let digits: String = first.chars().take_while(char::is_ascii_digit).take(2).collect();
    let length = digits.parse().unwrap_or(4).max(1);
    let decode: Vec<Decoding> =
        Decoding::ALL.iter().copied().filter(|one| first.contains(&one.as_str()[..1])).collect();
    let mut index = FlowIndex::new(length, &decode);
    let mut said: Vec<(bool, &str)> = Vec::new();
    for line in lines.take(64) {
        let Some((kind, text)) = line.split_at_checked(1) else { continue };
        match kind {
            "k" => index.know(text),
            "i" => index.bring_in(said.len() as u64, "text", text),
            "o" => check(&index, length, &decode, &said, text),
            _ => continue,
        }
        said.push((kind == "i", text));
        if kind == "o" {
            // What left is known, as it is for a detector.
            index.know(text);
        }
    }
}

fn check(index: &FlowIndex, length: usize, decode: &[Decoding], said: &[(bool, &str)], leaving: &str) {
    let found = index.leaving(leaving);
    assert_eq!(index.leaving(leaving), found, "not the same twice");
    if let Some(found) = &found {
        assert!(found.length >= length);
        assert!(leaving.get(found.range.clone()).is_some(), "{:?} is not a piece of it", found.range);
        let (came_in, source) = said[usize::try_from(found.origin.seq).expect("a position")];
        assert!(came_in, "it did not come in");
        assert!(found.origin.start < found.origin.end && found.origin.end <= source.len());
    }
    let work: usize = said.iter().map(|(_, text)| text.len()).sum::<usize>() * leaving.len();
    if decode.is_empty() && work < 1 << 18 {
        let (best, compared) = naive(length, said, leaving);
        let found = found.map(|found| found.length);
        assert_eq!(found.is_some(), best.is_some());
        // A text that repeats itself is not compared to its end: something is found, and it may not be the longest.
        if compared < LEAST_COMPARISONS {
            assert_eq!(found, best);
        } else {
            assert!(found <= best);
        }
    }
}

/// So much is compared in any case, with room for what the index counts besides.
const LEAST_COMPARISONS: usize = 1 << 15;

/// Every place of what leaves is compared with every place of what came in. Gives the longest value, and how much was compared.
fn naive(length: usize, said: &[(bool, &str)], leaving: &str) -> (Option<usize>, usize) {
    let (mut best, mut compared) = (None, 0);
    let sink = leaving.as_bytes();
    for (at, (_, source)) in said.iter().enumerate().filter(|(_, (came_in, _))| *came_in) {
        let source = source.as_bytes();
        let is_known = |piece: &[u8]| {
            let before = said[..at].iter().filter(|(came_in, _)| !came_in);
            before.into_iter().any(|(_, text)| text.as_bytes().windows(length).any(|other| other == piece))
        };
        for (there, piece) in source.windows(length).enumerate().filter(|(_, piece)| !is_known(piece)) {
            for here in
                (0..sink.len().saturating_sub(length - 1)).filter(|here| sink[*here..].starts_with(piece))
            {
                let same = |pair: &(&u8, &u8)| pair.0 == pair.1;
                let before = sink[..here].iter().rev().zip(source[..there].iter().rev()).take_while(same);
                let after = sink[here + length..].iter().zip(&source[there + length..]).take_while(same);
                let found = before.count() + length + after.count();
                best = best.max(Some(found));
                compared += found + 1;
            }
        }
    }
    (best, compared)
}
