//! `cargo xtask site`: `docs/` as a site with search, in `target/site`.
//!
//! mdBook renders a copy of the pages in `target/book`. The copy adds what the program says about itself (help, lists,
//! schemas), and its links stay within the site. A warning of mdBook and a dead link are failures.

mod book;
mod links;
mod reference;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::step::{Failure, Runner, cargo, is_installed, root};

/// The version that the pages were looked at with.
const VERSION: &str = "0.5.4";

/// Builds the site. mdBook is installed first where it is missing.
pub(crate) fn run(runner: &mut Runner) -> Result<(), Failure> {
    if !has_mdbook() {
        let mut install = cargo(["install", "mdbook", "--locked", "--version", VERSION]);
        install.args(["--no-default-features", "--features", "search", "--root"]).arg(tools());
        runner.command(
            "mdbook (install)",
            &mut install,
            "mdBook comes from crates.io: is there a network?",
        )?;
    }
    build(runner)
}

/// Builds the site as a part of the tests. Installing mdBook takes minutes, so it is left out where it is missing.
pub(crate) fn test(runner: &mut Runner) -> Result<(), Failure> {
    if has_mdbook() {
        return build(runner);
    }
    runner.leave_out("the site (no mdBook: `cargo xtask site` installs it)");
    Ok(())
}

fn build(runner: &mut Runner) -> Result<(), Failure> {
    runner.command(
        "program",
        &mut cargo(["build", "--quiet", "--package", "sortie"]),
        "the program does not compile",
    )?;
    runner.step("book", "write target/book", || book::write(&folder("book")))?;
    runner.step("mdbook", "render target/site", render)?;
    runner.step("links", "follow every link of target/site", || links::check(&folder("site")))
}

/// Runs mdBook, and refuses its warnings.
fn render() -> Result<(), String> {
    let mut mdbook = Command::new(mdbook());
    mdbook.arg("build").arg(folder("book")).arg("--dest-dir").arg(folder("site")).stdin(Stdio::null());
    let output = mdbook.output().map_err(|error| format!("mdBook cannot be started: {error}"))?;
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let is_clean = output.status.success() && !told.contains("WARN") && !told.contains("ERROR");
    if is_clean { Ok(()) } else { Err(format!("mdBook is not content:\n{told}")) }
}

fn has_mdbook() -> bool {
    is_installed(Command::new(mdbook()).arg("--version"))
}

/// The one that `cargo xtask site` installed, or else the one that is in the path.
fn mdbook() -> PathBuf {
    let own = tools().join("bin/mdbook");
    if own.is_file() { own } else { PathBuf::from("mdbook") }
}

fn tools() -> PathBuf {
    folder("tools")
}

fn folder(name: &str) -> PathBuf {
    root().join("target").join(name)
}
