//! Documents that were played before: what was said is evaluated again, and nobody is asked.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use sortie_detect::{Detector, Outcome, Place, replay};
use sortie_oatf::SemanticEvaluator;

use crate::documents::Document;
use crate::failure::Failure;

/// A semantic engine, where there is one.
pub(super) type Semantic = Option<Arc<dyn SemanticEvaluator + Send + Sync>>;

/// A report of one document is not longer; what is cut is none.
const MAX_REPORT: u64 = 64 << 20;

/// Whether a folder holds a run that came to its end. What the user interrupted did not.
pub(super) fn is_finished(folder: &Path) -> bool {
    told(folder).is_some_and(|run| run["stopped_by"] != "interrupted")
}

/// What the run said about itself when it was played.
fn told(folder: &Path) -> Option<Value> {
    let mut text = Vec::new();
    File::open(folder.join("report.json")).ok()?.take(MAX_REPORT).read_to_end(&mut text).ok()?;
    let report: Value = serde_json::from_slice(&text).ok()?;
    report["runs"].get(0).cloned()
}

/// Evaluates what a run has recorded.
pub(super) fn evaluated(
    document: &Document,
    folder: &Path,
    lenient: bool,
    semantic: Semantic,
) -> Result<Outcome, Failure> {
    let trace = folder.join("trace.jsonl");
    let file = File::open(&trace).map_err(|error| Failure::at(&trace, "read", &error))?;
    let mut detector = Detector::new(document.compiled.clone()).lenient(lenient);
    if let Some(semantic) = semantic {
        detector = detector.with_semantic(semantic);
    }
    replay(BufReader::new(file), std::slice::from_mut(&mut detector))
        .map_err(|error| Failure::new(format!("cannot read `{}`: {error}", trace.display())))?;
    let place = Place { document: document.name.clone(), trace: Some(trace.to_string_lossy().into_owned()) };
    let mut run = detector.outcome(place);
    // What looked odd while it was played is not in the trace.
    if let Some(warnings) = told(folder).and_then(|run| run["warnings"].as_array().cloned()) {
        let warnings = warnings.iter().filter_map(Value::as_str).map(str::to_owned);
        run.warnings = warnings.collect();
    }
    Ok(run)
}
