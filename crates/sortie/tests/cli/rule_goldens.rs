//! What people see for every code: the first wrong example on its page, as `sortie check` shows it.

use std::collections::BTreeSet;
use std::fs;

use snapbox::IntoData;
use sortie_oatf::Rule;

use crate::{golden, sortie_in, stdout, tests};

#[test]
fn every_code_looks_as_it_should() {
    let folder = tempfile::tempdir().unwrap();
    let mut failures = Vec::new();
    for rule in sortie_oatf::rules() {
        let Some(example) = wrong_example(rule) else {
            failures.push(format!("{}: its page has no wrong example", rule.code));
            continue;
        };
        fs::write(folder.path().join("example.yaml"), example).unwrap();
        // What stands beside a document is looked at only when it is asked for.
        let asked: &[&str] = if rule.code == "L-023" { &["--deny", "proofs"] } else { &[] };
        let shown = stdout(sortie_in(folder.path()).args(["check", "example.yaml"]).args(asked));
        if !shown.contains(&format!("[{}]", rule.code)) {
            failures.push(format!("{} is not among what its wrong example gives:\n{shown}", rule.code));
        }
        let expected = golden(&format!("rules/{}.txt", rule.code));
        let compared = snapbox::Assert::new().action_env(snapbox::assert::DEFAULT_ACTION_ENV).try_eq(
            Some(&rule.code),
            shown.into_data(),
            expected,
        );
        if let Err(difference) = compared {
            failures.push(difference.to_string());
        }
    }
    assert!(
        failures.is_empty(),
        "{} codes look different; `SNAPSHOTS=overwrite` accepts how they look now\n{}",
        failures.len(),
        failures.join("\n"),
    );
}

/// The first wrong example on the page of a rule, or what cannot stand on a page.
fn wrong_example(rule: &Rule) -> Option<Vec<u8>> {
    if rule.code == "P-002" {
        return Some(b"oatf: \"0.1\"\nattack:\n  name: caf\xe9\n".to_vec());
    }
    rule.page().examples.into_iter().find(|example| example.wrong).map(|example| example.text.into_bytes())
}

#[test]
fn every_golden_file_belongs_to_a_code() {
    let codes: BTreeSet<String> = sortie_oatf::rules().map(|rule| format!("{}.txt", rule.code)).collect();
    let files: BTreeSet<String> = fs::read_dir(tests().join("golden/rules"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let strays: Vec<_> = files.difference(&codes).collect();
    assert!(strays.is_empty(), "{strays:?} belong to no code");
}
