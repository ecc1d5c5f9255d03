//! The documents that come with the program, and how they are called.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sortie_oatf::{Validated, load};
use sortie_syntax::nearest;
use thiserror::Error;

use crate::carried::{CarriedFile, carried};

/// A document of the library.
#[derive(Debug, PartialEq, Eq)]
pub struct BundledDocument {
    /// Where it stands below `library/`.
    pub path: &'static str,
    /// What it says.
    pub text: &'static str,
    /// What its proofs must give.
    pub manifest: &'static str,
    /// Its recordings, by name.
    pub traces: &'static [(&'static str, &'static str)],
}

/// In the order of their file names, whatever folder they stand in.
static DOCUMENTS: LazyLock<Vec<BundledDocument>> = LazyLock::new(|| {
    let files = carried!("documents");
    let is_document = |path: &str| !path.contains(PROOFS);
    let documents = files.iter().filter(|(path, _)| is_document(path));
    let mut documents: Vec<_> =
        documents.map(|(path, text)| BundledDocument::new(path, text, &files)).collect();
    documents.sort_by_key(BundledDocument::stem);
    documents
});

/// What stands between the stem of a document and the names of its proofs.
const PROOFS: &str = ".proofs/";

impl BundledDocument {
    /// A document, with those of the files that prove it.
    fn new(path: &'static str, text: &'static str, files: &[CarriedFile]) -> Self {
        let stem = path.strip_suffix(".yaml").unwrap_or(path);
        let proofs = files
            .iter()
            .filter_map(|(path, text)| Some((path.strip_prefix(stem)?.strip_prefix(PROOFS)?, *text)));
        let (traces, manifest): (Vec<_>, Vec<_>) = proofs.partition(|(name, _)| *name != "proofs.yaml");
        let manifest = manifest.first().map_or("", |(_, text)| text);
        Self { path, text, manifest, traces: traces.leak() }
    }

    /// The file's name without its ending: `SRT-010-rug-pull-new-field`.
    pub fn stem(&self) -> &'static str {
        let file = self.path.rsplit('/').next().unwrap_or(self.path);
        file.strip_suffix(".yaml").unwrap_or(file)
    }

    /// `SRT-010`
    pub fn id(&self) -> &'static str {
        let second = self.stem().match_indices('-').nth(1);
        second.map_or(self.stem(), |(at, _)| &self.stem()[..at])
    }

    /// `rug-pull-new-field`
    pub fn short(&self) -> &'static str {
        self.stem()[self.id().len()..].trim_start_matches('-')
    }

    /// How people are told about it.
    pub fn name(&self) -> String {
        format!("library/{}", self.path)
    }

    /// The document. Tests load every one, so that none is lost here.
    pub fn document(&self) -> Option<Validated> {
        load(self.text).ok().map(|loaded| loaded.document)
    }

    /// Everything that belongs to it: where it stands below `library/`, and what is in it.
    pub fn files(&self) -> Vec<(PathBuf, &'static str)> {
        let path = PathBuf::from(self.path);
        let proofs = path.with_extension("proofs");
        let traces = self.traces.iter().map(|(name, text)| (proofs.join(name), *text));
        let traces: Vec<_> = traces.collect();
        [(path, self.text), (proofs.join("proofs.yaml"), self.manifest)].into_iter().chain(traces).collect()
    }
}

/// The word by which somebody may mean a document of the library: it has no separator and no ending, as a path would.
pub fn may_name(word: &Path) -> Option<&str> {
    let word = word.to_str()?;
    (!word.is_empty() && word != "-" && !word.contains(['/', '\\', '.'])).then_some(word)
}

/// A word that names no document of the library, or more than one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotFound {
    /// The names of several documents begin like that.
    #[error("`{word}` may be {} documents of the library", names.len())]
    Ambiguous {
        /// What was asked for.
        word: String,
        /// The documents it may name.
        names: Vec<&'static str>,
    },
    /// No name is or begins like that.
    #[error("the library has no document `{word}`")]
    Unknown {
        /// What was asked for.
        word: String,
        /// The name that was probably meant.
        nearest: Option<&'static str>,
    },
}

impl NotFound {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Ambiguous { names, .. } => {
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                format!("say which: {}", names.join(", "))
            }
            Self::Unknown { nearest: Some(name), .. } => format!("did you mean `{name}`?"),
            Self::Unknown { nearest: None, .. } => "`sortie library list` shows them all".to_owned(),
        }
    }
}

/// Every document of the library, in the order of their ids.
pub fn documents() -> &'static [BundledDocument] {
    &DOCUMENTS
}

/// The document with that id or name, or the only one whose name begins like that.
pub fn find(word: &str) -> Result<&'static BundledDocument, NotFound> {
    find_in(&DOCUMENTS, word)
}

fn find_in(documents: &'static [BundledDocument], word: &str) -> Result<&'static BundledDocument, NotFound> {
    let is = |name: &str| name.eq_ignore_ascii_case(word);
    let named = documents.iter().find(|own| is(own.id()) || is(own.stem()) || is(own.short()));
    if let Some(document) = named {
        return Ok(document);
    }
    let begins = word.to_ascii_lowercase();
    let near: Vec<_> = documents.iter().filter(|own| own.short().starts_with(&begins)).collect();
    match near[..] {
        [only] => Ok(only),
        [] => Err(NotFound::Unknown { word: word.to_owned(), nearest: meant(documents, word) }),
        _ => Err(NotFound::Ambiguous {
            word: word.to_owned(),
            names: near.iter().map(|own| own.stem()).collect(),
        }),
    }
}

/// The document that is probably meant: one whose id or name is near, or begins nearly so.
fn meant(documents: &'static [BundledDocument], word: &str) -> Option<&'static str> {
    let names = || documents.iter().flat_map(|own| [own.id(), own.short()]);
    let begins = |name: &&'static str| {
        let beginning: String = name.chars().take(word.chars().count()).collect();
        nearest(word, [beginning.as_str()]).is_some()
    };
    nearest(word, names()).or_else(|| names().find(begins))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn named(path: &'static str) -> BundledDocument {
        BundledDocument { path, text: "", manifest: "", traces: &[] }
    }

    const FEW: &[BundledDocument] = &[
        named("mcp-server/SRT-001-rug-pull.yaml"),
        named("mcp-server/SRT-002-rug-pull-again.yaml"),
        named("chains/SRT-003-sleeper-wakes.yaml"),
        named("chains/SRT-004-sleeper-sleeps.yaml"),
    ];

    fn found(word: &str) -> Result<&'static str, NotFound> {
        find_in(FEW, word).map(BundledDocument::id)
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
            assert_eq!(found(word), Ok(id), "{word}");
        }
    }

    #[test]
    fn what_may_be_several_or_is_none_is_refused_with_what_may_be_meant() {
        assert_eq!(
            found("sleeper").unwrap_err().help(),
            "say which: `SRT-003-sleeper-wakes`, `SRT-004-sleeper-sleeps`"
        );
        assert_eq!(found("SRT-005").unwrap_err().help(), "did you mean `SRT-001`?");
        assert_eq!(found("rug-pul1").unwrap_err().help(), "did you mean `rug-pull`?");
        assert_eq!(found("sleeper-wak1").unwrap_err().help(), "did you mean `sleeper-wakes`?");
        assert_eq!(found("slepeer").unwrap_err().help(), "did you mean `sleeper-wakes`?");
        assert_eq!(found("nothing-of-the-kind").unwrap_err().help(), "`sortie library list` shows them all");
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
        assert!(DOCUMENTS.len() >= 60, "{}", DOCUMENTS.len());
        for entry in documents() {
            assert!(entry.manifest.contains("proofs:"), "{}", entry.path);
            let document = entry.document().unwrap_or_else(|| panic!("{} does not load", entry.path));
            assert_eq!(document.attack.id.as_deref(), Some(entry.id()), "{}", entry.path);
            assert_eq!(find(entry.id()).unwrap(), entry);
            assert!(entry.traces.len() >= 3, "{}", entry.path);
        }
    }
}
