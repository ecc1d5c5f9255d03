//! Texts and paths as Python gives them.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyByteArray, PyBytes, PyString};

/// A `str`, `bytes`, or the path that a `PathLike` is.
pub(crate) enum Input {
    Text(PyBackedStr),
    Bytes(PyBackedBytes),
    Path(PathBuf),
}

impl Input {
    /// The path that it is, where a text is one too; else the content.
    pub(crate) fn into_path(self) -> Result<PathBuf, PyBackedBytes> {
        match self {
            Self::Path(path) => Ok(path),
            Self::Text(path) => Ok(PathBuf::from(path.to_string())),
            Self::Bytes(content) => Err(content),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Input {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        // A `str` that is no text must not be taken for a path, so that the kinds are told apart first.
        if object.is_instance_of::<PyString>() {
            return object.extract().map(Self::Text);
        }
        if object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>() {
            return object.extract().map(Self::Bytes).map_err(Into::into);
        }
        object.extract().map(Self::Path)
    }
}
