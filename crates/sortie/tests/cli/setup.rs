//! `sortie init`, `sortie doctor` and `sortie man`

use std::fs;

use crate::{sortie_in, stdout};

#[test]
fn a_new_project_is_set_up_without_a_question_and_its_first_run_passes() {
    let folder = tempfile::tempdir().unwrap();
    let first = sortie_in(folder.path()).args(["init", "--build", "github"]).assert().code(0);
    let printed = String::from_utf8_lossy(&first.get_output().stdout).into_owned();
    assert!(printed.contains("wrote sortie.toml") && printed.contains("2 not_exploited"), "{printed}");
    let workflow = fs::read_to_string(folder.path().join(".github/workflows/sortie.yml")).unwrap();
    assert!(workflow.contains("sortie run SRT-001 SRT-002"), "{workflow}");
}

#[test]
fn a_project_that_is_set_up_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sortie-baseline.jsonl"), "mine").unwrap();
    let again = ["init", "--build", "none", "--no-run"];
    let printed = stdout(sortie_in(folder.path()).args(again));
    assert_eq!(printed, "wrote sortie.toml\nkept  sortie-baseline.jsonl\n");
    assert_eq!(fs::read_to_string(folder.path().join("sortie-baseline.jsonl")).unwrap(), "mine");
}

#[test]
fn an_agent_that_cannot_be_split_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    sortie_in(folder.path()).args(["init", "--agent", "never 'closed"]).assert().code(2);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_doctor_says_what_is_there_and_fails_where_an_agent_of_the_settings_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let doctor = || sortie_in(folder.path()).arg("doctor").env("HOME", &home).env("PATH", "");
    let printed = stdout(doctor());
    assert!(printed.starts_with(&format!("sortie {}", env!("CARGO_PKG_VERSION"))), "{printed}");
    assert!(printed.contains("absent   agent     codex: there is no program `codex`"), "{printed}");
    assert!(printed.contains("ok       port "), "{printed}");
    fs::write(folder.path().join("sortie.toml"), "[agents.mine]\ncommand = \"gone\"\n").unwrap();
    let failed = doctor().assert().code(1);
    let printed = String::from_utf8_lossy(&failed.get_output().stdout).into_owned();
    assert!(printed.contains("problem  agent     @mine: there is no program `gone`"), "{printed}");
    fs::write(folder.path().join("sortie.toml"), "# Settings\n[agent.mine]\ncommand = \"gone\"\n").unwrap();
    let failed = doctor().assert().code(1);
    let printed = String::from_utf8_lossy(&failed.get_output().stdout).into_owned();
    let problem = "problem  settings  sortie.toml:2:2: unknown field `agent` in sortie.toml";
    assert!(printed.contains(problem), "{printed}");
}

#[test]
fn every_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    sortie_in(folder.path()).args(["man", "pages"]).assert().code(0);
    for page in ["sortie.1", "sortie-run.1", "sortie-baseline-accept.1", "sortie-man.1"] {
        let text = fs::read_to_string(folder.path().join("pages").join(page)).unwrap();
        assert!(text.contains(".TH "), "{page}");
    }
}
