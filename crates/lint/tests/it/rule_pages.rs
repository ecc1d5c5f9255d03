//! Every page of a rule holds examples, and every example does what the page says.

use sortie_lint::analyze;
use sortie_oatf::{Analysis, parse_bytes, rule, rules};
use sortie_syntax::Rule;

/// What is not UTF-8 cannot stand on a page; `what_is_not_utf8_gives_its_code` tests it instead.
const NO_WRONG_EXAMPLE: &str = "P-002";

/// Nothing in a text says what stands beside it; the tests of `sortie check` look there.
const NOT_IN_THE_TEXT: &str = "L-023";

fn codes(analysis: &Analysis) -> Vec<&'static str> {
    analysis.diagnostics.iter().map(|finding| finding.code).collect()
}

#[track_caller]
fn check(rule: &Rule) -> Result<(), String> {
    let page = rule.page();
    let (wrong, right): (Vec<_>, Vec<_>) = page.examples.iter().partition(|example| example.wrong);
    if wrong.is_empty() && rule.code != NO_WRONG_EXAMPLE {
        return Err("the page has no wrong example".into());
    }
    if right.is_empty() {
        return Err("the page has no right example".into());
    }
    for example in wrong {
        let found = analyze(&example.text);
        if !codes(&found).contains(&rule.code) && rule.code != NOT_IN_THE_TEXT {
            return Err(format!("a wrong example gives {:?}:\n{}", codes(&found), example.text));
        }
        if rule.family() == 'L' && !found.is_valid() {
            return Err(format!("lints are about valid documents:\n{}", example.text));
        }
        if let Some(mute) = found.diagnostics.iter().find(|finding| finding.help.is_empty()) {
            return Err(format!("{} does not say what to do: {}", mute.code, mute.message));
        }
    }
    for example in right {
        let found = analyze(&example.text);
        if codes(&found).contains(&rule.code) || !found.is_valid() {
            return Err(format!("a right example gives {:#?}:\n{}", found.diagnostics, example.text));
        }
    }
    Ok(())
}

#[test]
fn every_page_proves_its_rule() {
    let failures: Vec<_> = rules()
        .chain(sortie_lint::rules())
        .filter_map(|rule| check(&rule).err().map(|error| format!("{}: {error}", rule.code)))
        .collect();
    assert!(failures.is_empty(), "{} pages fail\n{}", failures.len(), failures.join("\n"));
    assert!(rules().count() > 0 && sortie_lint::rules().count() > 0);
}

#[test]
fn what_is_not_utf8_gives_its_code() {
    let latin1 = b"oatf: '0.1'\nattack:\n  name: caf\xe9\n";
    let errors = parse_bytes(latin1).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].diagnostic.code, NO_WRONG_EXAMPLE);
    assert_eq!((errors[0].line, errors[0].column), (Some(3), Some(12)));
}

#[test]
fn v002_is_explained_by_the_warning_it_is_reported_as() {
    assert_eq!(rule("v-002").map(|rule| rule.code), Some("W-001"));
}
