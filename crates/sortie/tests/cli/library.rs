//! The documents of the library: in order, proved, and found by whoever asks for them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use snapbox::cmd::Command;
use snapbox::str;

use crate::{golden, sortie_in, stdout};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn library() -> Command {
    sortie_in(root()).arg("library")
}

fn json(command: Command) -> Value {
    serde_json::from_str(&stdout(command)).expect("JSON")
}

fn assert_follows(schema: &str, value: &Value) {
    let schema: Value = serde_json::from_str(schema).expect("the schema is JSON");
    jsonschema::draft202012::meta::validate(&schema).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let problems: Vec<_> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Every document, as its file and its text.
fn documents() -> Vec<(PathBuf, String)> {
    let listed = json(library().args(["list", "--format", "json"]));
    let files = listed["documents"].as_array().unwrap().iter().map(|document| &document["file"]);
    let files = files.map(|file| root().join("crates/library/documents").join(file.as_str().unwrap()));
    files.map(|file| (file.clone(), fs::read_to_string(file).unwrap())).collect()
}

#[test]
fn every_document_is_in_order_and_has_proofs() {
    let check =
        sortie_in(root()).args(["check", "--deny", "warnings", "--allow", "W-007", "--deny", "proofs"]);
    check.arg("crates/library/documents").assert().code(0);
    sortie_in(root()).args(["fmt", "--check", "crates/library/documents"]).assert().code(0);
}

#[test]
fn every_indicator_fires_stays_silent_and_would_be_missed() {
    let shown = sortie_in(root()).args(["prove", "crates/library/documents"]).assert().code(0);
    let shown = String::from_utf8_lossy(&shown.get_output().stdout).into_owned();
    assert!(shown.contains("mutants killed"), "{shown}");
}

#[test]
fn every_document_has_a_task_what_must_be_served_references_and_mappings() {
    for (file, text) in documents() {
        let file = file.display();
        let loaded = sortie_oatf::load(&text).unwrap_or_else(|errors| panic!("{file}: {errors:?}"));
        let attack = &loaded.document.attack;
        let own = attack.extensions.get("x-sortie").unwrap_or_else(|| panic!("{file} has no `x-sortie`"));
        // Where an actor is the user, the task is what it says.
        let is_user = attack.execution.actors.iter().flatten().any(|actor| actor.mode.ends_with("_client"));
        assert!(is_user || own["prompt"].as_str().is_some_and(|task| !task.is_empty()), "{file}: no task");
        assert!(own["delivered"].as_array().is_some_and(|list| !list.is_empty()), "{file}: no `delivered`");
        assert!(attack.references.as_ref().is_some_and(|list| !list.is_empty()), "{file}: no references");
        let class = attack.classification.as_ref().unwrap_or_else(|| panic!("{file} has no classification"));
        let frameworks: Vec<_> =
            class.mappings.iter().flatten().map(|mapping| mapping.framework.as_str()).collect();
        assert!(frameworks.iter().any(|name| name.starts_with("owasp_")), "{file}: {frameworks:?}");
        assert!(frameworks.contains(&"atlas"), "{file}: {frameworks:?}");
    }
}

#[test]
fn what_is_said_to_be_hidden_is_hidden() {
    type Sign = fn(&str) -> bool;
    let signs: &[(&str, Sign)] = &[
        ("homoglyph", |text| text.chars().any(|letter| ('\u{370}'..='\u{52f}').contains(&letter))),
        ("zero-width", |text| text.contains(['\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}'])),
        ("unicode-tags", |text| text.chars().any(|letter| ('\u{e0000}'..='\u{e007f}').contains(&letter))),
        ("ansi", |text| text.contains('\u{1b}')),
        ("comment", |text| text.contains("<!--")),
        ("base64", |text| {
            let is_base64 = |letter: char| letter.is_ascii_alphanumeric() || "+/=".contains(letter);
            text.split(|letter| !is_base64(letter)).any(|word| word.len() > 40)
        }),
    ];
    let coverage = json(library().args(["coverage", "--format", "json"]));
    let dimensions = coverage["dimensions"].as_array().unwrap();
    let evasion = dimensions.iter().find(|dimension| dimension["dimension"] == "evasion").unwrap();
    let documents = documents();
    for (tag, is_hidden) in signs {
        let members = evasion["members"].as_array().unwrap();
        let ids =
            members.iter().find(|member| member["member"] == *tag).unwrap()["documents"].as_array().unwrap();
        for id in ids {
            let is =
                |file: &Path| file.file_name().unwrap().to_string_lossy().starts_with(id.as_str().unwrap());
            let (file, text) = documents.iter().find(|(file, _)| is(file)).unwrap();
            let loaded = sortie_oatf::load(text).unwrap();
            let execution = format!("{:?}", loaded.document.attack.execution);
            let plain: String = unescaped(&execution);
            assert!(is_hidden(&plain), "{}: nothing in it is {tag}", file.display());
        }
    }
}

/// Debug output, with the characters that it writes as escapes.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\u{") {
        plain.push_str(before);
        let (digits, left) = after.split_once('}').unwrap_or((after, ""));
        plain.extend(u32::from_str_radix(digits, 16).ok().and_then(char::from_u32));
        rest = left;
    }
    plain + rest
}

#[test]
fn the_list_shows_them_all_and_other_tools_read_it() {
    library().arg("list").assert().code(0).stdout_eq(golden("library/list.txt")).stderr_eq("");
    let listed = json(library().args(["list", "--format", "json"]));
    assert_follows(include_str!("../../../../docs/schema/library-list-v1.json"), &listed);
    let documents = listed["documents"].as_array().unwrap();
    let mut ids: Vec<_> = documents.iter().map(|document| document["id"].to_string()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
    let count = ids.len();
    ids.dedup();
    assert_eq!((ids.len(), count >= 60), (count, true), "an id twice, or too few");
}

#[test]
fn a_list_can_be_narrowed() {
    library()
        .args(["list", "--mode", "a2a_client", "--category", "oversight_bypass"])
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
SRT-057  a2a_client  Metadata that claims a rank

1 document of 104

"#]]);
    library().args(["list", "--covers", "llm08", "--tag", "canary"]).assert().code(0).stdout_eq(str![[r#"
SRT-039  mcp_server  An entry in the index that was written to be found

1 document of 104

"#]]);
}

#[test]
fn a_word_that_the_library_does_not_know_is_refused_with_the_nearest() {
    for (arguments, told) in [
        (["--mode", "mcp_sever"], "a similar value exists: 'mcp_server'"),
        (["--category", "oversight_bypas"], "a similar value exists: 'oversight_bypass'"),
        (["--tag", "canray"], "did you mean `canary`?"),
        (["--tag", "Canary"], "did you mean `canary`?"),
        (["--covers", "MCP11"], "did you mean `MCP01`?"),
        (["--covers", "nothing of the kind"], "`sortie library coverage` shows what there is"),
    ] {
        let refused = library().arg("list").args(arguments).assert().code(2).stdout_eq("");
        let stderr = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert!(stderr.contains(told), "{arguments:?}: {stderr}");
    }
}

#[test]
fn no_document_at_all_is_an_error_in_every_format() {
    for format in ["human", "json"] {
        let none = library().args(["list", "--mode", "a2a_client", "--tag", "ansi", "--format", format]);
        none.assert().code(2).stdout_eq("").stderr_eq(str![[r#"
error: no document of the library is all of that
  help: ask for less, or see with `sortie library coverage` what there is

"#]]);
    }
}

#[test]
fn coverage_says_what_is_covered_and_what_is_not() {
    library().arg("coverage").assert().code(0).stdout_eq(golden("library/coverage.txt")).stderr_eq("");
    let coverage = json(library().args(["coverage", "--format", "json"]));
    assert_follows(include_str!("../../../../docs/schema/library-coverage-v1.json"), &coverage);
    assert!(!coverage["beyond"].as_array().unwrap().is_empty());
}

#[test]
fn a_document_is_shown_as_it_is_written_by_id_by_name_or_by_how_its_name_begins() {
    let (file, text) = &documents()[9];
    let stem = file.file_stem().unwrap().to_str().unwrap();
    for word in ["SRT-010", "srt-010", stem, &stem["SRT-010-".len()..], "rug-pull-new"] {
        assert_eq!(stdout(library().args(["show", word])), *text, "{word}");
    }
    library().args(["show", "SRT-0100"]).assert().code(2).stdout_eq("").stderr_eq(str![[r#"
error: the library has no document `SRT-0100`
  help: did you mean `SRT-010`?

"#]]);
    library().args(["show", "elicitation"]).assert().code(2).stdout_eq("").stderr_eq(str![[r#"
error: `elicitation` may be 2 documents of the library
  help: say which: `SRT-008-elicitation-asks-for-a-password`, `SRT-038-elicitation-sends-to-a-page`

"#]]);
}

#[test]
fn what_is_exported_is_proved_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let export =
        |names: &[&str]| sortie_in(folder.path()).args(["library", "export", "mine"]).args(names).assert();
    export(&["SRT-010", "sleeper-after", "SRT-010"])
        .code(0)
        .stderr_eq("note: 2 documents copied to `mine`, with proofs\n");
    let shown = sortie_in(folder.path()).args(["prove", "mine"]).assert().code(0);
    let shown = String::from_utf8_lossy(&shown.get_output().stdout).into_owned();
    assert!(shown.contains("2 documents: 2 proved"), "{shown}");
    let same = |file: &str| {
        assert_eq!(
            fs::read(folder.path().join("mine").join(file)).unwrap(),
            fs::read(root().join("crates/library/documents").join(file)).unwrap(),
            "{file}"
        );
    };
    same("mcp-server/SRT-010-rug-pull-new-field.yaml");
    same("mcp-server/SRT-010-rug-pull-new-field.proofs/gave-in.jsonl");

    // One file of one of them is enough to copy nothing.
    fs::remove_file(folder.path().join("mine/mcp-server/SRT-010-rug-pull-new-field.yaml")).unwrap();
    export(&["SRT-001", "SRT-010"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: `mine/mcp-server/SRT-010-rug-pull-new-field.proofs/proofs.yaml` is there already, so nothing was copied
  help: name a folder that is new or empty

"#]]);
    assert!(!folder.path().join("mine/mcp-server/SRT-001-description-reads-a-key.yaml").exists());
}

#[test]
fn an_export_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine"), "a file").unwrap();
    let export = |names: &[&str]| sortie_in(folder.path()).args(["library", "export"]).args(names).assert();
    export(&["mine", "SRT-001"]).code(2).stderr_eq("error: cannot make `mine/mcp-server`: [..]\n");
    export(&["other", "SRT-999"]).code(2);
    assert!(!folder.path().join("other").exists());
}

#[test]
fn a_document_of_the_library_is_played_and_judged_by_its_id() {
    let folder = tempfile::tempdir().unwrap();
    let sortie = || sortie_in(folder.path());
    let played = sortie().args(["run", "SRT-001", "--agent", "builtin:gullible", "--run-dir", "run"]);
    let played = played.assert().code(1);
    let played = String::from_utf8_lossy(&played.get_output().stdout).into_owned();
    assert!(played.contains("--> library/mcp-server/SRT-001-description-reads-a-key.yaml"), "{played}");
    sortie().args(["eval", "--trace", "run/cases/SRT-001/trace.jsonl", "description-reads"]).assert().code(1);
    let shown =
        stdout(sortie().args(["trace", "show", "run/cases/SRT-001/trace.jsonl", "--document", "SRT-001"]));
    assert!(shown.contains("SRT-001-01"), "{shown}");
    sortie().args(["prove", "SRT-001", "SRT-002"]).assert().code(0);
    sortie().args(["check", "--deny", "proofs", "SRT-001"]).assert().code(0);
    sortie().args(["check", "--fix", "SRT-001"]).assert().code(2);
}

#[test]
fn a_path_that_exists_is_always_a_path() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(root().join("examples/mcp-rug-pull.yaml"), folder.path().join("SRT-001")).unwrap();
    let checked = stdout(sortie_in(folder.path()).args(["check", "SRT-001", "--format", "json"]));
    assert!(checked.contains(r#""file": "SRT-001""#), "{checked}");
}

#[test]
fn what_is_neither_a_path_nor_in_the_library_is_refused_with_what_may_be_meant() {
    for command in [
        &["run", "SRT-0O1"][..],
        &["eval", "--trace", "x.jsonl", "SRT-0O1"],
        &["prove", "SRT-0O1"],
        &["check", "SRT-0O1"],
        &["trace", "show", "x.jsonl", "--document", "SRT-0O1"],
    ] {
        let refused = sortie_in(tempfile::tempdir().unwrap().path()).args(command).assert().code(2);
        let stderr = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        let told = "there is no file or folder `SRT-0O1`, and the library has no document `SRT-0O1`";
        assert!(stderr.contains(told) && stderr.contains("did you mean `SRT-001`?"), "{command:?}: {stderr}");
    }
}
