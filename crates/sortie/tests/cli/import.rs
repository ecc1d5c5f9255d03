//! `sortie import`

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{sortie, stdout, tests};

fn rules() -> PathBuf {
    tests().join("../../../docs/examples/rules")
}

fn import(rules: &Path, out: &Path) -> snapbox::cmd::Command {
    sortie().args(["import", "atr"]).arg(rules).arg("--out").arg(out)
}

#[test]
fn documents_and_proofs_are_written_and_hold() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("imported");
    import(&rules(), &out).assert().code(1);
    let mut names: Vec<_> =
        fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "EXAMPLE-2026-00001.proofs",
            "EXAMPLE-2026-00001.yaml",
            "EXAMPLE-2026-00002.proofs",
            "EXAMPLE-2026-00002.yaml"
        ]
    );
    sortie().arg("check").arg(&out).assert().code(0);
    sortie().args(["fmt", "--check"]).arg(&out).assert().code(0);
    // Every verdict that the tests declare is given, but for the test that needs the condition that was left out.
    let proved: Value =
        serde_json::from_str(&stdout(sortie().args(["prove", "--format", "json"]).arg(&out))).unwrap();
    let proofs =
        proved["documents"].as_array().unwrap().iter().flat_map(|one| one["proofs"].as_array().unwrap());
    let (agree, differ): (Vec<&Value>, Vec<&Value>) = proofs.partition(|proof| proof["agrees"] == true);
    assert_eq!((agree.len(), differ.len()), (5, 1));
    assert_eq!(differ[0]["about"], "True positive 2");
    // What is there is not written over unless that is asked for.
    import(&rules(), &out).assert().code(2);
    import(&rules(), &out).arg("--force").assert().code(1);
}

#[test]
fn a_folder_whose_rules_are_imported_whole_is_clean() {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("rules");
    fs::create_dir(&one).unwrap();
    let name = "EXAMPLE-2026-00001-key-on-its-way.yaml";
    fs::copy(rules().join(name), one.join(name)).unwrap();
    import(&one, &folder.path().join("out")).assert().code(0);
}

#[test]
fn input_that_is_no_rule_is_invalid_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (empty, out) = (folder.path().join("empty"), folder.path().join("out"));
    fs::create_dir(&empty).unwrap();
    import(&empty, &out).assert().code(2);
    import(&folder.path().join("nowhere"), &out).assert().code(2);
    fs::write(empty.join("broken.yaml"), "detection: [\n").unwrap();
    let output = import(&empty, &out).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("broken.yaml:"), "{stderr}");
    assert!(!out.exists());
}

#[test]
fn json_follows_its_published_schema() {
    let folder = tempfile::tempdir().unwrap();
    let report = stdout(import(&rules(), &folder.path().join("out")).args(["--format", "json"]));
    let report: Value = serde_json::from_str(&report).unwrap();
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/schema/import-atr-v1.json")).unwrap();
    jsonschema::draft202012::meta::validate(&schema).expect("a schema");
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(report["totals"]["tests_agreed"], 5);
    assert_eq!(report["left_out"][0]["reason"], "unsupported_method");
}
