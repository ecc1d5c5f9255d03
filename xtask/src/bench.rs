//! `cargo xtask bench`: the benchmark workspace, which alone knows the rival crate.

use crate::step::{Failure, Runner, cargo};

const MANIFEST: &str = "bench/Cargo.toml";

pub(crate) fn run(runner: &mut Runner, quick: bool) -> Result<(), Failure> {
    let mut command = cargo(["run", "--release", "--quiet", "--manifest-path", MANIFEST, "--"]);
    if quick {
        command.arg("--quick");
    }
    runner.command(
        "bench",
        &mut command,
        "a ratio below its bar, or verdicts that differ: see the table above",
    )
}

pub(crate) fn format(runner: &mut Runner) -> Result<(), Failure> {
    runner.command(
        "format (bench)",
        &mut cargo(["fmt", "--manifest-path", MANIFEST, "--check"]),
        "run `cargo fmt --manifest-path bench/Cargo.toml`",
    )
}

/// Benchmarks are no tests, but they must keep compiling.
pub(crate) fn check(runner: &mut Runner) -> Result<(), Failure> {
    runner.command(
        "clippy (bench)",
        &mut cargo([
            "clippy",
            "--quiet",
            "--manifest-path",
            MANIFEST,
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
        "bench/src/ours.rs is the only file that knows our API",
    )
}
