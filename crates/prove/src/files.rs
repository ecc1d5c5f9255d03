//! Puts proofs beside a document: all of them, or none.

use std::fs;
use std::path::{Path, PathBuf};

use sortie_report::files::{FileError, create_whole, replace};

/// What is to be written into a folder of proofs.
#[derive(Clone, Debug)]
pub struct ProofFiles {
    /// The folder; made when it is not there.
    pub folder: PathBuf,
    /// Recordings, none of which is there yet, by name.
    pub traces: Vec<(String, String)>,
    /// The manifest, where it changes: its file, and its text.
    pub manifest: Option<(PathBuf, String)>,
}

impl ProofFiles {
    /// Writes recordings first and the manifest last, so that it never names what is not there. What was written before
    /// something fails is taken away again.
    pub fn write(&self) -> Result<(), FileError> {
        let is_new = !self.folder.exists();
        fs::create_dir_all(&self.folder).map_err(|error| FileError::io(&self.folder, "make", error))?;
        let mut done = Vec::new();
        let written = self.write_into(&mut done);
        if written.is_err() {
            // Nothing can be done about what stays; proving names recordings that no manifest does.
            for path in &done {
                let _ = fs::remove_file(path);
            }
            if is_new {
                let _ = fs::remove_dir(&self.folder);
            }
        }
        written
    }

    fn write_into(&self, done: &mut Vec<PathBuf>) -> Result<(), FileError> {
        for (name, text) in &self.traces {
            let path = self.folder.join(name);
            create_whole(&path, text)?;
            done.push(path);
        }
        match &self.manifest {
            Some((path, text)) if Path::exists(path) => replace(path, text),
            Some((path, text)) => create_whole(path, text),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_one_file_cannot_be_written_none_is() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("attack.proofs");
        let traces = vec![("a.jsonl".to_owned(), "a".to_owned()), ("b.jsonl".to_owned(), "b".to_owned())];
        let names = || {
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
            names.sort();
            names
        };
        let manifest = Some((parent.path().join("nowhere/proofs.yaml"), String::new()));
        let proofs = ProofFiles { folder: folder.clone(), traces: traces.clone(), manifest };
        assert!(proofs.write().is_err());
        assert!(!folder.exists(), "{:?}", names());

        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("b.jsonl"), "evidence").unwrap();
        let proofs = ProofFiles { folder: folder.clone(), traces, manifest: None };
        assert!(proofs.write().is_err());
        assert_eq!(names(), ["b.jsonl"]);
        assert_eq!(fs::read_to_string(folder.join("b.jsonl")).unwrap(), "evidence");
    }
}
