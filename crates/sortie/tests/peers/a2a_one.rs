//! A2A 1.0 against the Python and the JavaScript SDK and google-adk, as server and as client. None of them uses its
//! compatibility mode: the drivers fail when their SDK would speak 0.3.

use serde_json::Value;

use crate::harness::{Finished, Peers, Server, document, output, run, start};

fn clients(peers: &Peers) -> [(&'static str, String); 2] {
    [("python", peers.python("a2a1", "a2a1/client.py")), ("javascript", peers.node("a2a1/client.mjs"))]
}

fn servers(peers: &Peers) -> [(&'static str, String); 3] {
    [
        ("python", peers.python("a2a1", "a2a1/server.py")),
        ("javascript", peers.node("a2a1/server.mjs")),
        ("google-adk", peers.python("a2a1", "a2a1/adk_server.py")),
    ]
}

/// Surfaces of the messages of one side that are in the trace.
fn surfaces(finished: &Finished, sender: &str) -> Vec<String> {
    let of = |record: &Value| record["surfaces"].as_array().cloned().unwrap_or_default();
    let records = finished.records();
    let said = records.iter().filter(|record| record["sender"] == sender);
    said.flat_map(of).filter_map(|surface| surface.as_str().map(str::to_owned)).collect()
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn what_the_document_says_in_0_3_arrives_in_clients_of_1_0() {
    let peers = Peers::find();
    for (sdk, client) in clients(&peers) {
        let mut running = start(&document("artifact.yaml"), ["--idle", "2s", "--grace", "0s"]);
        let url = running.url_of("default");
        let operations = "card 'SendMessage canary-of-the-client' 'SendStreamingMessage again' GetTask ListTasks \
            CancelTask SubscribeToTask 'CreateTaskPushNotificationConfig http://127.0.0.1:1/' \
            GetTaskPushNotificationConfig ListTaskPushNotificationConfigs DeleteTaskPushNotificationConfig \
            'GetTask nobody'";
        let (code, out, err) = output(&format!("{client} {url} {operations}"));
        assert_eq!(code, Some(0), "{sdk}: {out}\n{err}");
        let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |operation: &str| lines.iter().filter(|line| line["op"] == operation).collect::<Vec<_>>();

        assert_eq!(of("card")[0]["result"]["name"], "Research desk", "{sdk}: {out}");
        // Each SDK has its own form for what came; the words are the document's.
        for operation in ["SendMessage", "GetTask"] {
            let result = of(operation)[0]["result"].to_string();
            assert!(result.contains("task-0001"), "{sdk}: {operation} {out}");
            assert!(result.contains("Note to the assistant: canary-5e77."), "{sdk}: {operation} {out}");
        }
        assert!(of("ListTasks")[0]["result"].to_string().contains("task-0001"), "{sdk}: {out}");
        let streamed: Vec<String> = of("SendStreamingMessage").iter().map(ToString::to_string).collect();
        for kind in ["task", "artifactUpdate", "statusUpdate"] {
            assert!(streamed.iter().any(|item| item.contains(kind)), "{sdk}: no {kind} in {out}");
        }
        for operation in ["CreateTaskPushNotificationConfig", "ListTaskPushNotificationConfigs"] {
            assert!(of(operation)[0]["result"].to_string().contains("config-1"), "{sdk}: {out}");
        }
        for (operation, error) in
            [("CancelTask", "TaskNotCancelable"), ("SubscribeToTask", "UnsupportedOperation")]
        {
            assert!(of(operation)[0]["error"].to_string().contains(error), "{sdk}: {operation} {out}");
        }
        assert!(of("GetTask")[1]["error"].to_string().contains("TaskNotFound"), "{sdk}: {out}");

        let finished = running.finish();
        assert_eq!(
            (finished.verdict(), finished.code),
            ("exploited", Some(1)),
            "{sdk}: {}",
            finished.explained()
        );
        let asked = surfaces(&finished, "agent");
        assert!(asked.contains(&"SendStreamingMessage".to_owned()), "{sdk}: {asked:?}");
    }
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn an_agent_of_google_adk_is_answered_in_1_0() {
    let peers = Peers::find();
    let mut running = start(&document("artifact.yaml"), ["--idle", "2s", "--grace", "0s"]);
    let url = running.url_of("default");
    let client = peers.python("a2a1", "a2a1/adk_client.py");
    let (code, out, err) = output(&format!("{client} {url} 'What is new?'"));
    assert_eq!(code, Some(0), "{out}\n{err}");
    assert!(out.contains("Note to the assistant: canary-5e77."), "{out}");
    let finished = running.finish();
    let asked = surfaces(&finished, "agent");
    assert!(asked.contains(&"SendStreamingMessage".to_owned()), "{asked:?}");
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_client_actor_talks_to_agents_of_1_0() {
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
        let heard = surfaces(&finished, "agent");
        for surface in ["agent_card/get", "SendMessage", "GetTask", "SendStreamingMessage", "task/artifact"] {
            assert!(heard.iter().any(|name| name == surface), "{sdk}: nothing of {surface} in {heard:?}");
        }
        // An agent that speaks 1.0 only does not know what 0.3 asks. Those of google-adk speak both.
        if sdk == "google-adk" {
            continue;
        }
        let forced = ["--target", &target, "--a2a-version", "0.3", "--idle", "2s", "--grace", "0s"];
        let forced = run(&document("delegate.yaml"), forced);
        assert_ne!(forced.verdict(), "exploited", "{sdk}: {}", forced.explained());
    }
}
