//! The language server, driven by a language client that is not ours.

use std::process::Command;

use crate::harness::{Peers, root};

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_language_client_with_the_capabilities_of_three_editors_gets_every_feature() {
    let peers = Peers::find();
    let output = Command::new(peers.path("lsp/bin/python"))
        .args(["-m", "pytest", "--quiet", "--no-header", "-p", "no:cacheprovider"])
        // The client warns where an answer is not what it said that it understands.
        .args(["-W", "error::pytest_lsp.LspSpecificationWarning"])
        .arg(root().join("peers/lsp/test_server.py"))
        .env("SORTIE", env!("CARGO_BIN_EXE_sortie"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("the language client is installed");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("63 passed"), "{said}");
}
