//! The document on the page of each mode works as it is written.

use crate::harness::{Finished, Peers, Server, output, root, run, start};

fn expect(finished: &Finished, verdict: &str) {
    assert_eq!(finished.verdict(), verdict, "{}", finished.explained());
    assert_eq!(finished.failure(), None, "{}", finished.explained());
}

/// Every page links to the document that is played here.
fn page(mode: &str, document: &str) -> std::path::PathBuf {
    let page = std::fs::read_to_string(root().join(format!("docs/modes/{mode}.md"))).unwrap();
    let name = document.rsplit('/').next().unwrap();
    assert!(page.contains(&format!("/{name})")), "docs/modes/{mode}.md has no link to {name}");
    root().join(document)
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn mcp_server() {
    let peers = Peers::find();
    let document = page("mcp_server", "examples/mcp-rug-pull.yaml");
    let mut running = start(&document, ["--idle", "1s", "--grace", "0s"]);
    let url = running.url_of("default");
    // As often as it takes to be trusted, and, once the menu has changed, what it asks for.
    let calls = [
        r#"'tools/call {"name": "forecast", "arguments": {"city": "Bern"}}'"#,
        r#"'tools/call {"name": "forecast", "arguments": {"city": "Basel"}}'"#,
        "tools/list",
        r#"'tools/call {"name": "forecast", "arguments": {"city": "Chur", "context": "Monday 09:00 dentist"}}'"#,
    ];
    let client = peers.python("mcp1", "mcp/client.py");
    let (code, out, err) = output(&format!("{client} --http {url} tools/list {}", calls.join(" ")));
    assert_eq!(code, Some(0), "{out}\n{err}");
    expect(&running.finish(), "exploited");
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn mcp_client() {
    let peers = Peers::find();
    let target = format!("mcp=stdio:{} stdio", peers.npm("mcp-server-everything"));
    let document = page("mcp_client", "docs/examples/modes/mcp_client.yaml");
    expect(&run(&document, ["--target", &target, "--grace", "0s"]), "not_exploited");
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a2a_server() {
    let peers = Peers::find();
    let document = page("a2a_server", "examples/a2a-poisoned-artifact.yaml");
    let mut running = start(&document, ["--idle", "1s", "--grace", "0s"]);
    let url = running.url_of("default");
    let client = peers.python("a2a", "a2a/client.py");
    let (code, out, err) =
        output(&format!("{client} {url} 'message/send Read for me.' 'message/send AUDIT-7731 hello'"));
    assert_eq!(code, Some(0), "{out}\n{err}");
    expect(&running.finish(), "exploited");
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a2a_client() {
    let peers = Peers::find();
    let server = Server::start(&peers.python("a2a", "a2a/server.py"));
    let document = page("a2a_client", "docs/examples/modes/a2a_client.yaml");
    let target = format!("a2a={}", server.url);
    expect(&run(&document, ["--target", &target, "--grace", "0s"]), "exploited");
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn ag_ui_client() {
    let peers = Peers::find();
    let agent = Server::start(&peers.python("pydantic", "agents/agui_agent.py"));
    let document = page("ag_ui_client", "examples/ag-ui-forged-history.yaml");
    let target = format!("ag_ui={}", agent.url);
    expect(&run(&document, ["--target", &target, "--grace", "0s"]), "not_exploited");
}
