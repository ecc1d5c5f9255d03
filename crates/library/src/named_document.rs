//! Documents that are to be used, not checked: all of them are ready before anything is done with one.

use std::path::PathBuf;
use std::sync::Arc;

use sortie_oatf::{Compiled, Validated};

use crate::{DocumentInput, Found, LoadError};

/// A document, ready to be evaluated or played.
#[derive(Clone, Debug)]
pub struct NamedDocument {
    /// How people are told about it.
    pub name: String,
    /// The document.
    pub compiled: Arc<Compiled>,
}

impl NamedDocument {
    /// Loads a document, or says why it is none.
    pub fn load(input: &DocumentInput) -> Result<Self, LoadError> {
        let (name, document) = (input.name(), input.load()?);
        match Compiled::new(document) {
            Ok(compiled) => Ok(Self { name, compiled: Arc::new(compiled) }),
            Err(error) => Err(LoadError::NotCompiled { name, why: error.to_string() }),
        }
    }

    /// Loads every document, and refuses all of them when one cannot be used. `purpose` says what does not happen then.
    /// Also says what was left out.
    pub fn load_all(paths: &[PathBuf], purpose: Purpose) -> Result<(Vec<Self>, Vec<String>), LoadError> {
        let found = Found::documents_or_names(paths)?;
        let notes = found.notes();
        let (mut documents, mut failures) = (Vec::new(), found.failures);
        for input in &found.inputs {
            match Self::load(input) {
                Ok(document) if purpose == Purpose::Evaluate && document.compiled.indicators().is_empty() => {
                    failures.push(LoadError::NoIndicators(document.name));
                }
                Ok(document) => documents.push(document),
                Err(failure) => failures.push(failure),
            }
        }
        if failures.is_empty() {
            return Ok((documents, notes));
        }
        Err(LoadError::Refused { failures, notes, purpose })
    }

    /// The same document, its semantic indicators with another threshold.
    pub fn with_semantic_threshold(self, threshold: f64) -> Result<Self, LoadError> {
        let mut document = self.compiled.document().clone().into_inner();
        for indicator in document.attack.indicators.iter_mut().flatten() {
            if let Some(semantic) = &mut indicator.semantic {
                semantic.threshold = Some(threshold);
            }
        }
        // A threshold from 0 to 1 takes nothing away from what makes a document valid.
        let why = match Validated::new(document) {
            Ok((document, _)) => match self.compiled.again(document) {
                Ok(compiled) => return Ok(Self { compiled: Arc::new(compiled), ..self }),
                Err(error) => error.to_string(),
            },
            Err(_) => format!("{threshold} is not a threshold"),
        };
        Err(LoadError::NotCompiled { name: self.name, why })
    }
}

/// What documents are loaded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be played.
    Play,
    /// To evaluate a recording, which takes indicators.
    Evaluate,
}
