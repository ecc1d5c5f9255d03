//! `sortie explain`

use snapbox::str;

use crate::{golden, sortie, stdout};

#[test]
fn a_code_has_a_page() {
    sortie().args(["explain", "V-013"]).assert().code(0).stdout_eq(golden("explain_V-013.txt"));
    let small = stdout(sortie().args(["explain", "v-013"]));
    assert!(small.starts_with("V-013: "), "{small}");
}

#[test]
fn every_code_is_listed_and_has_a_page() {
    let list = stdout(sortie().args(["explain", "--list"]));
    let (list, words) = list.split_once("\n\n").unwrap();
    let codes: Vec<_> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    let words: Vec<_> = words.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(words, sortie_report::words::all().iter().map(|word| word.word).collect::<Vec<_>>());
    let rules = || sortie_report::findings::rules();
    let expected: Vec<_> = rules().map(|rule| rule.code).collect();
    assert_eq!(codes, expected);
    for rule in rules() {
        let page = stdout(sortie().args(["explain", rule.code]));
        assert!(page.contains(rule.title) && page.contains("\nRight\n"), "{page}");
        assert!(!page.contains("```"), "{page}");
    }
}

#[test]
fn an_unknown_code_gets_the_nearest_one() {
    sortie().args(["explain", "V-13"]).assert().code(2).stdout_eq("").stderr_eq(str![[r#"
error: there is no code and no word `V-13`
  help: did you mean `V-013` (every regular expression is valid RE2)?

"#]]);
    sortie().args(["explain", "whatever"]).assert().code(2).stderr_eq(str![[r#"
error: there is no code and no word `whatever`
  help: `sortie explain --list` shows every code and every word

"#]]);
    sortie().arg("explain").assert().code(2);
    sortie().args(["explain", "V-013", "--list"]).assert().code(2);
}

#[test]
fn a_word_of_a_report_is_explained_for_each_thing_it_is_said_of() {
    sortie().args(["explain", "boundary_breach"]).assert().code(0).stdout_eq(str![[r#"
boundary_breach: a tier

The highest of three tiers: data or control crossed a trust boundary. A secret went to the attacker,
money was sent, or another system was changed.

"#]]);
    let skipped = stdout(sortie().args(["explain", "skipped"]));
    let kinds: Vec<_> = skipped.lines().filter_map(|line| line.strip_prefix("skipped: ")).collect();
    assert_eq!(kinds, ["a result", "a standing", "a result of an indicator"]);
    let typo = sortie().args(["explain", "not_deliverd"]).assert().code(2);
    typo.stderr_eq(
        "error: there is no code and no word `not_deliverd`\n  help: did you mean `not_delivered`?\n",
    );
}

#[test]
fn words_of_campaigns_and_baselines_are_explained() {
    for (word, kind) in [
        ("new", "a state against a baseline"),
        ("regressed", "a state against a baseline"),
        ("known", "a state against a baseline"),
        ("fixed", "a state against a baseline"),
        ("expired", "a state against a baseline"),
        ("stale", "a state against a baseline"),
        ("holds", "a decision of a gate"),
        ("fails", "a decision of a gate"),
        ("exact", "an interval"),
        ("anytime", "an interval"),
        ("--fail-on", "an option"),
        ("fail-on", "an option"),
    ] {
        let shown = stdout(sortie().args(["explain", word]));
        let title = shown.lines().next().unwrap();
        assert!(title.ends_with(&format!(": {kind}")), "{word}: {shown}");
    }
    let undecided = stdout(sortie().args(["explain", "undecided"]));
    assert!(undecided.contains("undecided: a decision of a gate"), "{undecided}");
    sortie().args(["explain", "--lst"]).assert().code(2);
}
