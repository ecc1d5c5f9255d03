//! A folder in which commands of the docs run, as if it were a checkout, without changing the real one.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a reader who follows the docs has in front of them.
const COPIED: &[&str] = &["README.md", "docs", "examples", "fixtures"];

/// Stands in for Cargo:
/// - `cargo run [--release] -- ARGS` starts the program this test run has built, instead of building it again;
/// - `cargo xtask TASK …` starts the real xtask in the real checkout, which checks its arguments and says what
///   it would run, but runs nothing: `cargo xtask test` is what runs this test;
/// - anything else is refused, since nobody would know whether it works.
const CARGO: &str = r#"#!/bin/sh
case "$1" in
run)
    shift
    [ "$1" = --release ] && shift
    [ "$1" = -- ] && shift
    exec sortie "$@" ;;
xtask)
    cd "$SORTIE_DOCS_ROOT" && "$SORTIE_DOCS_CARGO" "$@" --dry-run >/dev/null ;;
*)
    echo "the docs test has no stand-in for: cargo $*"
    exit 99 ;;
esac
"#;

pub(crate) struct Sandbox {
    root: PathBuf,
    folder: PathBuf,
    bin: PathBuf,
}

pub(crate) struct Ran {
    pub(crate) code: i32,
    /// Both streams, in the order they were written in.
    pub(crate) output: String,
}

impl Sandbox {
    pub(crate) fn new(root: &Path, name: &str) -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("docs").join(name.replace('/', "+"));
        let _ = std::fs::remove_dir_all(&base);
        let sandbox = Self { root: root.to_owned(), folder: base.join("sortie"), bin: base.join("bin") };
        std::fs::create_dir_all(&sandbox.folder).unwrap();
        std::fs::create_dir_all(&sandbox.bin).unwrap();
        for part in COPIED {
            copy(&root.join(part), &sandbox.folder.join(part));
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sortie"), sandbox.bin.join("sortie")).unwrap();
        let cargo = sandbox.bin.join("cargo");
        std::fs::write(&cargo, CARGO).unwrap();
        std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
        sandbox
    }

    pub(crate) fn run(&self, command: &str) -> Ran {
        let mut path = self.bin.clone().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .current_dir(&self.folder)
            .env("PATH", path)
            .env("SORTIE_DOCS_ROOT", &self.root)
            .env("SORTIE_DOCS_CARGO", std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into()))
            .envs([("NO_COLOR", "1"), ("COLUMNS", "100"), ("LC_ALL", "C.UTF-8")])
            .env_remove("SORTIE_FIXTURES")
            .env_remove("SNAPSHOTS")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
        }
    }
}

/// Copies a file or a folder; what is not there is not copied.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().flatten() {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else if from.is_file() {
        std::fs::copy(from, to).unwrap();
    }
}
