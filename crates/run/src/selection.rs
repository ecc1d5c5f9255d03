//! What words stand for: documents, evaluators and suites.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sortie_bindings::known_modes;
use sortie_evaluators::{CatalogueEntry, Suite, Values};
use sortie_library::filter::{LibraryFilter, load_library};
use sortie_library::{
    self as library, DocumentInput, EvaluatorSet, Found, LoadError, NamedDocument, Purpose,
};
use sortie_oatf::Compiled;
use sortie_report::{Report, SuiteTable};

use crate::SetupError;

/// What is played where there is no attack.
const OBSERVER: &str = "
oatf: '0.1'
attack:
  name: Observation
  execution: {mode: mcp_server, x-sortie: {wrap: server}, state: {}}
";

/// Documents and evaluators that were asked for.
pub struct Selected {
    /// Documents that were named.
    pub documents: Vec<NamedDocument>,
    /// Documents that are played only where they fit: those of suites and of the library.
    pub optional_documents: Vec<NamedDocument>,
    /// Evaluators.
    pub evaluators: Option<SelectedEvaluators>,
}

/// Evaluators that were asked for, or suites that hold none.
pub struct SelectedEvaluators {
    set: EvaluatorSet,
    ids: Vec<String>,
    suites: Vec<Suite>,
    /// Whether one was named, and not only a suite that holds it.
    pub(crate) named: bool,
    /// What placeholders stand for.
    pub(crate) values: Values,
}

/// Whether some of these words may name evaluators: they are no paths, and name no document of the library.
pub fn may_name_evaluators(words: &[PathBuf]) -> bool {
    !names(words).all(|name| library::find(name).is_ok())
}

fn names(words: &[PathBuf]) -> impl Iterator<Item = &str> {
    words.iter().filter(|word| !word.exists()).filter_map(|word| library::may_name(word))
}

impl Selected {
    /// Finds them, and says what was left out. An existing path is a path, else a word is a name; one that may be two things is
    /// refused.
    pub fn find(
        words: &[PathBuf],
        suites: &[String],
        evaluators: Option<EvaluatorSet>,
        values: Values,
    ) -> Result<(Self, Vec<String>), SetupError> {
        let repeated = words.iter().enumerate().find(|(at, word)| words[..*at].contains(word));
        if let Some((_, word)) = repeated {
            let message = format!("`{}` is named twice, and would be played once", word.display());
            return Err(SetupError::usage(message).with_help("name it once"));
        }
        Self::find_all(words, suites, evaluators, values)
            .map_err(|error| meant_library(words).unwrap_or(error))
    }

    fn find_all(
        words: &[PathBuf],
        suites: &[String],
        evaluators: Option<EvaluatorSet>,
        values: Values,
    ) -> Result<(Self, Vec<String>), SetupError> {
        let evaluators =
            evaluators.map(|set| SelectedEvaluators::find(words, suites, set, values)).transpose()?;
        let ids = evaluators.as_ref().map(|evaluators| &evaluators.ids[..]).unwrap_or_default();
        let is_evaluator = |word: &PathBuf| !word.exists() && ids.iter().any(|id| Path::new(id) == word);
        let paths: Vec<PathBuf> = words.iter().filter(|word| !is_evaluator(word)).cloned().collect();
        for path in &paths {
            refuse_evaluator_file(path)?;
        }
        let (documents, notes) = match paths[..] {
            [] => (Vec::new(), Vec::new()),
            _ => NamedDocument::load_all(&paths, Purpose::Play)?,
        };
        let optional_documents = match &evaluators {
            Some(evaluators) => evaluators.documents(&documents)?,
            None => Vec::new(),
        };
        Ok((Self { documents, optional_documents, evaluators }, notes))
    }

    /// A document that attacks nobody: its one actor stands before the server [`OBSERVED`](Self::OBSERVED), and what passes is
    /// recorded.
    pub fn observing() -> Self {
        let compiled =
            sortie_oatf::load(OBSERVER).ok().and_then(|loaded| Compiled::new(loaded.document).ok());
        let Some(compiled) = compiled else { unreachable!("a test loads the document") };
        let document = NamedDocument { name: "observe".to_owned(), compiled: Arc::new(compiled) };
        Self { documents: vec![document], optional_documents: Vec::new(), evaluators: None }
    }

    /// The name of the server that is only observed.
    pub const OBSERVED: &str = "server";

    /// The same, and the documents of the library that a filter takes, as far as they fit.
    pub fn with_library(mut self, filter: &LibraryFilter) -> Result<Self, SetupError> {
        let known = self.documents.iter().chain(&self.optional_documents);
        let mut seen: BTreeSet<String> = known.map(|document| document.name.clone()).collect();
        for (entry, _) in filter.apply(load_library())? {
            if seen.insert(entry.name()) {
                self.optional_documents.push(NamedDocument::load(&DocumentInput::Library(entry))?);
            }
        }
        Ok(self)
    }

    /// The same, with another threshold for semantic indicators.
    pub fn with_semantic_threshold(self, threshold: f64) -> Result<Self, SetupError> {
        let set = |documents: Vec<NamedDocument>| {
            documents.into_iter().map(|document| document.with_semantic_threshold(threshold)).collect()
        };
        let (documents, optional): (Result<_, _>, Result<_, _>) =
            (set(self.documents), set(self.optional_documents));
        Ok(Self { documents: documents?, optional_documents: optional?, ..self })
    }
}

/// What to say to people who name the library, or a part of it, as if it were a folder here.
fn meant_library(words: &[PathBuf]) -> Option<SetupError> {
    let texts = words.iter().filter(|word| !word.exists()).filter_map(|word| word.to_str());
    texts.into_iter().find_map(|text| {
        let part = text.strip_prefix("library/").unwrap_or(text).trim_end_matches('/');
        let mode = part.replace('-', "_");
        let options = match part {
            "library" | "all" | "SRT" => "--library".to_owned(),
            _ if part.starts_with("SRT") && part.contains('*') => "--library".to_owned(),
            _ if known_modes().contains(&mode.as_str()) => format!("--library --mode {mode}"),
            _ => return None,
        };
        let error = SetupError::usage(format!("there is no file, folder, document or evaluator `{text}`"));
        Some(error.with_help(format!("`{options}` plays what fits of the library that comes with Sortie")))
    })
}

/// Whether a word is an evaluator, and not a document of the library.
fn is_evaluator(name: &str, of_the_library: bool, used: &EvaluatorSet) -> Result<bool, SetupError> {
    match (used.loaded.catalogue.get(name), of_the_library) {
        (Some(_), true) => {
            Err(SetupError::usage(format!("`{name}` is a document of the library and an evaluator"))
                .with_help("name the document by its id, such as `SRT-001`"))
        }
        (Some(_), false) => Ok(true),
        (None, true) => Ok(false),
        (None, false) if used.loaded.suites.resolve(name).is_ok() => {
            Err(SetupError::usage(format!("there is no file or folder `{name}`, and it is a suite"))
                .with_help(format!("play it with `--suite {name}`")))
        }
        (None, false) => Err(match used.loaded.catalogue.find(name) {
            Err(unknown) if unknown.nearest.is_some() => LoadError::from(unknown).into(),
            _ => DocumentInput::file_or_named(Path::new(name))
                .err()
                .map_or_else(|| SetupError::usage(format!("nothing is called `{name}`")), SetupError::from),
        }),
    }
}

/// A file that was named is a document. People name files of evaluators too, and mean what is in them.
fn refuse_evaluator_file(path: &Path) -> Result<(), SetupError> {
    if !path.is_file() || Found::everything(&[path.to_owned()]).is_ok_and(|found| found.evaluators.is_empty())
    {
        return Ok(());
    }
    Err(SetupError::usage(format!("`{}` is an evaluator, and no document", path.display()))
        .with_help("name it by its id, and the folder that it is in with `--evaluators DIR`"))
}

impl SelectedEvaluators {
    fn find(
        words: &[PathBuf],
        names_of_suites: &[String],
        set: EvaluatorSet,
        values: Values,
    ) -> Result<Self, SetupError> {
        let mut ids: Vec<String> = Vec::new();
        for name in names(words) {
            if is_evaluator(name, library::find(name).is_ok(), &set)? {
                ids.push(name.to_owned());
            }
        }
        let named = !ids.is_empty();
        let mut suites = Vec::new();
        for name in names_of_suites {
            let suite = set.suite(name)?;
            ids.extend(suite.evaluators.iter().cloned());
            suites.push(suite.clone());
        }
        Ok(Self { set, ids, suites, named, values })
    }

    /// Those that are played, and what must be played before them, in order.
    pub(crate) fn entries(&self) -> Vec<&CatalogueEntry> {
        self.set.loaded.catalogue.in_order(self.ids.iter().map(String::as_str))
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

    pub(crate) fn tables(&self, report: &Report) -> Vec<SuiteTable> {
        let documents = library::suite_documents();
        let catalogue = &self.set.loaded.catalogue;
        let table = |suite| SuiteTable::of(suite, catalogue, &documents, &report.runs, &report.unfinished);
        self.suites.iter().map(table).collect()
    }

    /// The documents of suites, without those that were named.
    fn documents(&self, named: &[NamedDocument]) -> Result<Vec<NamedDocument>, SetupError> {
        let mut seen: BTreeSet<String> = named.iter().map(|document| document.name.clone()).collect();
        let mut documents = Vec::new();
        for id in self.suites.iter().flat_map(|suite| &suite.documents) {
            let entry =
                library::find(id).map_err(|source| LoadError::NotFound { word: id.clone(), source })?;
            if seen.insert(entry.name()) {
                documents.push(NamedDocument::load(&DocumentInput::Library(entry))?);
            }
        }
        Ok(documents)
    }
}
