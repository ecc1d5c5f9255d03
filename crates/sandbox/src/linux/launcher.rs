//! The programs that make namespaces.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the program that attacks is started with, to be the first process of a sandbox.
pub(crate) const INIT: &str = "sandbox-init";

/// How much of what a program says about its failure is told.
const MAX_WORDS: usize = 400;

/// A program that makes namespaces.
#[derive(Clone, Debug)]
pub(crate) struct Launcher {
    pub(crate) name: &'static str,
    path: PathBuf,
    options: &'static [&'static str],
}

const BWRAP: (&str, &[&str]) = (
    "bwrap",
    &[
        "--unshare-user",
        "--unshare-net",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--uid",
        "0",
        "--gid",
        "0",
        "--cap-add",
        "ALL",
        "--die-with-parent",
        "--as-pid-1",
        "--dev-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--",
    ],
);

const UNSHARE: (&str, &[&str]) = (
    "unshare",
    &[
        "--user",
        "--map-root-user",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount",
        "--mount-proc",
        "--ipc",
        "--uts",
        "--",
    ],
);

impl Launcher {
    /// Those that are installed, the better one first.
    pub(crate) fn installed() -> Vec<Self> {
        let found = [BWRAP, UNSHARE].into_iter().map(|(name, options)| {
            let path = find(name)?;
            Some(Self { name, path, options })
        });
        found.flatten().collect()
    }

    /// The words that start the first process of a sandbox, up to the command of the server.
    pub(crate) fn words(&self, program: &Path, socket: &Path) -> Vec<OsString> {
        let mut words = vec![self.path.clone().into_os_string()];
        words.extend(self.options.iter().map(OsString::from));
        words.extend([program.into(), INIT.into(), socket.into()]);
        words
    }

    /// Makes a sandbox and ends it. The error says why it cannot be made.
    pub(crate) fn try_out(&self, program: &Path, socket: &Path) -> Result<(), Refusal> {
        let words = self.words(program, socket);
        let refusal = |why: String| Refusal { program: self.name, why };
        let ended = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| refusal(error.to_string()))?;
        if ended.status.success() {
            return Ok(());
        }
        let said: String = String::from_utf8_lossy(&ended.stderr).trim().chars().take(MAX_WORDS).collect();
        let said = said.replace(|letter: char| letter.is_control(), " ");
        Err(refusal(if said.is_empty() { ended.status.to_string() } else { said }))
    }
}

/// Why a program makes no sandbox.
#[derive(Debug, thiserror::Error)]
#[error("`{program}` says: {why}")]
pub(crate) struct Refusal {
    program: &'static str,
    why: String,
}

fn find(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}
