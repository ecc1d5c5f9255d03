//! `cargo xtask python`: the wheel with the program and the module, and its tests in a fresh environment.
//!
//! Its tests start the program of the wheel, so that both are tested as they are installed. `cargo xtask release` packs the same
//! project with the program as it is shipped.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peers::{self, PythonTools};
use crate::step::{Failure, Runner, cargo, is_installed, root, target_folder};

/// The project that maturin builds.
const PROJECT: &str = "python";
const MANIFEST: &str = "python/Cargo.toml";
/// Wheels and environments.
const FOLDER: &str = "target/python";
/// The program in the project, which the wheel installs as a script.
const PROGRAM: &str = "python/sortie.data/scripts/sortie";
/// The versions that are looked for; one is enough.
const VERSIONS: [&str; 5] = ["3.11", "3.12", "3.13", "3.14", "3.15"];
/// Examples, and the environments of the peers that have their frameworks.
const EXAMPLES: [(&str, &str); 2] = [("pydantic", "test_pydantic_ai.py"), ("langchain", "test_langchain.py")];
const FAILED: &str = "the first `FAILED` above says which";

/// Builds the wheel, and tests it with every Python there is.
pub(crate) fn run(runner: &mut Runner) -> Result<(), Failure> {
    let tools = peers::python_tools(runner)?;
    peers::run(runner)?;
    check(runner)?;
    stage_stripped(runner)?;
    let wheels = root().join(FOLDER).join("wheels");
    let mut build = maturin(runner, &tools, &wheels)?;
    // For this machine: nobody else gets it.
    build.args(["--profile", "dev", "--compatibility", "linux"]);
    runner.command("wheel", &mut build, "the module does not compile")?;
    let pythons = pythons();
    if pythons.is_empty() && !runner.is_dry_run() {
        return Err(Failure::Step("there is no Python 3.11 or later on PATH".into()));
    }
    for (version, python) in &pythons {
        let environment = environment(runner, &tools, version, python, &wheels)?;
        let mut tests = Command::new(environment.join("bin/pytest"));
        tests.args(["-q", "-p", "no:cacheprovider", "tests"]).current_dir(root().join(PROJECT));
        runner.command("tests", &mut tests, FAILED)?;
        for (name, example) in EXAMPLES {
            let packages = peers::folder().join(format!("{name}/lib/python{version}/site-packages"));
            // The peers are for one Python.
            if packages.is_dir() {
                let mut tests = Command::new(environment.join("bin/pytest"));
                tests.args(["-q", "-p", "no:cacheprovider"]).arg(format!("examples/{example}"));
                tests.env("PYTHONPATH", packages).current_dir(root().join(PROJECT));
                runner.command("examples", &mut tests, FAILED)?;
            }
        }
    }
    if pythons.len() == 1 {
        runner.leave_out("a second version of Python (put `python3.12` or a later one on PATH)");
    }
    Ok(())
}

/// `cargo xtask bench python`: `evaluate` from Python beside the same in Rust, both optimised.
pub(crate) fn bench(runner: &mut Runner, quick: bool) -> Result<(), Failure> {
    let tools = peers::python_tools(runner)?;
    stage_stripped(runner)?;
    let wheels = root().join(FOLDER).join("bench");
    let mut build = maturin(runner, &tools, &wheels)?;
    build.args(["--release", "--compatibility", "linux"]);
    runner.command("wheel", &mut build, "the module does not compile")?;
    let pythons = pythons();
    let Some((version, python)) = pythons.first() else {
        return Err(Failure::Step("there is no Python 3.11 or later on PATH".into()));
    };
    let environment = environment(runner, &tools, version, python, &wheels)?;
    let mut bench = cargo(["run", "--release", "--quiet", "--manifest-path", "python/bench/Cargo.toml"]);
    bench.args(["--target-dir", "target", "--"]).arg(environment.join("bin/python"));
    bench.args(quick.then_some("--quick"));
    runner.command("bench", &mut bench, "see the message above")
}

/// The wheel as it is shipped: a program, and the module for a target. Gives where it is.
pub(crate) fn release(
    runner: &mut Runner,
    program: &Path,
    target: &str,
    prefixes: &[String],
) -> Result<PathBuf, Failure> {
    let tools = peers::python_tools(runner)?;
    stage(runner, program)?;
    let wheels = root().join("target/ship/wheel");
    let mut build = maturin(runner, &tools, &wheels)?;
    // maturin reads the symbols of the module, and names the oldest C library that has them.
    build.args(["--profile", "dist", "--target", target, "--compression-level", "9"]);
    let flags: Vec<String> = prefixes.iter().map(|prefix| format!("--remap-path-prefix={prefix}")).collect();
    build.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    let flags: Vec<String> = prefixes.iter().map(|prefix| format!("-ffile-prefix-map={prefix}")).collect();
    build.env("CFLAGS", flags.join(" "));
    runner.command("wheel", &mut build, "the module does not compile for this target")?;
    Ok(wheels)
}

/// Lints the module. Everything else about it is tested from Python.
fn check(runner: &mut Runner) -> Result<(), Failure> {
    let mut clippy = cargo(["clippy", "--quiet", "--manifest-path", MANIFEST, "--target-dir", "target"]);
    clippy.args(["--workspace", "--", "-D", "warnings"]);
    runner.command("clippy (python)", &mut clippy, "mend the warnings above")
}

pub(crate) fn format(runner: &mut Runner) -> Result<(), Failure> {
    let mut format = cargo(["fmt", "--manifest-path", MANIFEST, "--check"]);
    format.args(["--package", "sortie-python", "--package", "sortie-python-bench"]);
    runner.command("format (python)", &mut format, "run `cargo fmt` in `python/`, and in `python/bench/`")
}

/// Puts the program into the project, as it is.
fn stage(runner: &mut Runner, program: &Path) -> Result<(), Failure> {
    let staged = root().join(PROGRAM);
    runner.step("stage", "copy the program into the project", || {
        let folder = staged.parent().unwrap_or(&staged);
        std::fs::create_dir_all(folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
        std::fs::copy(program, &staged).map_err(|error| format!("`{}`: {error}", program.display()))?;
        Ok(())
    })
}

/// The program as it was built for tests, without what only a debugger reads: it would take most of the wheel.
fn stage_stripped(runner: &mut Runner) -> Result<(), Failure> {
    let build = &mut cargo(["build", "--quiet", "--package", "sortie"]);
    runner.command("program", build, "it does not compile")?;
    stage(runner, &root().join("target/debug/sortie"))?;
    let mut strip = Command::new("objcopy");
    strip.arg("--strip-debug").arg(root().join(PROGRAM));
    runner.command("strip", &mut strip, "`objcopy` is part of binutils, as the linker is")
}

/// maturin, which writes one wheel into a folder that holds nothing else.
fn maturin(runner: &mut Runner, tools: &PythonTools, wheels: &Path) -> Result<Command, Failure> {
    runner.step("clean", "remove the wheel of former times", || match std::fs::remove_dir_all(wheels) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(format!("`{}`: {error}", wheels.display())),
        _ => Ok(()),
    })?;
    let mut command = Command::new(tools.maturin());
    command.args(["build", "--quiet", "--locked", "--manifest-path", MANIFEST, "--target-dir"]);
    command.arg(target_folder()).arg("--out").arg(wheels).current_dir(root());
    Ok(command)
}

/// A fresh environment with pytest, mypy and the wheel.
fn environment(
    runner: &mut Runner,
    tools: &PythonTools,
    version: &str,
    python: &Path,
    wheels: &Path,
) -> Result<PathBuf, Failure> {
    let folder = root().join(FOLDER).join(version);
    let uv = |words: &[&str]| {
        let mut command = Command::new(tools.uv());
        command.args(words).current_dir(root());
        command
    };
    let mut make = uv(&["venv", "--quiet", "--clear", "--no-python-downloads", "--python"]);
    runner.command("environment", make.arg(python).arg(&folder), "it needs Python 3.11 or later")?;
    let mut install = uv(&["pip", "sync", "--quiet", "--require-hashes", "--python"]);
    install.arg(&folder).arg("peers/python/wheel-tests.txt");
    runner.command("environment", &mut install, "pytest and mypy come from PyPI: is there a network?")?;
    let mut install = uv(&["pip", "install", "--quiet", "--no-deps", "--no-index", "--find-links"]);
    install.arg(wheels).args(["--python"]).arg(&folder).arg("sortie");
    runner.command("environment", &mut install, "the wheel does not fit this Python")?;
    Ok(folder)
}

/// The Pythons on `PATH` that the module is for, by version.
fn pythons() -> Vec<(&'static str, PathBuf)> {
    let named = VERSIONS.into_iter().filter_map(|version| {
        let name = format!("python{version}");
        is_installed(Command::new(&name).arg("--version")).then(|| (version, name.into()))
    });
    let mut found: Vec<(&str, PathBuf)> = named.collect();
    if found.is_empty() {
        // Some systems have no name with a version.
        let printed = Command::new("python3").arg("--version").output();
        let printed =
            printed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let fits = |version: &&str| printed.starts_with(&format!("Python {version}."));
        found.extend(VERSIONS.into_iter().find(fits).map(|version| (version, "python3".into())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_has_the_version_of_the_program() {
        let version = |manifest: &str, table: &str| {
            let text = std::fs::read_to_string(root().join(manifest)).unwrap();
            let table = text.split_once(&format!("[{table}]\n")).unwrap().1.to_owned();
            table.lines().find_map(|line| line.strip_prefix("version = ").map(str::to_owned)).unwrap()
        };
        assert_eq!(version(MANIFEST, "package"), version("Cargo.toml", "workspace.package"));
    }
}
