//! What the words of a command line stand for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sortie_evaluators::{CatalogueEntry, Suite, Values};
use sortie_report::{Report, SuiteTable};

use super::{CaseArgs, Config};
use crate::console::Console;
use crate::documents::{self, Document};
use crate::evaluators::{InUse, Sources, missing};
use crate::failure::Failure;
use crate::inputs::{Input, file_or_named, find_all};
use crate::library;

/// Documents and evaluators that were asked for.
pub(crate) struct Chosen {
    /// Those that were named.
    pub(crate) documents: Vec<Document>,
    /// Those that only suites name.
    pub(crate) of_suites: Vec<Document>,
    pub(crate) evaluators: Option<Evaluators>,
}

/// Evaluators that were asked for, or suites that hold none.
pub(crate) struct Evaluators {
    used: InUse,
    ids: Vec<String>,
    suites: Vec<Suite>,
    /// Whether one was named, and not only a suite that holds it.
    pub(crate) named: bool,
    /// What placeholders stand for.
    pub(crate) values: Values,
}

impl Chosen {
    /// Finds them. An existing path is a path, else a word is a name; one that may be two things is refused.
    pub(crate) fn find(
        words: &[PathBuf],
        arguments: &CaseArgs,
        file: Option<&Path>,
        config: &Config,
        console: &mut Console,
    ) -> Result<Self, Failure> {
        let may_be = |word: &&PathBuf| !word.exists() && library::may_name(word).is_some();
        let of_the_library = |word: &str| library::find(word).is_ok();
        let names: Vec<&str> = words.iter().filter(may_be).filter_map(|word| word.to_str()).collect();
        let mut evaluators = None;
        if !arguments.suite.is_empty() || !names.iter().all(|name| of_the_library(name)) {
            let used = Sources::of(arguments.folders.clone(), file).load(console)?;
            let mut ids: Vec<String> = Vec::new();
            for name in &names {
                if is_evaluator(name, of_the_library(name), &used)? {
                    ids.push((*name).to_owned());
                }
            }
            let named = !ids.is_empty();
            let mut suites = Vec::new();
            for name in &arguments.suite {
                let suite = used.loaded.suites.resolve(name);
                let suite =
                    suite.map_err(|unknown| missing(&unknown, "`sortie suites list` shows them all"))?;
                ids.extend(suite.evaluators.iter().cloned());
                suites.push(suite.clone());
            }
            let mut values = config.values(arguments.profile.as_deref())?;
            for text in &arguments.var {
                values.extend([value(text)?]);
            }
            evaluators = Some(Evaluators { used, ids, suites, named, values });
        }
        let is_named = |word: &&PathBuf| {
            let ids = evaluators.as_ref().map(|evaluators| &evaluators.ids[..]).unwrap_or_default();
            word.exists() || !ids.iter().any(|id| Path::new(id) == word.as_path())
        };
        let paths: Vec<PathBuf> = words.iter().filter(is_named).cloned().collect();
        for path in &paths {
            is_no_evaluator(path)?;
        }
        let documents = match paths[..] {
            [] => Vec::new(),
            _ => documents::ready(&paths, "played", console, |_| Ok(()))?,
        };
        let of_suites = match &evaluators {
            Some(evaluators) => evaluators.documents(&documents, console)?,
            None => Vec::new(),
        };
        Ok(Self { documents, of_suites, evaluators })
    }

    /// The same, with another threshold for semantic indicators.
    pub(crate) fn with_semantic_threshold(self, threshold: f64) -> Result<Self, Failure> {
        let set = |documents: Vec<Document>| {
            documents.into_iter().map(|document| document.with_semantic_threshold(threshold)).collect()
        };
        let (documents, of_suites): (Result<_, _>, Result<_, _>) = (set(self.documents), set(self.of_suites));
        Ok(Self { documents: documents?, of_suites: of_suites?, evaluators: self.evaluators })
    }
}

/// Whether a word is an evaluator, and not a document of the library.
fn is_evaluator(name: &str, of_the_library: bool, used: &InUse) -> Result<bool, Failure> {
    match (used.loaded.catalogue.get(name), of_the_library) {
        (Some(_), true) => {
            Err(Failure::new(format!("`{name}` is a document of the library and an evaluator"))
                .help("name the document by its id, such as `SRT-001`"))
        }
        (Some(_), false) => Ok(true),
        (None, true) => Ok(false),
        (None, false) if used.loaded.suites.resolve(name).is_ok() => {
            Err(Failure::new(format!("there is no file or folder `{name}`, and it is a suite"))
                .help(format!("play it with `--suite {name}`")))
        }
        (None, false) => Err(match used.loaded.catalogue.find(name) {
            Err(unknown) if unknown.nearest.is_some() => missing(&unknown, ""),
            _ => file_or_named(Path::new(name))
                .err()
                .unwrap_or_else(|| Failure::new(format!("nothing is called `{name}`"))),
        }),
    }
}

/// A file that was named is a document. People name files of evaluators too, and mean what is in them.
fn is_no_evaluator(path: &Path) -> Result<(), Failure> {
    if !path.is_file() || find_all(&[path.to_owned()]).evaluators.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("`{}` is an evaluator, and no document", path.display()))
        .help("name it by its id, and the folder that it is in with `--evaluators DIR`"))
}

impl Evaluators {
    /// Those that are played, and what must be played before them, in order.
    pub(crate) fn entries(&self) -> Vec<&CatalogueEntry> {
        self.used.loaded.catalogue.in_order(self.ids.iter().map(String::as_str))
    }

    /// Whether suites hold nothing but documents.
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// What a run of them is called: a suite, an evaluator, or how many of them.
    pub(crate) fn name(&self) -> String {
        match (&self.suites[..], &self.ids[..]) {
            ([suite], _) => suite.id.clone(),
            ([], [id]) => id.clone(),
            ([], _) => "evaluators".to_owned(),
            _ => "suites".to_owned(),
        }
    }

    /// Counts what came of each suite.
    pub(crate) fn tables(&self, report: &Report) -> Vec<SuiteTable> {
        let documents = crate::evaluators::documents();
        let catalogue = &self.used.loaded.catalogue;
        let table = |suite| SuiteTable::of(suite, catalogue, &documents, &report.runs, &report.unfinished);
        self.suites.iter().map(table).collect()
    }

    /// The documents of suites, without those that were named.
    fn documents(&self, named: &[Document], console: &mut Console) -> Result<Vec<Document>, Failure> {
        let mut seen: BTreeSet<String> = named.iter().map(|document| document.name.clone()).collect();
        let mut documents = Vec::new();
        for id in self.suites.iter().flat_map(|suite| &suite.documents) {
            let entry = library::find(id)?;
            if seen.insert(entry.name()) {
                documents.push(documents::document(&Input::Library(entry), console)?);
            }
        }
        Ok(documents)
    }
}

/// What `--var NAME=VALUE` says.
pub(crate) fn value(text: &str) -> Result<(String, String), Failure> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::new(format!("`--var`: `{text}` is no `NAME=VALUE`"))),
    }
}
