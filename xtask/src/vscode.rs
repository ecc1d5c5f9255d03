//! `cargo xtask vscode`: the extension for VS Code as a file that can be installed, and its test.

use std::process::Command;

use crate::step::{Failure, Runner, cargo, root};

/// Where the extension is written.
const FILE: &str = "target/vscode/sortie.vsix";
const OFFLINE: &str = "the extension needs npm packages: is there a network, and is npm configured for it?";

pub(crate) fn run(runner: &mut Runner) -> Result<(), Failure> {
    runner.command(
        "build",
        &mut cargo(["build", "--quiet", "--package", "sortie"]),
        "the program does not compile",
    )?;
    let extension = root().join("editors/vscode");
    let mut packages = Command::new("npm");
    packages.args(["ci", "--ignore-scripts", "--omit=dev"]).current_dir(&extension);
    runner.command("packages", &mut packages, OFFLINE)?;
    runner.step("folder", "make target/vscode", || {
        std::fs::create_dir_all(root().join("target/vscode")).map_err(|error| error.to_string())
    })?;
    let mut pack = Command::new("python3");
    pack.arg(extension.join("package.py")).args(["target/debug/sortie", FILE]).current_dir(root());
    runner.command("pack", &mut pack, "see the message above")?;
    let mut test = cargo(["test", "--quiet", "--package", "sortie", "--test", "peers", "vscode"]);
    test.args(["--", "--include-ignored"]).env("SORTIE_VSIX", root().join(FILE));
    runner.command("test", &mut test, "the extension is not what it should be")
}
