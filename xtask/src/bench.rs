//! `cargo xtask bench`: the benchmark workspaces, which alone know the rival crate and axum.

use std::process::Command;

use crate::step::{Failure, Runner, cargo, root};

const MANIFEST: &str = "bench/Cargo.toml";
const WIRE: &str = "bench/wire/Cargo.toml";
const EVALUATORS: &str = "bench/evaluators/Cargo.toml";
const RUNS: &str = "bench/runs/Cargo.toml";
const LSP: &str = "bench/lsp/Cargo.toml";
const SCAN: &str = "bench/scan/Cargo.toml";

pub(crate) fn run(runner: &mut Runner, quick: bool) -> Result<(), Failure> {
    library(
        runner,
        "bench",
        MANIFEST,
        "a ratio below its bar, or verdicts that differ: see the table above",
        quick,
    )
}

/// `cargo xtask bench lsp`: a keystroke in a long document, beside a full check.
pub(crate) fn lsp(runner: &mut Runner, quick: bool) -> Result<(), Failure> {
    library(runner, "bench lsp", LSP, "a keystroke takes longer than it may: see the table above", quick)
}

/// `cargo xtask bench scan`: a gigabyte of traffic, against an engine for Sigma rules. Its parser asks for a later compiler than it needs. It is
/// not compiled with the tests, since the rival takes minutes. `SORTIE_ATR` names a folder of Agent Threat Rules, which are rules then too.
pub(crate) fn scan(runner: &mut Runner, quick: bool) -> Result<(), Failure> {
    let mut command =
        cargo(["run", "--release", "--quiet", "--ignore-rust-version", "--manifest-path", SCAN, "--"]);
    if quick {
        command.arg("--quick");
    }
    match std::env::var("SORTIE_ATR") {
        Ok(folder) => {
            command.arg(format!("atr={folder}"));
        }
        Err(_) => runner.leave_out("Agent Threat Rules (SORTIE_ATR names their folder)"),
    }
    runner.command("bench scan", &mut command, "a rate below its bar: see the table above")
}

/// What is measured within the benchmark itself.
fn library(
    runner: &mut Runner,
    name: &'static str,
    manifest: &str,
    help: &str,
    quick: bool,
) -> Result<(), Failure> {
    let mut command = cargo(["run", "--release", "--quiet", "--manifest-path", manifest, "--"]);
    if quick {
        command.arg("--quick");
    }
    runner.command(name, &mut command, help)
}

/// `cargo xtask bench wire`: the program as it is shipped, against a bare handler.
pub(crate) fn wire(runner: &mut Runner, quick: bool) -> Result<(), Failure> {
    shipped(runner, "bench wire", WIRE, quick)
}

/// `cargo xtask bench wrap`: a server of the peers, direct and with the program as it is shipped in the middle.
pub(crate) fn wrap(runner: &mut Runner, quick: bool) -> Result<(), Failure> {
    shipped_with(runner, "bench wrap", WIRE, &["wrap"], quick)
}

/// `cargo xtask bench evaluators`: the program as it is shipped, against a YAML parser.
pub(crate) fn evaluators(runner: &mut Runner, quick: bool) -> Result<(), Failure> {
    shipped(runner, "bench evaluators", EVALUATORS, quick)
}

/// `cargo xtask bench runs`: the program as it is shipped, against what its target takes alone.
pub(crate) fn runs(runner: &mut Runner, quick: bool) -> Result<(), Failure> {
    shipped(runner, "bench runs", RUNS, quick)
}

/// `cargo xtask bench campaigns`: the program as it is shipped, twice against the same agents.
pub(crate) fn campaigns(runner: &mut Runner, quick: bool) -> Result<(), Failure> {
    shipped_with(runner, "bench campaigns", RUNS, &["campaigns"], quick)
}

/// `cargo xtask bench imports`: recordings of other programs, judged with the whole library, over a bare parse.
pub(crate) fn imports(runner: &mut Runner, quick: bool) -> Result<(), Failure> {
    shipped_with(runner, "bench imports", RUNS, &["imports"], quick)
}

/// `cargo xtask bench watch`: `sortie watch` behind a real `nats-server`, ten minutes at full rate with kills of both, against a scan.
pub(crate) fn watch(runner: &mut Runner, quick: bool) -> Result<(), Failure> {
    let server = std::env::var("SORTIE_NATS_SERVER").unwrap_or_else(|_| "nats-server".to_owned());
    // Tests that need a server first: what they find in seconds, the long run finds late.
    let help = "`nats-server` is in Debian's package of that name; SORTIE_NATS_SERVER names another one";
    let mut tests = cargo(["test", "--quiet", "--package", "sortie-watch", "--features", "nats"]);
    tests.args(["--test", "it", "--", "--include-ignored"]).env("SORTIE_NATS_SERVER", &server);
    runner.command("tests with a server", &mut tests, help)?;
    // Both in one go, so that what they share is built once.
    let mut build = cargo(["build", "--release", "--package", "sortie", "--package", "sortie-watch"]);
    build.args(["--features", "sortie/nats,sortie-watch/nats", "--bin", "sortie", "--example", "soak"]);
    runner.command("build", &mut build, "the program does not compile")?;
    let mut command = Command::new(root().join("target/release/examples/soak"));
    // It starts the program in other folders.
    command.arg(root().join("target/release/sortie")).arg(server).current_dir(root());
    command.arg(if quick { "60" } else { "600" });
    runner.command("bench watch", &mut command, help)
}

fn shipped(runner: &mut Runner, name: &'static str, manifest: &str, quick: bool) -> Result<(), Failure> {
    shipped_with(runner, name, manifest, &[], quick)
}

fn shipped_with(
    runner: &mut Runner,
    name: &'static str,
    manifest: &str,
    words: &[&str],
    quick: bool,
) -> Result<(), Failure> {
    runner.command(
        "build",
        &mut cargo(["build", "--release", "--quiet", "--package", "sortie"]),
        "the program does not compile",
    )?;
    let mut command = cargo(["run", "--release", "--quiet", "--manifest-path", manifest, "--"]);
    command.arg("target/release/sortie").args(words);
    if quick {
        command.arg("--quick");
    }
    runner.command(name, &mut command, "a bar that is not met: see the table above")
}

pub(crate) fn format(runner: &mut Runner) -> Result<(), Failure> {
    for (name, manifest) in [
        ("format (bench)", MANIFEST),
        ("format (bench wire)", WIRE),
        ("format (bench evaluators)", EVALUATORS),
        ("format (bench runs)", RUNS),
        ("format (bench lsp)", LSP),
        ("format (bench scan)", SCAN),
    ] {
        runner.command(
            name,
            &mut cargo(["fmt", "--manifest-path", manifest, "--check"]),
            &format!("run `cargo fmt --manifest-path {manifest}`"),
        )?;
    }
    Ok(())
}

/// Benchmarks are no tests, but they must keep compiling.
pub(crate) fn check(runner: &mut Runner) -> Result<(), Failure> {
    for (name, manifest) in [
        ("clippy (bench)", MANIFEST),
        ("clippy (bench wire)", WIRE),
        ("clippy (bench evaluators)", EVALUATORS),
        ("clippy (bench runs)", RUNS),
        ("clippy (bench lsp)", LSP),
    ] {
        runner.command(
            name,
            &mut cargo([
                "clippy",
                "--quiet",
                "--manifest-path",
                manifest,
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ]),
            "bench/src/ours.rs is the only file that knows our API",
        )?;
    }
    Ok(())
}
