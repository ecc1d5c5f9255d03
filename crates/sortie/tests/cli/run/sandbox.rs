//! `--sandbox`: where there can be none, nothing is started; and what needs one does not apply without.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::sortie_in;

/// A server that leaves a file behind when it is started.
const SERVER: &str = "mcp=stdio:touch started";

/// A run with these programs in its PATH, and no others: how it ended, and what it said.
fn run_with_path(path: &Path, target: &str) -> (Option<i32>, String) {
    let folder = TempDir::new().unwrap();
    let ended = sortie_in(folder.path())
        .args(["run", "--sandbox", "--allow-network-payloads", "ssrf-metadata", "--target", target])
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(!folder.path().join("started").exists(), "the server was started");
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}

#[test]
fn without_a_program_that_makes_namespaces_nothing_is_started() {
    let programs = TempDir::new().unwrap();
    symlink("/usr/bin/touch", programs.path().join("touch")).unwrap();
    let (code, said) = run_with_path(programs.path(), SERVER);
    assert_eq!(code, Some(2), "{said}");
    let wanted = "error: `--sandbox`: neither `bwrap` (bubblewrap) nor `unshare` (util-linux) is in the PATH\n  help: nothing was started, and no network payload is sent;";
    assert!(said.starts_with(wanted), "{said}");
}

#[test]
fn where_namespaces_are_forbidden_the_run_says_what_the_system_says() {
    let programs = TempDir::new().unwrap();
    symlink("/usr/bin/touch", programs.path().join("touch")).unwrap();
    for (name, words) in
        [("bwrap", "No permissions to create a new namespace"), ("unshare", "Operation not permitted")]
    {
        let program = programs.path().join(name);
        fs::write(&program, format!("#!/bin/sh\necho '{name}: {words}' >&2\nexit 1\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let (code, said) = run_with_path(programs.path(), SERVER);
    assert_eq!(code, Some(2), "{said}");
    let wanted = "error: `--sandbox`: the system allows no sandbox: `bwrap` says: bwrap: No permissions to create a new namespace; `unshare` says: unshare: Operation not permitted\n";
    assert!(said.starts_with(wanted), "{said}");
}

#[test]
fn a_program_that_makes_no_sandbox_is_found_out() {
    let programs = TempDir::new().unwrap();
    let program = programs.path().join("unshare");
    // It starts the program that it is given outside of any namespace.
    fs::write(&program, "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let (code, said) = run_with_path(programs.path(), SERVER);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("this is for the first process of a sandbox"), "{said}");
}

#[test]
fn only_servers_that_are_started_are_held() {
    let folder = TempDir::new().unwrap();
    for (words, wanted) in [
        (&["--target", "mcp=http://127.0.0.1:9/"][..], "and not `mcp=http://127.0.0.1:9/`"),
        (&["--target", "cmd=cat"], "and not `cmd=cat`"),
        (&[], "`--sandbox` is for MCP servers that are started"),
        (&["--target", "mcp=stdio:true", "--agent", "true"], "`--sandbox` holds what `--target` names"),
    ] {
        let ended =
            sortie_in(folder.path()).args(["run", "--sandbox", "path-escape"]).args(words).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(wanted), "{words:?}: {said}");
    }
}

#[test]
fn what_is_about_a_sandbox_does_not_apply_without_one() {
    let folder = TempDir::new().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let evaluators = folder.path().join("evaluators/mcp");
    fs::create_dir_all(&evaluators).unwrap();
    let evaluator =
        fs::read_to_string(root.join("peers/sandbox/evaluators/mcp/leaves-sandbox.yaml")).unwrap();
    // A text goes into every property.
    let (before, _) = evaluator.split_once("patterns:").unwrap();
    let patterns = "patterns: [{name: Reads, template: '{{sandbox_private}}/secret.txt'}]\n";
    fs::write(evaluators.join("leaves-sandbox.yaml"), format!("{before}{patterns}")).unwrap();
    let server = root.join("docs/examples/notes-server.sh");
    let ended = sortie_in(folder.path())
        .args(["run", "leaves-sandbox", "--evaluators", "evaluators", "--format", "json", "--target"])
        .arg(format!("mcp=stdio:sh {}", server.display()))
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let cases = report["runs"].as_array().unwrap();
    assert!(!cases.is_empty(), "{report:#}");
    for case in cases {
        assert_eq!(case["verdict"]["result"], "not_applicable", "{case:#}");
        assert_eq!(case["verdict"]["reason"], "it needs what a sandbox holds: `--sandbox`");
    }
    assert_eq!(report.get("sandbox"), None);
}
