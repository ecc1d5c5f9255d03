//! Agents are ended with all that they have started, and are told no more than they need.

use std::time::{Duration, Instant};

use super::program::{agent, run, start, start_with};

/// Waits until there is no such process any more, or only what nobody has buried.
pub(super) fn is_gone(id: &str) {
    let start = Instant::now();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // Behind the name in parentheses stands the state.
        if stat.is_empty() || stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{id} is still there: {stat}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_is_ended_with_its_children_however_the_run_ends() {
    let agent = "sh -c 'sleep 1000 & echo $! > child; echo $$ > parent; wait'";
    for arguments in [&["--max-duration", "3s"][..], &["--max-duration", "1h"]] {
        let arguments = ["--agent", agent, "--grace", "0s"].into_iter().chain(arguments.iter().copied());
        let program = start(&["mcp-tool-description.yaml"], arguments.clone());
        let ids = [program.file("child"), program.file("parent")];
        if arguments.clone().any(|argument| argument == "1h") {
            program.signal("INT");
        }
        program.finish();
        for id in ids {
            is_gone(id.trim());
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_an_agent_leaves_behind_is_ended_too() {
    let program = start(
        &["mcp-tool-description.yaml"],
        ["--agent", "sh -c 'sleep 1000 & echo $! > child'", "--grace", "0s"],
    );
    let id = program.file("child");
    program.finish();
    is_gone(id.trim());
}

#[test]
fn an_agent_inherits_what_it_needs_and_what_it_was_given() {
    let program = start_with(
        &["mcp-tool-description.yaml"],
        ["--agent", "env", "--env", "GIVEN", "--grace", "0s"],
        |command| {
            command.env("GIVEN", "1").env("SECRET", "2").env("LANG", "C").env("TMPDIR", "/tmp");
        },
    );
    let ended = program.finish();
    let output = ended.file("run/agent.stdout");
    let mut names: Vec<_> =
        output.lines().filter_map(|line| line.split_once('=')).map(|pair| pair.0).collect();
    names.sort_unstable();
    let expected = [
        "GIVEN",
        "HOME",
        "LANG",
        "PATH",
        "SORTIE_MCP_CONFIG",
        "SORTIE_MCP_URL",
        "SORTIE_URL_DEFAULT",
        "TMPDIR",
    ];
    assert_eq!(names, expected);
}

#[test]
fn an_agent_finds_its_servers_in_a_file() {
    let ended = run("mcp-tool-description.yaml", ["--agent", "cat {mcp_config}", "--grace", "0s"]);
    let config: serde_json::Value = serde_json::from_str(&ended.file("run/agent.stdout")).unwrap();
    let url = config["mcpServers"]["default"]["url"].as_str().unwrap();
    assert!(ended.stderr.contains(url), "{url}: {}", ended.stderr);
    assert_eq!(config["mcpServers"]["default"]["type"], "http");
}

#[test]
fn an_agent_gets_the_prompt_of_the_user_or_of_the_document() {
    let output = |arguments: &[&str]| {
        let all = ["--agent", "echo {prompt}", "--grace", "0s"].into_iter().chain(arguments.iter().copied());
        run("prompt.yaml", all).file("run/agent.stdout")
    };
    assert_eq!(output(&[]), "Add 40 and 2; then stop.\n");
    assert_eq!(output(&["--prompt", "$HOME {mcp_url}"]), "$HOME {mcp_url}\n");
}

#[test]
fn only_the_beginning_of_what_an_agent_prints_is_kept() {
    let arguments = ["--agent", "sh -c 'yes | head -c 100000'", "--max-output-bytes", "100", "--grace", "0s"];
    let output = run("mcp-tool-description.yaml", arguments).file("run/agent.stdout");
    assert!(output.len() < 300 && output.contains("100 bytes are the limit"), "{output}");
}

#[test]
fn secrets_are_in_no_file_of_the_run() {
    let says = format!("sh -c \"echo hunter2; echo hunter2 >&2; {}\"", agent("obey"));
    let arguments =
        ["--agent", &says, "--grace", "0s", "--redact", "value:hunter2", "--redact", "value:canary-4c1d"];
    let ended = run("mcp-tool-description.yaml", arguments);
    assert_eq!(ended.file("run/agent.stderr"), "[redacted]\n");
    let mut folders = vec![ended.folder.path().join("run")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            files += 1;
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let is_clean = !text.contains("hunter2") && !text.contains("canary-4c1d");
            assert!(is_clean, "{}: {text}", entry.path().display());
        }
    }
    assert!(files >= 6, "{files}");
    // What is evaluated is what is kept.
    let verdicts = &ended.run()["verdict"]["indicator_verdicts"];
    assert_eq!((&verdicts[0]["result"], &verdicts[1]["result"]), (&"matched".into(), &"not_matched".into()));
}
