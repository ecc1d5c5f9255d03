//! Harmless calls of a server that breaks down: who is blamed for it.

use std::collections::BTreeMap;

use sortie_engine::cases::{DISCOVERY, PlayOptions, call_controls, discover};
use sortie_engine::modes::{self, Address, McpRevision};
use sortie_engine::targets::Target;
use sortie_evaluators::cases::ToolControl;
use sortie_probe::KnownValues;

use crate::cases::bench::python_server;

/// A server with the tools that it is started with. One that is named `late` answers, and ends the server in the call that follows; one
/// that is named `dies` ends it at once.
const BEFORE: &str = "doomed = False";
const OTHERWISE: &str = r#"
    elif message.get("method") == "tools/list":
        answer(message["id"], {"tools": [{"name": name, "inputSchema": {"type": "object", "properties": {}}} for name in sys.argv[1:]]})
    elif message.get("method") == "tools/call":
        name = message["params"]["name"]
        if doomed or name.startswith("dies"):
            sys.exit(9)
        doomed = name == "late"
        answer(message["id"], {"content": [{"type": "text", "text": "done"}]})
"#;

/// Which tools of the server work, by their names.
async fn working(tools: &[&str]) -> BTreeMap<String, bool> {
    let mut words = python_server(BEFORE, OTHERWISE);
    words.extend(tools.iter().map(|tool| (*tool).to_owned()));
    let env = vec![("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())];
    let at = modes::Endpoint { address: Address::Stdio(words), headers: Vec::new(), env, launch: None };
    let target = Target::Mcp { at, wire: McpRevision::Auto };
    let options = PlayOptions::default();
    let discovery = discover(&target, DISCOVERY, &options).await.unwrap();
    let calls = call_controls(&target, &discovery, KnownValues::default(), &options).await.unwrap();
    let works = |control: &ToolControl| matches!(control, ToolControl::Works { .. });
    calls.controls.iter().map(|(tool, control)| (tool.clone(), works(control))).collect()
}

fn expected(tools: &[(&str, bool)]) -> BTreeMap<String, bool> {
    tools.iter().map(|(tool, works)| ((*tool).to_owned(), *works)).collect()
}

#[tokio::test]
async fn a_tool_is_not_blamed_for_what_an_earlier_one_has_begun() {
    let found = working(&["late", "note", "post"]).await;
    assert_eq!(found, expected(&[("late", true), ("note", true), ("post", true)]));
}

#[tokio::test]
async fn a_tool_that_ends_its_server_does_not_work_and_the_others_do() {
    let found = working(&["note", "dies", "post"]).await;
    assert_eq!(found, expected(&[("dies", false), ("note", true), ("post", true)]));
}

#[tokio::test]
async fn a_server_that_always_breaks_down_is_left_alone_in_the_end() {
    let tools = ["note", "dies1", "dies2", "dies3", "dies4", "dies5", "dies6"];
    let found = working(&tools).await;
    assert!(found["note"], "{found:?}");
    assert!(tools[1..].iter().all(|tool| !found[*tool]), "{found:?}");
}
