//! `sortie completions`

use crate::{sortie, stdout};

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = stdout(sortie().args(["completions", shell]));
        assert!(
            script.contains("explain") && script.contains("--deny") || script.contains("deny"),
            "{shell}"
        );
    }
    sortie().args(["completions", "tcsh"]).assert().code(2);
}
