//! Every page of a rule holds examples, and every example does what the page says.

use sortie_evaluators::rules::{example_files, rules};
use sortie_evaluators::{Loaded, Root, load};
use sortie_syntax::{Diagnostic, DiagnosticSeverity, Rule};

fn loaded(example: &str) -> Loaded {
    load(&[Root::new("", example_files(example))], &[])
}

fn findings(loaded: &Loaded) -> impl Iterator<Item = &Diagnostic> {
    loaded.findings.iter().flat_map(|file| &file.diagnostics)
}

fn check(rule: &Rule) -> Result<(), String> {
    let page = rule.page();
    let (wrong, right): (Vec<_>, Vec<_>) = page.examples.iter().partition(|example| example.wrong);
    if wrong.is_empty() || right.is_empty() {
        return Err("a page has a wrong and a right example".into());
    }
    for example in wrong {
        let found = loaded(&example.text);
        let codes: Vec<_> = findings(&found).map(|finding| finding.code).collect();
        if codes.iter().any(|code| *code != rule.code) || codes.is_empty() {
            return Err(format!("a wrong example gives {codes:?}:\n{}", example.text));
        }
        if found.is_sound() != (rule.severity == DiagnosticSeverity::Warning) {
            return Err(format!("this is not as bad as the rule says:\n{}", example.text));
        }
        if let Some(mute) = findings(&found).find(|finding| finding.help.is_empty()) {
            return Err(format!("nothing is said about what to do: {}", mute.message));
        }
    }
    for example in right {
        let found = loaded(&example.text);
        if let Some(finding) = findings(&found).next() {
            return Err(format!("a right example gives {finding:#?}:\n{}", example.text));
        }
    }
    Ok(())
}

#[test]
fn every_page_proves_its_rule() {
    let failures: Vec<_> = rules()
        .filter_map(|rule| check(&rule).err().map(|error| format!("{}: {error}", rule.code)))
        .collect();
    assert!(failures.is_empty(), "{} pages fail\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn errors_and_warnings_are_told_apart_by_their_number() {
    for rule in rules() {
        let number: u32 = rule.code.strip_prefix("E-").unwrap().parse().unwrap();
        let expected = if number > 100 { DiagnosticSeverity::Warning } else { DiagnosticSeverity::Error };
        assert_eq!(rule.severity, expected, "{}", rule.code);
    }
    let codes: Vec<_> = rules().map(|rule| rule.code).collect();
    assert!(codes.is_sorted(), "{codes:?}");
}
