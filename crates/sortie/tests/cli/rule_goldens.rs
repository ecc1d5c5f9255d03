//! What people see for every code: the first wrong example on its page, as `sortie check` shows it.

use std::collections::BTreeSet;
use std::fs;

use snapbox::IntoData;
use sortie_syntax::Rule;

use crate::{golden, sortie_in, stdout, tests};

#[test]
fn every_code_looks_as_it_should() {
    let folder = tempfile::tempdir().unwrap();
    let mut failures = Vec::new();
    for rule in rules() {
        let Some(example) = wrong_example(&rule) else {
            failures.push(format!("{}: its page has no wrong example", rule.code));
            continue;
        };
        // What stands beside a document is looked at only when it is asked for.
        let asked: &[&str] = if rule.code == "L-023" { &["--deny", "proofs"] } else { &[] };
        let shown = if rule.family() == 'E' {
            stdout(sortie_in(folder_of(&example).path()).args([
                "evaluators",
                "check",
                ".",
                "--without-bundled",
            ]))
        } else {
            fs::write(folder.path().join("example.yaml"), example).unwrap();
            stdout(sortie_in(folder.path()).args(["check", "example.yaml"]).args(asked))
        };
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

fn rules() -> impl Iterator<Item = Rule> {
    sortie_report::findings::rules()
}

/// A folder with the files of an example of evaluators.
fn folder_of(example: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in sortie_evaluators::rules::example_files(std::str::from_utf8(example).unwrap()) {
        let path = folder.path().join(&file.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match file.as_text() {
            Some(text) => fs::write(path, text.as_bytes()).unwrap(),
            // What cannot be read.
            None => std::os::unix::fs::symlink("nowhere", path).unwrap(),
        }
    }
    folder
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
    let codes: BTreeSet<String> = rules().map(|rule| format!("{}.txt", rule.code)).collect();
    let files: BTreeSet<String> = fs::read_dir(tests().join("golden/rules"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let strays: Vec<_> = files.difference(&codes).collect();
    assert!(strays.is_empty(), "{strays:?} belong to no code");
}
