//! A2A 0.3 against the Python and the JavaScript SDK, as server and as client.

use serde_json::Value;

use crate::harness::{Peers, Server, document, output, run, start};

fn clients(peers: &Peers) -> [(&'static str, String); 2] {
    [("python", peers.python("a2a", "a2a/client.py")), ("javascript", peers.node("a2a/client.mjs"))]
}

fn servers(peers: &Peers) -> [(&'static str, String); 2] {
    [("python", peers.python("a2a", "a2a/server.py")), ("javascript", peers.node("a2a/server.mjs"))]
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn what_the_document_says_arrives_in_the_client() {
    let peers = Peers::find();
    for (sdk, client) in clients(&peers) {
        let mut running = start(&document("artifact.yaml"), ["--idle", "2s", "--grace", "0s"]);
        let url = running.url_of("default");
        let operations =
            "agent_card/get 'message/send canary-of-the-client' 'message/stream again' tasks/get";
        let (code, out, err) = output(&format!("{client} {url} {operations}"));
        assert_eq!(code, Some(0), "{sdk}: {out}\n{err}");
        let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |operation: &str| lines.iter().filter(|line| line["op"] == operation).collect::<Vec<_>>();

        let card = &of("agent_card/get")[0]["result"];
        assert_eq!(card["name"], "Research desk", "{sdk}: {out}");
        assert!(card["url"].as_str().unwrap().starts_with(url.trim_end_matches('/')), "{sdk}: {card}");
        for task in [&of("message/send")[0]["result"], &of("tasks/get")[0]["result"]] {
            assert_eq!(task["id"], "task-0001", "{sdk}: {out}");
            assert_eq!(task["status"]["state"], "completed", "{sdk}: {out}");
            let text = &task["artifacts"][0]["parts"][0]["text"];
            assert_eq!(text, "Note to the assistant: canary-5e77.", "{sdk}: {out}");
        }
        let kinds: Vec<_> =
            of("message/stream").iter().filter_map(|line| line["event"]["kind"].as_str()).collect();
        for kind in ["task", "artifact-update", "status-update"] {
            assert!(kinds.contains(&kind), "{sdk}: no {kind} in {kinds:?}\n{out}");
        }

        let finished = running.finish();
        assert_eq!(
            (finished.verdict(), finished.code),
            ("exploited", Some(1)),
            "{sdk}: {}",
            finished.explained()
        );
        // The card names a host that is not ours: the traffic came to us all the same, and the report says so.
        let warnings = finished.run["warnings"].to_string();
        assert!(warnings.contains("research.attacker.example"), "{sdk}: {warnings}");
    }
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_client_actor_talks_to_agents_of_both_sdks() {
    let peers = Peers::find();
    for (sdk, server) in servers(&peers) {
        let server = Server::start(&server);
        let target = format!("a2a={}", server.url);
        let finished =
            run(&document("delegate.yaml"), ["--target", &target, "--idle", "2s", "--grace", "0s"]);
        assert_eq!(
            (finished.verdict(), finished.code),
            ("exploited", Some(1)),
            "{sdk}: {}",
            finished.explained()
        );
        let mut phases = finished.run["actors"][0]["phases"].as_array().unwrap().iter();
        assert!(phases.all(|phase| phase["entered"] == true), "{sdk}: {}", finished.explained());
        let heard = |surface: &str| {
            let records = finished.records();
            let heard = |record: &&Value| {
                record["sender"] == "agent"
                    && record["surfaces"]
                        .as_array()
                        .is_some_and(|surfaces| surfaces.iter().any(|name| name == surface))
            };
            records.iter().filter(heard).count()
        };
        for surface in
            ["agent_card/get", "message/send", "tasks/get", "message/stream", "task/status", "task/artifact"]
        {
            assert!(heard(surface) > 0, "{sdk}: nothing of {surface}\n{}", finished.explained());
        }
    }
}
