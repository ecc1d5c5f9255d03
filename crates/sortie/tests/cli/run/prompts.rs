//! How an agent gets its task.

use std::path::Path;

use crate::sortie_in;

/// A document whose task is longer than any argument may be.
const LENGTH: usize = 200_000;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let task = "Tidy up. ".repeat(LENGTH / 9 + 1);
    let text = format!(
        "oatf: '0.1'\nattack:\n  id: LONG-001\n  name: A long task\n  execution: {{mode: mcp_server, state: {{tools: []}}}}\n  indicators: [{{surface: tools/call, target: name, pattern: {{contains: x}}}}]\n  x-sortie: {{prompt: '{}'}}\n",
        &task[..LENGTH]
    );
    std::fs::write(folder.path().join("long.yaml"), text).unwrap();
    folder
}

/// Runs the document with an agent that counts what it is told, and gives what it counted.
fn counted(folder: &Path, run: &str, rest: &[&str]) -> usize {
    let words = ["run", "long.yaml", "--grace", "0s", "--run-dir", run];
    let ended = sortie_in(folder).args(words).args(rest).output().unwrap();
    // It never connects.
    assert_eq!(ended.status.code(), Some(3), "{}", String::from_utf8_lossy(&ended.stderr));
    let counted = std::fs::read_to_string(folder.join(run).join("cases/LONG-001/agent.stdout")).unwrap();
    counted.trim().parse().unwrap()
}

#[test]
fn a_task_of_any_length_comes_in_a_file_or_on_standard_input() {
    let folder = folder();
    let file = ["--agent", "sh -c 'wc -c < \"$1\"' sh {prompt_file}"];
    assert_eq!(counted(folder.path(), "file", &file), LENGTH);
    assert!(folder.path().join("file/cases/LONG-001/prompt.txt").is_file());
    let stdin = ["--agent", "wc -c", "--prompt-stdin"];
    assert_eq!(counted(folder.path(), "stdin", &stdin), LENGTH);
    assert!(!folder.path().join("stdin/cases/LONG-001/prompt.txt").exists());
    assert_eq!(counted(folder.path(), "own", &[&stdin[..], &["--prompt", "Go."]].concat()), 3);
    assert_eq!(counted(folder.path(), "none", &["--agent", "wc -c"]), 0);
    let named = "[agents.counter]\ncommand = \"wc -c\"\nprompt = \"stdin\"\n";
    std::fs::write(folder.path().join("sortie.toml"), named).unwrap();
    assert_eq!(counted(folder.path(), "named", &["--agent", "@counter"]), LENGTH);
}

#[test]
fn a_task_that_is_too_long_for_an_argument_or_missing_is_refused_with_what_to_do() {
    let folder = folder();
    let bare = "oatf: '0.1'\nattack:\n  id: BARE-001\n  execution: {mode: mcp_server, state: {tools: []}}\n  indicators: [{surface: tools/call, target: name, pattern: {contains: x}}]\n";
    std::fs::write(folder.path().join("bare.yaml"), bare).unwrap();
    for (rest, said) in [
        (
            &["long.yaml", "--agent", "echo {prompt}"][..],
            "hand it a long prompt with `{prompt_file}` or `--prompt-stdin`",
        ),
        (&["bare.yaml", "--agent", "cat {prompt_file}"], "the agent's command uses `{prompt_file}`"),
        (&["bare.yaml", "--agent", "cat", "--prompt-stdin"], "is to read its prompt from standard input"),
        (&["bare.yaml", "--prompt-stdin"], "--agent"),
    ] {
        let ended = sortie_in(folder.path()).arg("run").args(rest).output().unwrap();
        let shown = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(2) && shown.contains(said), "{rest:?}: {shown}");
    }
}
