//! The documents that are played.

use std::path::{Path, PathBuf};

use sortie_oatf::load;
use sortie_oatf::model::{Attack, Mode, Tier};

/// A document, and what it says of itself.
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    pub(crate) id: String,
    pub(crate) attack: Attack,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every document of the library, in the order of their ids.
pub(crate) fn library() -> Vec<Document> {
    let documents = below(&root().join("crates/library/documents"));
    assert!(documents.len() >= 60, "the library has {} documents", documents.len());
    documents
}

/// Every valid document in the folders of a folder, in the order of their ids. Other files are passed over.
pub(crate) fn below(folder: &Path) -> Vec<Document> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries =
            std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let folders = entries(folder).into_iter().filter(|path| path.is_dir());
    let files = folders
        .flat_map(|folder| entries(&folder))
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"));
    let mut documents: Vec<Document> = files.filter_map(|path| Document::read(&path)).collect();
    documents.sort_by(|a, b| a.id.cmp(&b.id));
    documents
}

impl Document {
    fn read(path: &Path) -> Option<Self> {
        let document = load(&std::fs::read_to_string(path).unwrap()).ok()?.document;
        let attack = document.attack.clone();
        Some(Self { path: path.to_owned(), id: attack.id.clone()?, attack })
    }

    /// The worst that its indicators can say.
    pub(crate) fn worst_tier(&self) -> Option<Tier> {
        self.attack.indicators.iter().flatten().filter_map(|indicator| indicator.tier).max()
    }

    /// Whether a client actor drives the agent, so that an answer in words is something that the agent does.
    pub(crate) fn is_driven(&self) -> bool {
        let actors = self.attack.execution.actors.as_deref().unwrap_or_default();
        actors.iter().any(|actor| Mode::of(&actor.mode).is_client())
    }

    /// Whether something changes while it is played, or several actors take part: a rug pull, a sleeper, a timer, a chain.
    pub(crate) fn is_staged(&self) -> bool {
        let actors = self.attack.execution.actors.as_deref().unwrap_or_default();
        actors.len() > 1 || actors.iter().any(|actor| actor.phases.len() > 1)
    }
}
