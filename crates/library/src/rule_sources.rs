//! What a scan looks for: documents of the library, of folders, and checks of evaluators.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sortie_evaluators::detection::detection_rule;
use sortie_report::counted;

use crate::{EvaluatorRoots, EvaluatorSet, LoadError, NamedDocument, Purpose};

/// Where documents come from that recorded traffic is scanned for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleSource {
    /// All documents of the library.
    Library,
    /// The checks of the bundled evaluators.
    Evaluators,
    /// A folder of Agent Threat Rules.
    Atr(PathBuf),
    /// A file, a folder, or the id of a document of the library.
    Path(PathBuf),
}

impl RuleSource {
    /// What a word on a command line means: `library`, `evaluators`, `atr=DIR`, or a path.
    ///
    /// ```
    /// use sortie_library::RuleSource;
    ///
    /// assert_eq!(RuleSource::parse("library"), RuleSource::Library);
    /// assert_eq!(RuleSource::parse("attacks/"), RuleSource::Path("attacks/".into()));
    /// ```
    pub fn parse(word: &str) -> Self {
        match word {
            "library" => Self::Library,
            "evaluators" => Self::Evaluators,
            word => match word.strip_prefix("atr=") {
                Some(folder) => Self::Atr(folder.into()),
                None => Self::Path(word.into()),
            },
        }
    }

    /// Loads all of them, and refuses all when one cannot be used. Also says what was left out.
    pub fn load_all(sources: &[Self]) -> Result<(Vec<NamedDocument>, Vec<String>), LoadError> {
        let (mut documents, mut notes) = (Vec::new(), Vec::new());
        for source in sources {
            let (more, about) = match source {
                Self::Library => {
                    let ids: Vec<PathBuf> =
                        crate::documents().iter().map(|document| document.id().into()).collect();
                    NamedDocument::load_all(&ids, Purpose::Evaluate)?
                }
                Self::Evaluators => evaluators()?,
                Self::Atr(folder) => imported(folder)?,
                Self::Path(path) => NamedDocument::load_all(std::slice::from_ref(path), Purpose::Evaluate)?,
            };
            documents.extend(more);
            notes.extend(about);
        }
        Ok((documents, notes))
    }
}

/// The bundled evaluators that can be looked for in single messages.
fn evaluators() -> Result<(Vec<NamedDocument>, Vec<String>), LoadError> {
    let (mut documents, mut left_out) = (Vec::new(), 0);
    let bundled = EvaluatorSet::new(EvaluatorRoots::load(&[], true)?)?;
    for entry in bundled.loaded.catalogue.entries() {
        let rule = detection_rule(&entry.evaluator, entry.class);
        left_out += rule.left_out;
        let name = entry.evaluator.id.clone();
        documents.extend(rule.document.map(|document| NamedDocument { name, compiled: Arc::new(document) }));
    }
    let note = format!(
        "{left_out} checks of evaluators read more than one message, or values of an attack, and are left out"
    );
    Ok((documents, vec![note]))
}

/// Agent Threat Rules that documents can say.
fn imported(folder: &Path) -> Result<(Vec<NamedDocument>, Vec<String>), LoadError> {
    let (rules, left_out) = sortie_atr::load(folder)?;
    let partly = rules.iter().filter(|rule| !rule.skipped.is_empty()).count();
    let documents = rules.into_iter().map(|rule| NamedDocument { name: rule.id, compiled: rule.compiled });
    let mut notes = Vec::new();
    if partly + left_out.len() > 0 {
        notes.push(format!(
            "{} left out, {partly} looked for in part; `sortie import atr` lists the reasons",
            counted(left_out.len(), "Agent Threat Rule", "Agent Threat Rules"),
        ));
    }
    Ok((documents.collect(), notes))
}
