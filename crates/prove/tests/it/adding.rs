//! Runs that are added to a manifest: everything else in it stays as it is.

use sortie_oatf::model::AttackResult;
use sortie_prove::{Recorded, added};

use crate::story::{SOUND, document};

fn gave_in() -> Recorded {
    Recorded {
        trace: "gave-in.jsonl".into(),
        agent: "gullible".into(),
        about: "Does the task, and what the attack wants.".into(),
        verdict: AttackResult::Exploited,
        matched: vec!["A".into()],
    }
}

fn with(manifest: &str) -> Option<String> {
    added(Some(manifest), &[gave_in()], document(SOUND).document()).ok()
}

#[test]
fn comments_survivors_and_the_way_it_is_written_stay() {
    let manifest = "\
# Recorded by hand.
proofs:
    # the first
    - trace: a.jsonl   # in a hurry
      about: |
        One.
        Two.
      verdict: not_exploited

# What nobody has to notice.
survivors:
    - {mutant: A/widen/1, reason: so}
";
    assert_eq!(
        with(manifest).unwrap(),
        "\
# Recorded by hand.
proofs:
    # the first
    - trace: a.jsonl   # in a hurry
      about: |
        One.
        Two.
      verdict: not_exploited
    - trace: gave-in.jsonl
      agent: gullible
      about: Does the task, and what the attack wants.
      verdict: exploited
      matched: [\"A\"]

# What nobody has to notice.
survivors:
    - {mutant: A/widen/1, reason: so}
"
    );
}

#[test]
fn lists_are_found_however_they_are_indented() {
    let entry = "- trace: gave-in.jsonl\n";
    for (manifest, expected) in [
        // At the margin, without a last newline, with items in one line.
        (
            "proofs:\n- {trace: a.jsonl, about: x, verdict: not_exploited}",
            "proofs:\n- {trace: a.jsonl, about: x, verdict: not_exploited}\n- trace: gave-in.jsonl\n",
        ),
        ("proofs: []", "proofs:\n  - trace: gave-in.jsonl\n"),
        ("proofs: [] # none yet\n", "proofs:\n  - trace: gave-in.jsonl\n"),
        (
            "proofs:\n -\n   trace: a.jsonl\n   about: x\n   verdict: not_exploited\n",
            "proofs:\n -\n   trace: a.jsonl\n   about: x\n   verdict: not_exploited\n - trace: gave-in.jsonl\n",
        ),
    ] {
        let new = with(manifest).unwrap_or_else(|| panic!("{manifest}"));
        assert!(new.starts_with(expected), "{new}");
        assert_eq!(new.matches(entry).count(), 1);
    }
}

#[test]
fn what_cannot_be_added_to_is_refused_with_what_was_to_be_added() {
    let manifest = "proofs: [{trace: a.jsonl, about: x, verdict: not_exploited}]";
    let refused = added(Some(manifest), &[gave_in()], document(SOUND).document()).unwrap_err();
    assert!(refused.lines.starts_with("  - trace: gave-in.jsonl\n"), "{}", refused.lines);
    // Named already: two runs of one name are no manifest.
    assert_eq!(with("proofs:\n  - {trace: gave-in.jsonl, about: x, verdict: not_exploited}\n"), None);
}

#[test]
fn ids_of_any_kind_are_read_back_as_they_are() {
    for id in ["null", "1", "a b", "x: y", "\"", "é", "A-1", "[", "- a", "#", "\u{1}"] {
        let quoted = serde_json::Value::from(id);
        let indicators = format!(
            "    - {{id: {quoted}, surface: tools/call, target: arguments, pattern: {{contains: x}}}}"
        );
        let recorded = Recorded { matched: vec![id.to_owned()], ..gave_in() };
        let new = added(Some("proofs: []"), &[recorded], document(&indicators).document());
        assert!(new.is_ok(), "{id:?}: {new:?}");
    }
}

proptest::proptest! {
    #[test]
    fn whatever_a_manifest_looks_like_nothing_in_it_is_lost(
        text in "proofs:(\n *- \\{trace: [a-c].jsonl, about: x, verdict: not_exploited\\}( #.)?|\n *#.?| \\[\\]|\n){0,6}(\nsurvivors: \\[\\])?\n?"
    ) {
        if let Some(new) = with(&text) {
            let mut rest = new.as_str();
            for line in text.lines().map(|line| line.split("[]").next().unwrap().trim()) {
                let at = rest.find(line);
                proptest::prop_assert!(at.is_some(), "{text}\n---\n{new}");
                rest = &rest[at.unwrap() + line.len()..];
            }
        }
    }
}
