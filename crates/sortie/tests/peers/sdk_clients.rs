//! The official Python SDK as a client of ours, in two versions, over HTTP and over pipes.

use serde_json::Value;

use crate::harness::{Peers, document, output, start};

const OPERATIONS: &[&str] = &[
    "tools/list",
    r#"tools/call {"name": "forecast", "arguments": {"city": "Bern"}}"#,
    r#"tools/call {"name": "forecast", "arguments": {"city": "Nowhere"}}"#,
    r#"tools/call {"name": "book", "arguments": {}}"#,
    "resources/list",
    r#"resources/read {"uri": "notes://today"}"#,
    r#"resources/read {"uri": "notes://picture"}"#,
    "resources/templates/list",
    "prompts/list",
    r#"prompts/get {"name": "plan", "arguments": {"day": "Monday"}}"#,
    r#"tools/call {"name": "change", "arguments": {}}"#,
    r#"wait {"method": "notifications/tools/list_changed", "count": 1, "timeout": 20}"#,
    "tools/list",
];

/// Everything there is to do, after what comes first.
fn operations(first: &[&str]) -> String {
    let quoted = first.iter().chain(OPERATIONS).map(|operation| format!("'{operation}'"));
    format!("--elicit '{{\"passport\": \"X1234567\"}}' {}", quoted.collect::<Vec<_>>().join(" "))
}

/// What the client printed is what the document says.
fn check(sdk: &str, code: Option<i32>, out: &str, err: &str) {
    assert_eq!(code, Some(0), "{sdk}: {out}\n{err}");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let results: Vec<_> =
        lines.iter().filter(|line| line.get("op").is_some()).map(|line| &line["result"]).collect();
    let text = |at: usize| &results[at]["content"][0]["text"];
    assert_eq!(results.len(), OPERATIONS.len(), "{sdk}: {out}");
    assert_eq!(results[0]["tools"].as_array().unwrap().len(), 3, "{sdk}: {out}");
    assert_eq!(text(1), "Sunny in Bern.", "{sdk}: {out}");
    assert_eq!(
        (text(2), &results[2]["isError"]),
        (&"There is no such city.".into(), &true.into()),
        "{sdk}: {out}"
    );
    assert_eq!(text(3), "Booked.", "{sdk}: {out}");
    assert!(lines.iter().any(|line| line["event"] == "elicitation/create"), "{sdk}: no elicitation\n{out}");
    assert_eq!(results[5]["contents"][0]["text"], "Dentist at nine.", "{sdk}: {out}");
    assert_eq!(results[6]["contents"][0]["blob"], "iVBORw0KGgo=", "{sdk}: {out}");
    assert_eq!(results[7]["resourceTemplates"][0]["uriTemplate"], "notes://{day}", "{sdk}: {out}");
    assert_eq!(results[9]["messages"][0]["content"]["text"], "Plan Monday.", "{sdk}: {out}");
    assert_eq!(results[12]["tools"][0]["name"], "other", "{sdk}: {out}");
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn over_http() {
    let peers = Peers::find();
    for (sdk, protocol) in [("mcp1", ""), ("mcp2", "--protocol legacy"), ("mcp2", "--protocol auto")] {
        let mut running = start(&document("everything.yaml"), ["--idle", "2s", "--grace", "0s"]);
        let url = running.url_of("default");
        let client = peers.python(sdk, "mcp/client.py");
        // Without a session, changes are heard of by who subscribes.
        let listen: &[&str] = if protocol.ends_with("auto") {
            &[r#"subscriptions/listen {"toolsListChanged": true}"#]
        } else {
            &[]
        };
        let (code, out, err) = output(&format!("{client} --http {url} {protocol} {}", operations(listen)));
        let listened = |line: &&str| !line.contains("subscriptions/listen");
        let out = out.lines().filter(listened).collect::<Vec<_>>().join("\n");
        check(&format!("{sdk} {protocol}"), code, &out, &err);
        let finished = running.finish();
        assert_eq!(
            (finished.verdict(), finished.code),
            ("exploited", Some(1)),
            "{sdk}: {}",
            finished.explained()
        );
    }
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn over_standard_input_and_output() {
    let peers = Peers::find();
    for (sdk, protocol) in [("mcp1", ""), ("mcp2", "--protocol legacy")] {
        let folder = tempfile::tempdir().unwrap();
        let server = format!(
            "'{}' run '{}' --stdio --grace 0s --run-dir '{}' --format json --out '{}'",
            env!("CARGO_BIN_EXE_sortie"),
            document("everything.yaml").display(),
            folder.path().join("run").display(),
            folder.path().join("report.json").display(),
        );
        let client = peers.python(sdk, "mcp/client.py");
        let (code, out, err) =
            output(&format!("{client} --stdio \"{server}\" {protocol} {}", operations(&[])));
        check(&format!("{sdk} {protocol} stdio"), code, &out, &err);
        let report = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["runs"][0]["verdict"]["result"], "exploited", "{report:#}");
    }
}
