//! The folder of a run: its trace, the agent's output, and what is written beside them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::options::RunError;

pub(super) const TRACE: &str = "trace.jsonl";
pub(super) const DOCUMENT: &str = "document.yaml";
pub(super) const PROMPT: &str = "prompt.txt";
/// The folder of the agent's own files.
pub(super) const AGENT: &str = "agent";
/// The folder that is the agent's home.
const WORKSPACE: &str = "workspace";

/// What is in the folder of a run.
///
/// Only its owner may look into it: what agents say and are told is nobody else's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A folder for one run. It is made, or is there and empty: what another run has left is evidence.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, RunError> {
        let folder = Self { path: path.into() };
        let fail = |source| RunError::Folder { path: folder.path.clone(), source };
        private_folder().recursive(true).create(&folder.path).map_err(fail)?;
        let mut entries = fs::read_dir(&folder.path).map_err(fail)?;
        if entries.next().is_some() {
            return Err(fail(io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty")));
        }
        Ok(folder)
    }

    /// A folder for one run, where an attempt may have been that came to no end. What it left may be evidence: it is moved out of
    /// the way, to `NAME.unfinished`.
    pub fn create_again(path: impl Into<PathBuf>) -> Result<Self, RunError> {
        let path = path.into();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.exists() {
            let numbered = (1_u32..).map(|attempt| match attempt {
                1 => path.with_file_name(format!("{name}.unfinished")),
                attempt => path.with_file_name(format!("{name}.unfinished-{attempt}")),
            });
            // There are more numbers than folders.
            let aside = numbered.into_iter().find(|path| !path.exists()).unwrap_or_default();
            fs::rename(&path, aside).map_err(|source| RunError::Folder { path: path.clone(), source })?;
        }
        Self::create(path)
    }

    /// A folder for one run within another, under a name that nobody has taken: `name`, `name-2`, `name-3`.
    pub fn create_within(parent: &Path, name: &str) -> Result<Self, RunError> {
        let fail = |path: &Path, source| RunError::Folder { path: path.to_owned(), source };
        private_folder().recursive(true).create(parent).map_err(|error| fail(parent, error))?;
        for attempt in 1..u32::MAX {
            let name = if attempt == 1 { name.to_owned() } else { format!("{name}-{attempt}") };
            let path = parent.join(name);
            // Without `recursive`, so that of two runs only one gets it.
            match private_folder().create(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(fail(&path, error)),
            }
        }
        Err(fail(parent, io::ErrorKind::AlreadyExists.into()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was said.
    pub fn trace(&self) -> PathBuf {
        Self::trace_in(&self.path)
    }

    /// Where the trace is in a folder of a run.
    pub fn trace_in(folder: &Path) -> PathBuf {
        folder.join(TRACE)
    }

    /// Where the document that was played is in a folder of a run.
    pub fn document_in(folder: &Path) -> PathBuf {
        folder.join(DOCUMENT)
    }

    /// Where the agent's own files are in a folder of a run, where it is configured.
    pub fn agent_in(folder: &Path) -> PathBuf {
        folder.join(AGENT)
    }

    /// Where the agent's disposable home is in a folder of a run, where it has one.
    pub fn workspace_in(folder: &Path) -> PathBuf {
        folder.join(WORKSPACE)
    }

    /// What is made of it; written by whoever reports.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.json")
    }

    /// The MCP servers of the run, for the agent.
    pub fn mcp_config(&self) -> PathBuf {
        self.path.join("mcp.json")
    }

    pub(super) fn file(&self, name: &str) -> Result<File, RunError> {
        let path = self.path.join(name);
        private_file().create_new(true).open(&path).map_err(|source| RunError::Folder { path, source })
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), RunError> {
        let written = self.file(name)?.write_all(text.as_bytes());
        written.map_err(|source| RunError::Folder { path: self.path.join(name), source })
    }
}

/// How a folder is made that only its owner may look into.
pub(crate) fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// How a file is written that only its owner may read.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn only_its_owner_may_look_into_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::create(parent.path().join("run")).unwrap();
        folder.write("mcp.json", "{}").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(folder.path()), mode(&folder.mcp_config())), (0o700, 0o600));
    }
}
