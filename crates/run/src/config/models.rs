//! `[models.NAME]` of sortie.toml.

use std::ops::Range;

use serde_json::Value;
use sortie_detect::Prices;
use sortie_judge::{EndpointKind, ModelEndpoint};
use sortie_syntax::tables::{TableReader, to_json, to_number};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::reader::secret;
use crate::SpecError;

pub(super) const FIELDS: &[&str] =
    &["kind", "url", "model", "key", "prices", "without", "seed", "output_bound", "extra"];

/// What is spoken at an endpoint, by its name.
pub(crate) fn kind(text: &str) -> Result<EndpointKind, SpecError> {
    text.parse().map_err(|()| "a kind of model is `openai` or `anthropic`".into())
}

/// A model; everything that is wrong with it is noted, and then nobody asks it anything.
pub(super) fn model(reader: &mut TableReader, at: Range<usize>, table: &DeTable<'_>) -> ModelEndpoint {
    let mut endpoint = ModelEndpoint::new(EndpointKind::OpenAi, "", "");
    for (field, value) in table {
        match field.get_ref().as_ref() {
            "kind" => endpoint.kind = reader.text(value, kind).unwrap_or(endpoint.kind),
            "url" => endpoint.base_url = reader.plain(value).unwrap_or_default(),
            "model" => endpoint.model = reader.plain(value).unwrap_or_default(),
            "key" => endpoint.key_env = secret(reader, "key", value).map(|key| key.0),
            "prices" => endpoint.prices = prices(reader, value),
            "without" => {
                let form = "this is a list: `[\"temperature\", \"seed\"]`";
                let unknown = |()| "what can be left out is `temperature` and `seed`";
                endpoint.without = reader.list(value, form, |text| text.parse().map_err(unknown));
            }
            "seed" => match value.get_ref().as_integer().and_then(|seed| seed.as_str().parse().ok()) {
                Some(seed) => endpoint.seed = seed,
                None => reader.wrong(value.span(), "a seed is a whole number from 0 on", None),
            },
            "output_bound" => {
                let unknown = |()| "the bound of an answer is called `max_tokens` or `max_completion_tokens`";
                let bound = reader.text(value, |text| text.parse().map_err(unknown));
                endpoint.output_bound = bound.unwrap_or_default();
            }
            "extra" => match to_json(value.get_ref()) {
                Some(Value::Object(members)) => endpoint.extra = members,
                _ => reader.wrong(value.span(), "`extra` is a table of members for requests", None),
            },
            _ => reader.unknown(field, "a model", FIELDS),
        }
    }
    reader.require(&at, table, "a model", &["kind", "url", "model"]);
    endpoint
}

fn prices(reader: &mut TableReader, value: &Spanned<DeValue<'_>>) -> Option<Prices> {
    const BOTH: &str = "prices are `{ input_per_million = 0.5, output_per_million = 2 }`, neither below 0";
    let Some(table) = value.get_ref().as_table() else {
        reader.wrong(value.span(), BOTH, None);
        return None;
    };
    let (mut input, mut output) = (None, None);
    for (field, value) in table {
        match field.get_ref().as_ref() {
            "input_per_million" => input = to_number(value.get_ref()),
            "output_per_million" => output = to_number(value.get_ref()),
            _ => reader.unknown(field, "prices", &["input_per_million", "output_per_million"]),
        }
    }
    let prices = input
        .zip(output)
        .map(|(input_per_million, output_per_million)| Prices { input_per_million, output_per_million });
    let prices = prices.filter(|prices| prices.cost(1, 1).is_some());
    if prices.is_none() {
        reader.wrong(value.span(), BOTH, None);
    }
    prices
}
