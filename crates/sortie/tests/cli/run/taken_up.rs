//! Ctrl-C, `--resume`, and what lies between.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::workshop::{model, run, told, verdicts, workshop};
use crate::scripted::{Does, Scripted};
use crate::sortie_in;

/// Nothing here takes longer unless it hangs.
const DEADLINE: Duration = Duration::from_mins(1);

/// Starts a run that is going to be interrupted.
fn begun(folder: &Path, rest: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_sortie"))
        .args(["run", "--evaluators", "mine", "--run-dir", "run", "--format", "json", "--out", "out.json"])
        .args(rest)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn until(mut happens: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happens() {
        assert!(start.elapsed() < DEADLINE, "it never happened");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A stored run is shown again to the byte, without being played.
fn shown_again(folder: &Path) {
    let again = sortie_in(folder).args(["report", "run", "--format", "json"]).output().unwrap();
    let kept = std::fs::read_to_string(folder.join("run/report.json")).unwrap();
    assert_eq!(String::from_utf8(again.stdout).unwrap(), kept);
    for format in ["human", "junit", "canonical"] {
        let shown = sortie_in(folder).args(["report", "run", "--format", format]).output().unwrap();
        assert!(shown.status.code() != Some(2) && !shown.stdout.is_empty(), "{format}");
    }
}

/// Interrupts it, and gives what it kept.
fn interrupted(mut child: Child, folder: &Path) -> Value {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let mut code = None;
    until(|| {
        code = child.try_wait().unwrap().map(|status| status.code());
        code.is_some()
    });
    assert_eq!(code, Some(Some(130)));
    let kept: Value =
        serde_json::from_slice(&std::fs::read(folder.join("run/report.json")).unwrap()).unwrap();
    let told: Value = serde_json::from_slice(&std::fs::read(folder.join("out.json")).unwrap()).unwrap();
    assert_eq!(kept, told);
    assert_eq!(kept["stopped"], "interrupted");
    shown_again(folder);
    kept
}

#[test]
fn ctrl_c_leaves_a_report_whatever_goes_on() {
    let silent = Scripted::start(|_| Does::Waits);
    // Lists no models, and says nothing when it is talked to.
    let shy =
        Scripted::start(|asked| if asked.head.starts_with("GET ") { Does::Fails(404) } else { Does::Waits });
    let [looked_at, played] = [&silent, &shy].map(|target| format!("chat={}", target.url));
    let judge = silent.judge();
    let judge: Vec<&str> = judge.iter().map(String::as_str).collect();
    for (rest, asked, waits) in [
        // While the target is looked at, while the judge is measured, while a case is played.
        (["echo-secret", "--target", &looked_at].to_vec(), &silent, 1),
        ([&["judged", "--target", "cmd=cat"][..], &judge].concat(), &silent, 2),
        (["echo-secret", "--target", &played, "--chat-model", "x"].to_vec(), &shy, 2),
    ] {
        let folder = workshop();
        let child = begun(folder.path(), &rest);
        until(|| asked.asked().len() >= waits);
        let report = interrupted(child, folder.path());
        assert!(!report["unfinished"].as_array().unwrap().is_empty(), "{rest:?}: {report:#}");
    }
}

#[test]
fn what_is_over_is_not_played_again_and_what_was_interrupted_is() {
    let (folder, model) = (workshop(), model());
    // It answers the first, and waits at the second until there is a file.
    let target = "cmd=sh -c 'read line; echo \"$line\" >> heard; case \"$line\" in *two*) while test ! -e go; do sleep 0.05; done;; esac; echo no'";
    let judge = model.judge();
    let mut all = vec!["judged", "SRT-001", "--agent", "builtin:refuser", "--target", target];
    all.extend(judge.iter().map(String::as_str));
    let child = begun(folder.path(), &all);
    let heard = folder.path().join("heard");
    until(|| std::fs::read_to_string(&heard).is_ok_and(|heard| heard.contains("two")));
    let report = interrupted(child, folder.path());
    assert_eq!(report["unfinished"], serde_json::json!(["judged/second"]));
    let trace = folder.path().join("run/cases/SRT-001/trace.jsonl");
    let before = std::fs::read(&trace).unwrap();
    std::fs::write(folder.path().join("go"), "").unwrap();

    let (code, report) = told(run(folder.path()).args(&all).args(["--resume", "run"]));
    assert_eq!(code, 0, "{report:#}");
    shown_again(folder.path());
    assert_eq!(verdicts(&report).len(), 3);
    let heard = std::fs::read_to_string(&heard).unwrap();
    let attacks = heard.lines().filter(|line| !line.starts_with("Hello. In one sentence"));
    assert_eq!(attacks.filter(|line| line.contains("one")).count(), 1, "it was over");
    assert_eq!(std::fs::read(&trace).unwrap(), before, "the document was over");

    let other = run(folder.path()).args(["judged", "SRT-001", "--agent", "builtin:refuser"]);
    let other = other.args(["--target", "cmd=cat", "--resume", "run"]).args(model.judge()).output().unwrap();
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(other.status.code() == Some(2) && said.contains("another target"), "{said}");
}

#[test]
fn a_document_that_was_interrupted_is_played_again_and_what_it_left_is_kept() {
    let folder = workshop();
    let document = super::program::document("mcp-tool-description.yaml");
    let document = document.to_str().unwrap();
    let script = super::program::root().join("docs/examples/agent.sh");
    let agent = format!(
        "sh -c 'while test ! -e go; do sleep 0.05; done; exec {} {{mcp_url}} obey'",
        script.display()
    );
    let asked = [document, "--agent", &agent, "--grace", "0s"];
    let mut child = begun(folder.path(), &asked);
    until(|| folder.path().join("run/cases/SRT-EX-001/agent.stdout").exists());
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    std::fs::write(folder.path().join("go"), "").unwrap();
    // What another agent does says nothing about this one.
    for (rest, said) in [
        (&[document, "--agent", "true"][..], "is of another agent: `sh -c "),
        (&[document, "--agent", &agent, "--prompt", "Do it."], "with the prompt `Do it.`"),
        (&[document], "and now none"),
        (&[document, "--agent", "builtin:refuser"], "and now `builtin:refuser`"),
    ] {
        let refused = run(folder.path()).args(rest).args(["--resume", "run"]).output().unwrap();
        let shown = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && shown.contains(said), "{rest:?}: {shown}");
    }
    let (code, report) = told(run(folder.path()).args(asked).args(["--resume", "run"]));
    assert_eq!((code, &*verdicts(&report)[0].1), (1, "exploited"));
    assert!(folder.path().join("run/cases/SRT-EX-001.unfinished/trace.jsonl").is_file());
    // Now it is over.
    std::fs::remove_file(folder.path().join("go")).unwrap();
    let (code, report) = told(run(folder.path()).args(asked).args(["--resume", "run"]));
    assert_eq!((code, &*verdicts(&report)[0].1), (1, "exploited"));
    assert!(report["run"]["agent"]["command"].as_str().unwrap().contains("agent.sh"), "{report:#}");
    assert!(report["run"]["seconds"].as_f64().is_some() && report["run"]["started"].is_string());
    let ended = run(folder.path()).args(["echo-secret", "--target", "cmd=cat", "--resume", "mine"]).output();
    assert!(String::from_utf8_lossy(&ended.unwrap().stderr).contains("`mine` is not a folder of a run"));
}
