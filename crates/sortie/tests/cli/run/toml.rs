//! sortie.toml: agents and targets by name.

use std::net::TcpListener;

use super::program::{agent, start_with};

#[test]
fn agents_and_targets_are_known_by_name() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("named.toml");
    let text = format!(
        "[agents.tester]\ncommand = \"{}\"\nenv = [\"GIVEN\"]\n\
         [targets.ui]\nkind = \"ag_ui\"\nurl = \"http://{free}/\"\nbearer = \"env:GIVEN\"\n",
        agent("obey").replace('\\', "")
    );
    std::fs::write(&file, text).unwrap();
    let config = file.to_str().unwrap();
    let with = |command: &mut std::process::Command| {
        command.env("GIVEN", "a-token");
    };
    let arguments = ["--config", config, "--agent", "@tester", "--grace", "0s"];
    let ended = start_with(&["mcp-tool-description.yaml"], arguments, with).finish();
    assert_eq!(ended.told(), ("exploited", None, "agent_exit", Some(1)));
    let arguments = ["--config", config, "--target", "@ui", "--connect-timeout", "100ms", "--grace", "0s"];
    let ended = start_with(&["ag-ui-forged-history.yaml"], arguments, with).finish();
    assert_eq!(ended.told(), ("error", Some("target_refused"), "failure", Some(3)));
}
