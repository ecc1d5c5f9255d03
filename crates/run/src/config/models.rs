//! `[models.NAME]` of sortie.toml.

use std::ops::Range;

use serde_json::{Map, Value};
use sortie_detect::Prices;
use sortie_judge::{EndpointKind, OutputBound, Parameter};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::reader::{Reader, has};
use crate::SpecError;
use crate::environment::FromEnv;

/// A model that has a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedModel {
    pub(crate) kind: EndpointKind,
    pub(crate) url: String,
    pub(crate) model: String,
    pub(crate) key: Option<FromEnv>,
    pub(crate) prices: Option<Prices>,
    pub(crate) without: Vec<Parameter>,
    pub(crate) seed: u32,
    pub(crate) output_bound: OutputBound,
    pub(crate) extra: Map<String, Value>,
}

const FIELDS: &[&str] =
    &["kind", "url", "model", "key", "prices", "without", "seed", "output_bound", "extra"];

/// What is spoken at an endpoint, by its name.
pub(crate) fn kind(text: &str) -> Result<EndpointKind, SpecError> {
    match text {
        "openai" => Ok(EndpointKind::OpenAi),
        "anthropic" => Ok(EndpointKind::Anthropic),
        _ => Err("a kind of model is `openai` or `anthropic`".into()),
    }
}

impl Reader {
    /// A model; everything that is wrong with it is noted.
    pub(super) fn model(&mut self, at: Range<usize>, table: &DeTable<'_>) -> Option<NamedModel> {
        let (mut of_kind, mut url, mut model, mut key, mut prices) = (None, None, None, None, None);
        let (mut without, mut seed, mut output_bound, mut extra) =
            (Vec::new(), 0, OutputBound::default(), Map::new());
        for (field, value) in table {
            match field.get_ref().as_ref() {
                "kind" => of_kind = self.text(value, kind),
                "url" => url = self.text(value, |text| Ok(text.to_owned())),
                "model" => model = self.text(value, |text| Ok(text.to_owned())),
                "key" => key = self.secret("key", value),
                "prices" => prices = self.prices(value),
                "without" => without = self.without(value),
                "seed" => match whole(value.get_ref()) {
                    Some(number) => seed = number,
                    None => self.wrong(value.span(), "a seed is a whole number from 0 on".into(), None),
                },
                "output_bound" => {
                    output_bound = self.text(value, output_bound_of).unwrap_or_default();
                }
                "extra" => match json(value.get_ref()) {
                    Some(Value::Object(members)) => extra = members,
                    _ => self.wrong(value.span(), "`extra` is a table of members for requests".into(), None),
                },
                _ => self.unknown(field, "a model", FIELDS),
            }
        }
        for needed in ["kind", "url", "model"] {
            if !has(table, needed) {
                self.wrong(at.clone(), format!("a model needs a `{needed}`"), None);
            }
        }
        let (kind, url, model) = (of_kind?, url?, model?);
        Some(NamedModel { kind, url, model, key, prices, without, seed, output_bound, extra })
    }

    fn prices(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Prices> {
        const BOTH: &str =
            "prices are `{ input_per_million = 0.5, output_per_million = 2 }`, neither below 0";
        let Some(table) = value.get_ref().as_table() else {
            self.wrong(value.span(), BOTH.into(), None);
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
            self.wrong(value.span(), BOTH.into(), None);
        }
        prices
    }

    fn without(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<Parameter> {
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(value.span(), "this is a list: `[\"temperature\", \"seed\"]`".into(), None);
            return Vec::new();
        };
        let parameter = |text: &str| match text {
            "temperature" => Ok(Parameter::Temperature),
            "seed" => Ok(Parameter::Seed),
            _ => Err("what can be left out is `temperature` and `seed`".into()),
        };
        items.iter().filter_map(|item| self.text(item, parameter)).collect()
    }
}

fn output_bound_of(text: &str) -> Result<OutputBound, SpecError> {
    match text {
        "max_tokens" => Ok(OutputBound::MaxTokens),
        "max_completion_tokens" => Ok(OutputBound::MaxCompletionTokens),
        _ => Err("the bound of an answer is called `max_tokens` or `max_completion_tokens`".into()),
    }
}

fn whole(value: &DeValue<'_>) -> Option<u32> {
    value.as_integer()?.as_str().parse().ok()
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
