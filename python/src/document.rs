//! Documents, and what they say about one message.

use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sortie_library::{DocumentInput, LoadError, NamedDocument};
use sortie_lint::analyze;
use sortie_oatf::compile::CompiledIndicator;
use sortie_oatf::model::{Direction, IndicatorVerdict};
use sortie_oatf::{Compiled, Evaluators, IndicatorOutcome, compute_verdict};
use sortie_report::findings::Checked;
use sortie_syntax::{Source, utf8};

use crate::error::load_error;
use crate::input::Input;
use crate::message::Message;
use crate::outcome::{Evidence, IndicatorFinding};

/// The name of a text that has none.
const UNNAMED: &str = "<text>";

/// A valid document, compiled once.
#[pyclass(frozen, module = "sortie")]
#[derive(Clone)]
pub(crate) struct Document {
    pub(crate) named: Arc<NamedDocument>,
    /// The text that it was read from.
    text: Arc<str>,
}

#[pymethods]
impl Document {
    /// How reports and errors name it: its path, or the `name` that `load` was given.
    #[getter]
    fn name(&self) -> &str {
        &self.named.name
    }

    /// `attack.id`.
    #[getter]
    fn id(&self) -> Option<&str> {
        self.named.compiled.document().attack.id.as_deref()
    }

    /// `attack.name`.
    #[getter]
    fn title(&self) -> Option<&str> {
        self.named.compiled.document().attack.name.as_deref()
    }

    /// The task of the agent: `x-sortie.prompt`.
    #[getter]
    fn prompt(&self) -> Option<String> {
        self.named.compiled.document().extension().prompt.clone()
    }

    /// The text that it was read from.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The ids of its indicators, in order.
    #[getter]
    fn indicators(&self) -> Vec<&str> {
        self.named.compiled.indicators().iter().map(|indicator| indicator.id.as_str()).collect()
    }

    /// Evaluates one message, as indicators see it, with every indicator that looks at such messages.
    #[pyo3(signature = (message, *, surface=None, direction=None))]
    fn evaluate(
        &self,
        py: Python<'_>,
        message: Message<'_>,
        surface: Option<&str>,
        direction: Option<&str>,
    ) -> PyResult<Evaluation> {
        let direction = match direction {
            None => None,
            Some("request") => Some(Direction::Request),
            Some("response") => Some(Direction::Response),
            Some(other) => {
                let message = format!("`{other}` is not a direction: it is `request` or `response`");
                return Err(PyValueError::new_err(message));
            }
        };
        let parsed = message.value(py)?;
        Ok(py.detach(|| Evaluation::of(&self.named.compiled, &parsed, surface, direction)))
    }

    fn __repr__(&self) -> String {
        format!("<Document {} ({})>", self.id().unwrap_or("without an id"), self.named.name)
    }
}

/// What a document says about one message. It says nothing about what was delivered: that takes a trace.
#[pyclass(frozen, get_all, module = "sortie")]
pub(crate) struct Evaluation {
    /// `exploited`, `partial`, `not_exploited` or `error`.
    verdict: &'static str,
    /// The worst tier among the indicators that matched.
    tier: Option<String>,
    /// What matched.
    evidence: Vec<Evidence>,
    /// Every indicator, in the order of the document.
    indicators: Vec<IndicatorFinding>,
}

impl Evaluation {
    fn of(
        compiled: &Compiled,
        message: &serde_json::Value,
        surface: Option<&str>,
        direction: Option<Direction>,
    ) -> Self {
        let (mut evidence, mut indicators) = (Vec::new(), Vec::new());
        let mut verdicts = std::collections::HashMap::new();
        for indicator in compiled.indicators() {
            let why = left_out(indicator, surface, direction);
            let outcome = why.map_or_else(
                || indicator.evaluate(message, Evaluators::standard()),
                IndicatorOutcome::Skipped,
            );
            if let IndicatorOutcome::Matched(found) = &outcome {
                evidence.push(Evidence::of_message(&indicator.id, found));
            }
            let (result, words) = (outcome.result(), outcome.evidence());
            indicators.push(IndicatorFinding::new(&indicator.id, result, words.clone()));
            let verdict = IndicatorVerdict {
                indicator_id: indicator.id.clone(),
                result,
                timestamp: None,
                evidence: words,
                source: None,
            };
            verdicts.insert(indicator.id.clone(), verdict);
        }
        let verdict = compute_verdict(&compiled.document().attack, &verdicts);
        let tier = verdict.max_tier.map(|tier| tier.as_str().to_owned());
        Self { verdict: verdict.result.as_str(), tier, evidence, indicators }
    }
}

/// Why an indicator is not asked about one message that stands alone.
fn left_out(
    indicator: &CompiledIndicator,
    surface: Option<&str>,
    direction: Option<Direction>,
) -> Option<&'static str> {
    let differs =
        |wanted: Option<&str>, is: Option<&str>| wanted.zip(is).is_some_and(|(wanted, is)| wanted != is);
    if differs(indicator.surface.as_deref(), surface) {
        return Some("it looks at another surface");
    }
    if indicator.direction.zip(direction).is_some_and(|(wanted, is)| wanted != is) {
        return Some("it looks at the other direction");
    }
    if indicator.flow.is_some() {
        return Some("it follows a value through several messages: evaluate a trace");
    }
    indicator.reads_transcript.then_some("it reads the conversation: evaluate a trace")
}

#[pymethods]
impl Evaluation {
    fn __repr__(&self) -> String {
        format!("<Evaluation {}: {} matched>", self.verdict, self.evidence.len())
    }
}

/// Loads a document: a path, the id of a bundled document, or a text.
#[pyfunction]
#[pyo3(signature = (source, *, name=None))]
pub(crate) fn load(py: Python<'_>, source: Input, name: Option<String>) -> PyResult<Document> {
    let unnamed = |name: Option<String>| name.unwrap_or_else(|| UNNAMED.to_owned());
    let loaded = py.detach(|| match &source {
        Input::Path(path) => read(&DocumentInput::File(path.clone()), name),
        // A document has more lines than one, or is JSON.
        Input::Text(word) if !word.contains('\n') && !word.trim_start().starts_with('{') => {
            let word: &str = word;
            read(&DocumentInput::file_or_named(word.as_ref())?, name)
        }
        Input::Text(text) => parse(text.as_bytes(), unnamed(name)),
        Input::Bytes(bytes) => parse(bytes, unnamed(name)),
    });
    loaded.map_err(|error| load_error(py, error))
}

fn read(input: &DocumentInput, name: Option<String>) -> Result<Document, LoadError> {
    let name = name.unwrap_or_else(|| input.name());
    match input.read() {
        Ok(text) => parse(text.as_bytes(), name),
        Err(LoadError::Invalid(checked)) => Err(LoadError::Invalid(Box::new(Checked { name, ..*checked }))),
        Err(error) => Err(error),
    }
}

fn parse(bytes: &[u8], name: String) -> Result<Document, LoadError> {
    let invalid = |name, source, findings| {
        LoadError::Invalid(Box::new(Checked { name, source, valid: false, findings }))
    };
    let text = match utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            return Err(invalid(name, Source::new(String::from_utf8_lossy(bytes)), vec![*error.diagnostic]));
        }
    };
    let Ok(loaded) = sortie_oatf::load(text) else {
        let findings = analyze(text).diagnostics.into_iter().filter(sortie_syntax::Diagnostic::is_error);
        return Err(invalid(name, Source::new(text), findings.collect()));
    };
    match Compiled::new(loaded.document) {
        Ok(compiled) => {
            let named = NamedDocument { name, compiled: Arc::new(compiled) };
            Ok(Document { named: Arc::new(named), text: text.into() })
        }
        Err(error) => Err(LoadError::NotCompiled { name, why: error.to_string() }),
    }
}

/// The documents that come with Sortie, by id.
#[pyfunction]
pub(crate) fn library(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    static DOCUMENTS: OnceLock<Vec<(&str, Document)>> = OnceLock::new();
    let documents = py.detach(|| {
        if let Some(documents) = DOCUMENTS.get() {
            return Ok(documents);
        }
        let load = |bundled: &'static sortie_library::BundledDocument| {
            Ok((bundled.id(), read(&DocumentInput::Library(bundled), None)?))
        };
        let loaded = sortie_library::documents().iter().map(load).collect::<Result<Vec<_>, LoadError>>()?;
        Ok(DOCUMENTS.get_or_init(|| loaded))
    });
    let by_id = PyDict::new(py);
    for (id, document) in documents.map_err(|error| load_error(py, error))? {
        by_id.set_item(id, document.clone())?;
    }
    Ok(by_id)
}
