//! Runs in which something goes wrong are never a pass, and say what it was.

use std::net::TcpListener;
use std::process::Command;

use crate::harness::{Finished, Peers, document, run};

const SERVED: [&str; 5] =
    ["poisoned-description.yaml", "poisoned-result.yaml", "rug-pull.yaml", "timer.yaml", "chain.yaml"];

/// Undecided, for a reason that is named.
fn undecided(finished: &Finished, failure: &str, fault: &str) {
    assert_eq!((finished.verdict(), finished.code), ("error", Some(3)), "{}", finished.explained());
    assert_eq!(finished.failure(), Some(failure), "{}", finished.explained());
    assert_eq!(finished.run["failure"]["fault"], fault, "{}", finished.explained());
}

/// An agent that does some MCP operations and then, if it is told so, dies.
fn agent(peers: &Peers, operations: &[&str], dies: bool) -> String {
    let mut line = format!("{} --http {{mcp_url}}", peers.python("mcp1", "mcp/client.py"));
    for operation in operations {
        line.push(' ');
        line.push_str(&shlex::try_quote(operation).unwrap());
    }
    if !dies {
        return line;
    }
    format!("sh -c {}", shlex::try_quote(&format!("{line}; kill -9 $$")).unwrap())
}

#[test]
fn nobody_connects() {
    for name in SERVED {
        let finished = run(&document(name), ["--max-duration", "3s", "--grace", "0s"]);
        undecided(&finished, "nobody_connected", "none");
        let finished = run(&document(name), ["--agent", "true", "--grace", "0s"]);
        undecided(&finished, "nobody_connected", "agent");
    }
}

#[test]
fn the_port_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for name in SERVED {
        let listen = if name == "chain.yaml" { format!("desk={address}") } else { address.clone() };
        let finished = run(&document(name), ["--listen", &listen, "--agent", "true"]);
        undecided(&finished, "bind_failed", "harness");
        assert!(finished.stderr.contains(&address), "{}", finished.stderr);
    }
}

#[test]
fn the_agent_crashes_at_start() {
    for name in SERVED {
        let finished = run(&document(name), ["--agent", "false", "--grace", "0s"]);
        undecided(&finished, "agent_crashed", "agent");
    }
}

#[test]
fn an_agent_that_cannot_be_started_is_an_error_before_anything_else() {
    let tried = Command::new(env!("CARGO_BIN_EXE_sortie"))
        .arg("run")
        .arg(document("timer.yaml"))
        .args(["--agent", "/no/such/program"])
        .output()
        .unwrap();
    assert_eq!(tried.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&tried.stderr);
    assert!(stderr.contains("/no/such/program"), "{stderr}");
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn the_agent_crashes_in_the_middle() {
    let peers = Peers::find();
    let finished = run(&document("poisoned-result.yaml"), ["--agent", &agent(&peers, &["tools/list"], true)]);
    undecided(&finished, "agent_crashed", "agent");
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn the_agent_crashes_after_the_payload() {
    let peers = Peers::find();
    let call = r#"tools/call {"name": "forecast", "arguments": {"city": "Bern"}}"#;
    let agent = agent(&peers, &["tools/list", call], true);
    let finished = run(&document("poisoned-result.yaml"), ["--agent", &agent]);
    undecided(&finished, "agent_crashed", "agent");
    assert_eq!(finished.run["reach"]["delivered"], "yes", "{}", finished.explained());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn what_matched_before_the_crash_stays_matched() {
    let peers = Peers::find();
    let call = r#"tools/call {"name": "read_file", "arguments": {"path": "/home/ada/.ssh/id_ed25519"}}"#;
    let agent = agent(&peers, &["tools/list", call], true);
    let finished = run(&document("poisoned-description.yaml"), ["--agent", &agent]);
    assert_eq!((finished.verdict(), finished.code), ("exploited", Some(1)), "{}", finished.explained());
    assert_eq!(finished.failure(), Some("agent_crashed"), "{}", finished.explained());
    let results = finished.run["verdict"]["indicator_verdicts"].as_array().unwrap().iter();
    let results: Vec<_> = results.map(|verdict| verdict["result"].as_str().unwrap()).collect();
    assert_eq!(results, ["matched", "skipped"], "{}", finished.explained());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_payload_in_a_result_is_not_delivered_to_an_agent_that_calls_nothing() {
    let peers = Peers::find();
    let agent = agent(&peers, &["tools/list"], false);
    let finished = run(&document("poisoned-result.yaml"), ["--agent", &agent]);
    undecided(&finished, "not_delivered", "none");
    assert_eq!(finished.run["reach"]["missing"][0]["surface"], "tools/call", "{}", finished.explained());
    // Where the user says that silence counts, it has to be that of one who does something.
    let finished = run(&document("poisoned-result.yaml"), ["--agent", &agent, "--lenient"]);
    undecided(&finished, "nothing_done", "agent");
}

#[test]
fn the_target_refuses() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (name, kind) in [("probe.yaml", "mcp"), ("delegate.yaml", "a2a"), ("forged-history.yaml", "ag_ui")] {
        let target = format!("{kind}=http://{free}/");
        let finished = run(&document(name), ["--target", &target, "--connect-timeout", "1s"]);
        undecided(&finished, "target_refused", "agent");
        let message = finished.run["failure"]["message"].as_str().unwrap();
        assert!(message.contains(&free.to_string()), "{message}");
    }
    let finished = run(&document("probe.yaml"), ["--target", "mcp=stdio:/no/such/program"]);
    undecided(&finished, "target_refused", "agent");
    let finished = run(&document("probe.yaml"), ["--target", "mcp=stdio:false"]);
    assert_eq!((finished.verdict(), finished.code), ("error", Some(3)), "{}", finished.explained());
}
