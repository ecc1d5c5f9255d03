//! Arguments for a call, from what was said.

use serde_json::{Map, Value};

use super::form::{self, names_secret};
use crate::callable::{Callable, Property};
use crate::matching::among;
use crate::reading::{Known, email, given, numbers, paths, quoted, separate, uris};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Words<'w> {
    pub(crate) sentence: &'w str,
    /// What it belongs to, for what the sentence does not say.
    pub(crate) around: &'w str,
    /// What is brought, for fields that take contents.
    pub(crate) contents: Option<&'w str>,
    pub(crate) to: Option<&'w str>,
}

const CONTENTS: &str = "body content contents text message data payload note notes comment document context input value \
    details report summary description html markdown log";
const MESSAGES: &str = "body content text message comment note document";
const SEARCHES: &str = "query q question search prompt term terms keyword keywords topic request task instruction \
    instructions command sql code expression";
const RECEIVERS: &str = "to recipient recipients email address cc bcc";
const PLACES: &str = "url uri link endpoint href webhook website page";
const FILES: &str = "path file filename filepath dir directory folder";

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Filling {
    pub(crate) arguments: Map<String, Value>,
    /// Whether there is one that the words say, or none that is required.
    pub(crate) said: bool,
}

/// The arguments of a call: those that are given, and for the rest what the words say, as the schema wants it.
pub(crate) fn fill(callable: &Callable, fixed: &[(String, Value)], words: Words<'_>) -> Filling {
    let known = Known { callables: std::slice::from_ref(callable), own: None, own_field: None };
    let mut spoken = given(words.sentence, &known);
    spoken.retain(|(name, _)| callable.property(name).is_some());
    let mut arguments = Map::new();
    let mut used: Vec<f64> = Vec::new();
    let mut said = !callable.properties.iter().any(|property| property.required);
    for property in &callable.properties {
        let of_name = |all: &[(String, Value)]| {
            let of_name = all.iter().find(|(name, _)| name.eq_ignore_ascii_case(&property.name));
            of_name.map(|(_, value)| value.clone())
        };
        let value = match of_name(fixed).or_else(|| of_name(&spoken)) {
            Some(value) => Some((typed(property, value), true)),
            None => from_words(property, words, &mut used),
        };
        said |= value.as_ref().is_some_and(|(_, sure)| *sure);
        arguments.extend(value.map(|(value, _)| (property.name.clone(), value)));
    }
    // What a schema does not know was asked for all the same.
    for (name, value) in fixed {
        if callable.property(name).is_none() {
            arguments.insert(name.clone(), value.clone());
        }
    }
    Filling { arguments, said }
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

/// A value, and whether the words say so.
fn from_words(property: &Property, words: Words<'_>, used: &mut Vec<f64>) -> Option<(Value, bool)> {
    let lower = words.sentence.to_lowercase();
    let says = |choice: &&Value| {
        let choice = choice.as_str().map(str::to_lowercase);
        choice.is_some_and(|choice| lower.split(|c: char| !c.is_alphanumeric()).any(|word| word == choice))
    };
    if let Some(choice) = property.choices.iter().find(says) {
        return Some((choice.clone(), true));
    }
    let made_up =
        |value: Value| property.required.then(|| (property.default.clone().unwrap_or(value), false));
    if let Some(choice) = property.choices.first() {
        return made_up(choice.clone());
    }
    match property.kind.as_str() {
        "number" | "integer" => return number(property, words, used).or_else(|| made_up(Value::from(1))),
        "boolean" => return made_up(Value::from(true)),
        "array" => {
            let item = property.items.as_deref().cloned().unwrap_or_default();
            let item = Property { required: property.required, name: property.name.clone(), ..item };
            return from_words(&item, words, used).map(|(value, sure)| (Value::from(vec![value]), sure));
        }
        "object" => return made_up(Value::Object(Map::new())),
        _ => {}
    }
    if let Some(named) = mentioned(property, words.sentence) {
        return Some((named.into(), true));
    }
    match text(property, words) {
        Some((text, true)) => Some((text.into(), true)),
        Some((text, false)) => made_up(text.into()),
        // What nobody gave stays out, whoever wants it.
        None if names_secret(&property.name) || is_for_anything(property) => None,
        None => made_up(form::made_up(property).into()),
    }
}

/// Whether a field takes whatever there is.
fn is_for_anything(property: &Property) -> bool {
    separate(&property.name).split(' ').any(|part| among(CONTENTS, part) && !among(MESSAGES, part))
}

fn number(property: &Property, words: Words<'_>, used: &mut Vec<f64>) -> Option<(Value, bool)> {
    // An optional number is only meant when the words name it.
    let lower = words.sentence.to_lowercase();
    let named = separate(&property.name).split(' ').any(|part| lower.contains(part));
    let free = numbers(words.sentence).into_iter().find(|number| !used.contains(number));
    let value = free.filter(|_| property.required || named)?;
    used.push(value);
    Some((if property.kind == "integer" { whole(value) } else { plain(value) }, true))
}

/// A word of the sentence that the property's own words offer: `(GET, POST, HEAD)`.
fn mentioned(property: &Property, sentence: &str) -> Option<String> {
    let (_, offered) = property.words.split_once('(')?;
    let (offered, _) = offered.split_once(')')?;
    let offers = offered.split([',', '/', '|']).map(|word| word.trim().trim_matches(['"', '\'', '`']));
    let words: Vec<&str> = sentence.split(|c: char| !c.is_alphanumeric()).collect();
    let mut offers = offers.filter(|word| !word.is_empty() && !word.contains(' '));
    offers.find(|word| words.contains(word)).map(str::to_owned)
}

/// What the words say for a field of text, and whether it is surely that.
fn text(property: &Property, words: Words<'_>) -> Option<(String, bool)> {
    let name = separate(&property.name);
    let parts: Vec<&str> = name.split(' ').collect();
    // A `report_id` is not a report.
    let names_something =
        parts.len() > 1 && parts.last().is_some_and(|last| among("id name number code type", last));
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
        if let Some(contents) = words.contents.map(str::to_owned).or_else(quoted) {
            return Some((contents, true));
        }
        // Someone has to say something; a field for anything stays out.
        return is(MESSAGES).then(|| (words.sentence.to_owned(), false));
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
    if is("subject title reason") {
        return Some((words.sentence.chars().take(60).collect(), false));
    }
    let quoted = || quoted(words.sentence).into_iter().next();
    // Any name will do for what must be there, and for nothing else.
    if !property.required {
        return quoted().map(|text| (text, false));
    }
    let found = quoted().or_else(|| identifier(words.sentence)).or_else(|| identifier(words.around));
    let found = found.or_else(|| proper(words.sentence)).map(|text| (text, true));
    found.or_else(|| bare_words(words.sentence).next_back().map(|text| (text.to_owned(), false)))
}

patterns! {
    WORD = r"[\p{L}\p{N}][\p{L}\p{N}_./@+-]*";
}

/// The word that follows the field's own name: `project alpha`, `report ID is R-1`, `the sales table`.
fn after_name(parts: &[&str], sentence: &str) -> Option<String> {
    const SMALL: &str = "id is the a an named called number of name to for with at on in and s profile details status \
        page data metadata info information using then agent notes dataset report";
    let words: Vec<&str> = bare_words(sentence).collect();
    let noun = parts.iter().find(|part| !among("id name code key", part))?;
    let is_small = |word: &str| among(SMALL, &word.to_lowercase());
    words.iter().enumerate().filter(|(_, word)| word.eq_ignore_ascii_case(noun)).find_map(|(at, _)| {
        let rest = &words[at + 1..];
        let next = rest.iter().find(|word| !word.eq_ignore_ascii_case(noun) && !is_small(word));
        let near = next.filter(|next| rest.iter().take(3).any(|word| word == *next)).copied();
        let before = at.checked_sub(1).map(|before| words[before]).filter(|before| !is_small(before));
        let name = near.filter(|next| looks_like_a_name(next));
        let name = name.or_else(|| before.filter(|before| looks_like_a_name(before)));
        name.or_else(|| near.filter(|next| next.len() > 2)).map(str::to_owned)
    })
}

/// The words of a text, without the marks that end a sentence.
fn bare_words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let words: Vec<&str> =
        WORD.find_iter(text).map(|found| found.as_str().trim_end_matches(['.', ','])).collect();
    words.into_iter()
}

fn looks_like_a_name(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_digit() || "-_./".contains(c))
        || word.chars().skip(1).any(char::is_uppercase)
}

/// A word that can only be a name: with a digit, a hyphen, or capitals in it.
fn identifier(text: &str) -> Option<String> {
    let is_word = |word: &&str| word.len() > 1 && !word.contains('@') && !word.contains("//");
    bare_words(text).filter(is_word).find(|word| looks_like_a_name(word)).map(str::to_owned)
}

/// A word with a capital that begins no sentence.
fn proper(text: &str) -> Option<String> {
    for found in WORD.find_iter(text) {
        let gap = text[..found.start()].trim_end().chars().next_back().unwrap_or('.');
        let word = found.as_str().trim_end_matches(['.', ',']);
        if word.starts_with(char::is_uppercase) && !matches!(gap, '.' | '!' | '?' | ':' | '"') {
            return Some(word.to_owned());
        }
    }
    None
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
        Value::Object(fill(&callable, &[], Words { sentence, ..Words::default() }).arguments)
    }

    /// On each line a sentence, and the arguments that it gives to a tool that requires just these.
    const FILLED: &str = r#"
Calculate 15 + 27 => {"a": 15, "b": 27}
Read the file /reports/q4.txt and summarize it => {"path": "/reports/q4.txt"}
Summarize https://a.example/b please => {"url": "https://a.example/b"}
Get the details for project alpha-backend => {"project_id": "alpha-backend"}
Get the report, report ID is FIN-Q4-2025 => {"report_id": "FIN-Q4-2025"}
Look up the user profile for user-123 => {"user_id": "user-123"}
Get records from the sales_x table with a limit of 100 => {"table": "sales_x", "limit": 100}
How is the weather in Oslo => {"city": "Oslo"}
Send an email to t@c.example with subject 'Week' and body 'Here are this week's plans.' => {"to": "t@c.example", "subject": "Week", "body": "Here are this week's plans."}
search the web for storms in May => {"query": "storms in May"}
"#;

    #[test]
    fn arguments_are_found_in_ordinary_words() {
        for (sentence, expected) in FILLED.trim().lines().map(|line| line.split_once(" => ").unwrap()) {
            let expected: Map<String, Value> = serde_json::from_str(expected).unwrap();
            let property = |(name, value): (&String, &Value)| {
                let kind = if value.is_number() { "number" } else { "string" };
                (name.clone(), json!({"type": kind}))
            };
            let properties: Map<String, Value> = expected.iter().map(property).collect();
            let required: Vec<&String> = expected.keys().collect();
            let schema = json!({"properties": properties, "required": required});
            assert_eq!(filled(&schema, sentence), Value::Object(expected), "{sentence}");
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
        let words = Words { sentence: "with 5", ..Words::default() };
        assert_eq!(
            Value::Object(fill(&callable.unwrap(), &fixed, words).arguments),
            json!({"n": 10000, "l": ["x"], "extra": 1})
        );
    }
}
