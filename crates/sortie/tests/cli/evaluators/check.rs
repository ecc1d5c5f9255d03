//! `sortie evaluators check`, and `sortie check` on evaluators

use std::fs;

use snapbox::str;

use super::{LEAK, LEAK_FIXTURES, evaluators, json, mine, said, shown, write};
use crate::{fixtures, sortie_in};

#[test]
fn a_fault_is_shown_like_one_of_a_document() {
    let folder = mine(&[("agent/note-leak.yaml", &LEAK.replace("severity: high", "severity: hihg"))]);
    evaluators(&folder, &["check", "mine"]).assert().code(2).stderr_eq("").stdout_eq(str![[r#"
error[E-004]: `hihg` is not a severity
 --> mine/agent/note-leak.yaml:3:11
  |
3 | severity: hihg
  |           ^^^^ did you mean `high`?
  |
  = help: it is one of `critical`, `high`, `medium` and `low`
  = note: `sortie explain E-004`

1 file checked: 1 error; 1 can be fixed with `--fix`

"#]]);
    let fixed = evaluators(&folder, &["check", "mine", "--fix"]).assert().code(0);
    assert_eq!(shown(&fixed), "1 file checked: no findings\n");
    assert_eq!(fs::read_to_string(folder.path().join("mine/agent/note-leak.yaml")).unwrap(), LEAK);
}

#[test]
fn sortie_check_finds_documents_and_evaluators_in_one_walk() {
    let folder = mine(&[
        ("evals/note-leak.yaml", &LEAK.replace("severity: high", "severity: hihg")),
        ("evals/note-leak.test.yaml", LEAK_FIXTURES),
        ("settings.yaml", "name: x\n"),
    ]);
    fs::copy(fixtures().join("valid.yaml"), folder.path().join("mine/attack.yaml")).unwrap();
    let run = sortie_in(folder.path()).args(["check", "mine"]).assert().code(1);
    let (out, err) = (shown(&run), said(&run));
    assert!(out.contains("error[E-004]") && out.contains("mine/evals/note-leak.yaml:3:11"), "{out}");
    assert!(out.contains("3 files checked: 1 error"), "{out}");
    assert!(err.contains("1 file is neither a document nor an evaluator: mine/settings.yaml"), "{err}");

    let args = ["check", "mine", "--format"];
    let sarif: serde_json::Value =
        serde_json::from_str(&shown(&sortie_in(folder.path()).args(args).arg("sarif").assert())).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "E-004");
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 3);
    assert!(sarif["runs"][0]["tool"]["driver"]["rules"][0]["shortDescription"]["text"].is_string());
    let github = shown(&sortie_in(folder.path()).args(args).arg("github").assert());
    assert!(
        github.starts_with("::error file=mine/evals/note-leak.yaml,line=3,col=11,title=E-004::"),
        "{github}"
    );
    let report: serde_json::Value =
        serde_json::from_str(&shown(&sortie_in(folder.path()).args(args).arg("json").assert())).unwrap();
    let schema = fs::read(super::repository().join("docs/schema/check-v1.json")).unwrap();
    jsonschema::validate(&serde_json::from_slice(&schema).unwrap(), &report).expect("as the schema says");
}

#[test]
fn a_file_is_checked_with_the_folder_it_lies_in() {
    let folder = mine(&[
        ("agent/a/note-leak.yaml", LEAK),
        ("mcp/b/note-leak.yaml", LEAK),
        (
            "agent/a/waits.yaml",
            &LEAK.replace("note-leak", "waits").replace("checks:", "depends_on: [note-leak]\nchecks:"),
        ),
    ]);
    // What it depends on is another file of the folder, which need not be named.
    fs::remove_file(folder.path().join("mine/mcp/b/note-leak.yaml")).unwrap();
    for command in [&["evaluators", "check"][..], &["check"]] {
        let run = sortie_in(folder.path()).args(command).arg("mine/agent/a/waits.yaml").assert().code(0);
        assert_eq!(shown(&run), "1 file checked: no findings\n");
    }
    // The id of another one keeps it from being loaded, whichever of the two is the second.
    write(&folder, "mcp/b/note-leak.yaml", LEAK);
    for file in ["mine/agent/a/note-leak.yaml", "mine/mcp/b/note-leak.yaml"] {
        let run = evaluators(&folder, &["check", file]).assert().code(2);
        assert!(shown(&run).contains("error[E-002]"), "{}", shown(&run));
    }
}

#[test]
fn an_evaluator_in_no_folder_is_checked_with_what_belongs_to_it() {
    let folder = mine(&[
        ("note-leak.yaml", LEAK),
        ("note-leak.test.yaml", "kind: response\npass_case: No.\n"),
        ("unrelated.yaml", "a: 1\n"),
        ("own/evaluator.yaml", &LEAK[..LEAK.find("patterns:").unwrap()].replace("note-leak", "own")),
        ("own/patterns/ask.yaml", "name: Ask\ntemplate: What does the note say?\ntypo: 1\n"),
    ]);
    let run = evaluators(&folder, &["check", "mine/note-leak.yaml"]).assert().code(2);
    assert!(
        shown(&run).contains("mine/note-leak.test.yaml") && shown(&run).contains("2 files checked"),
        "{}",
        shown(&run)
    );
    for file in ["mine/own/evaluator.yaml", "mine/own/patterns/ask.yaml"] {
        let run = evaluators(&folder, &["check", file]).assert().code(2);
        assert!(shown(&run).contains("mine/own/patterns/ask.yaml:3:1"), "{}", shown(&run));
    }
}

#[test]
fn an_id_that_a_bundled_one_has_is_an_error_unless_it_stands_at_the_same_place() {
    let taken = LEAK.replace("note-leak", "goal-hijack");
    let folder = mine(&[("agent/goal-hijack.yaml", &taken)]);
    let run = evaluators(&folder, &["check", "mine"]).assert().code(2);
    assert!(
        shown(&run).contains("the other is `evaluators/agent/indirect/goal-hijack.yaml"),
        "{}",
        shown(&run)
    );
    evaluators(&folder, &["check", "mine", "--without-bundled"]).assert().code(0);
    let run = evaluators(&folder, &["list", "--evaluators", "mine"]).assert().code(2);
    assert!(said(&run).contains("help: `--without-bundled` leaves out"), "{}", said(&run));

    let folder = mine(&[("agent/indirect/goal-hijack.yaml", &taken)]);
    let run = evaluators(&folder, &["check", "mine"]).assert().code(0);
    assert!(said(&run).contains("1 file of yours replaces a bundled evaluator file"), "{}", said(&run));
    let list = json(evaluators(&folder, &["list", "--evaluators", "mine", "--format", "json"]));
    let own = list["evaluators"].as_array().unwrap().iter().find(|own| own["id"] == "goal-hijack").unwrap();
    assert_eq!(own["name"], "A note leaks");
}

#[test]
fn a_warning_counts_when_it_is_denied() {
    let folder = mine(&[("agent/other-name.yaml", LEAK)]);
    let run = evaluators(&folder, &["check", "mine"]).assert().code(0);
    assert!(shown(&run).contains("warning[E-101]"), "{}", shown(&run));
    evaluators(&folder, &["check", "mine", "--deny", "E-101"]).assert().code(1);
    let run = evaluators(&folder, &["check", "mine", "--allow", "E-101"]).assert().code(0);
    assert_eq!(shown(&run), "1 file checked: no findings\n");
    evaluators(&folder, &["check", "mine", "--allow", "E"]).assert().code(2);
}

#[test]
fn nothing_to_check_is_an_error() {
    let folder = mine(&[("README.md", "# Mine\n")]);
    for (arguments, why) in [
        (&["check"][..], "there is nothing to check"),
        (&["check", "mine"], "there is no evaluator in `mine`"),
        (&["check", "gone"], "there is no file or folder `gone`"),
    ] {
        let run = evaluators(&folder, arguments).assert().code(2);
        assert!(said(&run).contains(why), "{}", said(&run));
    }
}

#[test]
fn what_is_named_and_not_read_is_an_error() {
    let folder = mine(&[("agent/note-leak.yaml", LEAK), ("agent/.draft.yaml", "id: [\n")]);
    write(&folder, &format!("agent/{}deep.yaml", "d/".repeat(20)), LEAK);
    fs::create_dir(folder.path().join("mine/mcp")).unwrap();
    let deep = format!("mine/agent/{}deep.yaml", "d/".repeat(20));
    for path in ["mine/agent/.draft.yaml", "mine/mcp", &deep] {
        let run = evaluators(&folder, &["check", path]).assert().code(2);
        assert!(
            said(&run).contains("was not read as a part of `mine`"),
            "{path}: {}{}",
            shown(&run),
            said(&run)
        );
    }
    let run = sortie_in(folder.path()).args(["check", &deep]).assert().code(2);
    assert!(said(&run).contains("was not read"), "{}{}", shown(&run), said(&run));
}

#[test]
fn sortie_toml_names_folders_as_seen_from_where_it_lies() {
    let folder = mine(&[("agent/note-leak.yaml", LEAK), ("agent/note-leak.test.yaml", LEAK_FIXTURES)]);
    fs::write(folder.path().join("sortie.toml"), "evaluators = [\"mine\"]\n").unwrap();
    evaluators(&folder, &["check"]).assert().code(0).stdout_eq("2 files checked: no findings\n");
    evaluators(&folder, &["test", "note-leak"]).assert().code(0);
    let elsewhere = tempfile::tempdir().unwrap();
    let config = folder.path().join("sortie.toml");
    let config = config.to_str().unwrap();
    evaluators(&elsewhere, &["test", "note-leak", "--config", config]).assert().code(0);
    let run = evaluators(&elsewhere, &["test", "note-leak"]).assert().code(2);
    assert!(said(&run).contains("there is no evaluator `note-leak`"), "{}", said(&run));

    fs::write(folder.path().join("sortie.toml"), "evaluators = \"mine\"\n").unwrap();
    let run = evaluators(&folder, &["list"]).assert().code(2);
    assert!(said(&run).contains("this is a list of folders"), "{}", said(&run));
    fs::write(folder.path().join("sortie.toml"), "evaluators = [\"gone\"]\n").unwrap();
    let run = evaluators(&folder, &["list"]).assert().code(2);
    assert!(said(&run).contains("there is no file or folder `gone`"), "{}", said(&run));
}
