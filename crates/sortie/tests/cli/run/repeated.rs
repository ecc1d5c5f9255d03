//! `--replay`: the same report without anybody who was asked.

use super::workshop::{model, run, workshop};

/// How often a run is repeated. `SORTIE_REPLAYS=100` for as often as is promised.
fn replays() -> usize {
    std::env::var("SORTIE_REPLAYS").ok().and_then(|count| count.parse().ok()).unwrap_or(3)
}

const TARGET: &str = "cmd=sh -c 'while read line; do echo \"$line\" >> heard; case \"$line\" in *two*) echo secret;; *) echo \"$line\";; esac; done'";

#[test]
fn a_run_is_repeated_to_the_byte_without_models_target_and_agent() {
    let (folder, model) = (workshop(), model());
    let whole = || {
        run(folder.path())
            .args(["judged", "needs-name", "SRT-077", "--suite", "mixed", "--target", TARGET, "--jobs", "4"])
            .args(["--agent", "builtin:gullible", "--format", "canonical"])
            .args(model.judge())
            .args(model.attacker())
    };
    let live = whole().args(["--run-dir", "live"]).output().unwrap();
    assert_eq!(live.status.code(), Some(1), "{}", String::from_utf8_lossy(&live.stderr));
    let (asked, heard) = (model.asked().len(), std::fs::read(folder.path().join("heard")).unwrap());
    let scored = model.asked().iter().any(|asked| asked.question().contains("the text to score"));
    assert!(scored, "nothing was scored");
    for _ in 0..replays() {
        let again = whole().args(["--replay", "live"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&again.stderr).into_owned();
        assert_eq!(again.status.code(), Some(1), "{stderr}");
        assert!(!stderr.contains("listening"), "{stderr}");
        similar_asserts(&live.stdout, &again.stdout);
    }
    assert_eq!(model.asked().len(), asked, "a model was asked");
    assert_eq!(std::fs::read(folder.path().join("heard")).unwrap(), heard, "the target was started");
}

/// Equal to the byte; where not, the lines that differ are shown.
fn similar_asserts(one: &[u8], other: &[u8]) {
    let (one, other) = (String::from_utf8_lossy(one), String::from_utf8_lossy(other));
    let differ = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    assert!(one == other, "{differ:#?}");
}

#[test]
fn an_exchange_that_is_missing_is_named() {
    let (folder, model) = (workshop(), model());
    let whole =
        || run(folder.path()).args(["judged", "--target", TARGET, "--format", "json"]).args(model.judge());
    whole().args(["--run-dir", "live"]).output().unwrap();
    let file = folder.path().join("live/exchanges.jsonl");
    let all = std::fs::read_to_string(&file).unwrap();
    let kept: Vec<_> =
        all.lines().filter(|line| !line.contains("\"purpose\":\"judge judged/first\"")).collect();
    assert!(kept.len() < all.lines().count(), "{all}");
    std::fs::write(&file, kept.join("\n") + "\n").unwrap();
    let again = whole().args(["--replay", "live"]).output().unwrap();
    let told = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(told.contains("not recorded: judge judged/first"), "{told}");
    std::fs::remove_file(folder.path().join("live/cases/judged+second/trace.jsonl")).unwrap();
    let again = whole().args(["--replay", "live"]).output().unwrap();
    let told = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(told.contains("not recorded: there is no trace of `judged/second`"), "{told}");
}

#[test]
fn a_document_that_was_not_played_cannot_be_repeated() {
    let folder = workshop();
    let begin = |rest: &[&str]| {
        let ended = run(folder.path()).args(rest).args(["--agent", "builtin:refuser"]).output().unwrap();
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    assert_eq!(begin(&["SRT-001", "--run-dir", "live"]).0, Some(0));
    // The layout of a run of one document has no file of exchanges: nobody was asked.
    let (code, stderr) = begin(&["SRT-001", "--replay", "live"]);
    assert_eq!(code, Some(0), "{stderr}");
    let (code, stderr) = begin(&["SRT-002", "SRT-001", "--replay", "live"]);
    assert!(code == Some(2) && stderr.contains("there is no trace of `SRT-002`"), "{stderr}");
}
