//! Makes values: the smallest that a schema lets us make.

use serde_json::{Map, Value};

use super::NoArguments;
use super::choices::Choices;
use super::scalar::{self, MAX_TEXT};
use super::views::{MAX_VIEWS, chosen, list, names};

/// Values that are made for one call.
const MAX_VALUES: usize = 2_000;
/// How deep values are inside each other.
const MAX_DEPTH: usize = 24;
/// Items of one list, and members of one object that have no name yet.
const MAX_ITEMS: u64 = 64;

type View<'s> = &'s Map<String, Value>;

/// Makes the arguments of one call.
pub(super) struct Builder<'s> {
    root: &'s Value,
    pub(super) choices: Choices,
    left: usize,
    /// Where the value is that is being made.
    path: Vec<String>,
}

/// Why there is no value where a schema asks for one, or none that is made.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoValue {
    #[error("arguments are an object, and no object is allowed")]
    NoObject,
    #[error("values are more than {MAX_DEPTH} levels inside each other")]
    TooDeep,
    #[error("more than {MAX_VALUES} values are needed")]
    TooMany,
    #[error("none of its choices is allowed")]
    NoChoice,
    #[error("what is said about its type contradicts itself")]
    Contradiction,
    #[error("`{0}` is not a type")]
    UnknownType(String),
    #[error("it needs {0} members")]
    ManyMembers(u64),
    #[error("it needs {0} items, and no more than {MAX_ITEMS} are made")]
    ManyItems(u64),
    #[error("it must be at least {0} characters long, and no more than {MAX_TEXT} are made")]
    LongText(u64),
    #[error("it must be at least {least} and at most {most} characters long")]
    NoLength { least: u64, most: u64 },
    #[error("no number lies within its bounds")]
    NoNumber,
    #[error("no such number can be written")]
    NotWritable,
    #[error("nothing is allowed there")]
    Nothing,
    #[error("what stands there is no schema")]
    NoSchema,
    #[error("more than {MAX_VIEWS} schemas speak about it")]
    TooManySchemas,
    #[error("`{0}` is not there")]
    DeadReference(String),
}

impl<'s> Builder<'s> {
    pub(super) fn new(root: &'s Value, choices: Choices) -> Self {
        Self { root, choices, left: MAX_VALUES, path: Vec::new() }
    }

    /// The arguments: those that are given, and what is required besides.
    pub(super) fn arguments(
        &mut self,
        given: &Map<String, Value>,
    ) -> Result<Map<String, Value>, NoArguments> {
        let made = chosen(self.root, vec![self.root], &mut self.choices).and_then(|views| {
            if !types(&views).is_none_or(|types| types.contains(&"object")) {
                return Err(NoValue::NoObject);
            }
            self.object(&views, given.clone(), 0)
        });
        made.map_err(|why| {
            let path = self.path.concat().trim_start_matches('.').to_owned();
            let path = if path.is_empty() { "arguments".to_owned() } else { path };
            NoArguments::NoValue { path, why: why.to_string() }
        })
    }

    /// A value about which all of these speak; the `nth` of several that are to differ.
    fn value(&mut self, schemas: Vec<&'s Value>, depth: usize, nth: u64) -> Result<Value, NoValue> {
        if depth > MAX_DEPTH {
            return Err(NoValue::TooDeep);
        }
        self.left = self.left.checked_sub(1).ok_or(NoValue::TooMany)?;
        let views = chosen(self.root, schemas, &mut self.choices)?;
        let allowed = types(&views);
        let fits = |value: &&Value| {
            allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|name| is(value, name)))
        };
        if let Some(only) = views.iter().find_map(|view| view.get("const")) {
            return Ok(only.clone());
        }
        if let Some(first) = views.iter().find_map(|view| view.get("enum")?.as_array()) {
            let in_all = |value: &&Value| {
                views.iter().all(|view| {
                    view.get("enum").and_then(Value::as_array).is_none_or(|all| all.contains(value))
                })
            };
            // A list may be long, and only its beginning is ever tried.
            let possible: Vec<&Value> = first.iter().filter(fits).filter(in_all).take(64).collect();
            if possible.is_empty() {
                return Err(NoValue::NoChoice);
            }
            let at = self.choices.pick(possible.len()) + usize::try_from(nth).unwrap_or(0);
            return Ok(possible[at % possible.len()].clone());
        }
        let mut told: Vec<&Value> = views.iter().filter_map(|view| view.get("default")).collect();
        told.extend(views.iter().flat_map(|view| list(view, "examples")));
        told.retain(|value| fits(value) && !value.is_null());
        told.truncate(8);
        let kinds = allowed.unwrap_or_else(|| vec![guessed(&views)]);
        if kinds.is_empty() {
            return Err(NoValue::Contradiction);
        }
        let at = self.choices.pick(told.len() + kinds.len());
        if nth == 0
            && let Some(value) = told.get(at)
        {
            return Ok((*value).clone());
        }
        let kind = kinds[at.saturating_sub(told.len()).min(kinds.len() - 1)];
        match kind {
            "object" => self.object(&views, Map::new(), depth).map(Value::Object),
            "array" => self.array(&views, depth),
            "string" => scalar::text(&views, nth, &mut self.choices).map(Value::String),
            "integer" => scalar::number(&views, true, nth),
            "number" => scalar::number(&views, false, nth),
            "boolean" => Ok(Value::Bool((self.choices.pick(2) == 1) ^ (nth % 2 == 1))),
            "null" => Ok(Value::Null),
            other => Err(NoValue::UnknownType(other.to_owned())),
        }
    }

    fn object(
        &mut self,
        views: &[View<'s>],
        given: Map<String, Value>,
        depth: usize,
    ) -> Result<Map<String, Value>, NoValue> {
        let mut made = given;
        let required = views.iter().flat_map(|view| list(view, "required"));
        let wanted: Vec<&'s str> = required.filter_map(Value::as_str).collect();
        wanted.iter().try_for_each(|name| self.member(views, &mut made, name, depth))?;
        // What is there may require more. Each round adds something, or is the last.
        loop {
            let mut more: Vec<&'s str> = Vec::new();
            for view in views {
                for key in ["dependentRequired", "dependencies"] {
                    for (name, needs) in view.get(key).and_then(Value::as_object).into_iter().flatten() {
                        if made.contains_key(name) {
                            more.extend(needs.as_array().into_iter().flatten().filter_map(Value::as_str));
                        }
                    }
                }
            }
            more.retain(|name| !made.contains_key(*name));
            if more.is_empty() {
                break;
            }
            more.iter().try_for_each(|name| self.member(views, &mut made, name, depth))?;
        }
        let least = scalar::most_of(views, "minProperties").unwrap_or(0);
        if least > MAX_ITEMS + wanted.len() as u64 {
            return Err(NoValue::ManyMembers(least));
        }
        if (made.len() as u64) < least {
            let known = views.iter().filter_map(|view| view.get("properties")?.as_object()).flatten();
            let known: Vec<&'s str> = known.map(|(name, _)| name.as_str()).collect();
            for name in known {
                if (made.len() as u64) < least {
                    self.member(views, &mut made, name, depth)?;
                }
            }
        }
        let mut number = 1;
        while (made.len() as u64) < least {
            self.member(views, &mut made, &format!("extra{number}"), depth)?;
            number += 1;
        }
        Ok(made)
    }

    fn member(
        &mut self,
        views: &[View<'s>],
        made: &mut Map<String, Value>,
        name: &str,
        depth: usize,
    ) -> Result<(), NoValue> {
        if made.contains_key(name) {
            return Ok(());
        }
        let mut schemas = Vec::new();
        for view in views {
            let named = view.get("properties").and_then(|properties| properties.get(name));
            // Whether a pattern of names is about this one is found out when all is validated.
            schemas.extend(named.or_else(|| view.get("additionalProperties")));
        }
        let value = self.within(format!(".{name}"), |this| this.value(schemas, depth + 1, 0))?;
        made.insert(name.to_owned(), value);
        Ok(())
    }

    fn array(&mut self, views: &[View<'s>], depth: usize) -> Result<Value, NoValue> {
        let contains = views.iter().any(|view| view.contains_key("contains"));
        let least = scalar::most_of(views, "minItems").unwrap_or(0).max(u64::from(contains));
        if least > MAX_ITEMS {
            return Err(NoValue::ManyItems(least));
        }
        let unique = views.iter().any(|view| view.get("uniqueItems") == Some(&Value::Bool(true)));
        let mut items = Vec::new();
        for at in 0..least {
            let mut schemas = Vec::new();
            for view in views {
                let index = usize::try_from(at).unwrap_or(usize::MAX);
                let first = list(view, "prefixItems")
                    .get(index)
                    .copied()
                    .or_else(|| list(view, "items").get(index).copied());
                let rest = view
                    .get("items")
                    .filter(|items| !items.is_array())
                    .or_else(|| view.get("additionalItems"));
                schemas.extend(first.or(rest));
                schemas.extend(view.get("contains").filter(|_| at == 0));
            }
            let nth = if unique { at } else { 0 };
            items.push(self.within(format!("[{at}]"), |this| this.value(schemas, depth + 1, nth))?);
        }
        Ok(Value::Array(items))
    }

    /// Does something one step further in. The path stays where it went wrong.
    fn within<T>(
        &mut self,
        step: String,
        make: impl FnOnce(&mut Self) -> Result<T, NoValue>,
    ) -> Result<T, NoValue> {
        self.path.push(step);
        let made = make(self)?;
        self.path.pop();
        Ok(made)
    }
}

/// The types that all allow; `None` when nobody says anything. `null` comes last, since it says least.
fn types<'s>(views: &[View<'s>]) -> Option<Vec<&'s str>> {
    let mut allowed: Option<Vec<&str>> = None;
    for said in views.iter().filter_map(|view| view.get("type")) {
        let said: Vec<&str> = names(said).collect();
        allowed = Some(match allowed {
            None => said,
            Some(before) => before
                .into_iter()
                .filter_map(|name| {
                    let narrower = said.iter().find(|other| name == "number" && **other == "integer");
                    let wider = said.contains(&name) || (name == "integer" && said.contains(&"number"));
                    if wider { Some(name) } else { narrower.copied() }
                })
                .collect(),
        });
    }
    if let Some(allowed) = &mut allowed {
        allowed.sort_by_key(|name| *name == "null");
    }
    allowed
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}

/// What is meant where no type is said.
fn guessed(views: &[View<'_>]) -> &'static str {
    let says = |keys: &[&str]| views.iter().any(|view| keys.iter().any(|key| view.contains_key(*key)));
    if says(&["properties", "required", "additionalProperties", "minProperties"]) {
        "object"
    } else if says(&["items", "prefixItems", "minItems", "contains"]) {
        "array"
    } else if says(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        "number"
    } else {
        "string"
    }
}
