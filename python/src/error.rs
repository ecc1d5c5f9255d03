//! Errors of the crates below as exceptions of Python.

use std::fmt::Display;
use std::io::ErrorKind;

use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyPermissionError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use sortie_library::LoadError;
use sortie_report::files::FileError;
use sortie_report::findings::{Checked, Human, Reporter as _};

use crate::diagnostic::Diagnostic;

/// The exceptions are classes of Python: the stable interface cannot derive from one before Python 3.12.
const MODULE: &str = "sortie._errors";

/// A document with errors: the text that the command line shows, and the findings.
pub(crate) fn invalid_document(py: Python<'_>, checked: &Checked) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = Human::new(false, None).file(checked, &mut text);
    let diagnostics: Vec<_> =
        checked.findings.iter().map(|finding| Diagnostic::new(finding, &checked.source)).collect();
    match CLASS.import(py, MODULE, "InvalidDocument") {
        Ok(class) => {
            PyErr::from_type(class.clone(), (String::from_utf8_lossy(&text).into_owned(), diagnostics))
        }
        Err(error) => error,
    }
}

/// A trace that cannot be read.
pub(crate) fn invalid_trace(py: Python<'_>, message: impl Display) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    from_class(CLASS.import(py, MODULE, "InvalidTrace"), message)
}

/// A report that cannot be read.
pub(crate) fn invalid_report(py: Python<'_>, message: impl Display) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    from_class(CLASS.import(py, MODULE, "InvalidReport"), message)
}

fn from_class(class: PyResult<&Bound<'_, PyType>>, message: impl Display) -> PyErr {
    match class {
        Ok(class) => PyErr::from_type(class.clone(), message.to_string()),
        Err(error) => error,
    }
}

/// Why a document cannot be used.
pub(crate) fn load_error(py: Python<'_>, error: LoadError) -> PyErr {
    let message = match error.help() {
        Some(help) => format!("{error}\nhelp: {help}"),
        None => error.to_string(),
    };
    match error {
        LoadError::Invalid(checked) => invalid_document(py, &checked),
        LoadError::File(error) => file_error(&error),
        LoadError::NotFound { .. } => PyFileNotFoundError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// Why a file cannot be used.
pub(crate) fn file_error(error: &FileError) -> PyErr {
    let message = error.to_string();
    match error {
        FileError::NotFound(_) => PyFileNotFoundError::new_err(message),
        FileError::Io { error, .. } if error.kind() == ErrorKind::PermissionDenied => {
            PyPermissionError::new_err(message)
        }
        _ => PyOSError::new_err(message),
    }
}
