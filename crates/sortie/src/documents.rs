//! Documents that are to be used, not checked: all of them are ready before anything is done with one.

use std::path::PathBuf;
use std::sync::Arc;

use sortie_lint::analyze;
use sortie_oatf::{Compiled, Validated, load};
use sortie_syntax::{Diagnostic, Source};

use crate::console::Console;
use crate::failure::Failure;
use crate::inputs::{self, Content, Input, counted};
use crate::render::Checked;

/// A document, ready to be evaluated or played.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// How people are told about it.
    pub(crate) name: String,
    pub(crate) compiled: Arc<Compiled>,
}

impl Document {
    /// The same document, its semantic indicators with another threshold.
    pub(crate) fn with_semantic_threshold(mut self, threshold: f64) -> Result<Self, Failure> {
        let mut document = self.compiled.document().clone().into_inner();
        for indicator in document.attack.indicators.iter_mut().flatten() {
            if let Some(semantic) = &mut indicator.semantic {
                semantic.threshold = Some(threshold);
            }
        }
        let failed = |error: String| Failure::new(format!("`{}` cannot be evaluated: {error}", self.name));
        // A threshold from 0 to 1 takes nothing away from what makes a document valid.
        let (document, _) = Validated::new(document).map_err(|errors| failed(format!("{errors:?}")))?;
        self.compiled = Arc::new(self.compiled.again(document).map_err(|error| failed(error.to_string()))?);
        Ok(self)
    }
}

/// Reads every document, and refuses all of them when one cannot be used. `accept` has the last word on each; `purpose` says
/// what does not happen then.
pub(crate) fn ready(
    paths: &[PathBuf],
    purpose: &str,
    console: &mut Console,
    accept: impl Fn(&Document) -> Result<(), Failure>,
) -> Result<Vec<Document>, Failure> {
    let found = inputs::find_or_named(paths);
    if found.is_empty() {
        return Err(inputs::nothing_found(paths));
    }
    let mut refused = found.failures.len();
    for failure in &found.failures {
        console.failure(failure);
    }
    let mut documents = Vec::new();
    for input in &found.inputs {
        let document = document(input, console).and_then(|document| {
            accept(&document)?;
            Ok(document)
        });
        match document {
            Ok(document) => documents.push(document),
            Err(failure) => {
                console.failure(&failure);
                refused += 1;
            }
        }
    }
    for note in found.notes() {
        console.note(&note);
    }
    match refused {
        0 => Ok(documents),
        refused => {
            let refused = counted(refused, "input was", "inputs were");
            Err(Failure::new(format!("{refused} refused, so nothing was {purpose}")))
        }
    }
}

/// A document, or why it is none; what is wrong with it is shown to people.
pub(crate) fn document(input: &Input, console: &mut Console) -> Result<Document, Failure> {
    let name = input.name();
    let invalid = match input.read()? {
        Content::Refused(source, finding) => (source, vec![*finding]),
        Content::Text(text) => {
            if let Ok(loaded) = load(&text) {
                let compiled = Compiled::new(loaded.document)
                    .map_err(|error| Failure::new(format!("`{name}` cannot be evaluated: {error}")))?;
                return Ok(Document { name, compiled: Arc::new(compiled) });
            }
            let findings = analyze(&text).diagnostics.into_iter().filter(Diagnostic::is_error);
            (Source::new(text.as_str()), findings.collect())
        }
    };
    let (source, findings) = invalid;
    console.findings(&Checked { name: name.clone(), source, valid: false, findings })?;
    Err(Failure::new(format!("`{name}` is not valid")))
}
