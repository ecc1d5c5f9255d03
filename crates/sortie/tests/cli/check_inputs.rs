//! Which files `sortie check` looks at, and what it says when it cannot.

use std::fs;

use snapbox::str;

use crate::{fixtures, sortie, sortie_in, stdout};

#[test]
fn a_folder_is_searched_by_name_and_the_rest_is_mentioned_once() {
    sortie()
        .args(["check", "--format", "github", "mixed"])
        .assert()
        .code(1)
        .stdout_eq(str![[r#"
::error file=mixed/deep/broken.yml,line=2,col=[..],title=P-001::this is not valid YAML: [..]

"#]])
        .stderr_eq(str![[r#"
note: 2 files are neither documents nor evaluators: mixed/notes.md, mixed/workflow.yaml

"#]]);
    let report = stdout(sortie_in(fixtures().join("mixed")).args(["check", "--format", "json", "."]));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let names: Vec<_> = report["files"].as_array().unwrap().iter().map(|file| file["file"].clone()).collect();
    assert_eq!(names, ["a.json", "b.yaml", "deep/broken.yml"]);
}

#[test]
fn a_file_that_is_named_is_checked_whatever_it_holds() {
    sortie().args(["check", "mixed/workflow.yaml"]).assert().code(1);
    sortie().args(["check", "mixed/notes.md"]).assert().code(1);
    sortie().args(["check", "mixed/.hidden.yaml"]).assert().code(1);
}

#[test]
fn a_file_given_twice_is_checked_once() {
    sortie()
        .args(["check", "valid.yaml", "./valid.yaml", "-", "-"])
        .stdin("oatf: '0.1'")
        .assert()
        .code(1)
        .stdout_eq(str![[r#"
...
2 files checked: [..]

"#]]);
}

#[test]
fn nothing_recognised_is_invalid_input() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "nothing here").unwrap();
    sortie_in(folder.path()).args(["check", "."]).assert().code(2).stdout_eq("").stderr_eq(str![[r#"
error: no OATF document found in `.`
  help: in a folder, a document is a file with `oatf` or `attack` at its top level; a file that you name is checked in any case

"#]]);
}

#[test]
fn what_is_not_there_is_invalid_input_and_the_rest_is_still_checked() {
    sortie()
        .args(["check", "nowhere.yaml", "valid.yaml"])
        .assert()
        .code(2)
        .stdout_eq(str![[r#"
1 file checked: no findings; 1 input was not read

"#]])
        .stderr_eq(str![[r#"
error: there is no file or folder `nowhere.yaml`

"#]]);
    sortie().args(["check", "nowhere.yaml", "ten_mistakes.yaml"]).assert().code(2);
    sortie().args(["check", "nowhere.yaml"]).assert().code(2).stdout_eq("");
}

#[test]
fn a_file_that_is_not_utf8_is_refused_where_it_stops_being_text() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("latin.yaml"), b"oatf: '0.1'\nattack:\n  name: caf\xe9 noir\n").unwrap();
    sortie_in(folder.path()).args(["check", "."]).assert().code(1).stdout_eq(str![[r#"
error[P-002]: byte 31 (0xe9) is not UTF-8
 --> latin.yaml:3:12
  |
3 |   name: caf[..] noir
  |            ^
  |
  = help: save the file as UTF-8
...

"#]]);
}

#[test]
fn a_huge_file_is_refused_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::File::create(folder.path().join("huge.yaml")).unwrap();
    // Sparse: three hundred gigabytes that nobody has.
    file.set_len(300 << 30).unwrap();
    sortie_in(folder.path()).args(["check", "huge.yaml"]).assert().code(1).stdout_eq(str![[r#"
error[P-011]: the document is 322122547200 bytes long; 2097152 are the limit
...
"#]]);
    let long = "#".repeat(3 << 20);
    sortie().args(["check", "-"]).stdin(long).assert().code(1).stdout_eq(str![[r#"
error[P-011]: the document is longer than 2097152 bytes, which are the limit
...
"#]]);
}

#[test]
fn an_empty_file_is_no_document() {
    sortie().args(["check", "-"]).stdin("").assert().code(1).stdout_eq(str![[r#"
error[P-003]: the document is empty
...
"#]]);
}

#[cfg(unix)]
#[test]
fn links_that_go_round_in_circles_end() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("deep")).unwrap();
    fs::copy(fixtures().join("valid.yaml"), folder.path().join("deep/a.yaml")).unwrap();
    symlink("..", folder.path().join("deep/up")).unwrap();
    symlink("deep/a.yaml", folder.path().join("z.yaml")).unwrap();
    sortie_in(folder.path())
        .args(["check", "."])
        .assert()
        .code(0)
        .stdout_eq("1 file checked: no findings\n")
        .stderr_eq("note: 1 link to a folder was not followed: deep/up\n");
    symlink("gone.yaml", folder.path().join("dangling.yaml")).unwrap();
    sortie_in(folder.path())
        .args(["check", "."])
        .assert()
        .code(2)
        .stderr_eq("error: there is no file or folder `dangling.yaml`\nnote: [..]\n");
}

#[cfg(unix)]
#[test]
fn pipes_and_sockets_in_a_folder_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(fixtures().join("valid.yaml"), folder.path().join("a.yaml")).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(folder.path().join("b.yaml")).unwrap();
    sortie_in(folder.path())
        .args(["check", "."])
        .assert()
        .code(0)
        .stderr_eq("note: 1 file is neither a document nor an evaluator: b.yaml\n");
}

#[cfg(unix)]
#[test]
fn hostile_file_names_are_made_visible() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a\u{1b}[31m,\n:b.yaml"), "oatf: 1\n").unwrap();
    for format in ["human", "github"] {
        let shown = stdout(sortie_in(folder.path()).args(["check", "--format", format, "."]));
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }
}
