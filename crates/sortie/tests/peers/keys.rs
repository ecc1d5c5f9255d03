//! Where keys go: each to the endpoint that it was named for, and nowhere else.
//!
//! Every endpoint here repeats what it was sent, the target in its answers and the models in theirs, so that a key which
//! is kept unseen would be found.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::evaluated::{Evaluated, evaluate_with};
use crate::harness::Peers;
use crate::weak_agents::{Shop, script};

/// Variables with planted secrets: the name, the value, and the endpoint that it is named for, if any is.
const PLANTED: [(&str, &str, Option<&str>); 7] = [
    ("SHOP_TOKEN", "planted-51c0-token-of-the-target", Some("target")),
    ("SHOP_TENANT", "planted-77ab-tenant-of-the-target", Some("target")),
    ("JUDGE_KEY", "planted-0d3e-key-of-the-judge", Some("judge")),
    ("ATTACKER_KEY", "planted-9f24-key-of-the-attacker", Some("attacker")),
    ("OPENAI_API_KEY", "planted-e6b8-named-for-nobody", None),
    ("ANTHROPIC_API_KEY", "planted-2a17-named-for-nobody-either", None),
    ("SORTIE_API_KEY", "planted-c490-of-our-own", None),
];

fn environment() -> impl Iterator<Item = (&'static str, &'static str)> {
    PLANTED.into_iter().map(|(name, value, _)| (name, value))
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Which of the secrets are in a text, whole or cut off after their first letters.
fn planted_in(text: &[u8]) -> Vec<&'static str> {
    let holds = |needle: &str| text.windows(needle.len()).any(|window| window == needle.as_bytes());
    let found = PLANTED.into_iter().filter(|(_, value, _)| holds(&value[.."planted-0000".len()]));
    found.map(|(name, _, _)| name).collect()
}

/// No file of a run, and nothing that it said, has a secret.
fn nothing_is_kept(run: &Evaluated) {
    let kept = files(run.folder());
    assert!(kept.iter().any(|file| file.ends_with("report.json")), "{kept:?}");
    assert!(kept.iter().any(|file| file.ends_with("results.jsonl")), "{kept:?}");
    for file in kept {
        assert_eq!(planted_in(&std::fs::read(&file).unwrap()), Vec::<&str>::new(), "{}", file.display());
        assert_eq!(planted_in(file.to_string_lossy().as_bytes()), Vec::<&str>::new());
    }
    assert_eq!(planted_in(run.stderr.as_bytes()), Vec::<&str>::new());
    assert_eq!(planted_in(run.stdout.as_bytes()), Vec::<&str>::new());
}

/// An endpoint was sent its own secrets, and no other.
fn was_sent_only_its_own(endpoint: &str, log: &Path) {
    let own = PLANTED.into_iter().filter(|(_, _, of)| *of == Some(endpoint)).map(|(name, _, _)| name);
    assert_eq!(planted_in(&std::fs::read(log).unwrap()), own.collect::<Vec<_>>(), "{endpoint}");
}

fn each_key_goes_to_one_place(kind: &str, document: &[&str]) {
    let peers = Peers::find();
    let place = tempfile::tempdir().unwrap();
    let log = |name: &str| place.path().join(name);
    let judge = script(&peers, &format!("--echo --log '{}'", log("judge").display()));
    let attacker = script(&peers, &format!("--echo --log '{}'", log("attacker").display()));
    let shop = Shop::open(&peers, kind, "all --echo", &log("target"));
    let target = shop.target.clone();
    let (judging, attacking) = (format!("openai={}", judge.url), format!("openai={}", attacker.url));
    let arguments: Vec<&str> = document
        .iter()
        .copied()
        .chain([
            // Decided by checks, by the judge, and filled in by the attacker.
            "forged-approval",
            "system-prompt-leakage",
            "other-customers-data",
            "--target",
            &target,
            "--target-bearer",
            "env:SHOP_TOKEN",
            "--target-header",
            "X-Tenant=env:SHOP_TENANT",
            "--judge",
            &judging,
            "--judge-model",
            "script",
            "--judge-key",
            "env:JUDGE_KEY",
            "--attacker",
            &attacking,
            "--attacker-model",
            "script",
            "--attacker-key",
            "env:ATTACKER_KEY",
            "--turns",
            "2",
        ])
        .collect();
    let run = evaluate_with(arguments.iter().copied().chain(["--cache", "cache.jsonl"]), environment());
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let found: Vec<_> = run.findings().into_iter().map(|(evaluator, _)| evaluator).collect();
    assert_eq!(found, ["forged-approval", "other-customers-data", "system-prompt-leakage"], "{}", run.stderr);
    for endpoint in ["target", "judge", "attacker"] {
        was_sent_only_its_own(endpoint, &log(endpoint));
    }
    // The attacker had two turns, in one conversation.
    assert!(
        run.cases()
            .iter()
            .any(|case| case["transcript"]["turns"].as_array().is_some_and(|all| all.len() == 4))
    );
    // The same in every format, without asking anyone.
    drop((judge, attacker, shop));
    for format in ["human", "junit", "canonical"] {
        let again = Command::new(env!("CARGO_BIN_EXE_sortie"))
            .arg("run")
            .args(&arguments)
            .args([
                "--replay",
                "run",
                "--run-dir",
                &format!("again-{format}"),
                "--format",
                format,
                "--out",
                format,
            ])
            .current_dir(run.folder())
            .envs(environment())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&again.stderr);
        assert_eq!(again.status.code(), Some(1), "{format}: {stderr}");
        assert_eq!(planted_in(&[again.stdout, again.stderr.clone()].concat()), Vec::<&str>::new());
    }
    nothing_is_kept(&run);
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn keys_of_a_run_over_ag_ui_go_where_they_were_named_for() {
    each_key_goes_to_one_place("ag_ui", &["SRT-067"]);
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn keys_of_a_run_over_a2a_go_where_they_were_named_for() {
    each_key_goes_to_one_place("a2a", &["SRT-056"]);
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn keys_of_a_run_behind_a_chat_endpoint_go_where_they_were_named_for() {
    each_key_goes_to_one_place("chat", &[]);
}

/// `get-env` of server-everything shows the environment that it was started with, all of it.
#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_server_that_we_start_sees_only_what_was_named_for_it() {
    let peers = Peers::find();
    let target = format!("mcp=stdio:{} stdio", peers.npm("mcp-server-everything"));
    let arguments = ["environment-disclosure", "--target", &target, "--target-env", "SHOP_TENANT"];
    let run = evaluate_with(arguments, environment());
    let expected = [("environment-disclosure".to_owned(), "get-env".to_owned())].into();
    assert_eq!(run.findings(), expected, "{}", run.stderr);
    let [case] = run.with_verdict("exploited")[..] else { panic!("{}", run.stderr) };
    let shown = case["transcript"]["answers"][0].as_str().unwrap();
    // The variable is there, and what it holds is not.
    assert!(shown.contains("SHOP_TENANT") && shown.contains("PATH"), "{shown}");
    for (name, _, _) in PLANTED {
        assert_eq!(shown.contains(name), name == "SHOP_TENANT", "{shown}");
    }
    nothing_is_kept(&run);
}

/// The answer of an endpoint that refuses a key repeats it in an error, which is shown.
#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_key_is_not_in_the_errors_that_it_leads_to() {
    let peers = Peers::find();
    let place = tempfile::tempdir().unwrap();
    let judge = script(&peers, &format!("--refuse --log '{}'", place.path().join("judge").display()));
    let shop = Shop::open(&peers, "chat", "all --echo", &place.path().join("target"));
    let judging = format!("openai={}", judge.url);
    let arguments = [
        "system-prompt-leakage",
        "--target",
        &shop.target,
        "--target-bearer",
        "env:SHOP_TOKEN",
        "--target-header",
        "X-Tenant=env:SHOP_TENANT",
        "--judge",
        &judging,
        "--judge-model",
        "script",
        "--judge-key",
        "env:JUDGE_KEY",
    ];
    let run = evaluate_with(arguments, environment());
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert_eq!(run.with_verdict("error").len(), run.cases().len(), "{}", run.stderr);
    was_sent_only_its_own("judge", &place.path().join("judge"));
    nothing_is_kept(&run);
}
