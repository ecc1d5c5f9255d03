//! What came of a case.

use std::sync::Arc;

use pyo3::prelude::*;
use serde::Serialize;
use sortie_detect::{Delivered, EvidenceSource, Fault};
use sortie_oatf::MatchEvidence;
use sortie_oatf::model::IndicatorResult;
use sortie_report::{View, write_human};

/// Something that a verdict rests on.
#[pyclass(frozen, get_all, eq, module = "sortie")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// What looked: `indicator`, `check` or `judge`.
    by: &'static str,
    /// Its name: the id of an indicator, the name of a check, the model that judged.
    name: String,
    /// The record of the trace.
    seq: Option<u64>,
    /// Where: a path into the message, or into the transcript.
    path: String,
    /// First byte that matched, of the text that was searched.
    start: Option<usize>,
    /// One past the last of them.
    end: Option<usize>,
    /// Line of the document or evaluator that asked, from one.
    line: Option<usize>,
    /// The turn of the transcript, from one.
    turn: Option<usize>,
    /// What stands there, cut around what matched.
    text: Option<String>,
}

impl Evidence {
    fn new(evidence: &sortie_detect::Evidence) -> Self {
        Self {
            by: evidence.by.as_str(),
            name: evidence.name.clone(),
            seq: evidence.seq,
            path: evidence.path.clone(),
            start: evidence.start,
            end: evidence.end,
            line: evidence.line,
            turn: evidence.turn,
            text: evidence.text.clone(),
        }
    }

    /// What an indicator found in a message that is in no trace.
    pub(crate) fn of_message(indicator: &str, found: &MatchEvidence) -> Self {
        Self {
            by: EvidenceSource::Indicator.as_str(),
            name: indicator.to_owned(),
            seq: None,
            path: found.path.clone(),
            start: found.range.as_ref().map(|range| range.start),
            end: found.range.as_ref().map(|range| range.end),
            line: found.line,
            turn: None,
            text: found.excerpt.clone(),
        }
    }
}

#[pymethods]
impl Evidence {
    /// The id of the indicator, where one looked.
    #[getter]
    fn indicator(&self) -> Option<&str> {
        (self.by == EvidenceSource::Indicator.as_str()).then_some(self.name.as_str())
    }

    fn __repr__(&self) -> String {
        let message = self.seq.map(|seq| format!("message {seq}, ")).unwrap_or_default();
        format!(
            "<Evidence {}: {message}{:?}: {:?}>",
            self.name,
            self.path,
            self.text.as_deref().unwrap_or_default()
        )
    }
}

/// What one indicator found.
#[pyclass(frozen, get_all, eq, module = "sortie")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct IndicatorFinding {
    /// The indicator.
    id: String,
    /// `matched`, `not_matched`, `error` or `skipped`.
    result: &'static str,
    /// What matched, or why nothing can be said.
    evidence: Option<String>,
}

impl IndicatorFinding {
    pub(crate) fn new(id: &str, result: IndicatorResult, evidence: Option<String>) -> Self {
        Self { id: id.to_owned(), result: result.as_str(), evidence }
    }
}

#[pymethods]
impl IndicatorFinding {
    fn __repr__(&self) -> String {
        format!("<IndicatorFinding {}: {}>", self.id, self.result)
    }
}

/// What kept a case from being played or decided as a whole.
#[pyclass(frozen, get_all, eq, module = "sortie")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What happened: `nobody_connected`, `not_delivered`, …
    kind: &'static str,
    /// Whose fault it is: `harness`, `agent` or `none`.
    fault: &'static str,
    /// The actor it happened to.
    actor: Option<String>,
    /// The same for people.
    message: String,
}

#[pymethods]
impl Failure {
    fn __repr__(&self) -> String {
        format!("<Failure {}: {}>", self.kind, self.message)
    }
}

/// What came of one case.
#[pyclass(frozen, module = "sortie")]
#[derive(Clone)]
pub(crate) struct Outcome {
    outcome: Arc<sortie_detect::Outcome>,
}

impl Outcome {
    pub(crate) fn new(outcome: sortie_detect::Outcome) -> Self {
        Self { outcome: Arc::new(outcome) }
    }
}

#[pymethods]
impl Outcome {
    /// What the case is called.
    #[getter]
    fn id(&self) -> &str {
        &self.outcome.id
    }

    /// Where the document was read from; `None` for a case of an evaluator.
    #[getter]
    fn document(&self) -> Option<&str> {
        self.outcome.document().map(|document| document.file.as_str())
    }

    /// `exploited`, `partial`, `not_exploited`, `error`, `skipped` or `not_applicable`.
    #[getter]
    fn verdict(&self) -> &'static str {
        self.outcome.verdict.result.as_str()
    }

    /// What the case counts as: `resisted`, `skipped`, `undecided` or `exploited`; `None` where it does not apply.
    #[getter]
    fn standing(&self) -> Option<&'static str> {
        self.outcome.standing.map(sortie_detect::Standing::as_str)
    }

    /// Why, where nothing else says it.
    #[getter]
    fn reason(&self) -> Option<&str> {
        self.outcome.verdict.reason.as_deref()
    }

    /// The worst tier among the indicators that matched.
    #[getter]
    fn tier(&self) -> Option<&'static str> {
        self.outcome.verdict.max_tier.map(sortie_oatf::model::Tier::as_str)
    }

    /// How bad it is when a target gives in.
    #[getter]
    fn severity(&self) -> Option<String> {
        self.outcome.verdict.severity.map(|severity| severity.to_string())
    }

    /// Whether the agent was served what the attack takes: `yes`, `no`, `assumed` or `unknown`.
    #[getter]
    fn reach(&self) -> &'static str {
        match self.outcome.reach.delivered {
            Delivered::Yes => "yes",
            Delivered::No => "no",
            Delivered::Assumed => "assumed",
            Delivered::Unknown => "unknown",
        }
    }

    /// What kept it from being played or decided.
    #[getter]
    fn failure(&self) -> Option<Failure> {
        let failure = self.outcome.failure.as_ref()?;
        Some(Failure {
            kind: failure.kind.as_str(),
            fault: match failure.fault {
                Fault::Harness => "harness",
                Fault::Agent => "agent",
                Fault::None => "none",
            },
            actor: failure.actor.clone(),
            message: failure.message.clone(),
        })
    }

    /// What the verdict rests on.
    #[getter]
    fn evidence(&self) -> Vec<Evidence> {
        self.outcome.evidence.iter().map(Evidence::new).collect()
    }

    /// Every indicator of the document, in its order.
    #[getter]
    fn indicators(&self) -> Vec<IndicatorFinding> {
        let findings = self.outcome.verdict.indicator_verdicts.iter();
        findings
            .map(|finding| {
                IndicatorFinding::new(&finding.indicator_id, finding.result, finding.evidence.clone())
            })
            .collect()
    }

    /// What looks odd, and changes nothing.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.outcome.warnings.clone()
    }

    /// The file that holds what was said.
    #[getter]
    fn trace(&self) -> Option<&str> {
        self.outcome.trace.as_deref()
    }

    /// The outcome as an entry of `runs` in a report (`docs/schema/run-v2.json`).
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_dict(py, &*self.outcome)
    }

    /// The text that the command line shows.
    fn __str__(&self, py: Python<'_>) -> String {
        py.detach(|| human(&sortie_report::Report::new([(*self.outcome).clone()])))
    }

    fn __repr__(&self) -> String {
        format!(
            "<Outcome {}: {}, {} pieces of evidence>",
            self.id(),
            self.verdict(),
            self.outcome.evidence.len()
        )
    }
}

/// What the command line shows of a report.
pub(crate) fn human(report: &sortie_report::Report) -> String {
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = write_human(&mut text, report, View::default());
    String::from_utf8_lossy(&text).into_owned()
}

/// A value as Python reads its JSON.
pub(crate) fn to_dict<'py>(py: Python<'py>, value: &(impl Serialize + Sync)) -> PyResult<Bound<'py, PyAny>> {
    let text = py.detach(|| serde_json::to_string(value));
    // What a report holds has text for keys, and no number that JSON lacks.
    let text = text.map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}
