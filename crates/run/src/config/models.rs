//! `[models.NAME]` of sortie.toml.

use std::ops::Range;

use serde_json::Value;
use sortie_detect::Prices;
use sortie_judge::{EndpointKind, ModelEndpoint};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::reader::Reader;
use crate::SpecError;

const FIELDS: &[&str] =
    &["kind", "url", "model", "key", "prices", "without", "seed", "output_bound", "extra"];

/// What is spoken at an endpoint, by its name.
pub(crate) fn kind(text: &str) -> Result<EndpointKind, SpecError> {
    text.parse().map_err(|()| "a kind of model is `openai` or `anthropic`".into())
}

impl Reader {
    /// A model; everything that is wrong with it is noted, and then nobody asks it anything.
    pub(super) fn model(&mut self, at: Range<usize>, table: &DeTable<'_>) -> ModelEndpoint {
        let mut endpoint = ModelEndpoint::new(EndpointKind::OpenAi, "", "");
        for (field, value) in table {
            match field.get_ref().as_ref() {
                "kind" => endpoint.kind = self.text(value, kind).unwrap_or(endpoint.kind),
                "url" => endpoint.base_url = self.plain(value).unwrap_or_default(),
                "model" => endpoint.model = self.plain(value).unwrap_or_default(),
                "key" => endpoint.key_env = self.secret("key", value).map(|key| key.0),
                "prices" => endpoint.prices = self.prices(value),
                "without" => {
                    let form = "this is a list: `[\"temperature\", \"seed\"]`";
                    let unknown = |()| "what can be left out is `temperature` and `seed`".into();
                    endpoint.without = self.list(value, form, |text| text.parse().map_err(unknown));
                }
                "seed" => match value.get_ref().as_integer().and_then(|seed| seed.as_str().parse().ok()) {
                    Some(seed) => endpoint.seed = seed,
                    None => self.wrong(value.span(), "a seed is a whole number from 0 on", None),
                },
                "output_bound" => {
                    let unknown = |()| {
                        "the bound of an answer is called `max_tokens` or `max_completion_tokens`".into()
                    };
                    let bound = self.text(value, |text| text.parse().map_err(unknown));
                    endpoint.output_bound = bound.unwrap_or_default();
                }
                "extra" => match json(value.get_ref()) {
                    Some(Value::Object(members)) => endpoint.extra = members,
                    _ => self.wrong(value.span(), "`extra` is a table of members for requests", None),
                },
                _ => self.unknown(field, "a model", FIELDS),
            }
        }
        self.require(&at, table, "a model", &["kind", "url", "model"]);
        endpoint
    }

    fn prices(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Prices> {
        const BOTH: &str =
            "prices are `{ input_per_million = 0.5, output_per_million = 2 }`, neither below 0";
        let Some(table) = value.get_ref().as_table() else {
            self.wrong(value.span(), BOTH, None);
            return None;
        };
        let (mut input, mut output) = (None, None);
        for (field, value) in table {
            match field.get_ref().as_ref() {
                "input_per_million" => input = number(value.get_ref()),
                "output_per_million" => output = number(value.get_ref()),
                _ => self.unknown(field, "prices", &["input_per_million", "output_per_million"]),
            }
        }
        let prices = input
            .zip(output)
            .map(|(input_per_million, output_per_million)| Prices { input_per_million, output_per_million });
        let prices = prices.filter(|prices| prices.cost(1, 1).is_some());
        if prices.is_none() {
            self.wrong(value.span(), BOTH, None);
        }
        prices
    }
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

/// TOML as JSON; dates have no place there.
fn json(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => Value::from(number.as_str().parse::<i64>().ok()?),
        DeValue::Float(_) => Value::from(number(value)?),
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Array(items) => {
            Value::Array(items.iter().map(|item| json(item.get_ref())).collect::<Option<_>>()?)
        }
        DeValue::Table(table) => {
            let member = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
                Some((key.get_ref().to_string(), json(value.get_ref())?))
            };
            Value::Object(table.iter().map(member).collect::<Option<_>>()?)
        }
        DeValue::Datetime(_) => return None,
    })
}
