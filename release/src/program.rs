//! The program as it was built, and what it writes about itself.

use std::path::Path;
use std::process::Command;

use crate::Error;
use crate::facts::{output, read};
use crate::tree::Tree;

/// Shells, and what the file with their completions is called.
const SHELLS: [(&str, &str); 3] = [("bash", "sortie.bash"), ("zsh", "_sortie"), ("fish", "sortie.fish")];

/// The stripped program, its debug file, and its completions and man pages.
pub(crate) struct Program {
    pub(crate) executable: Vec<u8>,
    pub(crate) debug: Vec<u8>,
    /// File names to scripts.
    pub(crate) completions: Vec<(&'static str, Vec<u8>)>,
    /// File names (`sortie-run.1`) to pages.
    pub(crate) pages: Tree,
}

impl Program {
    /// Reads the program and its debug file, and runs the program for the rest.
    pub(crate) fn load(path: &Path, debug: &Path, scratch: &Path) -> Result<Self, Error> {
        let mut completions = Vec::new();
        for (shell, file) in SHELLS {
            completions.push((file, output(Command::new(path).args(["completions", shell]))?));
        }
        output(Command::new(path).arg("man").arg(scratch))?;
        let mut pages = Tree::default();
        let listed =
            std::fs::read_dir(scratch).map_err(|source| Error::File { path: scratch.to_owned(), source })?;
        for entry in listed.flatten() {
            pages.add(entry.file_name().to_string_lossy(), read(&entry.path())?);
        }
        Ok(Self { executable: read(path)?, debug: read(debug)?, completions, pages })
    }
}
