//! Messages as Python has them: objects, or JSON.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Map, Number, Value};

/// So deep may objects and lists be, as in JSON that is parsed.
const MAX_DEPTH: usize = 127;
/// So many bytes may a message hold.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// So many of them does a value count, beside its text. A list that holds another one twice, again and again, takes little memory
/// in Python, and as JSON more than there is.
const VALUE_BYTES: usize = 64;

/// A message: JSON as `str` or `bytes`, or objects that JSON can hold.
pub(crate) struct Message<'py>(Bound<'py, PyAny>);

impl<'a, 'py> FromPyObject<'a, 'py> for Message<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.to_owned()))
    }
}

impl Message<'_> {
    /// The message as JSON. A text is parsed without the lock.
    pub(crate) fn value(&self, py: Python<'_>) -> PyResult<Value> {
        let parse = |text: &[u8]| {
            if text.len() > MAX_BYTES {
                return Err(too_much());
            }
            let parsed = py.detach(|| serde_json::from_slice(text));
            parsed.map_err(|error: serde_json::Error| {
                PyValueError::new_err(format!("the message is not JSON: {error}"))
            })
        };
        if let Ok(text) = self.0.cast::<PyString>() {
            return parse(text.to_str()?.as_bytes());
        }
        if let Ok(bytes) = self.0.cast::<PyBytes>() {
            return parse(bytes.as_bytes());
        }
        Reading { room: MAX_BYTES }.value(&self.0, 0)
    }
}

fn too_much() -> PyErr {
    PyValueError::new_err(format!("the message holds more than {MAX_BYTES} bytes"))
}

/// Reads objects as long as there is room for what they hold.
struct Reading {
    room: usize,
}

impl Reading {
    fn value(&mut self, object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
        if depth > MAX_DEPTH {
            return Err(PyValueError::new_err(format!("the message is deeper than {MAX_DEPTH} levels")));
        }
        self.take(VALUE_BYTES)?;
        if let Ok(text) = object.cast::<PyString>() {
            return self.text(text).map(Value::String);
        }
        if let Ok(map) = object.cast::<PyDict>() {
            let mut fields = Map::new();
            for (key, value) in map {
                let Ok(key) = key.cast::<PyString>() else {
                    return Err(PyTypeError::new_err("a key of the message is not a `str`"));
                };
                let key = self.text(key)?;
                fields.insert(key, self.value(&value, depth + 1)?);
            }
            return Ok(Value::Object(fields));
        }
        if let Ok(list) = object.cast::<PyList>() {
            return self.list(list.iter(), depth);
        }
        if let Ok(list) = object.cast::<PyTuple>() {
            return self.list(list.iter(), depth);
        }
        if object.is_none() {
            return Ok(Value::Null);
        }
        // Before numbers: `True` is one of them.
        if let Ok(truth) = object.cast::<PyBool>() {
            return Ok(Value::Bool(truth.is_true()));
        }
        number(object)
    }

    fn list<'py>(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>, depth: usize) -> PyResult<Value> {
        items.map(|item| self.value(&item, depth + 1)).collect::<PyResult<_>>().map(Value::Array)
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> PyResult<String> {
        let text = text.to_str()?;
        self.take(text.len())?;
        Ok(text.to_owned())
    }

    fn take(&mut self, bytes: usize) -> PyResult<()> {
        self.room = self.room.checked_sub(bytes).ok_or_else(too_much)?;
        Ok(())
    }
}

fn number(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_instance_of::<PyInt>() {
        if let Ok(number) = object.extract::<i64>() {
            return Ok(number.into());
        }
        if let Ok(number) = object.extract::<u64>() {
            return Ok(number.into());
        }
    } else if !object.is_instance_of::<PyFloat>() {
        let name = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "a message is made of what JSON can hold, and not of `{name}`"
        )));
    }
    // Larger integers are what JSON makes of them. One that no float can hold raises `OverflowError` here.
    let number = Number::from_f64(object.extract()?);
    number
        .map(Value::Number)
        .ok_or_else(|| PyValueError::new_err("JSON has no number that is infinite or none"))
}
