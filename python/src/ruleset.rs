//! Traces, and what documents find in them.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sortie_detect::Place;
use sortie_detect::ruleset::RulesetSession;
use sortie_library::{LoadError, NamedDocument};
use sortie_report::files::FileError;
use sortie_trace::TraceError;

use crate::document::Document;
use crate::error::{file_error, invalid_trace, load_error};
use crate::input::Input;
use crate::outcome::Outcome;

/// Documents that are compiled together, for any number of traces.
#[pyclass(frozen, module = "sortie")]
pub(crate) struct Ruleset {
    documents: Vec<Arc<NamedDocument>>,
    ruleset: Arc<sortie_detect::Ruleset>,
}

#[pymethods]
impl Ruleset {
    /// Compiles documents together.
    #[new]
    #[pyo3(signature = (documents, *, lenient=false))]
    fn new(py: Python<'_>, documents: Vec<Bound<'_, Document>>, lenient: bool) -> PyResult<Self> {
        if documents.is_empty() {
            return Err(PyValueError::new_err("there is no document to evaluate a trace with"));
        }
        let documents: Vec<_> = documents.iter().map(|document| document.get().named.clone()).collect();
        if let Some(silent) = documents.iter().find(|document| document.compiled.indicators().is_empty()) {
            return Err(load_error(py, LoadError::NoIndicators(silent.name.clone())));
        }
        let ruleset = py.detach(|| {
            let compiled = documents.iter().map(|document| document.compiled.clone());
            sortie_detect::Ruleset::new(compiled).lenient(lenient)
        });
        Ok(Self { documents, ruleset: Arc::new(ruleset) })
    }

    /// What each document finds in a trace, in the order of the documents.
    fn evaluate(&self, py: Python<'_>, trace: Input) -> PyResult<Vec<Outcome>> {
        let (name, replayed) = match trace.into_path() {
            Ok(path) => {
                let name = path.to_string_lossy().into_owned();
                let opened = py.detach(|| File::open(&path));
                let file = opened.map_err(|error| file_error(&FileError::io(&path, "read", error)))?;
                (Some(name), py.detach(|| self.ruleset.replay(BufReader::new(file))))
            }
            Err(content) => (None, py.detach(|| self.ruleset.replay(&content[..]))),
        };
        let session = replayed.map_err(|error| unreadable(py, name.as_deref(), &error))?;
        Ok(py.detach(|| self.outcomes(&session, name.as_deref())))
    }

    fn __repr__(&self) -> String {
        format!("<Ruleset of {} documents>", self.documents.len())
    }
}

impl Ruleset {
    fn outcomes(&self, session: &RulesetSession, trace: Option<&str>) -> Vec<Outcome> {
        let documents = self.documents.iter().enumerate();
        let outcome = |(at, document): (usize, &Arc<NamedDocument>)| {
            let place = Place { document: document.name.clone(), trace: trace.map(str::to_owned) };
            Outcome::new(session.outcome(at, place))
        };
        documents.map(outcome).collect()
    }
}

fn unreadable(py: Python<'_>, name: Option<&str>, error: &TraceError) -> PyErr {
    invalid_trace(py, format!("cannot read `{}`: {error}", name.unwrap_or("<bytes>")))
}

/// What documents find in a trace.
#[pyfunction]
#[pyo3(signature = (documents, trace, *, lenient=false))]
pub(crate) fn evaluate_trace(
    py: Python<'_>,
    documents: Vec<Bound<'_, Document>>,
    trace: Input,
    lenient: bool,
) -> PyResult<Vec<Outcome>> {
    Ruleset::new(py, documents, lenient)?.evaluate(py, trace)
}
