//! Findings about a document.

use pyo3::prelude::*;
use sortie_library::{DocumentInput, LoadError};
use sortie_report::findings::Checked;
use sortie_syntax::Source;

use crate::error::load_error;
use crate::input::Input;

/// A finding about a document: what, where, and what to do.
#[pyclass(frozen, get_all, eq, module = "sortie")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    /// The code of the rule.
    code: &'static str,
    /// `error` or `warning`.
    severity: &'static str,
    /// What happened, in one sentence.
    message: String,
    /// Where in the document.
    path: Option<String>,
    /// Where in the text, from one.
    line: Option<usize>,
    /// In characters, from one.
    column: Option<usize>,
    /// What to do about it.
    help: Vec<String>,
}

impl Diagnostic {
    pub(crate) fn new(finding: &sortie_syntax::Diagnostic, source: &Source) -> Self {
        let at = finding.span.map(|span| source.line_column(span.start));
        Self {
            code: finding.code,
            severity: finding.severity.as_str(),
            message: finding.message.clone(),
            path: finding.path.as_ref().map(ToString::to_string),
            line: at.map(|at| at.line),
            column: at.map(|at| at.column),
            help: finding.help.clone(),
        }
    }
}

#[pymethods]
impl Diagnostic {
    fn __repr__(&self) -> String {
        let Self { code, severity, message, line, column, .. } = self;
        let place = match (line, column) {
            (Some(line), Some(column)) => format!("{line}:{column}: "),
            _ => String::new(),
        };
        format!("<Diagnostic {place}{severity}[{code}]: {message}>")
    }
}

/// Everything that `sortie check` finds in a document: errors, warnings and lints. A path is read.
#[pyfunction]
pub(crate) fn check(py: Python<'_>, text: Input) -> PyResult<Vec<Diagnostic>> {
    let found = py.detach(|| match &text {
        Input::Text(text) => Ok(findings(text.as_bytes())),
        Input::Bytes(bytes) => Ok(findings(bytes)),
        Input::Path(path) => match DocumentInput::File(path.clone()).read() {
            Ok(text) => Ok(findings(text.as_bytes())),
            Err(LoadError::Invalid(checked)) => Ok(of_checked(&checked)),
            Err(error) => Err(error),
        },
    });
    found.map_err(|error| load_error(py, error))
}

fn findings(text: &[u8]) -> Vec<Diagnostic> {
    match sortie_syntax::utf8(text) {
        Ok(text) => {
            let source = Source::new(text);
            let analysis = sortie_lint::analyze(text);
            analysis.diagnostics.iter().map(|finding| Diagnostic::new(finding, &source)).collect()
        }
        Err(error) => vec![Diagnostic::new(&error.diagnostic, &Source::new(String::from_utf8_lossy(text)))],
    }
}

fn of_checked(checked: &Checked) -> Vec<Diagnostic> {
    checked.findings.iter().map(|finding| Diagnostic::new(finding, &checked.source)).collect()
}
