//! `sortie-oatf` and `sortie-detect`. The only file here that knows our API; `hostile/` apart.

use std::io::BufRead;
use std::sync::Arc;

use serde_json::Value;
use sortie_detect::{Place, Ruleset};
use sortie_oatf::model::IndicatorResult;
use sortie_oatf::{Compiled, CompiledIndicator, Evaluators, LoadResult};

use crate::subject::{Outcome, Subject};

pub(crate) struct Ours;

/// How many indicators of a document saw a recording, and did not match.
pub(crate) fn silent(document: &str, trace: impl BufRead) -> Result<u64, String> {
    let session = ruleset([document])?.replay(trace).map_err(|error| error.to_string())?;
    Ok(session.outcome(0, Place::default()).verdict.evaluation_summary.not_matched)
}

/// Documents in one ruleset.
pub(crate) fn ruleset(documents: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Arc<Ruleset>, String> {
    let compiled = documents.into_iter().map(|document| {
        let document = Ours::load(document.as_ref())?.document;
        Compiled::new(document).map_err(|error| error.to_string())
    });
    Ok(Arc::new(Ruleset::new(compiled.collect::<Result<Vec<_>, String>>()?)))
}

/// How many indicators of a ruleset a recording matches.
pub(crate) fn found(ruleset: &Arc<Ruleset>, trace: impl BufRead) -> Result<usize, String> {
    let session = ruleset.replay(trace).map_err(|error| error.to_string())?;
    let documents = 0..ruleset.documents().count();
    Ok(documents.map(|at| session.outcome(at, Place::default()).evidence.len()).sum())
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
