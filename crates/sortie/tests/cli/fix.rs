//! `sortie check --fix` and `--diff`.

use std::fs;

use snapbox::str;

use crate::{fixtures, golden, sortie, sortie_in, stdout};

fn a_copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(fixtures().join("fixable.yaml"), folder.path().join("a.yaml")).unwrap();
    folder
}

#[test]
fn a_diff_is_shown_and_nothing_written() {
    for arguments in [&["--diff"][..], &["--diff", "--fix"]] {
        let folder = a_copy();
        sortie_in(folder.path())
            .args(["check", "a.yaml"])
            .args(arguments)
            .assert()
            .code(1)
            .stdout_eq(golden("check/fixable.diff"))
            .stderr_eq("note: a.yaml: 1 error would be left\n");
        let after = fs::read_to_string(folder.path().join("a.yaml")).unwrap();
        assert_eq!(after, fs::read_to_string(fixtures().join("fixable.yaml")).unwrap());
    }
}

#[test]
fn repairs_are_written_and_what_is_left_is_reported() {
    let folder = a_copy();
    sortie_in(folder.path()).args(["check", "--fix", "a.yaml"]).assert().code(1).stdout_eq(str![[r#"
error[V-006]: `indicators` is empty
 --> a.yaml:9:3
...
1 file checked: 1 error

"#]]);
    snapbox::assert_data_eq!(
        snapbox::Data::read_from(&folder.path().join("a.yaml"), None),
        golden("check/fixed.yaml")
    );
    // A second time changes nothing.
    let before = fs::metadata(folder.path().join("a.yaml")).unwrap().modified().unwrap();
    sortie_in(folder.path()).args(["check", "--fix", "a.yaml"]).assert().code(1);
    assert_eq!(fs::metadata(folder.path().join("a.yaml")).unwrap().modified().unwrap(), before);
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.yaml"], "no temporary file is left");
}

#[test]
fn line_ends_and_comments_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    fs::write(
        &path,
        "oatf: '0.1'\r\nattack:\r\n  name: 12 # kept\r\n  execution: {mode: mcp_server, stat: {}}\r\n",
    )
    .unwrap();
    sortie_in(folder.path()).args(["check", "--fix", "a.yaml"]).assert().code(0);
    let expected =
        "oatf: '0.1'\r\nattack:\r\n  name: \"12\" # kept\r\n  execution: {mode: mcp_server, state: {}}\r\n";
    assert_eq!(fs::read_to_string(path).unwrap(), expected);
}

#[cfg(unix)]
#[test]
fn permissions_and_links_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = a_copy();
    let (file, link) = (folder.path().join("a.yaml"), folder.path().join("link.yaml"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("a.yaml", &link).unwrap();
    sortie_in(folder.path()).args(["check", "--fix", "link.yaml"]).assert().code(1);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::read_to_string(&file).unwrap().contains("status: draft\n"));
}

#[test]
fn a_clean_file_is_not_touched_and_has_no_diff() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(fixtures().join("valid.yaml"), folder.path().join("a.yaml")).unwrap();
    sortie_in(folder.path()).args(["check", "--diff", "a.yaml"]).assert().code(0).stdout_eq("").stderr_eq("");
    sortie_in(folder.path()).args(["check", "--fix", "a.yaml"]).assert().code(0);
}

#[test]
fn standard_input_can_be_shown_and_not_written() {
    sortie().args(["check", "--fix", "-"]).stdin("oatf: 0.1\n").assert().code(2).stderr_eq(str![[r#"
error: `--fix` has no file to write when it reads standard input
  help: name a file, or see the repairs with `--diff`

"#]]);
    let diff = stdout(sortie().args(["check", "--diff", "-"]).stdin("oatf: 0.1\n"));
    assert!(
        diff.starts_with("--- <stdin>\n+++ <stdin>\n@@ -1 +1 @@\n-oatf: 0.1\n+oatf: \"0.1\"\n"),
        "{diff}"
    );
}

#[test]
fn a_diff_has_a_format_of_its_own() {
    sortie().args(["check", "--diff", "--format", "json", "valid.yaml"]).assert().code(2);
}

#[test]
fn a_suggestion_is_applied_only_when_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dead.yaml");
    let text = "oatf: \"0.1\"\nattack:\n  execution:\n    mode: ag_ui_client\n    state: {run_agent_input: {messages: [{id: m1, role: user, content: Hello}]}}\n  \
                indicators:\n    - target: response.content\n      direction: response\n      pattern: {contains: id_rsa}\n";
    std::fs::write(&file, text).unwrap();
    let check = |flags: &[&str]| {
        let output = sortie_in(folder.path()).args(["check", "dead.yaml"]).args(flags).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let shown = check(&["--fix"]);
    assert!(shown.contains("suggestion: write `_text` (`sortie check --fix --suggested` does)"), "{shown}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let diff = check(&["--diff", "--suggested"]);
    assert!(diff.contains("+    - target: \"_text\""), "{diff}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    assert!(!check(&["--fix", "--suggested"]).contains("L-001"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text.replace("response.content", "\"_text\""));
    // There is nothing to apply it to.
    sortie_in(folder.path()).args(["check", "dead.yaml", "--suggested"]).assert().code(2);
}
