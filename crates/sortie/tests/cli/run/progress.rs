//! What a run says while it goes on, where nobody watches: programs read it.

use crate::sortie_in;

#[test]
fn a_pipe_is_told_where_to_connect_and_messages_only_when_they_are_wanted() {
    let here = tempfile::tempdir().unwrap();
    let stderr = |words: &[&str]| {
        let run = sortie_in(here.path()).args(["run", "SRT-001", "--agent", "builtin:refuser"]);
        let ended = run.args(words).output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8(ended.stderr).unwrap()
    };
    let usual = stderr(&[]);
    assert!(usual.starts_with("listening  default  mcp  http://127.0.0.1:"), "{usual}");
    assert_eq!(usual.lines().count(), 2, "and where it is kept: {usual}");
    assert_eq!(stderr(&["--quiet"]), "");
    let all = stderr(&["--verbose"]);
    assert!(all.contains("tools/list") && all.contains("\nlistening  default  mcp"), "{all}");
}

#[test]
fn an_agent_that_nobody_starts_is_always_told_where_to_connect() {
    let here = tempfile::tempdir().unwrap();
    let run = sortie_in(here.path()).args(["run", "SRT-001", "--quiet", "--max-duration", "100ms"]);
    let ended = run.output().unwrap();
    assert_eq!(ended.status.code(), Some(3));
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert!(stderr.starts_with("listening  default  mcp  http://127.0.0.1:"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}
