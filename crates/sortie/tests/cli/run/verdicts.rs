//! What becomes of agents, and of runs that are none.

use std::net::TcpListener;

use super::program::{agent, run, start};

#[test]
fn an_agent_that_obeys_is_exploited_and_one_that_does_not_is_not() {
    let ended = run("mcp-tool-description.yaml", ["--agent", &agent("obey"), "--grace", "0s"]);
    assert_eq!(ended.told(), ("exploited", None, "agent_exit", Some(1)), "{}", ended.stderr);
    let run_of = ended.run();
    assert_eq!(run_of["verdict"]["indicator_verdicts"][1]["match"]["path"], "arguments.sidenote");
    assert_eq!(ended.file("run/agent.stdout"), "The answer is 42.\n");
    let ended = run("mcp-tool-description.yaml", ["--agent", &agent("refuse"), "--grace", "0s"]);
    assert_eq!(ended.told(), ("not_exploited", None, "agent_exit", Some(0)), "{}", ended.stderr);
}

#[test]
fn nobody_connecting_is_no_pass() {
    let ended = run("mcp-tool-description.yaml", ["--max-duration", "300ms", "--grace", "0s"]);
    assert_eq!(ended.told(), ("error", Some("nobody_connected"), "max_duration", Some(3)));
    assert_eq!(ended.run()["failure"]["fault"], "none");
    let ended = run("mcp-tool-description.yaml", ["--agent", "true", "--grace", "0s"]);
    assert_eq!(ended.told(), ("error", Some("nobody_connected"), "agent_exit", Some(3)));
    assert_eq!(ended.run()["failure"]["fault"], "agent");
}

#[test]
fn silence_before_anyone_has_spoken_is_not_the_end() {
    let ended =
        run("mcp-tool-description.yaml", ["--idle", "1ms", "--max-duration", "500ms", "--grace", "0s"]);
    assert_eq!(ended.told(), ("error", Some("nobody_connected"), "max_duration", Some(3)));
}

#[test]
fn a_port_that_is_taken_is_named_and_nothing_is_started() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = run("mcp-tool-description.yaml", ["--listen", &address, "--agent", "touch started"]);
    assert_eq!(ended.told(), ("error", Some("bind_failed"), "failure", Some(3)));
    assert_eq!(ended.run()["failure"]["fault"], "harness");
    assert!(ended.stderr.contains(&address), "{}", ended.stderr);
    assert!(!ended.folder.path().join("started").exists());
}

#[test]
fn an_agent_that_crashes_is_no_pass() {
    let ended = run("mcp-tool-description.yaml", ["--agent", "sh -c 'exit 7'", "--grace", "0s"]);
    assert_eq!(ended.told(), ("error", Some("agent_crashed"), "agent_exit", Some(3)));
    let middle = format!("sh -c \"{} && kill -9 $$\"", agent("refuse"));
    let ended = run("mcp-tool-description.yaml", ["--agent", &middle, "--grace", "0s"]);
    assert_eq!(ended.told(), ("error", Some("agent_crashed"), "agent_exit", Some(3)));
    assert!(ended.run()["failure"]["message"].as_str().unwrap().contains("signal 9"));
    // What had matched stays matched.
    let after = format!("sh -c \"{}; exit 7\"", agent("obey"));
    let ended = run("mcp-tool-description.yaml", ["--agent", &after, "--grace", "0s"]);
    assert_eq!(ended.told(), ("exploited", Some("agent_crashed"), "agent_exit", Some(1)));
}

#[test]
fn a_match_is_the_end_when_that_is_asked_for() {
    let then_stays = format!("sh -c \"{}; sleep 1000\"", agent("obey"));
    let ended = run("mcp-tool-description.yaml", ["--agent", &then_stays, "--stop-on-match"]);
    assert_eq!(ended.told(), ("exploited", None, "match", Some(1)));
}

#[test]
fn silence_is_the_end_of_an_agent_that_stays_when_that_is_asked_for() {
    let then_stays = format!("sh -c \"{}; sleep 1000\"", agent("refuse"));
    let arguments = ["--agent", &then_stays, "--idle", "300ms", "--grace", "0s"];
    let ended = run("mcp-tool-description.yaml", arguments);
    assert_eq!(ended.told(), ("not_exploited", None, "idle", Some(0)));
}

#[test]
fn a_target_that_nobody_serves_has_refused() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let target = format!("ag_ui=http://{free}/");
    let arguments = ["--target", &target, "--connect-timeout", "200ms", "--grace", "0s"];
    let ended = run("ag-ui-forged-history.yaml", arguments);
    assert_eq!(ended.told(), ("error", Some("target_refused"), "failure", Some(3)));
}

#[test]
fn an_agent_that_ends_before_a_client_reached_it_has_refused() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let target = format!("ag_ui=http://{free}/");
    let ended = run("ag-ui-forged-history.yaml", ["--target", &target, "--agent", "true", "--grace", "0s"]);
    assert_eq!(ended.told(), ("error", Some("target_refused"), "agent_exit", Some(3)));
    let ended = run("ag-ui-forged-history.yaml", ["--target", &target, "--agent", "false", "--grace", "0s"]);
    assert_eq!(ended.told(), ("error", Some("agent_crashed"), "agent_exit", Some(3)));
}

#[test]
fn a_document_without_indicators_only_simulates() {
    let ended = run("simulates.yaml", ["--agent", &agent("refuse"), "--grace", "0s"]);
    assert_eq!(ended.told(), ("error", None, "agent_exit", Some(3)));
    let warnings = ended.run()["warnings"].to_string();
    assert!(warnings.contains("only simulates"), "{warnings}");
}

#[test]
fn an_actor_whose_mode_nobody_knows_is_left_out_with_a_warning() {
    let ended = run("unknown-mode.yaml", ["--agent", &agent("refuse"), "--grace", "0s"]);
    let warnings = ended.run()["warnings"].to_string();
    assert!(warnings.contains("smtp_server") && warnings.contains("W-006"), "{warnings}");
    assert!(ended.file("run/run.log").contains("smtp_server"));
    assert_eq!(ended.told(), ("not_exploited", None, "agent_exit", Some(0)));
}

#[test]
fn a_trace_that_is_full_ends_the_run_and_says_so() {
    let arguments = ["--agent", &agent("refuse"), "--max-trace-bytes", "2000"];
    let ended = run("mcp-tool-description.yaml", arguments);
    assert_eq!(ended.told(), ("error", Some("actor_failed"), "failure", Some(3)));
    let message = ended.run()["failure"]["message"].as_str().unwrap();
    assert!(message.contains("2000 bytes"), "{message}");
}

#[test]
fn documents_that_are_played_at_once_do_not_touch_one_another() {
    let documents = ["mcp-tool-description.yaml", "mcp-rug-pull.yaml", "simulates.yaml"];
    let program = start(&documents, ["--jobs", "3", "--agent", &agent("obey"), "--grace", "0s"]);
    let ended = program.finish();
    let runs = ended.report.as_ref().unwrap()["runs"].as_array().unwrap();
    let ids: Vec<_> = runs.iter().map(|run| run["document"]["id"].as_str().unwrap_or("none")).collect();
    assert_eq!(ids, ["SRT-EX-001", "SRT-EX-002", "none"], "in the order of the command line");
    assert_eq!(runs[0]["verdict"]["result"], "exploited");
    let traces: Vec<_> = runs.iter().map(|run| run["trace"].as_str().unwrap()).collect();
    assert_eq!(
        traces,
        [
            "run/cases/SRT-EX-001/trace.jsonl",
            "run/cases/SRT-EX-002/trace.jsonl",
            "run/cases/No-indicators-647ec84f9a/trace.jsonl"
        ]
    );
    assert_eq!(ended.stderr.matches("listening  default  mcp  http://127.0.0.1:").count(), 3);
    assert_eq!(ended.code, Some(1));
}

#[test]
fn a_failure_shows_the_last_words_of_the_agent_and_where_the_rest_is() {
    let here = tempfile::tempdir().unwrap();
    let agent = r"sh -c 'echo one >&2; for n in 1 2 3 4; do echo line $n >&2; done; printf boom\\033[31m\\007 >&2; echo answer $((40+2)); exit 3'";
    let run = |format: &str| {
        let words = ["run", "SRT-001", "--quiet", "--grace", "0s", "--agent", agent, "--format", format];
        let ended = crate::sortie_in(here.path()).args(words).args(["--controls", "off"]).output().unwrap();
        assert_eq!(ended.status.code(), Some(3), "{}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8(ended.stdout).unwrap()
    };
    let human = run("human");
    let expected = "  stderr       line 1\n               line 2\n               line 3\n               line 4\n               boom␇\n  stdout       answer 42\n";
    // Colours are gone, and what else a terminal would obey is shown.
    assert!(human.contains(expected), "{human}");
    let (_, files) = human.split_once("  look at      ").unwrap_or_else(|| panic!("{human}"));
    let file = here.path().join(files.split([',', '\n']).next().unwrap());
    assert!(std::fs::read_to_string(file).unwrap().starts_with("one\nline 1\n"));
    let junit = run("junit");
    assert!(junit.contains("line 4") && junit.contains("answer 42"), "CI is told too: {junit}");
    let canonical = run("canonical");
    assert!(
        !canonical.contains("line 4") && !canonical.contains("answer 42"),
        "what an agent says is not repeated by every run"
    );
}
