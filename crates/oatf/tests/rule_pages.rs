//! Every page of a rule holds examples, and every example does what the page says.

use sortie_oatf::{Analysis, Rule, analyze, rules};

fn codes(analysis: &Analysis) -> Vec<&'static str> {
    analysis.diagnostics.iter().map(|finding| finding.code).collect()
}

#[track_caller]
fn check(rule: &Rule) -> Result<(), String> {
    let page = rule.page();
    let (wrong, right): (Vec<_>, Vec<_>) = page.examples.iter().partition(|example| example.wrong);
    if wrong.is_empty() {
        return Err("the page has no wrong example".into());
    }
    if right.is_empty() {
        return Err("the page has no right example".into());
    }
    for example in wrong {
        let found = analyze(&example.text);
        if !codes(&found).contains(&rule.code) {
            return Err(format!("a wrong example gives {:?}:\n{}", codes(&found), example.text));
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
    let failures: Vec<_> =
        rules().filter_map(|rule| check(rule).err().map(|error| format!("{}: {error}", rule.code))).collect();
    assert!(failures.is_empty(), "{} pages fail\n{}", failures.len(), failures.join("\n"));
    assert!(rules().count() > 0);
}
