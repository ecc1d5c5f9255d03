//! The least that any implementation has to do: what is left when everything but the match itself is taken away.

use granit_parser::Parser;
use regex::Regex;
use serde_json::Value;

use crate::inputs::Message;

/// Reads YAML events and drops them.
pub(crate) fn events(text: &str) -> usize {
    Parser::new_from_str(text).take_while(Result::is_ok).count()
}

/// A pattern of the library with the texts it is to be matched on, found and written out beforehand.
pub(crate) struct BareMatch {
    regex: Regex,
    texts: Vec<String>,
}

impl BareMatch {
    /// Prepares the patterns of a library for some messages; indicators without a regex are left out.
    pub(crate) fn prepare(indicators: &[(String, oatf::Indicator)], messages: &[Message]) -> Vec<Self> {
        indicators
            .iter()
            .filter_map(|(_, indicator)| {
                let pattern = indicator.pattern.as_ref()?;
                let oatf::Condition::Operators(operators) = pattern.condition.as_ref()? else { return None };
                let target = pattern.target.as_deref()?;
                let texts = messages.iter().flat_map(|message| texts(target, &message.value)).collect();
                Some(Self { regex: Regex::new(operators.regex.as_deref()?).ok()?, texts })
            })
            .collect()
    }

    /// How many texts match.
    pub(crate) fn count(&self) -> usize {
        self.texts.iter().filter(|text| self.regex.is_match(text)).count()
    }
}

fn texts(target: &str, message: &Value) -> Vec<String> {
    sortie_expr::path::resolve_wildcard_path(target, message)
        .into_iter()
        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        .collect()
}
