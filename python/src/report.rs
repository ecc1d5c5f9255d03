//! Reports of runs.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use sortie_report::files::FileError;
use sortie_report::{RunTotals, VERSION};

use crate::error::{file_error, invalid_report};
use crate::outcome::{Outcome, human, to_dict};

/// So long may a report be.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// The report in the folder of a run.
const FILE: &str = "report.json";

/// What came of a run.
#[pyclass(frozen, module = "sortie")]
pub(crate) struct Report {
    report: Arc<sortie_report::Report>,
}

#[pymethods]
impl Report {
    /// One for each case, in the order in which they were asked for.
    #[getter]
    fn runs(&self) -> Vec<Outcome> {
        self.report.runs.iter().cloned().map(Outcome::new).collect()
    }

    /// What all of it counts as: `resisted`, `skipped`, `undecided` or `exploited`.
    #[getter]
    fn standing(&self) -> &'static str {
        self.report.standing(false).as_str()
    }

    /// The cases that were not played to their end.
    #[getter]
    fn unfinished(&self) -> Vec<String> {
        self.report.unfinished.clone()
    }

    /// Why the run ended before all cases were played.
    #[getter]
    fn stopped(&self) -> Option<&str> {
        self.report.stopped.as_deref()
    }

    /// How many cases there are of each sort.
    #[getter]
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_dict(py, &RunTotals::of(&self.report))
    }

    /// The whole report, as `docs/schema/run-v2.json` describes it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_dict(py, &*self.report)
    }

    fn __len__(&self) -> usize {
        self.report.runs.len()
    }

    /// The text that the command line shows.
    fn __str__(&self, py: Python<'_>) -> String {
        py.detach(|| human(&self.report))
    }

    fn __repr__(&self) -> String {
        format!("<Report {}: {} cases>", self.standing(), self.report.runs.len())
    }
}

/// Why a report cannot be read.
enum ReportError {
    File(FileError),
    Invalid(String),
}

/// Reads a report: a file that `--format json` wrote, or the folder of a run.
#[pyfunction]
pub(crate) fn read_report(py: Python<'_>, path: PathBuf) -> PyResult<Report> {
    py.detach(|| read(&path)).map_err(|error| match error {
        ReportError::File(error) => file_error(&error),
        ReportError::Invalid(message) => invalid_report(py, message),
    })
}

fn read(path: &Path) -> Result<Report, ReportError> {
    let file = if path.is_dir() { path.join(FILE) } else { path.to_owned() };
    let shown = file.display();
    let failed = |error| ReportError::File(FileError::io(&file, "read", error));
    let mut text = Vec::new();
    File::open(&file).map_err(failed)?.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(ReportError::Invalid(format!("`{shown}` is longer than {MAX_BYTES} bytes")));
    }
    let report: sortie_report::Report = serde_json::from_slice(&text)
        .map_err(|error| ReportError::Invalid(format!("`{shown}` is not a report: {error}")))?;
    if report.version != VERSION {
        let message =
            format!("`{shown}` has version {}; this module reads version {VERSION}", report.version);
        return Err(ReportError::Invalid(message));
    }
    Ok(Report { report: Arc::new(report) })
}
