//! The hooks for pre-commit, installed from this repository and from the wheel by pre-commit itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::facts::{broken, create_folder, output, read_text};

const GOOD: &str = include_str!("../../examples/mcp-tool-description.yaml");
/// What makes the document one that `sortie check` refuses.
const BREAK: (&str, &str) = ("oatf:", "oaft:");

/// The hooks of this repository.
const HOOKS: [&str; 4] =
    ["sortie-check", "sortie-evaluators-check", "sortie-evaluators-test", "sortie-evaluators-catalog"];

/// Runs every hook in a new repository, on a document and an evaluator that are sound, and on the same with a mistake in each.
///
/// The hooks are those of the last commit, as for everyone who uses them.
pub(crate) fn check_hooks(wheel: &Path, clean: &Path) -> Result<(), Error> {
    let place = create_folder(&clean.join("hooks"))?;
    let venv = place.join("venv");
    output(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    output(Command::new(venv.join("bin/pip")).args(["install", "--quiet", "pre-commit>=4,<5"]).arg(wheel))?;
    // The hook is installed offline: from the wheel of this release, and what builds a package of Python.
    let packages = create_folder(&place.join("packages"))?;
    let mut download = Command::new(venv.join("bin/pip"));
    output(download.args(["download", "--quiet", "--no-deps", "setuptools>=77", "--dest"]).arg(&packages))?;
    let copy = packages.join(wheel.file_name().unwrap_or_default());
    fs::copy(wheel, &copy).map_err(|source| Error::File { path: copy, source })?;

    let hooks = Hooks { venv, packages, repository: create_folder(&place.join("repository"))?, place };
    hooks.write_settings()?;
    hooks.write("attack.yaml", GOOD)?;
    hooks.sortie(&["evaluators", "new", "leaks-notes", "--output", "evaluators"])?;
    let catalogue = ["--evaluators", "evaluators", "--without-bundled", "--out", "catalog"];
    hooks.sortie(&[&["evaluators", "catalog"], &catalogue[..]].concat())?;
    hooks.expect("Passed")?;
    hooks.write("attack.yaml", &GOOD.replacen(BREAK.0, BREAK.1, 1))?;
    let evaluator = "evaluators/agent/leaks-notes.yaml";
    let text = read_text(&hooks.repository.join(evaluator))?;
    hooks.write(evaluator, &text.replacen("\nseverity: ", "\nseverity: not-", 1))?;
    hooks.expect("Failed")?;
    println!(
        "    hooks: pre-commit installed them from the wheel; each of {} refuses a mistake",
        HOOKS.len()
    );
    Ok(())
}

struct Hooks {
    venv: PathBuf,
    packages: PathBuf,
    repository: PathBuf,
    place: PathBuf,
}

impl Hooks {
    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.repository.join(name);
        fs::write(&path, text).map_err(|source| Error::File { path, source })
    }

    /// Runs the program of the wheel in the repository.
    fn sortie(&self, arguments: &[&str]) -> Result<(), Error> {
        let mut command = Command::new(self.venv.join("bin/sortie"));
        output(command.args(arguments).current_dir(&self.repository)).map(drop)
    }

    /// A repository that uses the hooks of this one.
    fn write_settings(&self) -> Result<(), Error> {
        let commit = output(Command::new("git").args(["rev-parse", "HEAD"]))?;
        let here = output(Command::new("git").args(["rev-parse", "--show-toplevel"]))?;
        let [commit, here] =
            [commit, here].map(|printed| String::from_utf8_lossy(&printed).trim().to_owned());
        let hooks = HOOKS.map(|id| format!("      - id: {id}\n")).concat();
        self.write(
            ".pre-commit-config.yaml",
            &format!("repos:\n  - repo: {here}\n    rev: {commit}\n    hooks:\n{hooks}"),
        )?;
        output(Command::new("git").args(["init", "--quiet"]).current_dir(&self.repository)).map(drop)
    }

    /// Runs all hooks, each of which has to end with this word.
    fn expect(&self, word: &str) -> Result<(), Error> {
        let said = self.run()?;
        let ended = said.lines().filter(|line| line.ends_with(&format!(".{word}"))).count();
        if ended == HOOKS.len() {
            return Ok(());
        }
        Err(broken("hooks", format!("{ended} of {} end with `{word}`\n{said}", HOOKS.len())))
    }

    /// What pre-commit says about everything in the repository.
    fn run(&self) -> Result<String, Error> {
        output(Command::new("git").args(["add", "--all"]).current_dir(&self.repository))?;
        let mut run = Command::new(self.venv.join("bin/pre-commit"));
        run.args(["run", "--all-files", "--verbose"]).current_dir(&self.repository);
        run.env("PRE_COMMIT_HOME", self.place.join("cache"));
        run.env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", &self.packages);
        let ran = run.output().map_err(|error| broken("hooks", error.to_string()))?;
        Ok(String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr))
    }
}
