//! The official MCP conformance suite, in both directions.

use crate::harness::{Peers, output, root, start};

/// Checks of the server suite, and how many of them have to pass.
const SERVER_CHECKS: usize = 40;
const SERVER_BAR: usize = 38;

/// What a summary line says: `Total: 39 passed, 1 failed`.
fn total(out: &str) -> Option<(usize, usize)> {
    let line = out.lines().rev().find(|line| line.trim_start().starts_with("Total:"))?;
    let number = |word: &str| -> Option<usize> {
        let words: Vec<_> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|found| found.starts_with(word))?;
        words[at - 1].parse().ok()
    };
    Some((number("passed")?, number("failed")?))
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn our_server_passes_the_official_suite() {
    let peers = Peers::find();
    let document = root().join("peers/mcp/conformance-server.yaml");
    let mut running = start(&document, ["--idle", "5s", "--grace", "0s"]);
    let url = running.url_of("default");
    // What is expected to fail is listed with its reason, and a stale entry fails.
    let baseline = root().join("peers/mcp/conformance-baseline.yml");
    let (code, out, err) = output(&format!(
        "{} server --url {url} --expected-failures '{}'",
        peers.npm("conformance"),
        baseline.display()
    ));
    let (passed, failed) = total(&out).unwrap_or_else(|| panic!("no summary:\n{out}\n{err}"));
    println!("{passed} passed, {failed} failed");
    assert_eq!(code, Some(0), "{out}\n{err}");
    assert!(passed >= SERVER_BAR && passed + failed >= SERVER_CHECKS, "{out}\n{err}");
    running.finish();
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn our_client_passes_the_official_scenarios() {
    let peers = Peers::find();
    for scenario in ["initialize", "tools_call", "sse-retry", "elicitation-sep1034-client-defaults"] {
        let mcp = root().join("peers/mcp");
        let (code, out, err) = output(&format!(
            "{} client --command 'sh {} {} {}' --scenario {scenario} --timeout 60000",
            peers.npm("conformance"),
            mcp.join("conformance-client.sh").display(),
            env!("CARGO_BIN_EXE_sortie"),
            mcp.join(format!("conformance-client-{scenario}.yaml")).display(),
        ));
        assert_eq!(code, Some(0), "{scenario}: {out}\n{err}");
        assert!(format!("{out}{err}").contains("OVERALL: PASSED"), "{scenario}: {out}\n{err}");
    }
}
