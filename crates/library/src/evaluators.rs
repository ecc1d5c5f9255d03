//! Evaluators that are loaded together: those that come with the program, and those of folders.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sortie_evaluators::folder::{FolderPart, load_folder};
use sortie_evaluators::{CatalogueEntry, DocumentEntry, File, Loaded, Root, Suite, load};
use sortie_report::findings::Checked;

use crate::carried::{CarriedFile, carried};
use crate::{LoadError, documents};

static FILES: LazyLock<Vec<CarriedFile>> = LazyLock::new(|| carried!("evaluators"));

/// How people are told about the folder.
const EVALUATORS_NAME: &str = "evaluators";

/// The evaluators and suites that come with the program, without those that stand in one of the other roots.
///
/// An evaluator at the same place is the same one, changed or not: whoever copies a folder to change something in it goes
/// on with what is in the folder, and the folder that these come from can be checked like any other. Also says how many
/// were changed.
pub fn bundled_evaluators(others: &[Root]) -> (Root, usize) {
    let theirs: HashMap<&str, Option<&str>> = others
        .iter()
        .flat_map(|root| &root.files)
        .map(|file| (file.path.as_str(), file.as_text().map(|text| &**text)))
        .collect();
    let own = FILES.iter().filter(|(path, _)| theirs.contains_key(path) && unit(path) == *path);
    let replaced: HashMap<&str, &str> = own.copied().collect();
    let changed = replaced.iter().filter(|(path, text)| theirs.get(*path) != Some(&Some(**text))).count();
    let kept = FILES.iter().filter(|(path, _)| !replaced.contains_key(unit(path)));
    let files = kept.map(|(path, text)| File::text(*path, *text)).collect();
    (Root::new(EVALUATORS_NAME, files), changed)
}

/// The file that others belong to: that of their evaluator.
fn unit(path: &'static str) -> &'static str {
    let own = |wanted: &str| FILES.iter().map(|(path, _)| *path).find(|path| *path == wanted);
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let above = folder.strip_suffix("/patterns").unwrap_or(folder);
    let flat = name.strip_suffix(".test.yaml").and_then(|stem| own(&format!("{folder}/{stem}.yaml")));
    own(&format!("{above}/evaluator.yaml")).or(flat).unwrap_or(path)
}

/// The documents that suites of these roots may be about: none where nobody wrote one.
pub(crate) fn suite_documents_for(roots: &[Root]) -> Vec<DocumentEntry> {
    let has_suites = roots.iter().flat_map(|root| &root.files).any(|file| file.path.starts_with("suites/"));
    if has_suites { suite_documents() } else { Vec::new() }
}

/// The documents of the library, as far as suites need them.
pub fn suite_documents() -> Vec<DocumentEntry> {
    let documents = documents().iter().filter_map(|entry| {
        let attack = entry.document()?.into_inner().attack;
        let class = attack.classification.unwrap_or_default();
        let mappings = class.mappings.unwrap_or_default().into_iter();
        Some(DocumentEntry {
            id: entry.id().to_owned(),
            mappings: mappings.map(|mapping| (mapping.framework, mapping.id)).collect(),
            tags: class.tags.unwrap_or_default(),
        })
    });
    documents.collect()
}

/// Evaluators that loaded, all of them.
pub struct EvaluatorSet {
    /// What was loaded.
    pub loaded: Loaded,
    roots: Vec<Root>,
    /// Whether the first root is the one that comes with the program.
    bundled: bool,
}

/// The roots of evaluators: their folders, and those that come with the program.
pub struct EvaluatorRoots {
    /// The bundled ones come first, so that of two with the same id the user's is the second.
    pub(crate) roots: Vec<Root>,
    /// How many files stand where a bundled one does, and replace it.
    pub replaced: usize,
    bundled: bool,
}

impl EvaluatorRoots {
    /// Reads folders.
    pub fn load(folders: &[PathBuf], bundled: bool) -> Result<Self, LoadError> {
        let roots = folders.iter().map(|folder| load_folder(folder, FolderPart::All));
        Ok(Self::new(roots.collect::<Result<_, _>>()?, bundled))
    }

    pub(crate) fn new(mut roots: Vec<Root>, bundled: bool) -> Self {
        let mut replaced = 0;
        if bundled {
            let (own, changed) = bundled_evaluators(&roots);
            roots.insert(0, own);
            replaced = changed;
        }
        Self { roots, replaced, bundled }
    }
}

impl EvaluatorSet {
    /// Uses what was read, unless something in it has an error.
    pub fn new(EvaluatorRoots { roots, bundled, .. }: EvaluatorRoots) -> Result<Self, LoadError> {
        let loaded = load(&roots, &suite_documents());
        if loaded.is_sound() {
            return match loaded.catalogue.entries() {
                [] => Err(LoadError::NoEvaluator),
                _ => Ok(Self { loaded, roots, bundled }),
            };
        }
        let findings = loaded.findings.iter().map(|file| Checked {
            name: file.file.clone(),
            source: file.source.clone(),
            valid: false,
            findings: file.diagnostics.iter().filter(|finding| finding.is_error()).cloned().collect(),
        });
        let findings = findings.filter(|file| !file.findings.is_empty()).collect();
        let clash =
            bundled && used_twice(&loaded) > used_twice(&load(roots.get(1..).unwrap_or_default(), &[]));
        Err(LoadError::UnsoundEvaluators { findings, clash })
    }

    /// The evaluator with this id, or which was probably meant.
    pub fn entry(&self, id: &str) -> Result<&CatalogueEntry, LoadError> {
        Ok(self.loaded.catalogue.find(id)?)
    }

    /// The suite with this id or another name for it, or which was probably meant.
    pub fn suite(&self, name: &str) -> Result<&Suite, LoadError> {
        Ok(self.loaded.suites.resolve(name)?)
    }

    /// How people are told about the file of an evaluator.
    pub fn file(&self, entry: &CatalogueEntry) -> String {
        self.roots[entry.root].shown(&entry.file)
    }

    /// Whether it comes with the program.
    pub(crate) fn is_bundled(&self, entry: &CatalogueEntry) -> bool {
        self.bundled && entry.root == 0
    }

    /// A file below one of the user's folders, as people are told about it, and its text.
    pub(crate) fn own_file(&self, shown: &str) -> Option<(PathBuf, &str)> {
        let own = self.roots.iter().skip(usize::from(self.bundled));
        let mut files =
            own.flat_map(|root| root.files.iter().map(move |file| (root.shown(&file.path), file)));
        let (path, file) = files.find(|(path, _)| path == shown)?;
        Some((path.into(), file.as_text()?))
    }

    /// The same for its fixtures, where it has some.
    pub fn fixtures_file(&self, entry: &CatalogueEntry) -> Option<String> {
        entry.fixtures.as_ref()?;
        let root = &self.roots[entry.root];
        let (folder, name) = entry.file.rsplit_once('/').unwrap_or(("", &entry.file));
        let beside = |stem: &str| format!("{folder}/{stem}.test.yaml").trim_start_matches('/').to_owned();
        let names = [beside(&entry.evaluator.id), beside(name.trim_end_matches(".yaml"))];
        let found = names.iter().find(|name| root.files.iter().any(|file| file.path == **name));
        found.map(|name| root.shown(name))
    }

    /// The files of an evaluator, as they are written: its own first.
    pub fn texts(&self, entry: &CatalogueEntry) -> Vec<(&str, &str)> {
        let files = self.roots[entry.root].files.iter();
        let patterns = entry.file.strip_suffix("evaluator.yaml").map(|folder| format!("{folder}patterns/"));
        let is_own =
            |path: &str| path == entry.file || patterns.as_ref().is_some_and(|own| path.starts_with(own));
        let mut own: Vec<_> = files
            .filter(|file| {
                is_own(&file.path) && Path::new(&file.path).extension().is_some_and(|end| end == "yaml")
            })
            .filter_map(|file| Some((file.path.as_str(), &**file.as_text()?)))
            .collect();
        own.sort_by_key(|(path, _)| (*path != entry.file, *path));
        own
    }
}

/// How many ids are used a second time (E-002).
fn used_twice(loaded: &Loaded) -> usize {
    loaded
        .findings
        .iter()
        .flat_map(|file| &file.diagnostics)
        .filter(|finding| finding.code == "E-002")
        .count()
}
