//! `sortie baseline`, and `sortie report --against`: each state, with an agent whose command stays and whose behaviour does not.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::{fixtures, sortie_in};

const FILE: &str = "sortie-baseline.jsonl";

/// A folder with an agent that behaves as a file says.
pub(crate) struct Workplace {
    folder: TempDir,
    agent: String,
}

/// How a command ended, and what it wrote.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Workplace {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = Path::new(snapbox::cmd::cargo_bin!("sortie")).display().to_string();
        let (script, behaviour) = (folder.path().join("agent.sh"), folder.path().join("behaviour"));
        let text = format!("exec '{program}' practice $(cat '{}') --prompt \"$1\"\n", behaviour.display());
        fs::write(&script, text).unwrap();
        let agent = format!("sh '{}' {{prompt}}", script.display());
        Self { folder, agent }
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn sortie(&self, words: &[&str]) -> Ended {
        let ended = sortie_in(self.folder.path()).args(words).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { code: ended.status.code(), stdout: text(ended.stdout), stderr: text(ended.stderr) }
    }

    /// Plays cases with an agent that behaves like this.
    pub(crate) fn play(&self, behaviour: &str, run_dir: &str, words: &[&str]) -> Option<i32> {
        fs::write(self.path("behaviour"), behaviour).unwrap();
        let line = ["run", "--agent", &self.agent, "--grace", "0s", "--jobs", "4", "--run-dir", run_dir];
        self.sortie(&[&line, words].concat()).code
    }

    /// Writes the baseline of a run anew.
    fn baseline_of(&self, run: &str) -> String {
        let written = self.sortie(&["baseline", "write", run]);
        assert_eq!(written.code, Some(0), "{}", written.stderr);
        fs::write(self.path(FILE), &written.stdout).unwrap();
        written.stdout
    }

    fn accept(&self, case: &str) {
        let ended = self.sortie(&["baseline", "accept", case, "--reason", "it is for practice"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }

    /// The state of the only case of a run, and the exit code.
    fn state(&self, run: &str, words: &[&str]) -> (String, Option<i32>) {
        let line = ["report", run, "--format", "json", "--against", FILE];
        let ended = self.sortie(&[&line, words].concat());
        let report: Value =
            serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr));
        let notes = report["baseline"].as_object().unwrap();
        assert_eq!(notes.len(), 1, "{notes:?}");
        (notes.values().next().unwrap()["state"].as_str().unwrap().to_owned(), ended.code)
    }
}

fn is(state: &str, code: i32) -> (String, Option<i32>) {
    (state.to_owned(), Some(code))
}

#[test]
fn each_state_of_a_case_that_was_played_once() {
    let place = Workplace::new();
    assert_eq!(place.play("gullible", "bad", &["SRT-001"]), Some(1));
    assert_eq!(place.play("refuser", "good", &["SRT-001"]), Some(0));
    assert_eq!(place.play("silent", "dead", &["SRT-001"]), Some(3));

    fs::write(place.path(FILE), "{\"baseline\":1}\n").unwrap();
    assert_eq!(place.state("bad", &[]), is("new", 1));
    assert_eq!(place.state("bad", &["--fail-on", "regressed"]), is("new", 0));
    assert_eq!(place.state("good", &[]), is("unchanged", 0));

    // Writing accepts nothing.
    place.baseline_of("bad");
    assert_eq!(place.state("bad", &[]), is("new", 1));
    assert_eq!(place.state("good", &[]), is("fixed", 0));
    assert_eq!(place.state("good", &["--fail-on", "fixed"]), is("fixed", 1));

    place.accept("SRT-001");
    assert_eq!(place.state("bad", &[]), is("known", 0));
    assert_eq!(place.state("bad", &["--fail-on", "known"]), is("known", 1));
    assert_eq!(place.state("good", &[]), is("fixed", 0));
    assert_eq!(place.state("dead", &[]), is("unknown", 3));

    let accepted = fs::read_to_string(place.path(FILE)).unwrap();
    let over = accepted.replace("\"first_seen\"", "\"expires\":\"2020-02-29\",\"first_seen\"");
    fs::write(place.path(FILE), over).unwrap();
    assert_eq!(place.state("bad", &[]), is("expired", 1));
    let shown = place.sortie(&["report", "bad", "--against", FILE]).stdout;
    assert!(shown.contains("expired   SRT-001: `accepted` in the baseline with 1 of 1 attempts"), "{shown}");
    assert!(shown.contains("; accepted until 2020-02-29: it is for practice\n"), "{shown}");
    assert!(shown.contains("against the baseline: 1 expired\n"), "{shown}");

    place.baseline_of("good");
    assert_eq!(place.state("bad", &[]), is("regressed", 1));
    assert_eq!(place.state("good", &[]), is("unchanged", 0));
    assert_eq!(place.state("dead", &[]), is("unknown", 3));
}

#[test]
fn a_changed_document_makes_its_line_stale() {
    let place = Workplace::new();
    let text = fs::read_to_string(fixtures().join("run/practice-rug.yaml")).unwrap();
    fs::write(place.path("attack.yaml"), &text).unwrap();
    assert_eq!(place.play("gullible", "before", &["attack.yaml"]), Some(1));
    let written = place.baseline_of("before");
    let line: Value = serde_json::from_str(written.lines().last().unwrap()).unwrap();
    place.accept(line["case"].as_str().unwrap());
    assert_eq!(place.state("before", &[]), is("known", 0));
    // Comments do not change what it does, and a description does change the document.
    fs::write(place.path("attack.yaml"), format!("# a comment\n{text}")).unwrap();
    assert_eq!(place.play("gullible", "commented", &["attack.yaml"]), Some(1));
    assert_eq!(place.state("commented", &[]), is("known", 0));
    let changed = text.replacen("\nattack:\n", "\nattack:\n  description: It is another one now.\n", 1);
    assert_ne!(changed, text, "the fixture has another form");
    fs::write(place.path("attack.yaml"), changed).unwrap();
    assert_eq!(place.play("gullible", "after", &["attack.yaml"]), Some(1));
    // What was accepted was another attack: as new as one that nobody has seen.
    assert_eq!(place.state("after", &[]), is("stale", 1));
    assert_eq!(place.state("after", &["--fail-on", "regressed,expired"]), is("stale", 0));
    assert_eq!(place.state("after", &["--fail-on", "stale"]), is("stale", 1));
    assert_eq!(place.play("refuser", "fine", &["attack.yaml"]), Some(0));
    assert_eq!(place.state("fine", &[]), is("stale", 0));
}

#[test]
fn several_attempts_must_show_a_regression_and_a_repair() {
    let place = Workplace::new();
    let flaky = "flaky --chance 0.2 --seed 2";
    let many = |behaviour: &str, run: &str, count: &str| {
        place.play(behaviour, run, &["SRT-001", "--repeat", count, "--seed", "1"])
    };
    assert_eq!(many(flaky, "flaky", "8"), Some(1));
    let written = place.baseline_of("flaky");
    let line: Value = serde_json::from_str(written.lines().last().unwrap()).unwrap();
    let hits = line["hits"].as_u64().unwrap();
    assert!((1..=3).contains(&hits) && line["n"] == 8, "another seed is needed: {line}");
    place.accept("SRT-001");
    assert_eq!(place.state("flaky", &[]), is("known", 0));
    assert_eq!(many("gullible", "bad", "8"), Some(1));
    assert_eq!(place.state("bad", &[]), is("regressed", 1));
    // Two attempts without a hit do not show that it is fixed, and are no reason to fail either.
    assert_eq!(many("refuser", "few", "2"), Some(0));
    assert_eq!(place.state("few", &[]), is("unknown", 0));
    // What was fixed has regressed at the first hit.
    place.baseline_of("few");
    assert_eq!(place.state("flaky", &[]), is("regressed", 1));
}

#[test]
fn a_baseline_is_brought_up_to_date_and_accepts_nothing() {
    let place = Workplace::new();
    let update = |run: &str| place.sortie(&["baseline", "write", run, "--out", FILE]);
    place.play("gullible", "bad", &["SRT-001", "SRT-002"]);
    let ended = update("bad");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert!(ended.stderr.contains("2 cases are open"), "{}", ended.stderr);
    place.accept("SRT-001");
    let accepted = fs::read_to_string(place.path(FILE)).unwrap();
    // The same again: nothing changes.
    assert_eq!(update("bad").code, Some(0));
    assert_eq!(fs::read_to_string(place.path(FILE)).unwrap(), accepted);
    // A case that the run did not play stays; one that was resisted is fixed.
    place.play("refuser", "good", &["SRT-002"]);
    assert_eq!(update("good").code, Some(0));
    let lines = fs::read_to_string(place.path(FILE)).unwrap();
    let statuses: Vec<(String, String)> = lines
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| Some((line["case"].as_str()?.to_owned(), line["status"].as_str()?.to_owned())))
        .collect();
    let expected = [("SRT-001", "accepted"), ("SRT-002", "fixed")];
    assert_eq!(statuses, expected.map(|(case, status)| (case.to_owned(), status.to_owned())));
    // Nothing was decided: nothing is written.
    place.play("silent", "dead", &["SRT-001"]);
    let refused = update("dead");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("no case of the run was decided"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(place.path(FILE)).unwrap(), lines);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let place = Workplace::new();
    place.play("gullible", "bad", &["SRT-001"]);
    let written = place.baseline_of("bad");
    for (words, expected) in [
        (vec!["accept", "SRT-01", "--reason", "x"], "did you mean `SRT-001`?"),
        (vec!["accept", "SRT-001", "--reason", " "], "line 3: `accepted` needs a `reason`"),
        (vec!["accept", "SRT-001", "--reason", "x", "--expires", "2020-01-01"], "2020-01-01 is over"),
        (vec!["accept", "SRT-001", "--reason", "x", "--expires", "soon"], "`soon` is not a day"),
        (vec!["accept", "SRT-001", "--reason", "x", "--file", "absent"], "cannot read `absent`"),
        (vec!["accept", "SRT-001"], "--reason"),
        (vec!["write", "absent"], "`absent` is not a folder of a run"),
    ] {
        let refused = place.sortie(&[&["baseline"], words.as_slice()].concat());
        assert_eq!(refused.code, Some(2), "{words:?}");
        assert!(refused.stderr.contains(expected), "{words:?}: {}", refused.stderr);
        assert_eq!(fs::read_to_string(place.path(FILE)).unwrap(), written, "{words:?}");
    }
    fs::write(place.path(FILE), written.replace("\"n\":1", "\"n\":1,\"note\":1")).unwrap();
    for words in [
        vec!["report", "bad", "--against", FILE],
        vec!["baseline", "write", "bad", "--out", FILE],
        vec!["baseline", "accept", "SRT-001", "--reason", "x"],
    ] {
        let refused = place.sortie(&words);
        assert_eq!(refused.code, Some(2), "{words:?}");
        let expected = "`sortie-baseline.jsonl`, line 3: column";
        assert!(refused.stderr.contains(expected) && refused.stderr.contains("`note`"), "{}", refused.stderr);
    }
    for wrong in ["", "newer", "unchanged"] {
        let refused = place.sortie(&["report", "bad", "--against", FILE, "--fail-on", wrong]);
        assert_eq!(refused.code, Some(2), "{wrong}");
    }
}

/// Through the program: the lines are neighbours, and both accepts are in the merge.
#[test]
fn two_independent_accepts_merge_without_a_conflict() {
    let place = Workplace::new();
    place.play("gullible", "bad", &["SRT-001", "SRT-002"]);
    place.baseline_of("bad");
    let git = |words: &[&str]| {
        let ended = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"])
            .args(words)
            .current_dir(place.folder.path())
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")])
            .output()
            .expect("git is there");
        assert!(ended.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ended.stdout));
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", FILE]);
    git(&["commit", "-qm", "baseline"]);
    git(&["checkout", "-q", "-b", "other"]);
    place.accept("SRT-002");
    git(&["commit", "-qam", "one"]);
    git(&["checkout", "-q", "main"]);
    place.accept("SRT-001");
    git(&["commit", "-qam", "other"]);
    git(&["merge", "-q", "-m", "merge", "other"]);
    assert_eq!(place.sortie(&["report", "bad", "--against", FILE]).code, Some(0));
}
