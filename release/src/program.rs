//! The program as it was built, and what it writes about itself.

use std::path::Path;
use std::process::Command;

use crate::Error;
use crate::facts::{output, read};
use crate::tree::Tree;

/// Shells, and what the file with their completions is called.
const SHELLS: [(&str, &str); 3] = [("bash", "sortie.bash"), ("zsh", "_sortie"), ("fish", "sortie.fish")];

/// What the program writes about itself. It is the same for every target.
pub(crate) struct Texts {
    /// File names to scripts.
    pub(crate) completions: Vec<(&'static str, Vec<u8>)>,
    /// File names (`sortie-run.1`) to pages.
    pub(crate) pages: Tree,
}

impl Texts {
    /// Runs a program of this machine.
    pub(crate) fn load(program: &Path, scratch: &Path) -> Result<Self, Error> {
        let mut completions = Vec::new();
        for (shell, file) in SHELLS {
            completions.push((file, output(Command::new(program).args(["completions", shell]))?));
        }
        output(Command::new(program).arg("man").arg(scratch))?;
        let mut pages = Tree::default();
        let listed =
            std::fs::read_dir(scratch).map_err(|source| Error::File { path: scratch.to_owned(), source })?;
        for entry in listed.flatten() {
            pages.add(entry.file_name().to_string_lossy(), read(&entry.path())?);
        }
        Ok(Self { completions, pages })
    }
}

/// The stripped program for one target, its debug file, and what belongs to it.
pub(crate) struct Program<'a> {
    pub(crate) executable: Vec<u8>,
    pub(crate) debug: Vec<u8>,
    pub(crate) texts: &'a Texts,
}

impl<'a> Program<'a> {
    /// Reads the program and its debug file from a folder.
    pub(crate) fn load(folder: &Path, texts: &'a Texts) -> Result<Self, Error> {
        Ok(Self {
            executable: read(&folder.join("sortie"))?,
            debug: read(&folder.join("sortie.debug"))?,
            texts,
        })
    }
}
