//! The index of flows says what a matcher says that compares every place with every other.

use proptest::prelude::*;
use sortie_detect::flow::{FlowIndex, MOST_TEXT};
use sortie_oatf::extension::flow::Decoding;

/// How long the longest value in a text is: every place of it is compared with every place of every text that came in.
fn naive(length: usize, events: &[(bool, String)], leaving: &str) -> Option<usize> {
    let mut known: Vec<&[u8]> = Vec::new();
    let mut best = None;
    for (comes_in, text) in events {
        let source = text.as_bytes();
        if !comes_in {
            known.push(source);
            continue;
        }
        let is_known =
            |piece: &[u8]| known.iter().any(|text| text.windows(length).any(|other| other == piece));
        let sink = leaving.as_bytes();
        for (there, piece) in source.windows(length).enumerate() {
            if is_known(piece) {
                continue;
            }
            for (here, _) in sink.windows(length).enumerate().filter(|(_, other)| *other == piece) {
                let before = sink[..here].iter().rev().zip(source[..there].iter().rev());
                let after = sink[here + length..].iter().zip(&source[there + length..]);
                let same = |pair: &(&u8, &u8)| pair.0 == pair.1;
                let found = before.take_while(same).count() + length + after.take_while(same).count();
                best = best.max(Some(found));
            }
        }
    }
    best
}

fn indexed(length: usize, events: &[(bool, String)]) -> FlowIndex {
    let mut index = FlowIndex::new(length, &[]);
    for (seq, (comes_in, text)) in (0..).zip(events) {
        if *comes_in {
            index.bring_in(seq, "text", text);
        } else {
            index.know(text);
        }
    }
    index
}

/// Texts over three letters, so that pieces repeat.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![8 => "[abc]{0,24}", 1 => "[aé]{0,24}", 1 => "a{0,40}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn the_index_finds_what_a_naive_matcher_finds(
        length in 2usize..6,
        events in proptest::collection::vec((any::<bool>(), text()), 0..6),
        leaving in text(),
    ) {
        let found = indexed(length, &events).leaving(&leaving);
        prop_assert_eq!(found.as_ref().map(|found| found.length), naive(length, &events, &leaving));
        if let Some(found) = found {
            // Both ends are the same text, and the source is one that came in.
            let (comes_in, source) = &events[usize::try_from(found.origin.seq).unwrap()];
            prop_assert!(comes_in);
            let origin = &source.as_bytes()[found.origin.start..found.origin.end];
            prop_assert_eq!(origin.len(), found.length);
            let around = &leaving.as_bytes()[found.range];
            prop_assert!(around.windows(origin.len()).any(|piece| piece == origin));
        }
    }

    #[test]
    fn an_encoded_value_is_found_wherever_it_stands(value in "[ -~]{12,40}", before in "[a-z ]{0,7}", after in "[a-z ]{0,7}") {
        use base64::Engine as _;
        let mut index = FlowIndex::new(12, Decoding::ALL);
        index.bring_in(1, "text", &value);
        let whole = format!("{before}{value}{after}");
        let hex = whole.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let url = whole.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        let base64 = base64::engine::general_purpose::STANDARD.encode(&whole);
        // White space does not count, so that a value may be too short without it.
        let is_long = value.bytes().filter(|byte| !byte.is_ascii_whitespace()).count() >= 12;
        for text in [&whole, &hex, &url, &base64, &whole.to_uppercase(), &format!("x={base64}&y")] {
            prop_assert_eq!(index.leaving(text).is_some(), is_long, "{}", text);
        }
    }
}

#[test]
fn hostile_texts_take_linear_time_and_are_still_found() {
    let same = "a".repeat(MOST_TEXT / 2);
    let mut index = FlowIndex::new(20, &[]);
    index.bring_in(1, "text", &same);
    index.bring_in(2, "text", &format!("{}{}", "ab".repeat(MOST_TEXT / 8), "c".repeat(30)));
    let start = std::time::Instant::now();
    assert!(index.leaving(&same).unwrap().length >= 20);
    assert!(index.leaving(&"ab".repeat(MOST_TEXT / 4)).is_some());
    assert!(index.leaving(&format!("{}{}", "b".repeat(MOST_TEXT), "c".repeat(25))).is_some());
    // A quadratic matcher takes hours. This is without optimisation, on a busy machine.
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn what_does_not_fit_is_said() {
    let mut index = FlowIndex::new(20, &[]);
    index.bring_in(1, "text", "the first value that came in");
    assert!(!index.is_full());
    let many = (0..MOST_TEXT / 8).map(|number| format!("{number:08}")).collect::<Vec<_>>().concat();
    index.know(&many);
    assert!(!index.is_full());
    index.know(&format!("{many}more"));
    assert!(index.is_full());
    // Nobody knows whether this was known before.
    index.bring_in(2, "text", "the second value that came in");
    assert!(index.leaving("the second value that came").is_none());
    assert!(index.leaving("the first value that came").is_some());
}
