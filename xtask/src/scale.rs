//! `cargo xtask scale`: the workspace for `DataFusion` and Ballista, which takes long to build: its lints, its tests, and whether every way to
//! scan traces finds the same.

use crate::step::{Failure, Runner, cargo};

const MANIFEST: &str = "scale/Cargo.toml";
/// Messages that are scanned in every way, and those of a quick run.
const MESSAGES: [&str; 2] = ["1000000", "50000"];

pub(crate) fn run(runner: &mut Runner, quick: bool) -> Result<(), Failure> {
    format(runner)?;
    // With the profile of what is measured: the dependencies are built once.
    runner.command(
        "scale lints",
        &mut cargo([
            "clippy",
            "--release",
            "--manifest-path",
            MANIFEST,
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
        "mend what is named above",
    )?;
    runner.command(
        "scale tests",
        &mut cargo(["test", "--release", "--manifest-path", MANIFEST, "--workspace"]),
        "see the test above",
    )?;
    runner.command(
        "sortie",
        &mut cargo(["build", "--release", "--package", "sortie"]),
        "see the message above",
    )?;
    let messages = MESSAGES[usize::from(quick)];
    runner.command(
        "scale",
        &mut cargo([
            "run",
            "--release",
            "--quiet",
            "--manifest-path",
            MANIFEST,
            "--package",
            "sortie-scale-check",
            "--",
            "--sortie",
            "target/release/sortie",
            "--messages",
            messages,
        ]),
        "a way to scan finds something else: see the rows above",
    )
}

/// Its format is checked with that of the others.
pub(crate) fn format(runner: &mut Runner) -> Result<(), Failure> {
    runner.command(
        "scale format",
        &mut cargo(["fmt", "--manifest-path", MANIFEST, "--all", "--check"]),
        "run `cargo fmt --manifest-path scale/Cargo.toml --all`",
    )
}
