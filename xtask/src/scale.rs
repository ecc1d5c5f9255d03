//! `cargo xtask scale`: the workspace for `DataFusion` and Ballista, which takes long to build: its lints, its tests, and whether every way to
//! scan traces finds the same.

use std::process::Command;

use crate::peers;
use crate::step::{Failure, Runner, cargo, root};

const MANIFEST: &str = "scale/Cargo.toml";
/// Messages that are scanned in every way, and those of a quick run.
const MESSAGES: [&str; 2] = ["1000000", "50000"];

pub(crate) fn run(runner: &mut Runner, quick: bool) -> Result<(), Failure> {
    format(runner)?;
    // All targets in one go and always the whole workspace: the features of dependencies are then the same, and they are built once.
    let build = ["build", "--release", "--manifest-path", MANIFEST, "--workspace", "--all-targets"];
    runner.command("scale build", &mut cargo(build), "see the message above")?;
    let mut lints =
        cargo(["clippy", "--release", "--manifest-path", MANIFEST, "--workspace", "--all-targets"]);
    runner.command("scale lints", lints.args(["--", "-D", "warnings"]), "mend what is named above")?;
    let tests = ["test", "--release", "--manifest-path", MANIFEST, "--workspace"];
    runner.command("scale tests", &mut cargo(tests), "see the test above")?;
    let program = ["build", "--release", "--package", "sortie"];
    runner.command("sortie", &mut cargo(program), "see the message above")?;
    let python = peers::run_scale(runner)?;
    let mut check = Command::new(root().join("scale/target/release/scale-check"));
    check.args(["--sortie", "target/release/sortie", "--messages", MESSAGES[usize::from(quick)], "--python"]);
    check.arg(python).current_dir(root());
    runner.command("scale", &mut check, "a way to scan finds something else: see the rows above")
}

/// Its format is checked with that of the others.
pub(crate) fn format(runner: &mut Runner) -> Result<(), Failure> {
    runner.command(
        "scale format",
        &mut cargo(["fmt", "--manifest-path", MANIFEST, "--all", "--check"]),
        "run `cargo fmt --manifest-path scale/Cargo.toml --all`",
    )
}
