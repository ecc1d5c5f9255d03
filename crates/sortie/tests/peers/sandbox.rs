//! A server that tries to leave its sandbox is held, and what it tried is in the report.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::evaluated::{Evaluated, evaluate, evaluate_with};
use crate::harness::{Peers, root};

/// The hostile server, with a word by which its processes are found.
fn target(word: &str) -> String {
    let server = Peers::find().python("mcp1", "sandbox/hostile_server.py");
    format!("mcp=stdio:{server} {word}")
}

fn attacked(target: &str, flags: &[&str]) -> Evaluated {
    let evaluators = root().join("peers/sandbox/evaluators");
    let own =
        ["leaves-sandbox", "--exhaustive", "--evaluators", evaluators.to_str().unwrap(), "--target", target];
    evaluate(own.into_iter().chain(flags.iter().copied()))
}

/// What was seen of one sort, as its arguments.
fn seen<'r>(run: &'r Evaluated, name: &str) -> Vec<&'r Value> {
    let activity = run.report["sandbox"]["activity"].as_array().unwrap();
    let of_name = activity.iter().filter(|seen| seen["activity"]["name"] == name);
    of_name.map(|seen| &seen["activity"]["arguments"]).collect()
}

fn processes_with(word: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(word)).collect()
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_server_that_tries_to_leave_is_held_and_its_attempts_are_reported() {
    let word = format!("hostile-{}", std::process::id());
    let run = attacked(&target(&word), &["--sandbox"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let addresses: Vec<_> =
        seen(&run, "connection").iter().map(|seen| seen["to"].as_str().unwrap()).collect();
    for address in ["192.0.2.7:4444", "198.51.100.7:4444", "203.0.113.7:9999", "203.0.113.80:80"] {
        assert!(addresses.contains(&address), "{address}: {addresses:?}");
    }
    let paths = seen(&run, "file");
    let left = "/tmp/sortie-sandbox/outside/left";
    let made = paths.iter().any(|file| file["path"] == left && file["change"] == "created");
    let controls = fs::read_to_string(run.run_folder().join("controls.jsonl")).unwrap();
    assert!(made, "{}\n{controls}", run.report["sandbox"]);
    assert_eq!(run.report["sandbox"].get("unanswered"), None, "{}\n{}", run.report["sandbox"], run.stderr);
    let commands = seen(&run, "process");
    assert!(commands.iter().any(|process| process["command"] == "sleep 30"), "{commands:?}");
    let limits = seen(&run, "limit");
    assert!(limits.iter().any(|hit| hit["limit"] == "more than 200 processes at a time"), "{limits:?}");
    // What the server says itself: the host was not written to, and a mount changes nothing.
    for refused in ["/etc/sortie-left: OSError", "/usr/sortie-left: OSError", "hostname: OSError", "\"held\""]
    {
        assert!(controls.contains(refused), "{refused}: {controls}");
    }
    assert!(!fs::exists("/etc/sortie-left").unwrap() && !fs::exists(left).unwrap());
    assert_eq!(processes_with(&word), Vec::<String>::new(), "everything ends with the run");
}

/// A search path of two folders looks like nothing in particular.
#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_server_that_fills_in_variables_is_found_whatever_its_search_path() {
    let server = Peers::find().path("servers/bin/mcp-server-git");
    let target = format!("mcp=stdio:{}", server.display());
    let arguments = ["environment-disclosure", "--sandbox", "--exhaustive", "--target", &target];
    let run = evaluate_with(arguments, [("PATH", "/usr/bin:/bin")]);
    let found = ("environment-disclosure".to_owned(), "git_status".to_owned());
    assert!(run.findings().contains(&found), "{:?}\n{}", run.findings(), run.stderr);
    assert!(run.stdout.is_empty() && run.code == Some(1), "{}\n{}", run.stdout, run.stderr);
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn what_a_server_did_is_reported_before_it_is_ended_for_its_silence() {
    let run = attacked(&target("hangs"), &["--sandbox"]);
    let paths = seen(&run, "file");
    let left = "/tmp/sortie-sandbox/outside/left-and-hung";
    assert!(paths.iter().any(|file| file["path"] == left && file["change"] == "created"), "{paths:?}");
    assert_eq!(run.report["sandbox"].get("unanswered"), None, "{}", run.report["sandbox"]);
}

/// Stops the first process of the sandbox in which the server waits for that.
fn stop_first_process(word: &str) {
    let deadline = Instant::now() + Duration::from_mins(5);
    let waiting = loop {
        let processes = fs::read_dir("/proc").unwrap().flatten().map(|process| process.file_name());
        let mut processes = processes.filter_map(|process| process.into_string().ok());
        let is_waiting = |process: &String| {
            let line = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
            line.contains("waiting\0") && line.contains(word)
        };
        if let Some(found) = processes.find(is_waiting) {
            break found;
        }
        assert!(Instant::now() < deadline, "the server was not attacked");
        std::thread::sleep(Duration::from_millis(20));
    };
    // Its parent is the server, whose parent is the first process.
    let first = parent(&parent(&waiting));
    assert!(Command::new("kill").args(["-STOP", &first]).status().unwrap().success());
}

fn parent(process: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    parent.trim().to_owned()
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_sandbox_that_does_not_report_is_not_taken_for_silence() {
    let word = format!("unseen-{}", std::process::id());
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| attacked(&target(&format!("unseen {word}")), &["--sandbox"]));
        stop_first_process(&word);
        run.join().unwrap()
    });
    let cases = run.cases();
    let case = cases.iter().find(|case| case["id"] == "leaves-sandbox/writes-outside/write_unseen").unwrap();
    assert_eq!(case["verdict"]["result"], "error", "{case:#}");
    let message = case["failure"]["message"].as_str().unwrap();
    assert!(message.contains("the sandbox did not report within 15 s"), "{message}");
    assert!(run.report["sandbox"]["unanswered"].as_u64().unwrap() > 0, "{}", run.report["sandbox"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert_eq!(processes_with(&word), Vec::<String>::new(), "everything ends with the run");
}

/// A user namespace in which no other one can be made, as in many containers.
#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn where_the_system_forbids_namespaces_nothing_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let ended = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", forbid, "sh", env!("CARGO_BIN_EXE_sortie")])
        .args(["run", "ssrf-metadata", "--sandbox", "--target", "mcp=stdio:touch started"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.starts_with("error: `--sandbox`: the system allows no sandbox: "), "{said}");
    assert!(said.contains("nothing was started, and no network payload is sent"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn checks_see_what_a_case_did_in_the_sandbox() {
    let run = attacked(&target("checks"), &["--sandbox"]);
    let proofs: Vec<_> = run
        .with_verdict("exploited")
        .iter()
        .map(|case| (case["id"].as_str().unwrap().to_owned(), case["evidence"][0]["name"].clone()))
        .collect();
    for (id, proof) in [
        ("leaves-sandbox/writes-outside/write_file", "A file was made outside"),
        ("leaves-sandbox/reads-the-folder-beside/read_file", "A canary from outside came back"),
        ("leaves-sandbox/follows-a-link/read_file", "A canary from outside came back"),
        ("leaves-sandbox/fetches-from-our-listener/fetch", "A request reached the listener"),
        ("leaves-sandbox/fetches-from-a-stranger/fetch", "A request reached the listener"),
    ] {
        assert!(proofs.contains(&(id.to_owned(), proof.into())), "{id}: {proofs:?}");
    }
    let folder = run.run_folder();
    let again = attacked(&target("checks"), &["--sandbox", "--replay", folder.to_str().unwrap()]);
    assert_eq!(again.findings(), run.findings(), "{}", again.stderr);
    assert_eq!(again.report["sandbox"], run.report["sandbox"]);
}
