//! What is said to be needed for a match is there in every match.

use proptest::prelude::*;
use proptest::string::string_regex;
use sortie_expr::re2::{ByteCounts, FoldedText, Regex, RegexSet, RequiredClause, RequiredTexts, TextPlace};

fn pattern() -> impl Strategy<Value = String> {
    let leaves = [
        "ab",
        "secret",
        "k",
        "s",
        "rm",
        r"\s",
        r"\s+",
        r"\s*",
        r"[\s\v\pZ\x{FEFF}]+",
        r"[\s_-]",
        r"[\x{200b}\x{feff}]",
        r" \n",
        "[a-c]",
        "[0-9]",
        "[=:]",
        "[;|é]",
        "#",
        ".",
        "é",
        "[а-я]",
        r"\b",
        "^",
        "{{",
        "$[(]",
        r"\x1b",
        "a longer text that is cut",
        "(?:one|two|three)",
        "[ab ]{2,3}",
        "[01]{3}",
        "[.-]{2,}",
        r"[0-9]{1,3}\.[0-9]{1,3}",
        "[a-z]",
        r"\([A-Z]\)",
        "--",
        r"[\x00-\x1f\x7f]",
        "",
    ];
    let leaf = prop::sample::select(leaves.to_vec()).prop_map(str::to_owned);
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            1 => (inner.clone(), prop::sample::select(vec!["?", "+", "*", "{2}", "{3,}", "{0,3}"])).prop_map(|(part, times)| format!("(?:{part}){times}")),
            1 => inner.prop_map(|part| format!("(?i:{part})")),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    let words = [
        "ab",
        "secret",
        "SECRET",
        "k",
        "s",
        "rm",
        " ",
        "  ",
        "\t",
        "\n",
        "\u{a0}",
        "\u{feff}",
        "\u{200b}",
        "_",
        "c",
        "7",
        "=",
        ";",
        "#",
        "é",
        "пр",
        "{{",
        "$(",
        "\u{1b}",
        "a longer text that is cut",
        "one",
        "two",
        "a b",
        "x",
        "0.1",
        "--",
        ".",
        "(q)",
        "\u{7f}",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..12).prop_map(|words| words.concat())
}

/// A pattern, and a text that it may match: one of its own, where that can be made, among others.
fn pattern_and_text() -> impl Strategy<Value = (String, String)> {
    pattern().prop_flat_map(|pattern| {
        let own = string_regex(&pattern).map_or_else(|_| text().boxed(), Strategy::boxed);
        let text = (text(), own, text()).prop_map(|(before, own, after)| [before, own, after].concat());
        (Just(pattern), text)
    })
}

/// Whether a match has a text of each list, where it is said to stand, and as many bytes of each set as it is said to have. `start` is where the match
/// begins in the text that is folded.
fn holds(folded: &FoldedText, start: usize, found: &str, clause: &RequiredClause) -> bool {
    let text = &folded.as_bytes()[start..];
    let mut ends = vec![0];
    for RequiredTexts { texts, place } in &clause.lists {
        let places = (0..=text.len()).flat_map(|at| {
            // A space may be part of the next text too.
            let end = move |required: &[u8]| at + required.len() - usize::from(required.ends_with(b" "));
            let here = texts.iter().filter(move |required| text[at..].starts_with(required));
            here.map(move |required| (at, end(required)))
        });
        let stands = |start: usize| match place {
            TextPlace::Start(most) => start <= *most,
            TextPlace::Anywhere => true,
            TextPlace::After(most) => {
                ends.iter().any(|end| *end <= start && most.is_none_or(|most| start - end <= most + 1))
            }
        };
        ends = places.filter(|(start, _)| stands(*start)).map(|(_, end)| end).collect();
    }
    !ends.is_empty() && clause.bytes.iter().all(|needed| ByteCounts::of(found.as_bytes()).has(*needed))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 2_000 } else { 200_000 }))]

    #[test]
    fn every_match_has_what_it_needs((pattern, text) in pattern_and_text()) {
        let regex = Regex::new(&pattern).unwrap();
        // The two letters that stand for others are said to be no part of it.
        let text = text.replace('\u{212a}', "k").replace('\u{17f}', "s");
        let Some(found) = regex.find(&text) else { return Ok(()) };
        prop_assert!(regex.is_match_at(&text, found.start));
        let lower = text[found.clone()].to_ascii_lowercase();
        if let Some(texts) = regex.required_texts() {
            prop_assert!(texts.iter().any(|text| lower.as_bytes().windows(text.len()).any(|part| part == text)), "{texts:?}");
        }
        if let Some(clauses) = regex.required_clauses() {
            let mut folded = FoldedText::default();
            folded.fold(&text[..found.end]);
            // White space that follows is part of the run, and nothing else that follows counts.
            let start = (0..folded.as_bytes().len()).find(|at| folded.origin(*at).contains(&found.start));
            let start = start.unwrap_or(folded.as_bytes().len());
            prop_assert!(clauses.iter().any(|clause| holds(&folded, start, &text[found.clone()], clause)), "{clauses:?}");
        }
    }

    #[test]
    fn a_set_finds_what_each_pattern_finds(patterns in prop::collection::vec(pattern(), 1..6), text in text()) {
        let patterns: Vec<_> = patterns.iter().map(|pattern| Regex::new(pattern).unwrap()).collect();
        let expected: Vec<_> = (0..patterns.len()).filter(|at| patterns[*at].is_match(&text)).collect();
        let mut found = Vec::new();
        RegexSet::new(&patterns).unwrap().each_match(&text, |pattern| found.push(pattern));
        prop_assert_eq!(found, expected);
    }
}
