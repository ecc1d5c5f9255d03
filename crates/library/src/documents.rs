//! The documents that come with the program, and how they are called.

use std::path::{Path, PathBuf};

use sortie_oatf::{Validated, load};
use sortie_prove::{MANIFEST, Proofs, ProofsError, folder_of};

use crate::failure::Failure;
use crate::suggest::nearest;

/// A document of the library.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Where it stands below `library/`.
    pub(crate) path: &'static str,
    /// What it says.
    pub(crate) text: &'static str,
    /// What its proofs must give.
    pub(crate) manifest: &'static str,
    /// Its recordings, by name.
    pub(crate) traces: &'static [(&'static str, &'static str)],
}

include!(concat!(env!("OUT_DIR"), "/library.rs"));

impl Entry {
    /// The file's name without its ending: `SRT-010-rug-pull-new-field`.
    pub(crate) fn stem(&self) -> &'static str {
        let file = self.path.rsplit('/').next().unwrap_or(self.path);
        file.strip_suffix(".yaml").unwrap_or(file)
    }

    /// `SRT-010`
    pub(crate) fn id(&self) -> &'static str {
        let second = self.stem().match_indices('-').nth(1);
        second.map_or(self.stem(), |(at, _)| &self.stem()[..at])
    }

    /// `rug-pull-new-field`
    pub(crate) fn short(&self) -> &'static str {
        self.stem()[self.id().len()..].trim_start_matches('-')
    }

    /// How people are told about it.
    pub(crate) fn name(&self) -> String {
        format!("library/{}", self.path)
    }

    /// The document. Tests load every one, so that none is lost here.
    pub(crate) fn document(&self) -> Option<Validated> {
        load(self.text).ok().map(|loaded| loaded.document)
    }

    /// Its proofs, for the document that it holds.
    pub(crate) fn proofs(&self, document: &Validated) -> Result<Proofs, ProofsError> {
        let manifest = folder_of(Path::new(&self.name())).join(MANIFEST);
        Proofs::carried(&manifest, self.manifest, self.traces, document)
    }

    /// Everything that belongs to it: where it stands below `library/`, and what is in it.
    pub(crate) fn files(&self) -> Vec<(PathBuf, &'static str)> {
        let path = PathBuf::from(self.path);
        let proofs = folder_of(&path);
        let traces = self.traces.iter().map(|(name, text)| (proofs.join(name), *text));
        let traces: Vec<_> = traces.collect();
        [(path, self.text), (proofs.join(MANIFEST), self.manifest)].into_iter().chain(traces).collect()
    }
}

/// The word by which somebody may mean a document of the library: it has no separator and no ending, as a path would.
pub(crate) fn may_name(word: &Path) -> Option<&str> {
    let word = word.to_str()?;
    (!word.is_empty() && word != "-" && !word.contains(['/', '\\', '.'])).then_some(word)
}

/// The document with that id or name, or the only one whose name begins like that.
pub(crate) fn find(word: &str) -> Result<&'static Entry, Failure> {
    find_in(ENTRIES, word)
}

fn find_in(entries: &'static [Entry], word: &str) -> Result<&'static Entry, Failure> {
    let is = |name: &str| name.eq_ignore_ascii_case(word);
    if let Some(entry) = entries.iter().find(|entry| is(entry.id()) || is(entry.stem()) || is(entry.short()))
    {
        return Ok(entry);
    }
    let word_lower = word.to_ascii_lowercase();
    let begins = |entry: &&Entry| entry.short().starts_with(&word_lower);
    let mut near = entries.iter().filter(begins);
    match (near.next(), near.next()) {
        (Some(only), None) => Ok(only),
        (Some(_), Some(_)) => {
            let names: Vec<_> =
                entries.iter().filter(begins).map(|entry| format!("`{}`", entry.stem())).collect();
            Err(Failure::new(format!("`{word}` may be {} documents of the library", names.len()))
                .help(format!("say which: {}", names.join(", "))))
        }
        (None, _) => {
            Err(Failure::new(format!("the library has no document `{word}`")).help(meant(entries, word)))
        }
    }
}

/// The document that is probably meant: one whose id or name is near, or begins nearly so.
fn meant(entries: &'static [Entry], word: &str) -> String {
    let names = || entries.iter().flat_map(|entry| [entry.id(), entry.short()]);
    let begins = |name: &&'static str| {
        let beginning: String = name.chars().take(word.chars().count()).collect();
        nearest(word, [beginning.as_str()]).is_some()
    };
    match nearest(word, names()).or_else(|| names().find(begins)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`sortie library list` shows them all".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn named(path: &'static str) -> Entry {
        Entry { path, text: "", manifest: "", traces: &[] }
    }

    const FEW: &[Entry] = &[
        named("mcp-server/SRT-001-rug-pull.yaml"),
        named("mcp-server/SRT-002-rug-pull-again.yaml"),
        named("chains/SRT-003-sleeper-wakes.yaml"),
        named("chains/SRT-004-sleeper-sleeps.yaml"),
    ];

    fn found(word: &str) -> Result<&'static str, String> {
        find_in(FEW, word).map(Entry::id).map_err(|failure| failure.help.unwrap_or_default())
    }

    #[test]
    fn a_document_is_called_by_id_by_name_or_by_how_its_name_begins() {
        for (word, id) in [
            ("SRT-002", "SRT-002"),
            ("srt-002", "SRT-002"),
            ("SRT-003-sleeper-wakes", "SRT-003"),
            // All of a name is more than the beginning of another.
            ("rug-pull", "SRT-001"),
            ("rug-pull-a", "SRT-002"),
        ] {
            assert_eq!(found(word).as_deref(), Ok(id), "{word}");
        }
    }

    #[test]
    fn what_may_be_several_or_is_none_is_refused_with_what_may_be_meant() {
        assert_eq!(
            found("sleeper").unwrap_err(),
            "say which: `SRT-003-sleeper-wakes`, `SRT-004-sleeper-sleeps`"
        );
        assert_eq!(found("SRT-005").unwrap_err(), "did you mean `SRT-001`?");
        assert_eq!(found("rug-pul1").unwrap_err(), "did you mean `rug-pull`?");
        assert_eq!(found("sleeper-wak1").unwrap_err(), "did you mean `sleeper-wakes`?");
        assert_eq!(found("slepeer").unwrap_err(), "did you mean `sleeper-wakes`?");
        assert_eq!(found("nothing-of-the-kind").unwrap_err(), "`sortie library list` shows them all");
    }

    #[test]
    fn a_path_is_no_name() {
        for path in ["a.yaml", "./SRT-001", "folder/SRT-001", ""] {
            assert_eq!(may_name(Path::new(path)), None, "{path}");
        }
        assert_eq!(may_name(Path::new("SRT-001")), Some("SRT-001"));
    }

    #[test]
    fn every_document_that_comes_along_loads_and_is_called_as_its_file_says() {
        assert!(ENTRIES.len() >= 60, "{}", ENTRIES.len());
        for entry in ENTRIES {
            let document = entry.document().unwrap_or_else(|| panic!("{} does not load", entry.path));
            assert_eq!(document.attack.id.as_deref(), Some(entry.id()), "{}", entry.path);
            assert_eq!(find(entry.id()).unwrap(), entry);
            let proofs = entry.proofs(&document).unwrap_or_else(|error| panic!("{}: {error}", entry.path));
            assert!(proofs.recordings.len() >= 3 && proofs.unlisted.is_empty(), "{}", entry.path);
        }
    }
}
