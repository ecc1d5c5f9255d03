//! `sortie check`: what it reports, in every format, and what counts.

use serde_json::Value;
use snapbox::str;

use crate::{fixtures, golden, sortie, sortie_in, stdout};

#[test]
fn a_valid_document_is_clean() {
    sortie().args(["check", "valid.yaml"]).assert().code(0).stdout_eq(str![[r#"
1 file checked: no findings

"#]]);
}

#[test]
fn people_see_the_source_underlined() {
    sortie()
        .args(["check", "ten_mistakes.yaml"])
        .assert()
        .code(1)
        .stdout_eq(golden("check/ten_mistakes.txt"))
        .stderr_eq("");
}

#[test]
fn machines_get_json() {
    sortie()
        .args(["check", "--format", "json", "valid.yaml", "ten_mistakes.yaml"])
        .assert()
        .code(1)
        .stdout_eq(golden("check/ten_mistakes.json"))
        .stderr_eq("");
}

#[test]
fn code_scanning_gets_sarif() {
    sortie()
        .args(["check", "--format", "sarif", "valid.yaml", "conflict.yaml"])
        .assert()
        .code(1)
        .stdout_eq(golden("check/conflict.sarif"))
        .stderr_eq("");
}

#[test]
fn pull_requests_get_annotations() {
    sortie()
        .args(["check", "--format", "github", "valid.yaml", "ten_mistakes.yaml"])
        .assert()
        .code(1)
        .stdout_eq(golden("check/ten_mistakes.github"))
        .stderr_eq("");
}

#[test]
fn ten_different_mistakes_are_all_reported_with_the_right_lines() {
    let report = stdout(sortie().args(["check", "--format", "json", "ten_mistakes.yaml"]));
    let report: Value = serde_json::from_str(&report).unwrap();
    let found: Vec<_> = report["files"][0]["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (finding["code"].as_str().unwrap(), finding["line"].as_u64().unwrap()))
        .collect();
    let expected = [
        ("V-020", 3),
        ("V-005", 3),
        ("P-009", 4),
        ("P-008", 5),
        ("P-010", 6),
        ("P-006", 7),
        ("P-014", 17),
        ("V-031", 18),
        ("P-013", 26),
        ("V-013", 31),
    ];
    for mistake in expected {
        assert!(found.contains(&mistake), "{mistake:?} is not among {found:?}");
    }
}

#[test]
fn nothing_in_a_document_reaches_the_terminal_raw() {
    sortie()
        .args(["check", "--color", "never", "hostile.yaml"])
        .assert()
        .code(1)
        .stdout_eq(golden("check/hostile.txt"));
    for format in ["human", "json", "sarif", "github"] {
        let shown = stdout(sortie().args(["check", "--color", "never", "--format", format, "hostile.yaml"]));
        let raw: Vec<char> = shown
            .chars()
            .filter(|letter| {
                letter.is_control() && *letter != '\n' || ['\u{202e}', '\u{200b}'].contains(letter)
            })
            .collect();
        assert!(raw.is_empty(), "{format}: {raw:?}");
    }
    let diff = stdout(sortie().args(["check", "--color", "always", "--diff", "hostile.yaml"]));
    assert!(!diff.contains('\u{202e}'), "{diff}");
}

#[test]
fn json_follows_its_published_schema() {
    let schema = include_str!("../../../../docs/schema/check-v1.json");
    let schema = serde_json::from_str(schema).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("latin.yaml"), b"oatf: '0.1'\nname: caf\xe9\n").unwrap();
    let latin = folder.path().join("latin.yaml");
    let report = sortie()
        .args(["check", "--format", "json", "--deny", "warnings", "."])
        .arg(latin)
        .arg(fixtures().join("mixed/notes.md"));
    let report: Value = serde_json::from_str(&stdout(report)).unwrap();
    let problems: Vec<_> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(report["files"].as_array().unwrap().len() > 5);
}

#[test]
fn colour_is_for_those_who_want_it() {
    let colored = |command: snapbox::cmd::Command| {
        stdout(command.args(["check", "ten_mistakes.yaml"])).contains('\u{1b}')
    };
    assert!(!colored(sortie()), "not into a pipe");
    assert!(colored(sortie().args(["--color", "always"])));
    assert!(colored(sortie().env("CLICOLOR_FORCE", "1")));
    assert!(!colored(sortie().env("NO_COLOR", "1").env("CLICOLOR_FORCE", "1").args(["--color", "never"])));
    assert!(colored(sortie().env("NO_COLOR", "1").args(["--color", "always"])), "what is asked for wins");
}

#[test]
fn standard_input_has_a_name() {
    sortie().args(["check", "-"]).stdin("oatf: 0.1\n").assert().code(1).stdout_eq(str![[r#"
error[V-003]: a document needs `attack`
 --> <stdin>:1:1
  |
1 | oatf: 0.1
  | ^^^^ no `attack` here
...

"#]]);
}

/// A document with one warning, whichever that is: the first wrong example of the first rule that warns.
fn a_warning() -> (&'static str, String) {
    let mut warning = sortie_report::findings::rules().filter(|rule| matches!(rule.family(), 'W' | 'L'));
    let found = warning.find_map(|rule| {
        let example = rule.page().examples.into_iter().find(|example| example.wrong)?;
        let analysis = sortie_lint::analyze(&example.text);
        (analysis.is_valid() && analysis.diagnostics.len() == 1).then_some((rule.code, example.text))
    });
    found.expect("some rule warns about its first wrong example, and about nothing else")
}

#[test]
fn a_warning_counts_when_it_is_denied_and_is_gone_when_it_is_allowed() {
    let (code, text) = a_warning();
    let check = |arguments: &[&str]| sortie().args(["check", "-"]).args(arguments).stdin(text.clone());
    let family = &code[..1];
    check(&[]).assert().code(0);
    for denied in
        [code, family, "warnings", &format!("{family}-*"), &code.to_lowercase(), &format!("V-006,{code}")]
    {
        check(&["--deny", denied]).assert().code(1);
    }
    let shown = stdout(check(&["--deny", code]));
    assert!(shown.starts_with(&format!("error[{code}]")), "{shown}");
    assert!(shown.contains("a warning, which `--deny` makes an error"), "{shown}");
    check(&["--allow", code]).assert().code(0).stdout_eq("1 file checked: no findings\n");
    check(&["--deny", family, "--allow", code]).assert().code(0);
    check(&["--allow", family, "--deny", code]).assert().code(1);
    let json: Value = serde_json::from_str(&stdout(check(&["--deny", code, "--format", "json"]))).unwrap();
    assert_eq!(json["files"][0]["valid"], true, "a denied warning leaves the document valid");
    assert_eq!(json["files"][0]["diagnostics"][0]["severity"], "error");
}

#[test]
fn what_cannot_be_denied_or_allowed_is_wrong_usage() {
    let refused = |arguments: &[&str], stderr: &str| {
        sortie()
            .args(["check", "valid.yaml"])
            .args(arguments)
            .assert()
            .code(2)
            .stdout_eq("")
            .stderr_eq(stderr);
    };
    refused(
        &["--deny", "V13"],
        "error: `--deny V13`: there is no code or family `V13`\n  help: did you mean `V-013` ([..])?\n",
    );
    refused(
        &["--deny", "nonsense"],
        "error: [..]\n  help: `sortie explain --list` shows every code; a family is a letter, such as `L`\n",
    );
    for error in ["V-013", "v-006", "V", "P", "S-*"] {
        refused(
            &["--allow", error],
            &format!(
                "error: `--allow {error}`: an error cannot be allowed\n  help: `sortie explain --list` shows [..]\n"
            ),
        );
    }
    refused(
        &["--allow", "L", "--deny", "L"],
        "error: `L` is both denied and allowed\n  help: keep one of the two\n",
    );
}

#[test]
fn wrong_usage_ends_with_2() {
    for arguments in [
        &["check"][..],
        &["check", "--format", "xml", "valid.yaml"],
        &["check", "--nonsense"],
        &["nonsense"],
        &[],
    ] {
        sortie().args(arguments).assert().code(2);
    }
    sortie().arg("--version").assert().code(0);
    sortie().args(["check", "--help"]).assert().code(0);
}

#[test]
fn whoever_stops_reading_ends_nothing_badly() {
    use std::process::{Command, Stdio};
    for (arguments, code) in [
        (&["check", "--format", "sarif", "ten_mistakes.yaml"][..], 1),
        (&["schema"], 0),
        (&["--help"], 0),
        (&["explain", "--list"], 0),
    ] {
        let mut child = Command::new(snapbox::cmd::cargo_bin!("sortie"))
            .args(arguments)
            .current_dir(fixtures())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn forty_thousand_duplicate_keys_give_a_short_report() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.yaml"), format!("oatf: '0.1'\n{}", "attack: 1\n".repeat(40_000)))
        .unwrap();
    let shown = stdout(sortie_in(folder.path()).args(["check", "a.yaml"]));
    assert!(shown.len() < 100_000, "{}", shown.len());
    assert!(shown.contains("more findings; mend these first"), "{shown}");
}
