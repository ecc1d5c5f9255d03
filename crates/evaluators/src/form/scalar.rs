//! Texts and numbers.

use serde_json::{Map, Number, Value};

use super::build::NoValue;
use super::choices::Choices;
use super::pattern;

type View<'s> = &'s Map<String, Value>;

/// How long a text may have to be.
pub(super) const MAX_TEXT: u64 = 10_000;

/// A text: by its format, by its pattern, or a word.
pub(super) fn text(views: &[View<'_>], nth: u64, choices: &mut Choices) -> Result<String, NoValue> {
    let least = most_of(views, "minLength").unwrap_or(0);
    let most = least_of(views, "maxLength").unwrap_or(u64::MAX);
    if least > MAX_TEXT {
        return Err(NoValue::LongText(least));
    }
    if least > most {
        return Err(NoValue::NoLength { least, most });
    }
    if let Some(pattern) = views.iter().find_map(|view| view.get("pattern")?.as_str()) {
        let mut possible = pattern::examples(pattern, least);
        possible.extend(["text", "a", "A", "1", "a1", "2026-01-01"].map(str::to_owned));
        let at = choices.pick(possible.len()) + usize::try_from(nth).unwrap_or(0);
        return Ok(possible.swap_remove(at % possible.len()));
    }
    let format = views.iter().find_map(|view| view.get("format")?.as_str());
    let mut text = format.and_then(formatted).unwrap_or("text").to_owned();
    if nth > 0 {
        text.push_str(&nth.to_string());
    }
    let length = text.chars().count() as u64;
    if length < least {
        // At most 10,000, so it fits.
        text.extend(std::iter::repeat_n('x', usize::try_from(least - length).unwrap_or(0)));
    } else if length > most {
        // What differs stands at the end.
        let skipped = usize::try_from(length - most).unwrap_or(0);
        text = text.chars().skip(skipped).collect();
    }
    Ok(text)
}

/// A text that has a format, on hosts that do not exist.
fn formatted(format: &str) -> Option<&'static str> {
    Some(match format {
        "date-time" => "2026-01-01T00:00:00Z",
        "date" => "2026-01-01",
        "time" => "00:00:00Z",
        "duration" => "P1D",
        "email" | "idn-email" => "someone@mail.example",
        "hostname" | "idn-hostname" => "host.example",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "url" | "iri" => "https://host.example/",
        "uri-reference" | "iri-reference" => "/",
        "uri-template" => "/{id}",
        "uuid" => "00000000-0000-4000-8000-000000000000",
        "json-pointer" => "/text",
        "relative-json-pointer" => "0",
        "regex" => "text",
        _ => return None,
    })
}

/// A number: 1 where that is allowed, else the one nearest to the lower bound.
pub(super) fn number(views: &[View<'_>], whole: bool, nth: u64) -> Result<Value, NoValue> {
    let bound = |key: &'static str| views.iter().filter_map(move |view| view.get(key)?.as_f64());
    // Before draft 6 an exclusive bound was a flag beside the bound.
    let flagged = |key: &str, of: &str| {
        let flag = |view: &&View<'_>| view.get(key) == Some(&Value::Bool(true));
        views.iter().filter(flag).filter_map(|view| view.get(of)?.as_f64()).collect::<Vec<_>>()
    };
    let greatest = |numbers: Vec<f64>| numbers.into_iter().reduce(f64::max);
    let smallest = |numbers: Vec<f64>| numbers.into_iter().reduce(f64::min);
    let low = greatest(bound("minimum").collect());
    let high = smallest(bound("maximum").collect());
    let above = greatest(bound("exclusiveMinimum").chain(flagged("exclusiveMinimum", "minimum")).collect());
    let below = smallest(bound("exclusiveMaximum").chain(flagged("exclusiveMaximum", "maximum")).collect());
    let step = greatest(bound("multipleOf").filter(|step| *step > 0.0).collect());
    let step = if whole {
        Some(step.map_or(1.0, |step| if step.fract() == 0.0 { step } else { step.ceil() }))
    } else {
        step
    };
    let holds = |number: f64| {
        low.is_none_or(|low| number >= low)
            && high.is_none_or(|high| number <= high)
            && above.is_none_or(|above| number > above)
            && below.is_none_or(|below| number < below)
    };
    #[allow(clippy::cast_precision_loss, reason = "lists are short")]
    let nth = nth as f64;
    let floor = greatest([low, above].into_iter().flatten().collect());
    let ceiling = smallest([high, below].into_iter().flatten().collect());
    let mut tried = Vec::new();
    if let Some(step) = step {
        let from = floor.map_or_else(
            || ceiling.map_or(1.0, |ceiling| ceiling.min(1.0)),
            |floor| if holds(1.0) { 1.0 } else { floor },
        );
        let first = (from / step).ceil() * step;
        tried.extend([0.0, 1.0, -1.0, 2.0].map(|more| first + (nth + more) * step));
        tried.push(((from / step).floor() - nth) * step);
    } else {
        tried.extend([1.0 + nth, nth]);
        match (floor, ceiling) {
            (Some(floor), Some(ceiling)) => {
                tried.extend([floor, ceiling, floor + (ceiling - floor) / (2.0 + nth)]);
            }
            (Some(floor), None) => tried.extend([floor + nth, floor + 1.0 + nth, floor + floor.abs()]),
            (None, Some(ceiling)) => {
                tried.extend([ceiling - nth, ceiling - 1.0 - nth, ceiling - ceiling.abs()]);
            }
            (None, None) => {}
        }
    }
    let found = tried.into_iter().find(|number| number.is_finite() && holds(*number));
    let found = found.ok_or(NoValue::NoNumber)?;
    #[allow(clippy::cast_possible_truncation, reason = "it is checked to be whole and within the range")]
    let exact = (found.fract() == 0.0 && found.abs() < 9.0e15).then_some(found as i64);
    match exact {
        Some(number) => Ok(number.into()),
        None => Number::from_f64(found).map(Value::Number).ok_or(NoValue::NotWritable),
    }
}

/// The largest of a bound that several may set.
pub(super) fn most_of(views: &[View<'_>], key: &str) -> Option<u64> {
    views.iter().filter_map(|view| whole(view.get(key)?)).max()
}

fn least_of(views: &[View<'_>], key: &str) -> Option<u64> {
    views.iter().filter_map(|view| whole(view.get(key)?)).min()
}

/// A bound may be written as `3.0`.
fn whole(value: &Value) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
    value.as_u64().or_else(|| {
        value.as_f64().filter(|number| (0.0..9.0e15).contains(number)).map(|number| number as u64)
    })
}
