//! Semantic indicators, which take a model, and so take time.

use std::fs::File;
use std::io::BufReader;

use sortie_detect::{Detector, replay};

use super::options::{Options, Semantic};
use super::play::Case;
use crate::recorder::Recorder;

/// Evaluates the trace of a run that is over once more, with an engine for semantic indicators; `None` where there is none, or
/// nothing for it to score.
///
/// Not while the run goes on: a model takes seconds for an answer, and a message that waits for a verdict about it is not the
/// wire of the specification. What the trace says is what was said, so the verdict is the one it would have been.
pub(super) async fn scored(case: &Case, options: &Options, recorder: &Recorder) -> Option<Detector> {
    let Semantic(engine) = options.semantic.clone()?;
    let mut indicators = case.document.document().attack.indicators.iter().flatten();
    if !indicators.any(|indicator| indicator.semantic.is_some()) {
        return None;
    }
    let detector = Detector::new(case.document.clone()).lenient(options.lenient).with_semantic(engine);
    let path = case.folder.trace();
    let scoring = tokio::task::spawn_blocking(move || {
        let mut detectors = [detector];
        let trace = File::open(path).map_err(|error| error.to_string())?;
        replay(BufReader::new(trace), &mut detectors).map_err(|error| error.to_string())?;
        let [detector] = detectors;
        Ok::<_, String>(detector)
    });
    let scored = tokio::select! {
        biased;
        () = options.interrupt.cancelled() => Err("the run was interrupted".to_owned()),
        scored = scoring => scored.unwrap_or_else(|error| Err(error.to_string())),
    };
    scored.map_err(|why| recorder.warn(format!("semantic indicators were not evaluated: {why}"))).ok()
}
