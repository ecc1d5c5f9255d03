//! The official fixtures, and our own in the same layout.

use crate::support;
use sortie_conformance::{ConformanceReport, FixtureFile, run};

fn failures(report: &ConformanceReport) -> Vec<String> {
    let failed = report.cases.iter().filter(|case| !case.passed);
    failed
        .map(|case| format!("{} {}: {}", case.id, case.name, case.reason.as_deref().unwrap_or("")))
        .collect()
}

#[test]
#[ignore = "needs the official fixtures: SORTIE_FIXTURES=… cargo xtask test"]
fn all_official_cases_pass() {
    let folder = support::official();
    let report = run(&crate::read_fixtures(&folder.join("conformance")));
    let failures = failures(&report);
    assert!(failures.is_empty(), "{} failed\n{}", failures.len(), failures.join("\n"));
    assert_eq!(report.passed(), 414);
}

/// One changed expectation for each kind of comparison: the case it stands in fails, and no other.
#[test]
#[ignore = "needs the official fixtures: SORTIE_FIXTURES=… cargo xtask test"]
fn a_changed_official_expectation_fails_on_exactly_that_case() {
    let folder = support::official();
    let original = crate::read_fixtures(&folder.join("conformance"));
    let changes = [
        (
            "validate/suite.yaml",
            "rule: \"V-001\"\n        path: \"oatf\"",
            "rule: \"V-001\"\n        path: \"oat\"",
            "VAL-001b",
        ),
        ("validate/suite.yaml", "rule: \"V-012\"", "rule: \"V-011\"", "VAL-005h"),
        ("validate/suite.yaml", "valid: true", "valid: false", "VAL-001a"),
        ("validate/warnings.yaml", "warnings: []", "warnings: [{rule: W-001}]", "WARN-001b"),
        ("validate/warnings.yaml", "warnings:\n      - rule: W-002", "warnings: []", "WARN-002a"),
        ("normalize/suite.yaml", "confidence: 50", "confidence: 51", "NORM-001a"),
        ("roundtrip/suite.yaml", "identical: true", "identical: false", "RT-001"),
        ("evaluate/pattern.yaml", "expected: \"matched\"", "expected: \"not_matched\"", ""),
        (
            "evaluate/expression.yaml",
            "expected_error_kind: \"type_error\"",
            "expected_error_kind: \"cel_error\"",
            "EVAL-CEL-08",
        ),
        ("verdict/any.yaml", "not_matched: 1", "not_matched: 2", "VERDICT-ANY-01"),
        ("primitives/parse-duration.yaml", "seconds: 300", "seconds: 301", "DUR-002"),
        ("primitives/evaluate-trigger.yaml", "reason: \"timeout\"", "reason: \"event_matched\"", "TRIG-001"),
        ("primitives/resolve-wildcard-path.yaml", "values: []", "values: [1]", "PATH-008"),
    ];
    for (file, from, to, id) in changes {
        let mut changed = original.clone();
        replace(&mut changed, file, from, to);
        let report = run(&changed);
        let failed: Vec<_> = report.cases.iter().filter(|case| !case.passed).collect();
        assert_eq!(failed.len(), 1, "{file}: {:?}", failures(&report));
        assert!(id.is_empty() || failed[0].id == id, "{file}: {} failed, not {id}", failed[0].id);
        assert_eq!(failed[0].file, file);
    }
}

fn replace(files: &mut [FixtureFile], path: &str, from: &str, to: &str) {
    let file = files.iter_mut().find(|file| file.path == path).unwrap_or_else(|| panic!("no {path}"));
    let text = String::from_utf8(file.content.clone()).unwrap();
    assert!(text.contains(from), "{path} does not hold {from:?}");
    file.content = text.replacen(from, to, 1).into_bytes();
}
