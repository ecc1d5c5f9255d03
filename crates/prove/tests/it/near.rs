//! Near misses tell documents from their mutants, and say of themselves what the document says.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;
use sortie_oatf::Compiled;
use sortie_prove::{Fate, NearMiss, NearMisses};

use crate::story::{calls, document, note, proofs, proved};

const RECORDED: &str = "
proofs:
  - {trace: a.jsonl, about: Gives in., verdict: exploited, matched: [A]}
  - {trace: b.jsonl, about: Does not., verdict: not_exploited}
";

/// A manifest with near misses added to it.
fn with(found: &[NearMiss]) -> String {
    let mut text = RECORDED.to_owned();
    for near in found {
        let verdict = if near.matched.is_empty() { "not_exploited" } else { "exploited" };
        let said = &near.said;
        let message =
            json!({"surface": said.surface, "direction": said.direction.as_str(), "message": said.message});
        let entry = json!({"messages": [message], "about": "x", "verdict": verdict, "matched": near.matched});
        writeln!(text, "  - {entry}").unwrap();
    }
    text
}

/// How many mutants survive the recordings alone, and how many the near misses that are found.
fn survivors(indicator: &str, gave_in: &str) -> (usize, usize) {
    let document: Arc<Compiled> =
        document(&format!("    - {{id: A, surface: tools/call, direction: request, target: {indicator}}}"));
    let traces = [
        ("a.jsonl", calls(&[note(gave_in)])),
        ("b.jsonl", calls(&[note("the weather is fine in the north")])),
    ];
    let count = |manifest: &str| {
        let proved = proved(&document, manifest, &traces);
        assert!(proved.proofs.iter().all(|proof| proof.agrees), "{:#?}", proved.proofs);
        proved.mutants.iter().filter(|mutant| mutant.fate == Fate::Survived).count()
    };
    let mut search = NearMisses::default();
    let mut found = Vec::new();
    for _ in 0..4 {
        found.extend(search.find(&document, &proofs(&document, &with(&found), &traces)));
    }
    assert!(
        search.find(&document, &proofs(&document, &with(&found), &traces)).is_empty(),
        "it comes to an end"
    );
    (count(RECORDED), count(&with(&found)))
}

#[test]
fn near_misses_tell_patterns_texts_and_expressions_from_their_mutants() {
    for (indicator, gave_in) in [
        ("arguments.text, pattern: {contains: canary-77}", "the canary-77 is here"),
        ("arguments.text, pattern: {regex: '(?i)code is ([0-9]{4}|none)[.!]'}", "The code is 4711."),
        ("arguments.text, pattern: {regex: '^(alpha|beta|gamma) +sent'}", "beta sent it"),
        ("arguments, pattern: {regex: 'ab?c{2,3}'}", "see abcc"),
        (
            "arguments.text, expression: {cel: \"has(message.arguments) && has(message.arguments.text) && message.arguments.text.matches('paid (ann|bob)') && !message.arguments.text.matches('draft|never')\"}",
            "paid bob",
        ),
    ] {
        let (before, after) = survivors(indicator, gave_in);
        assert!(before > 2, "{indicator}: {before} survive the recordings");
        assert!(after * 10 <= before, "{indicator}: {after} of {before} survive near misses");
    }
}

#[test]
fn a_message_that_is_too_long_is_passed_over_and_a_shorter_one_varied() {
    let long = format!("the canary-77 {}", "x".repeat(100_000));
    let (before, after) = survivors("arguments.text, pattern: {contains: canary-77}", &long);
    assert!(before > 2 && after * 10 <= before, "{after} of {before}");
}
