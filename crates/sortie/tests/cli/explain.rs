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
    let codes: Vec<_> = list.lines().filter_map(|line| line.split(' ').next()).collect();
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
error: there is no code `V-13`
  help: did you mean `V-013` (every regular expression is RE2)?

"#]]);
    sortie().args(["explain", "whatever"]).assert().code(2).stderr_eq(str![[r#"
error: there is no code `whatever`
  help: `sortie explain --list` shows every code

"#]]);
    sortie().arg("explain").assert().code(2);
    sortie().args(["explain", "V-013", "--list"]).assert().code(2);
}
