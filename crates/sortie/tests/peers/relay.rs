//! `wrap` between clients and servers on official SDKs: what servers ask of clients, and how long clients keep lists.

use serde_json::Value;

use crate::harness::{Finished, Peers, Server, Wrapped, document, output, records_below, start};

/// What a server may ask of its client, and what the client answers.
const ASKED: [(&str, &str); 3] = [
    ("sampling/createMessage", "At noon, says the scripted model."),
    ("elicitation/create", "Ada of the harbour"),
    ("roots/list", "file:///harbour"),
];

/// A client that answers so.
const ANSWERS: &str = r#"--sample 'At noon, says the scripted model.' --elicit '{"name": "Ada of the harbour"}' --root file:///harbour"#;

/// A server that asks, by a tool for each of [`ASKED`].
struct AskingServer {
    /// Its command, over standard input and output.
    command: String,
    /// Where it is over HTTP.
    http: Server,
    /// The calls that make it ask.
    calls: [&'static str; 3],
}

impl AskingServer {
    /// On the Python SDK.
    fn python(peers: &Peers) -> Self {
        let server = peers.python("mcp2", "mcp/asking_server.py");
        Self {
            command: format!("{server} --stdio"),
            http: Server::start(&format!("{server} --http")),
            calls: [
                r#"{"name": "ask", "arguments": {"what": "sampling"}}"#,
                r#"{"name": "ask", "arguments": {"what": "elicitation"}}"#,
                r#"{"name": "ask", "arguments": {"what": "roots"}}"#,
            ],
        }
    }
}

/// How a client reaches a server through `sortie wrap`.
#[derive(Clone, Copy, Debug)]
enum Transport {
    Lines,
    Http,
}

/// Lets a client make the calls through `sortie wrap`. Gives what it printed, and what was recorded.
fn through_wrap(
    client: &str,
    calls: &[&str],
    server: &AskingServer,
    (near, far): (Transport, Transport),
) -> (String, Vec<Value>) {
    let command = shlex::split(&server.command).unwrap();
    let behind: Vec<&str> = match far {
        Transport::Lines => ["--"].into_iter().chain(command.iter().map(String::as_str)).collect(),
        Transport::Http => vec!["--upstream", &server.http.url],
    };
    let calls: Vec<_> = calls.iter().map(|call| format!("tools/call {call}")).collect();
    let calls = shlex::try_join(calls.iter().map(String::as_str)).unwrap();
    let talk = |place: &str| {
        let (code, out, err) = output(&format!("{client} {ANSWERS} {place} {calls}"));
        assert_eq!(code, Some(0), "{client}, {near:?}, {far:?}: {out}\n{err}");
        out
    };
    match near {
        Transport::Http => {
            let wrapped = Wrapped::start(behind);
            let out = talk(&format!("--http {}", wrapped.url));
            (out, wrapped.end())
        }
        Transport::Lines => {
            let folder = tempfile::tempdir().unwrap();
            let own = [env!("CARGO_BIN_EXE_sortie"), "wrap", "--run-dir", folder.path().to_str().unwrap()];
            let line = shlex::try_join(own.into_iter().chain(behind)).unwrap();
            let out = talk(&format!("--stdio {}", shlex::try_quote(&line).unwrap()));
            (out, records_below(folder.path()))
        }
    }
}

/// Asserts that each question came to the client, and its answer to the server, which repeats it.
fn check_answers(out: &str, who: &str) {
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (method, answer) in ASKED {
        let is_asked = |line: &Value| line["event"] == method && line["answer"].to_string().contains(answer);
        assert!(lines.iter().any(is_asked), "{who}, {method}: {out}");
        let is_told =
            |line: &Value| line["op"] == "tools/call" && line["result"].to_string().contains(answer);
        assert!(lines.iter().any(is_told), "{who}, {method}: {out}");
    }
}

/// How often a method was asked by the server, and answered by the client.
fn crossings(records: &[Value], method: &str) -> (usize, usize) {
    let count = |sender: &str| {
        let of = |record: &&Value| record["surfaces"][0] == method && record["sender"] == sender;
        records.iter().filter(of).count()
    };
    (count("actor"), count("agent"))
}

const PAIRS: [(Transport, Transport); 4] = [
    (Transport::Lines, Transport::Lines),
    (Transport::Lines, Transport::Http),
    (Transport::Http, Transport::Lines),
    (Transport::Http, Transport::Http),
];

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn requests_of_a_server_cross_and_are_answered() {
    let peers = Peers::find();
    let server = AskingServer::python(&peers);
    for (sdk, protocol) in [("mcp1", ""), ("mcp2", "--protocol legacy")] {
        let client = format!("{} {protocol}", peers.python(sdk, "mcp/client.py"));
        for pair in PAIRS {
            let who = format!("{sdk}, {pair:?}");
            let (out, records) = through_wrap(&client, &server.calls, &server, pair);
            check_answers(&out, &who);
            for (method, _) in ASKED {
                assert_eq!(crossings(&records, method), (1, 1), "{who}, {method}");
            }
        }
    }
}

/// On 2026-07-28 a server asks by its result (`input_required`), and the client calls again with the answer.
#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn results_that_require_input_cross_and_are_answered() {
    let peers = Peers::find();
    let server = AskingServer::python(&peers);
    let client = format!("{} --protocol 2026-07-28", peers.python("mcp2", "mcp/client.py"));
    for pair in PAIRS {
        let (out, records) = through_wrap(&client, &server.calls, &server, pair);
        check_answers(&out, &format!("{pair:?}"));
        let bodies = |sender: &str, path: &str| {
            let of = |record: &&Value| {
                record["sender"] == sender
                    && record["content"].pointer(path).is_some_and(|found| !found.is_null())
            };
            records.iter().filter(of).count()
        };
        let asked = bodies("actor", "/result/inputRequests");
        let answered = bodies("agent", "/params/inputResponses");
        assert_eq!((asked, answered), (3, 3), "{pair:?}: {out}");
        let states = bodies("agent", "/params/requestState");
        assert_eq!(states, 3, "{pair:?}: the state goes back too: {out}");
    }
}

/// The reference server on the TypeScript SDK offers its tools that ask only to clients that can be asked.
#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn requests_of_the_everything_server_cross_and_are_answered() {
    let peers = Peers::find();
    let everything = peers.npm("mcp-server-everything");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut http = Server::on_port(&format!("{everything} streamableHttp"), port);
    http.url.push_str("/mcp");
    let server = AskingServer {
        command: format!("{everything} stdio"),
        http,
        calls: [
            r#"{"name": "trigger-sampling-request", "arguments": {"prompt": "When is high tide?"}}"#,
            r#"{"name": "trigger-elicitation-request", "arguments": {}}"#,
            r#"{"name": "get-roots-list", "arguments": {}}"#,
        ],
    };
    for (sdk, protocol) in [("mcp1", ""), ("mcp2", "--protocol legacy")] {
        // It still speaks when the client closes, which the SDK takes amiss, by either of two names.
        let tolerated = "--tolerate ClosedResourceError --tolerate BrokenResourceError";
        let client = format!("{} {protocol} {tolerated}", peers.python(sdk, "mcp/client.py"));
        for pair in PAIRS {
            let who = format!("{sdk}, {pair:?}");
            let (out, records) = through_wrap(&client, &server.calls, &server, pair);
            check_answers(&out, &who);
            for (method, _) in ASKED {
                let (asked, answered) = crossings(&records, method);
                // It asks for roots by itself too, maybe when the client is about to go.
                assert!(answered > 0 && asked >= answered, "{who}, {method}: {asked} and {answered}");
            }
        }
    }
}

/// Plays a list that turns after the first call, against a client of 2026-07-28 that keeps lists for as long as it may.
fn list_turns(operations: &str) -> (Finished, String) {
    let peers = Peers::find();
    let server = format!("asking={} --stdio", peers.python("mcp2", "mcp/asking_server.py"));
    let arguments = ["--wrap", &server, "--idle", "2s", "--grace", "0s", "--max-duration", "3m"];
    let mut running = start(&document("list-turns.yaml"), arguments);
    let url = running.url_of("default");
    let client = peers.python("mcp2", "mcp/client.py");
    let (code, out, err) =
        output(&format!("{client} --http {url} --protocol 2026-07-28 --cache {operations}"));
    assert_eq!(code, Some(0), "{operations}: {out}\n{err}");
    (running.finish(), out)
}

/// The last list that a client was shown.
fn last_list(out: &str) -> &str {
    out.lines().rfind(|line| line.contains(r#""op": "tools/list""#)).unwrap()
}

const TURN: &str = r#"tools/list 'tools/call {"name": "announce"}'"#;

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_list_that_changes_within_its_ttl_is_not_delivered() {
    let (finished, out) = list_turns(&format!(r#"{TURN} 'clock {{"advance": 59}}' tools/list"#));
    assert!(out.contains(r#""ttlMs": 60000"#) && !out.contains("TURNED-CANARY-020"), "{out}");
    assert_eq!(finished.run["reach"]["delivered"], "no", "{}", finished.explained());
    assert_eq!((finished.verdict(), finished.code), ("error", Some(3)), "{}", finished.explained());
    assert_eq!(finished.failure(), Some("not_delivered"), "{}", finished.explained());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_list_that_is_asked_for_again_after_its_ttl_is_delivered() {
    let (finished, out) = list_turns(&format!(r#"{TURN} 'clock {{"advance": 61}}' tools/list"#));
    assert!(last_list(&out).contains("TURNED-CANARY-020"), "{out}");
    assert_eq!(finished.run["reach"]["delivered"], "yes", "{}", finished.explained());
    assert_eq!((finished.verdict(), finished.code), ("not_exploited", Some(0)), "{}", finished.explained());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_list_that_the_server_says_has_changed_is_delivered_within_its_ttl() {
    let listen = r#"'subscriptions/listen {"toolsListChanged": true}'"#;
    let heard = r#"'wait {"method": "notifications/tools/list_changed"}'"#;
    let (finished, out) = list_turns(&format!("{listen} {TURN} {heard} tools/list"));
    assert!(last_list(&out).contains("TURNED-CANARY-020"), "{out}");
    assert_eq!(finished.run["reach"]["delivered"], "yes", "{}", finished.explained());
}
