//! `sortie new`

use std::fs;

use crate::{sortie, sortie_in, stdout};

#[test]
fn every_starter_can_be_checked_without_a_finding() {
    for mode in sortie_bindings::known_modes() {
        let starter = stdout(sortie().args(["new", "--mode", mode]));
        assert!(starter.contains(&format!("mode: {mode}")), "{starter}");
        sortie()
            .args(["check", "--deny", "warnings", "-"])
            .stdin(starter)
            .assert()
            .code(0)
            .stdout_eq("1 file checked: no findings\n");
    }
}

/// What a starter is for: it is in order, obeyed by whoever obeys, and its indicators are proved, as it is.
#[cfg(unix)]
fn is_recorded_and_proved(mode: &str) {
    let folder = tempfile::tempdir().unwrap();
    let clean = |words: &[&str]| {
        let ended = sortie_in(folder.path()).args(words).output().unwrap();
        let said = [ended.stdout, ended.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        assert_eq!(ended.status.code(), Some(0), "{words:?}: {}\n{}", said[0], said[1]);
    };
    clean(&["new", "--mode", mode, "--output", "mine.yaml"]);
    clean(&["check", "--deny", "warnings", "mine.yaml"]);
    clean(&["prove", "mine.yaml", "--record"]);
    clean(&["prove", "mine.yaml"]);
    let text = fs::read_to_string(folder.path().join("mine.yaml")).unwrap();
    let is_server = mode.ends_with("_server");
    assert!(text.contains("    delivered:\n"), "{text}");
    assert_eq!(text.contains("    prompt: "), is_server, "a client gives the task itself: {text}");
}

#[cfg(unix)]
macro_rules! starters {
    ($($mode:ident),+) => {
        mod starter {
            $(#[test]
            fn $mode() {
                super::is_recorded_and_proved(stringify!($mode));
            })+

            #[test]
            fn every_mode_has_one() {
                let mut modes = [$(stringify!($mode)),+];
                modes.sort_unstable();
                let mut known = sortie_bindings::known_modes().to_vec();
                known.sort_unstable();
                assert_eq!(modes, known[..]);
            }
        }
    };
}

#[cfg(unix)]
starters!(mcp_server, mcp_client, a2a_server, a2a_client, ag_ui_client);

#[test]
fn a_file_is_written_and_never_overwritten_by_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let new =
        |arguments: &[&str]| sortie_in(folder.path()).args(["new", "--output", "a.yaml"]).args(arguments);
    new(&[]).assert().code(0).stdout_eq("").stderr_eq("note: wrote `a.yaml`; next: `sortie check a.yaml`\n");
    assert!(fs::read_to_string(folder.path().join("a.yaml")).unwrap().contains("mode: mcp_server"));
    new(&["--mode", "a2a_client"])
        .assert()
        .code(2)
        .stderr_eq("error: `a.yaml` exists\n  help: choose another name, or overwrite it with `--force`\n");
    assert!(fs::read_to_string(folder.path().join("a.yaml")).unwrap().contains("mode: mcp_server"));
    new(&["--mode", "a2a_client", "--force"]).assert().code(0);
    assert!(fs::read_to_string(folder.path().join("a.yaml")).unwrap().contains("mode: a2a_client"));
}

#[test]
fn what_cannot_be_written_is_said() {
    let folder = tempfile::tempdir().unwrap();
    sortie_in(folder.path())
        .args(["new", "--output", "no/such/a.yaml"])
        .assert()
        .code(2)
        .stderr_eq("error: cannot write `no/such/a.yaml`: its folder does not exist\n");
    sortie().args(["new", "--mode", "smtp_server"]).assert().code(2);
}
