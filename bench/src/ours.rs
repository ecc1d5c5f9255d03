//! `sortie-oatf`. The only file here that knows our API; `hostile/` apart.

use serde_json::Value;
use sortie_oatf::model::IndicatorResult;
use sortie_oatf::{Compiled, CompiledIndicator, Evaluators, LoadResult};

use crate::subject::{Outcome, Subject};

pub(crate) struct Ours;

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
