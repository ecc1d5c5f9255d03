//! Running commands, one after the other, and keeping account of them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Why a task ended early.
pub(crate) enum Failure {
    /// The command line makes no sense.
    Usage(String),
    /// A step failed.
    Step(String),
}

/// Runs steps, and remembers which ran and what was left out.
pub(crate) struct Runner {
    dry_run: bool,
    ran: Vec<&'static str>,
    left_out: Vec<String>,
}

impl Runner {
    pub(crate) fn new(dry_run: bool) -> Self {
        Self { dry_run, ran: Vec::new(), left_out: Vec::new() }
    }

    pub(crate) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Runs a command as a step. When it fails, `advice` says what to do.
    pub(crate) fn command(
        &mut self,
        name: &'static str,
        command: &mut Command,
        advice: &str,
    ) -> Result<(), Failure> {
        let line = shown(command);
        self.step(name, &line, || match command.stdin(Stdio::null()).status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("`{line}` ended with {status}\n  {advice}")),
            Err(error) => Err(format!("`{line}` could not be started: {error}\n  {advice}")),
        })
    }

    /// Runs a function as a step.
    pub(crate) fn step(
        &mut self,
        name: &'static str,
        what: &str,
        action: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), Failure> {
        println!("==> {name}: {what}");
        if !self.dry_run {
            let start = Instant::now();
            action().map_err(|error| Failure::Step(format!("step `{name}` failed: {error}")))?;
            println!("    {name} passed in {:.1} s", start.elapsed().as_secs_f64());
        }
        self.ran.push(name);
        Ok(())
    }

    /// Notes that something could not run here, and why.
    pub(crate) fn leave_out(&mut self, what: &str) {
        if !self.left_out.iter().any(|left_out| left_out == what) {
            self.left_out.push(what.to_owned());
        }
    }

    /// Says in one line what ran, and in another what did not.
    pub(crate) fn finish(&self, task: &str) {
        let verb = if self.dry_run { "would run" } else { "passed" };
        println!("\nxtask {task}: {} steps {verb}: {}", self.ran.len(), self.ran.join(", "));
        if self.left_out.is_empty() {
            println!("xtask {task}: nothing was left out");
        } else {
            println!("xtask {task}: LEFT OUT: {}", self.left_out.join("; "));
        }
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    // The parent of a manifest folder that Cargo itself named always exists.
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// Where Cargo builds.
pub(crate) fn target_folder() -> PathBuf {
    // `join` takes an absolute path as it is.
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The Cargo that started us, at the root of the repository, with these arguments.
pub(crate) fn cargo<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Whether a command runs at all, such as `cargo deny --version`.
pub(crate) fn is_installed(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A command as one would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or(command.get_program());
    std::iter::once(program)
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}
