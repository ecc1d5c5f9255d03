//! The functions of `sortie-datafusion` for `DataFusion`'s Python package, through its interface for other libraries.
//!
//! ```python
//! from datafusion import SessionContext, udf, udaf, udtf
//! import sortie_datafusion
//!
//! session = SessionContext()
//! session.register_udf(udf(sortie_datafusion.Findings()))
//! session.register_udaf(udaf(sortie_datafusion.Verdict()))
//! session.register_udtf(udtf(sortie_datafusion.Scan(), "oatf_scan"))
//! session.register_udtf(udtf(sortie_datafusion.Records(), "oatf_records"))
//! ```

use std::sync::{Arc, LazyLock};

use datafusion::execution::TaskContextProvider;
use datafusion::prelude::SessionContext;
use datafusion_ffi::udaf::FFI_AggregateUDF;
use datafusion_ffi::udf::FFI_ScalarUDF;
use datafusion_ffi::udtf::FFI_TableFunction;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use tokio::runtime::Runtime;

// The module below has the name of the library.
use ::sortie_datafusion::TraceTableKind;

/// What reads files.
static RUNTIME: LazyLock<Option<Runtime>> = LazyLock::new(|| Runtime::new().ok());

/// What resolves functions in expressions that cross between the libraries. It lives as long as the process.
static PROVIDER: LazyLock<Arc<SessionContext>> = LazyLock::new(|| Arc::new(SessionContext::new()));

/// `oatf_findings(ruleset, message)`
#[pyclass(frozen)]
#[derive(Debug)]
struct Findings;

#[pymethods]
impl Findings {
    #[new]
    fn new() -> Self {
        Self
    }

    fn __datafusion_scalar_udf__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let function = FFI_ScalarUDF::from(::sortie_datafusion::findings_function());
        PyCapsule::new_with_value(py, function, c"datafusion_scalar_udf")
    }
}

/// `oatf_verdict(ruleset, document, record)`
#[pyclass(frozen)]
#[derive(Debug)]
struct Verdict;

#[pymethods]
impl Verdict {
    #[new]
    fn new() -> Self {
        Self
    }

    fn __datafusion_aggregate_udf__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let function = FFI_AggregateUDF::from(::sortie_datafusion::verdict_function());
        PyCapsule::new_with_value(py, function, c"datafusion_aggregate_udf")
    }
}

/// `oatf_scan(url, ruleset)`
#[pyclass(frozen)]
#[derive(Debug)]
struct Scan;

#[pymethods]
impl Scan {
    #[new]
    fn new() -> Self {
        Self
    }

    #[pyo3(signature = (*_session))]
    fn __datafusion_table_function__<'py>(
        &self,
        py: Python<'py>,
        _session: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        table_function(py, TraceTableKind::Findings)
    }
}

/// `oatf_records(url)`
#[pyclass(frozen)]
#[derive(Debug)]
struct Records;

#[pymethods]
impl Records {
    #[new]
    fn new() -> Self {
        Self
    }

    #[pyo3(signature = (*_session))]
    fn __datafusion_table_function__<'py>(
        &self,
        py: Python<'py>,
        _session: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        table_function(py, TraceTableKind::Records)
    }
}

fn table_function(py: Python<'_>, kind: TraceTableKind) -> PyResult<Bound<'_, PyCapsule>> {
    let runtime = RUNTIME.as_ref().ok_or_else(|| PyRuntimeError::new_err("threads cannot be started"))?;
    let function = ::sortie_datafusion::table_function(kind);
    let provider: Arc<dyn TaskContextProvider> = Arc::<SessionContext>::clone(&PROVIDER);
    let function = FFI_TableFunction::new(function, Some(runtime.handle().clone()), &provider, None);
    PyCapsule::new_with_value(py, function, c"datafusion_table_function")
}

/// Functions that find attacks in traces.
#[pymodule]
fn sortie_datafusion(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Findings>()?;
    module.add_class::<Verdict>()?;
    module.add_class::<Scan>()?;
    module.add_class::<Records>()
}
