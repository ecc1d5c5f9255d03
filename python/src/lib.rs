//! The Python module of Sortie: what `sortie._native` has. `python/sortie/_native.pyi` says it in the words of Python.
//!
//! Everything that takes time runs without the lock of the interpreter. Input is bounded as it is in the crates below; what comes
//! as Python objects is bounded in `message`. Nothing here decides anything: it hands over, and hands back.

mod diagnostic;
mod document;
mod error;
mod input;
mod message;
mod outcome;
mod report;
mod ruleset;

/// What Python imports.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::diagnostic::{Diagnostic, check};
    #[pymodule_export]
    use crate::document::{Document, Evaluation, library, load};
    #[pymodule_export]
    use crate::outcome::{Evidence, Failure, IndicatorFinding, Outcome};
    #[pymodule_export]
    use crate::report::{Report, read_report};
    #[pymodule_export]
    use crate::ruleset::{Ruleset, evaluate_trace};
}
