use super::*;

fn files(list: &[(&str, &str)]) -> Vec<FixtureFile> {
    let file = |(path, content): &(&str, &str)| FixtureFile {
        path: (*path).to_owned(),
        content: content.as_bytes().to_vec(),
    };
    list.iter().map(file).collect()
}

#[track_caller]
fn only_reason(list: &[(&str, &str)]) -> String {
    let report = run(&files(list));
    let failed: Vec<_> = report.cases.into_iter().filter(|case| !case.passed).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    failed.into_iter().next().and_then(|case| case.reason).unwrap_or_default()
}

const PROTOCOL: &str = "- {name: n, id: i, input: {mode: mcp_server}, expected: mcp}\n";

#[test]
fn a_case_that_holds_passes() {
    let report = run(&files(&[("primitives/extract-protocol.yaml", PROTOCOL)]));
    assert_eq!((report.passed(), report.failed()), (1, 0));
}

#[test]
fn what_is_not_understood_fails() {
    let suite = |text: &'static str| only_reason(&[("primitives/extract-protocol.yaml", text)]);
    assert!(suite("- {name: n, id: i, input: {mode: mcp_server}, expected: a2a}").contains("expected"));
    assert!(suite("- {name: n, id: i, input: {mode: x, more: 1}, expected: x}").contains("`more`"));
    assert!(suite("- {name: n, id: i, input: {mode: x}, expected: x, why: 1}").contains("`why`"));
    assert!(suite("- {name: n, input: {mode: x}, expected: x}").contains("`id`"));
    assert!(suite("[]").contains("no cases"));
    assert!(suite("- {name: n, id: i").contains("YAML"));
    assert!(only_reason(&[("primitives/new-thing.yaml", PROTOCOL)]).contains("nothing is known"));
    assert!(only_reason(&[("notes.txt", "")]).contains("nothing is known"));
    assert!(only_reason(&[("other/suite.yaml", PROTOCOL)]).contains("nothing is known"));
    assert!(only_reason(&[("parse/invalid/a.yaml", "a: [")]).contains("a.meta.yaml"));
    assert!(only_reason(&[("parse/invalid/a.meta.yaml", "expected_error: x")]).contains("a.yaml"));
}

#[test]
fn an_id_counts_once() {
    let text = format!("{PROTOCOL}{PROTOCOL}");
    assert!(only_reason(&[("primitives/extract-protocol.yaml", &text)]).contains("twice"));
}
