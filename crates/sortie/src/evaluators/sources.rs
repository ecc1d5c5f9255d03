//! `--evaluators`, `--without-bundled`: which evaluators a command works with.

use std::path::{Path, PathBuf};

use clap::Args;
use sortie_evaluators::folder::{FolderPart, load_folder};
use sortie_evaluators::{CatalogueEntry, Loaded, Root, Unknown, load};
use sortie_syntax::Diagnostic;

use crate::console::Console;
use crate::failure::Failure;
use crate::inputs::counted;
use crate::render::Checked;
use crate::run::Config;

/// Which evaluators there are.
#[derive(Args, Debug, Default)]
pub(crate) struct Sources {
    /// A folder of evaluators, besides those that `sortie.toml` names; may be given more than once
    #[arg(long = "evaluators", value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,

    /// Leave out the evaluators that come with Sortie
    #[arg(long)]
    pub(crate) without_bundled: bool,

    /// The configuration, instead of `sortie.toml` here
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Evaluators that loaded, all of them.
pub(crate) struct InUse {
    pub(crate) loaded: Loaded,
    pub(crate) roots: Vec<Root>,
}

impl Sources {
    /// Those of these folders and of a configuration, and those that come with the program.
    pub(crate) fn of(folders: Vec<PathBuf>, config: Option<&Path>) -> Self {
        Self { folders, without_bundled: false, config: config.map(Path::to_owned) }
    }

    /// The folders that were asked for, here and in the configuration.
    pub(crate) fn asked(&self, console: &mut Console) -> Result<Vec<PathBuf>, Failure> {
        let mut folders = Config::load(self.config.as_deref(), console)?.evaluators;
        folders.extend(self.folders.iter().cloned());
        let mut seen = std::collections::HashSet::new();
        folders
            .retain(|folder| seen.insert(std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone())));
        Ok(folders)
    }

    /// Loads them. Where one has an error, that is shown, and nothing is used.
    pub(crate) fn load(&self, console: &mut Console) -> Result<InUse, Failure> {
        let folders = self.asked(console)?;
        let roots = folders
            .iter()
            .map(|folder| load_folder(folder, FolderPart::All))
            .collect::<Result<Vec<_>, _>>()?;
        let roots = self.with_bundled(roots, console);
        let loaded = load(&roots, &sortie_library::suite_documents());
        if !loaded.is_sound() {
            return Err(refused(&loaded, console));
        }
        if loaded.catalogue.entries().is_empty() {
            return Err(Failure::new("there is no evaluator")
                .help("name a folder with `--evaluators DIR`, or leave out `--without-bundled`"));
        }
        Ok(InUse { loaded, roots })
    }

    /// The bundled ones come first, so that of two with the same id the user's is the second.
    pub(crate) fn with_bundled(&self, roots: Vec<Root>, console: &mut Console) -> Vec<Root> {
        if self.without_bundled {
            return roots;
        }
        let (bundled, replaced) = sortie_library::bundled_evaluators(&roots);
        if replaced > 0 {
            let replaced = counted(replaced, "file of yours stands", "files of yours stand");
            console.note(&format!("{replaced} where one that comes with Sortie does, and replaces it"));
        }
        std::iter::once(bundled).chain(roots).collect()
    }
}

/// Shows what is wrong, and says that nothing was used.
pub(crate) fn refused(loaded: &Loaded, console: &mut Console) -> Failure {
    let mut files = 0;
    for file in &loaded.findings {
        let findings: Vec<_> =
            file.diagnostics.iter().filter(|finding| finding.is_error()).cloned().collect();
        if findings.is_empty() {
            continue;
        }
        files += 1;
        let (name, source) = (file.file.clone(), file.source.clone());
        // Nothing can be done for someone who has closed standard error.
        let _ = console.findings(&Checked { name, source, valid: false, findings });
    }
    let files = counted(files, "file has", "files have");
    let failure = Failure::new(format!("{files} errors, so no evaluator was used"));
    if clashes_with_bundled(loaded) {
        failure.help("`--without-bundled` leaves out the evaluators that come with Sortie")
    } else {
        failure
    }
}

/// Whether an id is taken by an evaluator that comes with the program.
fn clashes_with_bundled(loaded: &Loaded) -> bool {
    let names_bundled = |help: &String| help.contains(&format!("`{}/", sortie_library::EVALUATORS_NAME));
    let is_clash = |finding: &Diagnostic| finding.code == "E-002" && finding.help.iter().any(names_bundled);
    loaded.findings.iter().flat_map(|file| &file.diagnostics).any(is_clash)
}

impl InUse {
    /// The evaluator with this id, or which was probably meant.
    pub(crate) fn entry(&self, id: &str) -> Result<&CatalogueEntry, Failure> {
        self.loaded
            .catalogue
            .find(id)
            .map_err(|unknown| missing(&unknown, "`sortie evaluators list` shows them all"))
    }

    /// How people are told about the file of an evaluator.
    pub(crate) fn file(&self, entry: &CatalogueEntry) -> String {
        self.roots[entry.root].shown(&entry.file)
    }

    /// The same for its fixtures, where it has some.
    pub(crate) fn fixtures_file(&self, entry: &CatalogueEntry) -> Option<String> {
        entry.fixtures.as_ref()?;
        let root = &self.roots[entry.root];
        let (folder, name) = entry.file.rsplit_once('/').unwrap_or(("", &entry.file));
        let beside = |stem: &str| format!("{folder}/{stem}.test.yaml").trim_start_matches('/').to_owned();
        let names = [beside(&entry.evaluator.id), beside(name.trim_end_matches(".yaml"))];
        let found = names.iter().find(|name| root.files.iter().any(|file| file.path == **name));
        found.map(|name| root.shown(name))
    }

    /// The files of an evaluator, as they are written: its own first.
    pub(crate) fn texts(&self, entry: &CatalogueEntry) -> Vec<(&str, &str)> {
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

/// There is no such thing, and what was probably meant.
pub(crate) fn missing(unknown: &Unknown, otherwise: &str) -> Failure {
    let help = unknown.nearest.as_ref().map(|nearest| format!("did you mean `{nearest}`?"));
    Failure::new(unknown.to_string()).help(help.unwrap_or_else(|| otherwise.to_owned()))
}
