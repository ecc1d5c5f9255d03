//! `sortie-oatf`. The only file here that knows our API.

use serde_json::Value;

use crate::subject::{Outcome, Subject};

pub(crate) struct Ours;

/// To be the compiled indicator.
pub(crate) enum Indicator {}

impl Subject for Ours {
    type Document = sortie_oatf::Document;
    type Indicator = Indicator;

    // To be `sortie_oatf::load`, which also normalises.
    fn load(text: &str) -> Result<Self::Document, String> {
        let document = sortie_oatf::parse(text)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
        let result = sortie_oatf::validate(&document);
        if result.is_valid() {
            Ok(document)
        } else {
            Err(result.errors.iter().map(|error| error.rule).collect::<Vec<_>>().join(", "))
        }
    }

    fn indicators(_: &Self::Document) -> Result<Vec<(String, Self::Indicator)>, String> {
        Err("our evaluation is not there yet".into())
    }

    fn pattern(indicator: &Self::Indicator, _: &Value) -> bool {
        match *indicator {}
    }

    fn expression(indicator: &Self::Indicator, _: &Value) -> bool {
        match *indicator {}
    }

    fn indicator(indicator: &Self::Indicator, _: &Value) -> Outcome {
        match *indicator {}
    }
}
