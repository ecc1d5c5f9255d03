//! `sortie-oatf` and `sortie-detect`. The only file here that knows our API; `hostile/` apart.

use std::io::BufRead;

use serde_json::Value;
use sortie_detect::{Detector, Place, replay};
use sortie_oatf::model::IndicatorResult;
use sortie_oatf::{Compiled, CompiledIndicator, Evaluators, LoadResult};

use crate::subject::{Outcome, Subject};

pub(crate) struct Ours;

/// How many indicators of a document saw a recording, and did not match.
pub(crate) fn silent(document: &str, trace: impl BufRead) -> Result<u64, String> {
    let document = Ours::load(document)?.document;
    let mut detectors = [Detector::new(Compiled::new(document).map_err(|error| error.to_string())?)];
    replay(trace, &mut detectors).map_err(|error| error.to_string())?;
    let verdict = detectors[0].outcome(Place::default()).verdict;
    Ok(verdict.evaluation_summary.not_matched)
}

impl Subject for Ours {
    type Document = LoadResult;
    type Indicator = CompiledIndicator;

    fn load(text: &str) -> Result<Self::Document, String> {
        sortie_oatf::load(text)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    }

    fn indicators(document: &Self::Document) -> Result<Vec<(String, Self::Indicator)>, String> {
        let compiled = Compiled::new(document.document.clone()).map_err(|error| error.to_string())?;
        let indicators = compiled.indicators().iter();
        Ok(indicators.map(|indicator| (indicator.id.clone(), indicator.clone())).collect())
    }

    fn pattern(indicator: &Self::Indicator, message: &Value) -> bool {
        indicator.is_match(message, Evaluators::standard()).unwrap_or(false)
    }

    fn expression(indicator: &Self::Indicator, message: &Value) -> bool {
        indicator.is_match(message, Evaluators::standard()).unwrap_or(false)
    }

    fn indicator(indicator: &Self::Indicator, message: &Value) -> Outcome {
        match indicator.evaluate(message, Evaluators::standard()).result() {
            IndicatorResult::Matched => Outcome::Matched,
            IndicatorResult::NotMatched => Outcome::NotMatched,
            IndicatorResult::Error => Outcome::Error,
            IndicatorResult::Skipped => Outcome::Skipped,
        }
    }
}
