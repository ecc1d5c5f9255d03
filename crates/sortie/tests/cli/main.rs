//! The real program, from its arguments to its exit code.

// `SNAPSHOTS=overwrite` writes them so.
#![allow(clippy::needless_raw_string_hashes)]

#[cfg(unix)]
mod baseline;
#[cfg(unix)]
mod build_jobs;
mod certificates;
mod check;
mod check_inputs;
#[cfg(unix)]
mod compare;
mod completions;
mod conformance;
#[cfg(unix)]
mod demo;
mod eval;
mod evaluators;
mod explain;
mod extension;
mod fix;
mod fmt;
#[cfg(unix)]
mod freeze;
mod help_examples;
mod import;
mod library;
mod new;
mod normalize;
mod practice_servers;
mod prove;
#[cfg(unix)]
mod record;
#[cfg(unix)]
mod recorded;
mod recordings;
#[cfg(unix)]
mod rule_goldens;
#[cfg(unix)]
mod run;
mod scan;
mod schema;
mod scripted;
mod semantic;
mod server_tools;
#[cfg(unix)]
mod setup;
mod trace;
mod watch;
mod wrap;

use std::path::{Path, PathBuf};

use snapbox::Data;
use snapbox::cmd::Command;

/// The program, in a folder, with nothing in its environment that changes what it prints.
fn sortie_in(folder: impl AsRef<Path>) -> Command {
    Command::new(snapbox::cmd::cargo_bin!("sortie"))
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("CLICOLOR")
        .env_remove("CI")
}

/// The program among the fixtures.
fn sortie() -> Command {
    sortie_in(fixtures())
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn fixtures() -> PathBuf {
    tests().join("fixtures")
}

/// The trace that the docs show: a rug pull, and an agent that falls for it.
fn example_trace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/rug-pull.jsonl")
}

/// A golden file, compared to the byte. `SNAPSHOTS=overwrite` writes it.
fn golden(name: &str) -> Data {
    Data::read_from(&tests().join("golden").join(name), None).raw()
}

fn stdout(command: Command) -> String {
    String::from_utf8(command.output().expect("the program starts").stdout).expect("UTF-8")
}
