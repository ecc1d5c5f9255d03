//! An MCP client and the processes that it starts.

use crate::stage::mcp::one_phase;
use crate::stage::{Stage, content, script};
use sortie_engine::modes::Address;
use sortie_engine::modes::mcp_client::play;
use sortie_engine::run::RunOptions;
use sortie_wire::Limits;
use tokio::task::JoinHandle;

/// Answers `initialize` and takes the notification that follows.
const GREETING: &str =
    r#"read a; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}'; read b;"#;

fn start_script(stage: &Stage, rest: &str, options: RunOptions) -> JoinHandle<()> {
    tokio::spawn(play(stage.actor.clone(), script(&format!("{GREETING} {rest}")), options))
}

#[tokio::test]
async fn a_line_of_100_megabytes_is_passed_over_and_never_a_pass() {
    let stage = one_phase("{method: tools/call}");
    let rest = r#"read c; echo hello; head -c 100000000 /dev/zero | tr '\0' x; echo; echo '{"jsonrpc":"2.0","id":2,"result":{}}'; cat >/dev/null"#;
    let limits = Limits { message_bytes: 1 << 16, ..Limits::default() };
    let playing = start_script(&stage, rest, RunOptions { limits, ..RunOptions::default() });
    stage.until("phase-1: agent tools/call").await;
    stage.ended(playing).await;
    let why = "a message longer than 65536 bytes was passed over".to_owned();
    assert_eq!(stage.failures(), [("protocol_error".to_owned(), why)]);
    // What a process prints between its messages is recorded too.
    assert!(stage.messages().iter().any(|message| content(message) == "hello"));
}

#[tokio::test]
async fn a_process_that_ends_in_the_middle_is_gone_and_says_why() {
    let stage = one_phase("{method: tools/call}, {method: prompts/list}");
    let playing = start_script(&stage, "read c; echo 'out of memory' >&2; exit 7", RunOptions::default());
    stage.returned(playing).await;
    let failures = stage.failures();
    assert_eq!(failures[0].0, "protocol_error");
    assert!(failures[0].1.contains("exit status: 7; the last that it said: out of memory"), "{failures:?}");
}

#[tokio::test]
async fn a_process_that_ends_when_all_is_said_has_done_nothing_wrong() {
    let stage = one_phase("{method: tools/call}");
    let rest = r#"read c; echo '{"jsonrpc":"2.0","id":2,"result":{}}'"#;
    stage.returned(start_script(&stage, rest, RunOptions::default())).await;
    assert_eq!(stage.failures(), []);
    assert_eq!(stage.story().last().unwrap(), "phase-1: agent tools/call");
}

#[tokio::test]
async fn a_process_that_is_not_there_or_does_not_speak_is_a_refusal() {
    let stage = one_phase("{method: tools/call}");
    let mut target = script("");
    target.address = Address::Stdio(vec!["/no/such/program".to_owned()]);
    play(stage.actor.clone(), target, RunOptions::default()).await;
    assert_eq!(stage.failures()[0].0, "target_refused");

    let stage = one_phase("{method: tools/call}");
    play(stage.actor.clone(), script("exit 3"), RunOptions::default()).await;
    assert_eq!(stage.failures()[0].0, "target_refused");
}

#[tokio::test]
async fn a_process_ends_with_the_run_and_so_does_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let stage = one_phase("{method: tools/call}");
    let rest = format!("sleep 600 & echo $! > {}; read c; wait", file.display());
    let playing = start_script(&stage, &rest, RunOptions::default());
    stage.until("phase-1: actor tools/call").await;
    stage
        .until_that("started", |_| std::fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n')))
        .await;
    let pid = std::fs::read_to_string(&file).unwrap();
    stage.ended(playing).await;
    let alive = |pid: &str| {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        // What has ended and was not waited for by its new parent is not alive.
        !state.is_empty() && !state.contains(") Z ")
    };
    stage.until_that("ended", |_| !alive(&pid)).await;
}
