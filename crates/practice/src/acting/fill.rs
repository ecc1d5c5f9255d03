//! Arguments for a call, from what was said.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::form::{made_up, names_secret};
use crate::callable::{Callable, Property};
use crate::reading::{Known, email, given, numbers, paths, quoted, separate, uris};

/// The words that a call is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'w> {
    /// The sentence that asks for it.
    pub(crate) sentence: &'w str,
    /// What it belongs to, for what the sentence does not say.
    pub(crate) around: &'w str,
    /// What is brought, for fields that take contents.
    pub(crate) contents: Option<&'w str>,
    /// To whom.
    pub(crate) to: Option<&'w str>,
}

static WORD: LazyLock<Regex> = LazyLock::new(|| {
    // A constant pattern; the tests here use it.
    Regex::new(r"[\p{L}\p{N}][\p{L}\p{N}_./@+-]*").expect("a constant pattern")
});

const CONTENTS: &str = "body content contents text message data payload note notes comment document context input value \
    details report summary description html markdown log";
const SEARCHES: &str = "query q question search prompt term terms keyword keywords topic request task instruction \
    instructions command sql code expression";
const RECEIVERS: &str = "to recipient recipients email address cc bcc";
const PLACES: &str = "url uri link endpoint href webhook website page";
const FILES: &str = "path file filename filepath dir directory folder";

/// Whether a word is one of a list.
fn among(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// The arguments of a call: those that are given, and for the rest what the words say, as the schema wants it.
pub(crate) fn arguments(
    callable: &Callable,
    fixed: &[(String, Value)],
    words: Words<'_>,
) -> Map<String, Value> {
    let known = Known { callables: std::slice::from_ref(callable), own: None, own_field: None };
    let mut said = given(words.sentence, &known);
    said.retain(|(name, _)| callable.property(name).is_some());
    let mut arguments = Map::new();
    let mut used: Vec<f64> = Vec::new();
    for property in &callable.properties {
        let of_name = |all: &[(String, Value)]| {
            all.iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(&property.name))
                .map(|(_, value)| value.clone())
        };
        let value = match of_name(fixed).or_else(|| of_name(&said)) {
            Some(value) => Some(typed(property, value)),
            None => from_words(property, words, &mut used),
        };
        arguments.extend(value.map(|value| (property.name.clone(), value)));
    }
    // What a schema does not know was asked for all the same.
    for (name, value) in fixed {
        if callable.property(name).is_none() {
            arguments.insert(name.clone(), value.clone());
        }
    }
    arguments
}

/// A value in the type that the schema wants.
pub(crate) fn typed(property: &Property, value: Value) -> Value {
    let Value::String(text) = &value else { return value };
    let number = || text.replace([',', '$', ' '], "").parse::<f64>().ok();
    match property.kind.as_str() {
        "integer" => number().map_or(value.clone(), whole),
        "number" => number().map_or(value.clone(), plain),
        "boolean" => Value::from(!["false", "no", "0", "off"].contains(&text.to_ascii_lowercase().as_str())),
        "array" => Value::from(vec![value]),
        _ => value,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a number that is too large becomes the largest")]
fn whole(number: f64) -> Value {
    Value::from(number as i64)
}

fn plain(number: f64) -> Value {
    if number.fract() == 0.0 { whole(number) } else { Value::from(number) }
}

fn from_words(property: &Property, words: Words<'_>, used: &mut Vec<f64>) -> Option<Value> {
    let lower = words.sentence.to_lowercase();
    let choice = property.choices.iter().find(|choice| {
        choice.as_str().is_some_and(|choice| {
            lower.split(|c: char| !c.is_alphanumeric()).any(|word| word == choice.to_lowercase())
        })
    });
    if let Some(choice) = choice.or_else(|| property.choices.first().filter(|_| property.required)) {
        return Some(choice.clone());
    }
    match property.kind.as_str() {
        "number" | "integer" => return number(property, words, used),
        "boolean" => return property.required.then(|| property.default.clone().unwrap_or(Value::from(true))),
        "array" => {
            let item = property.items.as_deref().cloned().unwrap_or_default();
            let item = Property { required: property.required, name: property.name.clone(), ..item };
            return from_words(&item, words, used).map(|value| Value::from(vec![value]));
        }
        "object" => return property.required.then(|| Value::Object(Map::new())),
        _ => {}
    }
    if let Some(named) = mentioned(property, words.sentence) {
        return Some(named.into());
    }
    let text = text(property, words);
    match (text, property.required) {
        (Some((text, true)), _) | (Some((text, false)), true) => Some(text.into()),
        // A key that nobody gave stays empty, whoever wants it.
        (None, true) if names_secret(&property.name) => Some("".into()),
        (None, true) => Some(property.default.clone().unwrap_or_else(|| made_up(property).into())),
        _ => None,
    }
}

fn number(property: &Property, words: Words<'_>, used: &mut Vec<f64>) -> Option<Value> {
    let free = numbers(words.sentence).into_iter().find(|number| !used.contains(number));
    // An optional number is only meant when the words name it.
    let named = separate(&property.name).split(' ').any(|part| words.sentence.to_lowercase().contains(part));
    let value = match free {
        Some(number) if property.required || named => {
            used.push(number);
            number
        }
        _ if property.required => return Some(property.default.clone().unwrap_or(Value::from(1))),
        _ => return None,
    };
    Some(if property.kind == "integer" { whole(value) } else { plain(value) })
}

/// A word of the sentence that the property's own words offer: `(GET, POST, HEAD)`.
fn mentioned(property: &Property, sentence: &str) -> Option<String> {
    let (_, offered) = property.words.split_once('(')?;
    let (offered, _) = offered.split_once(')')?;
    let offers = offered.split([',', '/', '|']).map(|word| word.trim().trim_matches(['"', '\'', '`']));
    let words: Vec<&str> = sentence.split(|c: char| !c.is_alphanumeric()).collect();
    offers
        .filter(|word| !word.is_empty() && !word.contains(' '))
        .find(|word| words.contains(word))
        .map(str::to_owned)
}

/// What the words say for a field of text, and whether it is surely that.
fn text(property: &Property, words: Words<'_>) -> Option<(String, bool)> {
    let name = separate(&property.name);
    let parts: Vec<&str> = name.split(' ').collect();
    // A `report_id` is no report.
    let names_something = parts.len() > 1
        && parts.last().is_some_and(|last| ["id", "name", "number", "code", "type"].contains(last));
    let is = |names: &str| !names_something && parts.iter().any(|part| among(names, part));
    let anywhere =
        |find: &dyn Fn(&str) -> Option<String>| find(words.sentence).or_else(|| find(words.around));
    let sure = |text: Option<String>| text.map(|text| (text, true));
    if is(RECEIVERS) {
        let receiver = words.to.map(str::to_owned).or_else(|| anywhere(&|text| email(text)));
        return if property.required { sure(receiver) } else { None };
    }
    if is(PLACES) {
        let place = words.to.filter(|to| to.contains("://")).map(str::to_owned);
        return sure(place.or_else(|| anywhere(&|text| uris(text).into_iter().next())));
    }
    if is(FILES) {
        let file = anywhere(&|text| paths(text).into_iter().next());
        return sure(file.or_else(|| uris(words.sentence).into_iter().next()));
    }
    if is(CONTENTS) {
        let quoted = || quoted(words.sentence).into_iter().next_back();
        let contents = words.contents.map(str::to_owned).or_else(quoted);
        return contents.map(|text| (text, true)).or_else(|| Some((words.sentence.to_owned(), false)));
    }
    if names_secret(&property.name) {
        // Nobody's password is the next best word.
        return None;
    }
    if let Some(after) = after_name(&parts, words.sentence).or_else(|| after_name(&parts, words.around)) {
        return Some((after, true));
    }
    if is(SEARCHES) {
        return Some((searched(words.sentence), true));
    }
    let quoted = quoted(words.sentence).into_iter().next();
    let subject = is("subject title reason").then(|| words.sentence.chars().take(60).collect());
    let found =
        subject.or(quoted).or_else(|| identifier(words.sentence)).or_else(|| identifier(words.around));
    found.or_else(|| proper(words.sentence)).map(|text| (text, false))
}

/// The word that follows the field's own name: `project alpha`, `report ID is R-1`, `the sales table`.
fn after_name(parts: &[&str], sentence: &str) -> Option<String> {
    const SMALL: &str = "id is the a an named called number of name to for with at on in and s profile details status \
        page data metadata info information using then agent notes dataset report";
    let words: Vec<&str> =
        WORD.find_iter(sentence).map(|found| found.as_str().trim_end_matches(['.', ','])).collect();
    let noun = parts.iter().find(|part| !["id", "name", "code", "key"].contains(part))?;
    let places =
        words.iter().enumerate().filter(|(_, word)| word.eq_ignore_ascii_case(noun)).map(|(at, _)| at);
    for at in places {
        let next = words[at + 1..]
            .iter()
            .filter(|word| !word.eq_ignore_ascii_case(noun))
            .find(|word| !among(SMALL, &word.to_lowercase()));
        let near = next.filter(|next| words[at + 1..].iter().take(3).any(|word| word == *next));
        if let Some(next) = near.filter(|next| looks_like_a_name(next)) {
            return Some((*next).to_owned());
        }
        let before = at.checked_sub(1).map(|before| words[before]);
        if let Some(before) =
            before.filter(|before| !among(SMALL, &before.to_lowercase()) && looks_like_a_name(before))
        {
            return Some(before.to_owned());
        }
        if let Some(next) = near.filter(|next| next.len() > 2) {
            return Some((*next).to_owned());
        }
    }
    None
}

fn looks_like_a_name(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_digit() || "-_./".contains(c))
        || word.chars().skip(1).any(char::is_uppercase)
}

/// A word that can only be a name: with a digit, a hyphen, or capitals in it.
fn identifier(text: &str) -> Option<String> {
    let words = WORD.find_iter(text).map(|found| found.as_str().trim_end_matches(['.', ',']));
    words
        .filter(|word| word.len() > 1 && !word.contains('@') && !word.contains("//"))
        .find(|word| looks_like_a_name(word))
        .map(str::to_owned)
}

/// A word with a capital that does not begin the sentence, else the last word.
fn proper(text: &str) -> Option<String> {
    let words: Vec<&str> =
        WORD.find_iter(text).map(|found| found.as_str().trim_end_matches(['.', ','])).collect();
    let capital = words.iter().skip(1).find(|word| word.chars().next().is_some_and(char::is_uppercase));
    capital.or(words.last()).map(|word| (*word).to_owned())
}

/// What is looked for: what follows `for` or `about`, else all of it.
fn searched(sentence: &str) -> String {
    if let Some(only) = quoted(sentence).into_iter().next() {
        return only;
    }
    let lower = sentence.to_lowercase();
    let starts = [" for ", " about ", ": "];
    let cut = starts.iter().filter_map(|start| lower.find(start).map(|at| at + start.len())).min();
    let rest = cut.and_then(|at| sentence.get(at..)).unwrap_or(sentence);
    rest.trim().trim_end_matches(['.', '?', '!']).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::callable::Place;

    fn filled(schema: &Value, sentence: &str) -> Value {
        let callable =
            Callable::from_tool(&json!({"name": "t", "inputSchema": schema}), Place::Server(0)).unwrap();
        Value::Object(arguments(&callable, &[], Words { sentence, around: "", contents: None, to: None }))
    }

    fn schema(required: &[&str]) -> Value {
        let property = |name: &str| {
            let kind = if ["a", "b", "limit"].contains(&name) { "number" } else { "string" };
            (name.to_owned(), json!({"type": kind}))
        };
        let members: Map<String, Value> = required.iter().map(|name| property(name)).collect();
        json!({"properties": members, "required": required})
    }

    #[test]
    fn arguments_are_found_in_ordinary_words() {
        for (required, sentence, expected) in [
            (&["a", "b"][..], "Calculate 15 + 27", json!({"a": 15, "b": 27})),
            (&["path"], "Read the file /reports/q4.txt and summarize it", json!({"path": "/reports/q4.txt"})),
            (&["url"], "Summarize https://a.example/b please", json!({"url": "https://a.example/b"})),
            (
                &["project_id"],
                "Get the details for project alpha-backend",
                json!({"project_id": "alpha-backend"}),
            ),
            (&["report_id"], "Get the report, report ID is FIN-Q4-2025", json!({"report_id": "FIN-Q4-2025"})),
            (&["user_id"], "Look up the user profile for user-123", json!({"user_id": "user-123"})),
            (
                &["table", "limit"],
                "Get records from the sales_x table with a limit of 100",
                json!({"table": "sales_x", "limit": 100}),
            ),
            (&["city"], "How is the weather in Oslo", json!({"city": "Oslo"})),
            (
                &["to", "subject", "body"],
                "Send an email to t@c.example with subject 'Week' and body 'Here are this week's plans.'",
                json!({"to": "t@c.example", "subject": "Week", "body": "Here are this week's plans."}),
            ),
            (&["query"], "search the web for storms in May", json!({"query": "storms in May"})),
        ] {
            assert_eq!(filled(&schema(required), sentence), expected, "{sentence}");
        }
    }

    #[test]
    fn choices_and_offers_are_respected() {
        let schema = json!({"properties": {
            "method": {"type": "string", "description": "HTTP method (GET, POST, HEAD, etc.)"},
            "unit": {"enum": ["c", "f"]}, "deep": {"type": "boolean"}}, "required": ["unit"]});
        assert_eq!(filled(&schema, "send 50 HEAD requests"), json!({"method": "HEAD", "unit": "c"}));
    }

    #[test]
    fn what_is_given_goes_first_and_keeps_its_type() {
        let callable = Callable::from_tool(
            &json!({"name": "t", "inputSchema": {"properties": {"n": {"type": "integer"}, "l": {"type": "array"}}}}),
            Place::Server(0),
        );
        let fixed =
            [("n".to_owned(), json!("10,000")), ("l".to_owned(), json!("x")), ("extra".to_owned(), json!(1))];
        let words = Words { sentence: "with 5", around: "", contents: None, to: None };
        assert_eq!(
            Value::Object(arguments(&callable.unwrap(), &fixed, words)),
            json!({"n": 10000, "l": ["x"], "extra": 1})
        );
    }
}
