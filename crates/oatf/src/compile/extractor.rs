//! Extractors, compiled.

use std::borrow::Cow;

use serde_json::Value;
use serde_json_path::JsonPath;
use sortie_expr::re2::Regex;
use sortie_expr::{json, jsonpath};

use super::error::CompileError;
use crate::model::{Extractor, ExtractorSource, ExtractorType};

/// An extractor, ready to be applied.
#[derive(Clone, Debug)]
pub struct CompiledExtractor {
    /// The variable it fills.
    pub name: String,
    /// Which message of an exchange it reads.
    pub source: ExtractorSource,
    selector: Selector,
}

#[derive(Clone, Debug)]
enum Selector {
    JsonPath(JsonPath),
    Regex(Regex),
}

impl CompiledExtractor {
    /// Compiles an extractor.
    pub fn new(extractor: &Extractor) -> Result<Self, CompileError> {
        let selector = match extractor.r#type {
            ExtractorType::JsonPath => Selector::JsonPath(jsonpath::parse(&extractor.selector)?),
            ExtractorType::Regex => Selector::Regex(
                Regex::new(&extractor.selector)
                    .map_err(|error| CompileError::regex(&extractor.selector, error))?,
            ),
        };
        Ok(Self { name: extractor.name.clone(), source: extractor.source, selector })
    }

    /// What it captures from a message; `None` when it finds nothing or the message is not its kind.
    pub fn extract(&self, message: &Value, direction: ExtractorSource) -> Option<String> {
        if self.source != direction {
            return None;
        }
        match &self.selector {
            Selector::JsonPath(path) => match path.query(message).first()? {
                Value::String(text) => Some(text.clone()),
                other => Some(json::text(other)),
            },
            Selector::Regex(regex) => {
                let text = match message {
                    Value::String(text) => Cow::Borrowed(text.as_str()),
                    other => Cow::Owned(json::text(other)),
                };
                regex.first_group(&text).map(str::to_owned)
            }
        }
    }
}
