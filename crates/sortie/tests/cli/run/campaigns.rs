//! Cases that are played several times: rates, gates, claims, parts, and what is left when a campaign is ended.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::workshop::workshop;
use crate::sortie_in;

/// Nothing here takes longer unless it hangs.
const DEADLINE: Duration = Duration::from_mins(2);

/// A campaign against a practice agent: how it ended, and its report.
fn campaign(folder: &Path, agent: &str, words: &[&str]) -> (Option<i32>, Value) {
    let agent = format!("builtin:{agent}");
    let line = ["run", "--agent", &agent, "--grace", "0s", "--format", "json"];
    let jobs = ["--jobs", "4"].into_iter().filter(|_| !words.contains(&"--jobs"));
    let ended = sortie_in(folder).args(line).args(jobs).args(words).output().unwrap();
    let report = serde_json::from_slice(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&ended.stderr)));
    (ended.status.code(), report)
}

/// What is refused, and why.
fn refused(folder: &Path, words: &[&str]) -> String {
    let ended = sortie_in(folder).args(["run", "SRT-001", "--agent", "builtin:refuser"]).args(words).output();
    let ended = ended.unwrap();
    assert_eq!(ended.status.code(), Some(2), "{words:?}");
    String::from_utf8(ended.stderr).unwrap()
}

#[test]
fn each_attempt_has_its_own_trace_and_together_they_have_a_rate() {
    let folder = TempDir::new().unwrap();
    let words = ["SRT-001", "SRT-003", "--repeat", "6", "--seed", "7", "--run-dir", "run"];
    let (code, report) = campaign(folder.path(), "flaky:0.4", &words);
    assert_eq!(report["run"]["repeats"]["seed"], 7);
    let mut hits = 0;
    for case in report["runs"].as_array().unwrap() {
        let attempts = case["attempts"].as_array().unwrap();
        let traces: BTreeSet<&str> = attempts.iter().map(|one| one["trace"].as_str().unwrap()).collect();
        assert_eq!((attempts.len(), traces.len()), (6, 6), "{case:#}");
        assert!(traces.iter().all(|trace| folder.path().join(trace).is_file()), "{traces:?}");
        let exploited = attempts.iter().filter(|one| one["standing"] == "exploited").count();
        assert_eq!(case["rate"]["hits"], exploited, "{case:#}");
        assert_eq!((&case["rate"]["n"], &case["rate"]["decision"]), (&6.into(), &Value::Null));
        // Zero hits are not zero.
        assert!(case["rate"]["exact"]["high"].as_f64().unwrap() > 0.3);
        assert_eq!(case["standing"], if exploited > 0 { "exploited" } else { "resisted" });
        hits += exploited;
    }
    assert_eq!(code, Some(i32::from(hits > 0)));
    assert!((1..12).contains(&hits), "by this seed it gives in, and not always: {hits}");
    assert_eq!(report["totals"]["tasks"]["of"], 12);
    // The stored run says the same again, to the byte.
    let again = sortie_in(folder.path()).args(["report", "run", "--format", "json"]).output().unwrap();
    assert_eq!(again.stdout, std::fs::read(folder.path().join("run/report.json")).unwrap());
    // Each attempt is judged by its trace alone, and each has another agent process.
    let trace = "run/cases/SRT-001/attempt-2/trace.jsonl";
    let eval =
        sortie_in(folder.path()).args(["eval", "--format", "json", "--trace", trace, "SRT-001"]).output();
    let eval: Value = serde_json::from_slice(&eval.unwrap().stdout).unwrap();
    let attempt = &report["runs"][0]["attempts"][1];
    assert_eq!(eval["runs"][0]["verdict"]["result"], attempt["result"]);
}

#[test]
fn a_gate_holds_fails_or_stays_undecided_and_the_exit_code_says_which() {
    let folder = TempDir::new().unwrap();
    // One after the other, so that nothing is begun beside the attempt that decides.
    let gate = ["SRT-001", "--gate", "5%:40%", "--jobs", "1"];
    let told = |agent: &str, words: &[&str]| {
        let (code, report) = campaign(folder.path(), agent, &[&gate, words].concat());
        let case = &report["runs"][0];
        (
            code,
            case["rate"]["decision"].as_str().unwrap().to_owned(),
            case["attempts"].as_array().unwrap().len(),
        )
    };
    let (code, decision, attempts) = told("flaky:0", &[]);
    assert_eq!((code, decision.as_str()), (Some(0), "holds"));
    assert_eq!(attempts, 7, "as many clean attempts as 5%:40% takes");
    let (code, decision, attempts) = told("flaky:1", &[]);
    assert_eq!((code, decision.as_str(), attempts), (Some(1), "fails", 2));
    // Seven attempts are as few as it takes, and one hit among them is too much for both answers.
    let words = ["--max-repeats", "7"];
    let undecided = (0..40).find_map(|seed| {
        let told = told(&format!("flaky:0.15:{seed}"), &words);
        (told.1 == "undecided").then_some(told)
    });
    assert_eq!(undecided.unwrap().0, Some(3));
}

#[test]
fn a_claim_takes_as_many_clean_attempts_as_it_says_and_ends_at_the_first_hit() {
    let folder = TempDir::new().unwrap();
    let (code, report) = campaign(folder.path(), "refuser", &["SRT-001", "--claim", "rate<40%"]);
    assert_eq!((code, &report["runs"][0]["rate"]["n"]), (Some(0), &6.into()), "{report:#}");
    let (code, report) =
        campaign(folder.path(), "gullible", &["SRT-001", "--claim", "rate<5%", "--jobs", "1"]);
    assert_eq!((code, &report["runs"][0]["rate"]["n"]), (Some(1), &1.into()));
    let words = ["run", "SRT-001", "--agent", "builtin:refuser", "--claim", "rate<5%", "--dry-run"];
    let dry = sortie_in(folder.path()).args(words).output().unwrap();
    let text = String::from_utf8(dry.stdout).unwrap();
    assert!(text.contains("59 clean attempts show the claim for a case"), "{text}");
}

#[test]
fn what_a_gate_may_take_is_said_before_anything_starts() {
    let folder = TempDir::new().unwrap();
    let dry = ["run", "SRT-001", "SRT-003", "--agent", "builtin:refuser", "--gate", "5%:20%", "--dry-run"];
    let text = String::from_utf8(sortie_in(folder.path()).args(dry).output().unwrap().stdout).unwrap();
    assert!(
        text.contains(
            "attempts: 2 cases with up to 60 attempts each; expect 36 attempts if nothing is exploited"
        ),
        "{text}"
    );
    let json = sortie_in(folder.path()).args(dry).args(["--format", "json"]).output().unwrap();
    let plan: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(plan["repeats"]["forecasts"][0]["mean_observations"], 18.0, "{:#}", plan["repeats"]);
    assert!(!folder.path().join(".sortie").exists());
    assert!(text.contains("time: ") && text.contains(" at most; an attempt ends after "), "{text}");
    assert!(!text.contains("on average") && !text.contains("models") && !text.contains("cost"), "{text}");
    // An earlier run of one of the cases tells nothing about both; one of both does.
    let play = |cases: &[&str]| {
        let words = ["--agent", "builtin:refuser", "--grace", "0s", "--quiet"];
        sortie_in(folder.path()).arg("run").args(cases).args(words).assert().code(0);
    };
    play(&["SRT-001"]);
    let told = || String::from_utf8(sortie_in(folder.path()).args(dry).output().unwrap().stdout).unwrap();
    assert!(!told().contains("on average"), "{}", told());
    play(&["SRT-003", "SRT-001"]);
    let text = told();
    assert!(text.contains("time: about ") && text.contains(" on average in .sortie/runs/"), "{text}");
    let json = sortie_in(folder.path()).args(dry).args(["--format", "json"]).output().unwrap();
    let plan: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(plan["repeats"]["attempts"]["earlier"]["seconds"].as_f64().unwrap() > 0.0, "{plan:#}");
    let schema = include_str!("../../../../../docs/schema/plan-v1.json");
    let schema = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<_> = validator.iter_errors(&plan).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_dead_agent_decides_nothing_and_is_not_asked_for_long() {
    let folder = TempDir::new().unwrap();
    let words = ["SRT-001", "--repeat", "30", "--controls", "off", "--jobs", "1"];
    let (code, report) = campaign(folder.path(), "errors", &words);
    let case = &report["runs"][0];
    assert_eq!((code, &case["standing"], &case["rate"]["n"]), (Some(3), &"undecided".into(), &0.into()));
    assert_eq!(case["rate"]["undecided"], 4, "a tenth of thirty may stay undecided: {case:#}");
    assert_eq!(case["rate"]["if_undecided_hit"]["high"], 1.0);
    let why = case["verdict"]["reason"].as_str().unwrap();
    assert!(why.contains("4 of 4 attempts stayed undecided"), "{why}");
    assert_eq!(case["attempts"][0]["failure"], "agent_crashed");
}

#[test]
fn what_would_make_attempts_depend_on_each_other_is_refused() {
    let folder = TempDir::new().unwrap();
    for (words, said) in [
        (&["--gate", "20%:5%"][..], "5%"),
        (&["--gate", "5:20"], "write `5%` for a percentage"),
        (&["--gate", "5%:20%", "--max-repeats", "10"], "takes 18 clean attempts"),
        (&["--gate", "5%:20%", "--shard", "1/2"], "`--shard` cannot be combined with `--gate`"),
        (&["--repeat", "0"], "--repeat"),
        (&["--repeat", "2", "--gate", "5%:20%"], "cannot be used with"),
        (&["--repeat", "2", "--shard", "3/2"], "`3/2` is not a shard"),
        (&["--repeat", "2", "--max-undecided", "200%"], "is not a share"),
        (&["--claim", "often"], "often"),
    ] {
        let text = refused(folder.path(), words);
        assert!(text.contains(said), "{words:?}: {text}");
    }
    assert!(!folder.path().join(".sortie").exists(), "nothing was started");
}

#[test]
fn parts_of_a_campaign_are_joined_and_others_are_refused() {
    let folder = TempDir::new().unwrap();
    let play = |agent: &str, shard: &str, name: &str| {
        let words = ["SRT-001", "SRT-003", "--repeat", "5", "--shard", shard, "--run-dir", name];
        campaign(folder.path(), agent, &words).1
    };
    let parts = ["1/2", "2/2"].map(|shard| play("flaky:0.4:3", shard, &shard.replace('/', "-")));
    let count = |report: &Value| -> u64 {
        let cases = report["runs"].as_array().unwrap().iter();
        cases.map(|case| case["attempts"].as_array().map_or(1, |attempts| attempts.len() as u64)).sum()
    };
    assert_eq!(count(&parts[0]) + count(&parts[1]), 10);
    let merge = |runs: &[&str], into: &str| {
        let words = ["--run-dir", into, "--format", "json"];
        sortie_in(folder.path()).arg("merge").args(runs).args(words).output().unwrap()
    };
    let joined = merge(&["1-2", "2-2"], "both");
    let joined: Value = serde_json::from_slice(&joined.stdout).unwrap();
    assert_eq!(count(&joined), 10);
    let whole = campaign(folder.path(), "flaky:0.4:3", &["SRT-001", "SRT-003", "--repeat", "5"]).1;
    for (one, other) in joined["runs"].as_array().unwrap().iter().zip(whole["runs"].as_array().unwrap()) {
        assert_eq!(
            (&one["id"], &one["rate"]),
            (&other["id"], &other["rate"]),
            "a seeded agent does the same"
        );
        let trace = one["trace"].as_str().unwrap();
        assert!(trace.starts_with("both/") && folder.path().join(trace).is_file(), "{trace}");
    }
    // A part that is missing leaves cases undecided, and a part of something else is refused.
    play("flaky:0.4:4", "2/2", "other");
    let said = |runs: &[&str], into: &str| {
        let ended = merge(runs, into);
        assert_eq!(ended.status.code(), Some(2));
        String::from_utf8(ended.stderr).unwrap()
    };
    assert!(said(&["1-2", "other"], "x").contains("they differ in the agent"));
    assert!(said(&["1-2", "1-2"], "y").contains("is in more than one run"));
    assert!(said(&["1-2", "nowhere"], "z").contains("is not a folder of a run"));
}

/// Killed at any moment, a campaign goes on where it was: no attempt is lost, and none is played twice.
#[test]
fn a_campaign_that_was_killed_goes_on_by_attempts() {
    let folder = TempDir::new().unwrap();
    let words = [
        "run",
        "SRT-001",
        "SRT-003",
        "--agent",
        "builtin:flaky:0.4:3",
        "--repeat",
        "12",
        "--grace",
        "0s",
        "--jobs",
        "2",
        "--format",
        "json",
    ];
    let mut child = Command::new(env!("CARGO_BIN_EXE_sortie"))
        .args(words)
        .args(["--run-dir", "run"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let results = folder.path().join("run/results.jsonl");
    let lines = || std::fs::read_to_string(&results).unwrap_or_default().lines().count();
    let start = Instant::now();
    while lines() < 5 {
        assert!(start.elapsed() < DEADLINE, "nothing is played");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = lines();
    assert!((5..24).contains(&kept), "{kept}");
    // What is known is told: attempts that are over, and cases that are not.
    let told = sortie_in(folder.path()).args(["report", "run", "--format", "json"]).output().unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(told["runs"].as_array().unwrap().iter().any(|case| case["standing"] != "resisted"), "{told:#}");
    let before = std::fs::read_to_string(&results).unwrap();
    let ended = sortie_in(folder.path()).args(words).args(["--resume", "run"]).output().unwrap();
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let after = std::fs::read_to_string(&results).unwrap();
    let whole = &before[..=before.rfind('\n').unwrap()];
    assert!(after.starts_with(whole), "what was over stays");
    assert_eq!(after.lines().count(), 24);
    for case in report["runs"].as_array().unwrap() {
        let attempts = case["attempts"].as_array().unwrap().iter();
        let numbers: Vec<u64> = attempts.map(|attempt| attempt["attempt"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (1..=12).collect::<Vec<_>>());
    }
    // Another number of attempts is another campaign.
    let other: Vec<&str> = words.iter().map(|word| if *word == "12" { "13" } else { word }).collect();
    let refused = sortie_in(folder.path()).args(other).args(["--resume", "run"]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && said.contains("repeats its cases in another way"), "{said}");
}

/// Ctrl-C leaves a report of the attempts that are over, each case once.
#[test]
fn a_campaign_that_is_interrupted_tells_what_it_knows() {
    let folder = TempDir::new().unwrap();
    // The second attempt takes longer than anybody waits.
    let agent = format!(
        "sh -c 'test $SORTIE_ATTEMPT = 1 || sleep 60; exec {} practice refuser --prompt \"$0\"' {{prompt}}",
        env!("CARGO_BIN_EXE_sortie")
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_sortie"))
        .args(["run", "SRT-001", "--agent", &agent, "--repeat", "3", "--grace", "0s", "--controls", "off"])
        .args(["--run-dir", "run", "--format", "json", "--out", "out.json"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !folder.path().join("run/cases/SRT-001/attempt-2/trace.jsonl").exists() {
        assert!(start.elapsed() < DEADLINE, "nothing is played");
        std::thread::sleep(Duration::from_millis(10));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let report: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("out.json")).unwrap()).unwrap();
    let cases = report["runs"].as_array().unwrap();
    assert_eq!(cases.len(), 1, "{report:#}");
    assert_eq!(
        (&cases[0]["standing"], &cases[0]["rate"]["n"]),
        (&"undecided".into(), &1.into()),
        "{report:#}"
    );
    assert_eq!(report["stopped"], "interrupted");
}

#[test]
fn cases_of_evaluators_have_rates_too() {
    let folder = workshop();
    // It tells every third one who asks.
    let target = "cmd=sh -c 'read line; echo x >> asked; n=$(wc -l < asked); if [ $((n % 3)) = 0 ]; then echo \"$line\"; else echo no; fi'";
    let words = [
        "run",
        "--evaluators",
        "mine",
        "echo-secret",
        "--target",
        target,
        "--repeat",
        "9",
        "--format",
        "json",
    ];
    let ended = sortie_in(folder.path()).args(words).args(["--run-dir", "run"]).output().unwrap();
    let report: Value = serde_json::from_slice(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&ended.stderr)));
    let case = &report["runs"][0];
    // The control asked first.
    assert_eq!(
        (ended.status.code(), &case["rate"]["hits"], &case["rate"]["n"]),
        (Some(1), &3.into(), &9.into())
    );
    let traces =
        case["attempts"].as_array().unwrap().iter().map(|attempt| attempt["trace"].as_str().unwrap());
    assert_eq!(traces.filter(|trace| folder.path().join(trace).is_file()).count(), 9);
}

#[test]
fn a_command_of_the_users_says_whether_the_task_was_done() {
    let folder = TempDir::new().unwrap();
    // Done in the first attempt, and not in the second.
    let ask =
        r#"sh -c 'test -s "$SORTIE_TRACE" && test "$SORTIE_CASE" = SRT-001 && test "$SORTIE_ATTEMPT" = 1'"#;
    let (code, report) = campaign(folder.path(), "refuser", &["SRT-001", "--repeat", "2", "--utility", ask]);
    assert_eq!((code, &report["totals"]["tasks"]), (Some(0), &serde_json::json!({"done": 1, "of": 2})));
    let words = ["SRT-001", "--repeat", "1", "--utility", "/no/such/program"];
    let (code, report) = campaign(folder.path(), "refuser", &words);
    let warning = report["runs"][0]["warnings"][0].as_str().unwrap();
    assert!(
        code == Some(0) && warning.starts_with("`--utility` says nothing: it cannot be run"),
        "{warning}"
    );
}

#[test]
fn a_run_that_is_judged_by_a_baseline_fails_on_what_nobody_accepted() {
    let folder = TempDir::new().unwrap();
    let sortie = |words: &[&str]| sortie_in(folder.path()).args(words).output().unwrap();
    campaign(folder.path(), "gullible", &["SRT-001", "--run-dir", "first"]);
    let against = ["--against", "known.jsonl"];
    let play = || campaign(folder.path(), "gullible", &[&["SRT-001"], &against[..]].concat());
    std::fs::write(folder.path().join("known.jsonl"), sortie(&["baseline", "write", "first"]).stdout)
        .unwrap();
    let (code, report) = play();
    assert_eq!((code, &report["baseline"]["SRT-001"]["state"]), (Some(1), &"new".into()));
    sortie(&["baseline", "accept", "SRT-001", "--reason", "for practice", "--file", "known.jsonl"]);
    let (code, report) = play();
    assert_eq!((code, &report["baseline"]["SRT-001"]["state"]), (Some(0), &"known".into()), "{report:#}");
    assert_eq!(report["baseline"]["SRT-001"]["reason"], "for practice");
    // A file that is damaged is refused before anything is played.
    std::fs::write(folder.path().join("known.jsonl"), "nonsense").unwrap();
    let ended = sortie(&[
        "run",
        "SRT-001",
        "--agent",
        "builtin:gullible",
        "--run-dir",
        "never",
        "--against",
        "known.jsonl",
    ]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(!folder.path().join("never").exists());
}

#[test]
fn events_follow_their_published_schema() {
    let folder = TempDir::new().unwrap();
    let words = ["SRT-001", "--repeat", "2", "--events", "events.jsonl"];
    campaign(folder.path(), "refuser", &words);
    let schema = serde_json::from_str(include_str!("../../../../../docs/schema/events-v1.json")).unwrap();
    jsonschema::draft202012::meta::validate(&schema).expect("a schema");
    let validator = jsonschema::validator_for(&schema).unwrap();
    let text = std::fs::read_to_string(folder.path().join("events.jsonl")).unwrap();
    let mut seen = BTreeSet::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let errors: Vec<String> = validator.iter_errors(&event).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{event:#}: {errors:?}");
        let mut renamed = event.clone();
        let (key, value) = event.as_object().unwrap().iter().next_back().unwrap();
        renamed.as_object_mut().unwrap().remove(key);
        renamed[format!("{key}_")] = value.clone();
        assert!(!validator.is_valid(&renamed), "{event:#}: `{key}` may be called anything");
        seen.insert(event["event"].as_str().unwrap().to_owned());
    }
    let expected = ["begun", "controlling", "counted", "finished", "planned", "repeats", "started"];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}
