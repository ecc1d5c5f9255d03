//! Crate `oatf` 0.4.0, used as its documentation says.

use oatf::enums::IndicatorResult;
use oatf::evaluate::{default_cel_evaluator, evaluate_expression, evaluate_indicator, evaluate_pattern};
use serde_json::Value;

use crate::subject::{Outcome, Subject};

pub(crate) struct Rival;

impl Subject for Rival {
    type Document = oatf::Document;
    type Indicator = oatf::Indicator;

    fn load(text: &str) -> Result<Self::Document, String> {
        match oatf::load(text) {
            Ok(loaded) => Ok(loaded.document),
            Err(errors) => Err(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
        }
    }

    fn indicators(document: &Self::Document) -> Result<Vec<(String, Self::Indicator)>, String> {
        let indicators = document.attack.indicators.iter().flatten();
        Ok(indicators
            .map(|indicator| (indicator.id.clone().unwrap_or_default(), indicator.clone()))
            .collect())
    }

    fn pattern(indicator: &Self::Indicator, message: &Value) -> bool {
        let Some(pattern) = &indicator.pattern else { return false };
        evaluate_pattern(pattern, message).unwrap_or(false)
    }

    fn expression(indicator: &Self::Indicator, message: &Value) -> bool {
        let Some(expression) = &indicator.expression else { return false };
        evaluate_expression(expression, message, Some(&default_cel_evaluator())).unwrap_or(false)
    }

    fn indicator(indicator: &Self::Indicator, message: &Value) -> Outcome {
        match evaluate_indicator(indicator, message, Some(&default_cel_evaluator()), None).result {
            IndicatorResult::Matched => Outcome::Matched,
            IndicatorResult::NotMatched => Outcome::NotMatched,
            IndicatorResult::Error => Outcome::Error,
            IndicatorResult::Skipped => Outcome::Skipped,
        }
    }
}
