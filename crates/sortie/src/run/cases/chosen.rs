//! Which evaluators are meant.

use std::path::{Path, PathBuf};

use sortie_evaluators::{Entry, Values};

use super::CaseArgs;
use crate::console::Console;
use crate::evaluators::{InUse, Sources, missing};
use crate::failure::Failure;
use crate::inputs::file_or_named;
use crate::library;
use crate::run::Config;

/// Evaluators that were asked for.
pub(crate) struct Chosen {
    used: InUse,
    ids: Vec<String>,
    pub(crate) values: Values,
    /// Documents of suites, which are not played here.
    pub(crate) documents: Vec<String>,
}

impl Chosen {
    /// The evaluators that words and suites stand for; `None` when all words are documents.
    ///
    /// An existing path is a path. A word that both a document and an evaluator may be is refused.
    pub(crate) fn find(
        words: &[PathBuf],
        arguments: &CaseArgs,
        file: Option<&Path>,
        config: &Config,
        console: &mut Console,
    ) -> Result<Option<Self>, Failure> {
        let may_be = |word: &&PathBuf| !word.exists() && library::may_name(word).is_some();
        let of_the_library = |word: &str| library::find(word).is_ok();
        let names: Vec<&str> = words.iter().filter(may_be).filter_map(|word| word.to_str()).collect();
        if arguments.suite.is_empty() && names.iter().all(|name| of_the_library(name)) {
            return Ok(None);
        }
        let used = Sources::of(arguments.folders.clone(), file).load(console)?;
        let mut ids: Vec<String> = Vec::new();
        for name in &names {
            match (used.loaded.catalogue.get(name), of_the_library(name)) {
                (Some(_), true) => {
                    return Err(Failure::new(format!(
                        "`{name}` is a document of the library and an evaluator"
                    ))
                    .help("name the document by its id, such as `SRT-001`"));
                }
                (Some(_), false) => ids.push((*name).to_owned()),
                (None, true) => {}
                (None, false) => {
                    return Err(match used.loaded.catalogue.find(name) {
                        Err(unknown) if unknown.nearest.is_some() => missing(&unknown, ""),
                        _ => file_or_named(Path::new(name))
                            .err()
                            .unwrap_or_else(|| Failure::new("nothing is called that")),
                    });
                }
            }
        }
        let mut documents = Vec::new();
        for name in &arguments.suite {
            let suite = used.loaded.suites.resolve(name);
            let suite = suite.map_err(|unknown| missing(&unknown, "`sortie suites list` shows them all"))?;
            ids.extend(suite.evaluators.iter().cloned());
            documents.extend(suite.documents.iter().cloned());
        }
        if ids.is_empty() {
            return Err(Failure::new("there is no evaluator to be played")
                .help("`sortie suites show NAME` shows what is in a suite"));
        }
        let is_document = |word: &PathBuf| !ids.iter().any(|id| Path::new(id) == word);
        if let Some(document) = words.iter().find(|word| is_document(word)) {
            return Err(Failure::new(format!(
                "`{}` is a document, and the others are evaluators",
                document.display()
            ))
            .help("play documents and evaluators one after the other"));
        }
        let mut values = config.values(arguments.profile.as_deref())?;
        for text in &arguments.var {
            values.extend([value(text)?]);
        }
        Ok(Some(Self { used, ids, values, documents }))
    }

    /// Them, and what must be played before them, in order.
    pub(crate) fn entries(&self) -> Vec<&Entry> {
        self.used.loaded.catalogue.in_order(self.ids.iter().map(String::as_str))
    }
}

fn value(text: &str) -> Result<(String, String), Failure> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::new(format!("`--var`: `{text}` is no `NAME=VALUE`"))),
    }
}
