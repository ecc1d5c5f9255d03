//! The hooks for pre-commit, installed from this repository and from the wheel by pre-commit itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::facts::{broken, create_folder, output};

const GOOD: &str = include_str!("../../examples/mcp-tool-description.yaml");
/// What makes the document one that `sortie check` refuses.
const BREAK: (&str, &str) = ("oatf:", "oaft:");

/// Commits a document that is sound, and one that is not, in a new repository with the hook `sortie-check`.
///
/// The hooks are those of the last commit, as for everyone who uses them.
pub(crate) fn check_hooks(wheel: &Path, clean: &Path) -> Result<(), Error> {
    let place = create_folder(&clean.join("hooks"))?;
    let venv = place.join("venv");
    output(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    output(Command::new(venv.join("bin/pip")).args(["install", "--quiet", "pre-commit>=4,<5"]))?;
    // The hook is installed offline: from the wheel of this release, and what builds a package of Python.
    let packages = create_folder(&place.join("packages"))?;
    let mut download = Command::new(venv.join("bin/pip"));
    output(download.args(["download", "--quiet", "--no-deps", "setuptools>=77", "--dest"]).arg(&packages))?;
    let copy = packages.join(wheel.file_name().unwrap_or_default());
    fs::copy(wheel, &copy).map_err(|source| Error::File { path: copy, source })?;

    let hooks = Hooks { venv, packages, repository: create_folder(&place.join("repository"))?, place };
    hooks.write_settings()?;
    hooks.write("attack.yaml", GOOD)?;
    let (passed, said) = hooks.run()?;
    if !passed {
        return Err(broken("hooks", format!("a sound document is refused\n{said}")));
    }
    hooks.write("attack.yaml", &GOOD.replacen(BREAK.0, BREAK.1, 1))?;
    let (passed, said) = hooks.run()?;
    if passed || !said.contains("attack.yaml") {
        return Err(broken("hooks", format!("a broken document is not refused, or not named\n{said}")));
    }
    println!("    hooks: pre-commit installed them from the wheel; a broken document is refused");
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

    /// A repository that uses the hook of this one.
    fn write_settings(&self) -> Result<(), Error> {
        let commit = output(Command::new("git").args(["rev-parse", "HEAD"]))?;
        let here = output(Command::new("git").args(["rev-parse", "--show-toplevel"]))?;
        let [commit, here] =
            [commit, here].map(|printed| String::from_utf8_lossy(&printed).trim().to_owned());
        self.write(
            ".pre-commit-config.yaml",
            &format!("repos:\n  - repo: {here}\n    rev: {commit}\n    hooks:\n      - id: sortie-check\n"),
        )?;
        output(Command::new("git").args(["init", "--quiet"]).current_dir(&self.repository)).map(drop)
    }

    /// Whether the hook lets everything pass, and what it says.
    fn run(&self) -> Result<(bool, String), Error> {
        output(Command::new("git").args(["add", "--all"]).current_dir(&self.repository))?;
        let mut run = Command::new(self.venv.join("bin/pre-commit"));
        run.args(["run", "--all-files", "--verbose"]).current_dir(&self.repository);
        run.env("PRE_COMMIT_HOME", self.place.join("cache"));
        run.env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", &self.packages);
        let ran = run.output().map_err(|error| broken("hooks", error.to_string()))?;
        let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
        Ok((ran.status.success(), said))
    }
}
