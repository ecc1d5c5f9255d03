//! A folder of evaluators: what a file of it is checked together with.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sortie_evaluators::folder::PARTS;
use sortie_evaluators::{CatalogueEntry, DocumentEntry, File, Loaded, Root, load};
use sortie_library::{bundled_evaluators, suite_documents};
use sortie_syntax::Diagnostic;

use crate::files::Files;

/// The documents of the library, which suites may name.
static DOCUMENTS: LazyLock<Vec<DocumentEntry>> = LazyLock::new(suite_documents);

/// The ids of the evaluators that come with Sortie.
static BUNDLED_IDS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let (bundled, _) = bundled_evaluators(&[]);
    let loaded = load(&[bundled], &[]);
    loaded.catalogue.entries().iter().map(|entry| entry.evaluator.id.clone()).collect()
});

/// What is found where a name is unknown: a dependency, an inclusion, a suite with nothing in it.
const NAMES: &[&str] = &["E-016", "E-024", "E-025"];

/// The files of a folder of evaluators, as they are on disk.
#[derive(Debug)]
pub(crate) struct EvaluatorFolder {
    root: PathBuf,
    /// Paths below the root, with what is in them.
    files: Vec<(String, String)>,
}

impl EvaluatorFolder {
    /// The folder that a file is checked with: the one that holds its `agent`, `mcp` or `suites`, else the one above the folder of
    /// its evaluator, else its own.
    pub(crate) fn root_of(path: &Path) -> PathBuf {
        let own = path.parent().unwrap_or(Path::new(""));
        let is_part = |folder: &&Path| {
            folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| PARTS.contains(&name))
        };
        let root = own.ancestors().find(is_part).and_then(Path::parent);
        let of_evaluator = if own.ends_with("patterns") { own.parent() } else { None };
        root.or(of_evaluator.and_then(Path::parent)).unwrap_or(own).to_owned()
    }

    /// Reads the files that belong together. Where nothing says that the folder is one of evaluators, these are the file, what
    /// tests it, and what lies in folders of evaluators.
    pub(crate) fn load(root: &Path, path: &Path, files: &dyn Files) -> Self {
        let is_part = |below: &str| PARTS.iter().any(|part| below.split('/').next() == Some(part));
        let is_catalogue = below(path, root).is_some_and(|below| is_part(&below));
        let own = stem(path);
        let mut found = Vec::new();
        for file in files.below(root) {
            let Some(below) = below(&file, root) else { continue };
            let is_beside = || {
                (stem(&file) == own && !below.contains('/'))
                    || below.contains("/patterns/")
                    || below.ends_with("/evaluator.yaml")
            };
            let belongs = if is_catalogue { is_part(&below) } else { is_beside() };
            if belongs && let Some(text) = files.read(&file) {
                found.push((below, text));
            }
        }
        Self { root: root.to_owned(), files: found }
    }

    /// Loads the folder with the texts that are being edited in place of those on disk, and with what comes with Sortie.
    pub(crate) fn loaded<'o>(&self, path: &Path, open: impl Iterator<Item = (&'o Path, &'o str)>) -> Loaded {
        with_bundled(self.root(path, open))
    }

    /// What is found in one file, checked together with the others.
    pub(crate) fn check<'o>(
        &self,
        path: &Path,
        open: impl Iterator<Item = (&'o Path, &'o str)>,
    ) -> Vec<Diagnostic> {
        let Some(below) = below(path, &self.root) else { return Vec::new() };
        let root = self.root(path, open);
        let mut loaded = load(std::slice::from_ref(&root), &[]);
        let shown = root.shown(&below);
        // What comes with Sortie matters where a name is unknown without it, or has the id of something there. It takes a hundred
        // times as long to load as most folders do.
        let needs_bundled = |finding: &Diagnostic| NAMES.contains(&finding.code);
        let is_bundled = |entry: &CatalogueEntry| BUNDLED_IDS.contains(&entry.evaluator.id);
        if loaded.findings.iter().flat_map(|file| &file.diagnostics).any(needs_bundled)
            || loaded.catalogue.entries().iter().any(is_bundled)
        {
            loaded = with_bundled(root);
        }
        let own = loaded.findings.into_iter().filter(|found| found.file == shown);
        own.flat_map(|found| found.diagnostics).collect()
    }

    /// The files on disk, with the texts that are being edited in their place.
    fn root<'o>(&self, path: &Path, open: impl Iterator<Item = (&'o Path, &'o str)>) -> Root {
        let mut files: Vec<(String, &str)> =
            self.files.iter().map(|(path, text)| (path.clone(), text.as_str())).collect();
        for (edited, text) in open {
            let Some(below) = below(edited, &self.root) else { continue };
            match files.iter_mut().find(|(known, _)| *known == below) {
                Some((_, known)) => *known = text,
                // A new file is not on disk yet.
                None if edited == path => files.push((below, text)),
                None => {}
            }
        }
        let files = files.into_iter().map(|(path, text)| File::text(path, text)).collect();
        Root::new(self.root.to_string_lossy(), files)
    }

    /// The path on disk of a file that findings or entries name.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    pub(crate) fn files(&self) -> &[(String, String)] {
        &self.files
    }
}

/// A root, loaded together with what comes with Sortie.
fn with_bundled(root: Root) -> Loaded {
    let mut roots = vec![root];
    let (bundled, _) = bundled_evaluators(&roots);
    roots.push(bundled);
    load(&roots, &DOCUMENTS)
}

/// The name that an evaluator and its fixtures have in common.
fn stem(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    Some(name.trim_end_matches(".yaml").trim_end_matches(".test"))
}

/// A path below a folder, with `/` between its parts.
fn below(path: &Path, root: &Path) -> Option<String> {
    let parts = path.strip_prefix(root).ok()?.iter().map(|part| part.to_str());
    Some(parts.collect::<Option<Vec<_>>>()?.join("/"))
}
