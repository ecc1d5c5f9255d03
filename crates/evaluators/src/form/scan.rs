//! What a schema may ask of us: its size, where it refers to, whether it goes in circles, and how much work it is to
//! validate a value, which is counted before it is done.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::views::{list, resolve};
use crate::cases::excerpt;
use crate::depends::walk;

/// Values in a schema, all together.
const MAX_NODES: usize = 20_000;
/// Objects and arrays inside each other.
const MAX_DEPTH: usize = 64;
/// How many schemas there are when every reference is replaced by what it refers to.
const MAX_EXPANDED: u64 = 50_000;
/// How many schemas may lead from one to the next for the same value.
const MAX_CHAIN: usize = 32;

/// So many schemas are asked about parts of one value.
const MAX_STEPS: u64 = 200_000;

/// Keys whose schemas are about the same value.
const SAME: &[&str] = &["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];
/// Keys whose schemas are about parts of it, or about nothing until they are referred to.
const PARTS: &[&str] = &[
    "items",
    "prefixItems",
    "additionalItems",
    "additionalProperties",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const NAMED_SAME: &[&str] = &["dependentSchemas", "dependencies"];
const NAMED_PARTS: &[&str] = &["properties", "patternProperties", "$defs", "definitions"];

/// Why a schema is not for us.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadSchema {
    #[error("it is not an object")]
    NoObject,
    #[error("it has more than {MAX_NODES} values, which are the limit")]
    TooLarge,
    #[error("it is more than {MAX_DEPTH} levels deep, which are the limit")]
    TooDeep,
    /// An excerpt of the reference.
    #[error("it refers to `{0}`, which is not there")]
    DeadReference(String),
    /// An excerpt of the reference.
    #[error("it refers to `{0}`, which is elsewhere")]
    Elsewhere(String),
    #[error("it uses `{0}`")]
    Unsupported(&'static str),
    #[error("a part of it has a name of its own (`$id`)")]
    NamedPart,
    #[error("it refers to itself in a circle")]
    Circle,
    #[error("more than {MAX_CHAIN} references follow each other, which are the limit")]
    LongChain,
    #[error("it has more than {MAX_EXPANDED} schemas when references are followed")]
    Expanded,
    #[error("to check a value against it takes too long")]
    TooSlow,
}

/// Looks at a schema before anything is made of it.
pub(super) fn look_at(schema: &Value) -> Result<(), BadSchema> {
    if !schema.is_object() {
        return Err(BadSchema::NoObject);
    }
    measure(schema)?;
    let mut scan = Scan { root: schema, ids: HashMap::new(), edges: Vec::new() };
    scan.walk(schema)?;
    scan.follow()
}

fn measure(schema: &Value) -> Result<(), BadSchema> {
    let mut count = 0;
    let mut waiting = vec![(schema, 0)];
    while let Some((value, depth)) = waiting.pop() {
        count += 1;
        if count > MAX_NODES {
            return Err(BadSchema::TooLarge);
        }
        if depth > MAX_DEPTH {
            return Err(BadSchema::TooDeep);
        }
        match value {
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => waiting.extend(map.values().map(|value| (value, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}

struct Scan<'s> {
    root: &'s Value,
    /// Schemas by where they are in memory: the same one is the same, however it is reached.
    ids: HashMap<*const Value, usize>,
    edges: Vec<Edges>,
}

#[derive(Default)]
struct Edges {
    /// To schemas about the same value.
    same: Vec<usize>,
    /// To those about parts of it.
    parts: Vec<usize>,
}

impl<'s> Scan<'s> {
    /// Finds every schema, and what it leads to.
    fn walk(&mut self, schema: &'s Value) -> Result<(), BadSchema> {
        let mut waiting = vec![schema];
        self.id(schema);
        while let Some(schema) = waiting.pop() {
            let Value::Object(view) = schema else { continue };
            self.refuse(schema, view)?;
            let (mut same, mut parts): (Vec<&Value>, Vec<&Value>) = (Vec::new(), Vec::new());
            if let Some(reference) = view.get("$ref").and_then(Value::as_str) {
                let target = resolve(self.root, reference);
                same.push(target.ok_or_else(|| dangling(reference))?);
            }
            for (key, value) in view {
                let (to, named) = match key.as_str() {
                    key if SAME.contains(&key) => (&mut same, false),
                    key if PARTS.contains(&key) => (&mut parts, false),
                    key if NAMED_SAME.contains(&key) => (&mut same, true),
                    key if NAMED_PARTS.contains(&key) => (&mut parts, true),
                    _ => continue,
                };
                match value {
                    Value::Object(map) if named => to.extend(map.values()),
                    Value::Array(items) if !named => to.extend(items),
                    _ if !named => to.push(value),
                    _ => {}
                }
            }
            let from = self.id(schema);
            for (found, is_same) in same.iter().map(|s| (*s, true)).chain(parts.iter().map(|s| (*s, false))) {
                let known = self.ids.len();
                let id = self.id(found);
                if id == known {
                    waiting.push(found);
                }
                let edges = &mut self.edges[from];
                if is_same { edges.same.push(id) } else { edges.parts.push(id) }
            }
        }
        Ok(())
    }

    fn id(&mut self, schema: &'s Value) -> usize {
        let next = self.ids.len();
        let id = *self.ids.entry(std::ptr::from_ref(schema)).or_insert(next);
        if id == next {
            self.edges.push(Edges::default());
        }
        id
    }

    /// What changes the meaning of references is not followed.
    fn refuse(&self, schema: &Value, view: &Map<String, Value>) -> Result<(), BadSchema> {
        for key in ["$dynamicRef", "$recursiveRef"] {
            if view.get(key).is_some_and(Value::is_string) {
                return Err(BadSchema::Unsupported(key));
            }
        }
        let nested = !std::ptr::eq(schema, self.root);
        if nested && ["$id", "id"].iter().any(|key| view.get(*key).is_some_and(Value::is_string)) {
            return Err(BadSchema::NamedPart);
        }
        Ok(())
    }

    /// Follows what leads from schema to schema: without end, too far, or to too many.
    fn follow(&self) -> Result<(), BadSchema> {
        let count = self.edges.len();
        let mut circular = false;
        let same = |at: usize, nth: usize| self.edges[at].same.get(nth).map(|to| Some(*to));
        let order = walk(count, 0..count, same, |_, _| {
            circular = true;
            false
        });
        if circular {
            return Err(BadSchema::Circle);
        }
        let mut chains = vec![0; count];
        for at in order {
            chains[at] = 1 + self.edges[at].same.iter().map(|to| chains[*to]).max().unwrap_or(0);
        }
        if chains.into_iter().max() > Some(MAX_CHAIN) {
            return Err(BadSchema::LongChain);
        }
        // How many schemas there are when references are followed. One that leads back to itself is counted once.
        let all = |at: usize| self.edges[at].same.iter().chain(&self.edges[at].parts).copied();
        let mut sums = vec![1; count];
        for at in walk(count, [0], |at, nth| all(at).nth(nth).map(Some), |_, _| true) {
            sums[at] = all(at).map(|to| sums[to]).fold(1, u64::saturating_add);
        }
        if sums[0] > MAX_EXPANDED {
            return Err(BadSchema::Expanded);
        }
        Ok(())
    }
}

fn dangling(reference: &str) -> BadSchema {
    let shown = excerpt(reference.as_bytes());
    if reference.starts_with('#') { BadSchema::DeadReference(shown) } else { BadSchema::Elsewhere(shown) }
}

/// Counts what a validator would do, and says when that is too much.
pub(super) fn bounded(root: &Value, value: &Value) -> Result<(), BadSchema> {
    let mut left = MAX_STEPS;
    // A circle was refused before, and both schema and value are finite, so this ends; it is bounded anyway.
    let mut waiting = vec![(root, value)];
    while let Some((schema, value)) = waiting.pop() {
        left = left.checked_sub(1).ok_or(BadSchema::TooSlow)?;
        let Value::Object(view) = schema else { continue };
        same(root, view, |next| waiting.push((next, value)));
        parts(view, value, |schema, value| waiting.push((schema, value)));
    }
    Ok(())
}

fn same<'s>(root: &'s Value, view: &'s Map<String, Value>, mut visit: impl FnMut(&'s Value)) {
    let reference = view.get("$ref").and_then(Value::as_str);
    reference.and_then(|reference| resolve(root, reference)).into_iter().for_each(&mut visit);
    for key in ["allOf", "anyOf", "oneOf"] {
        list(view, key).into_iter().for_each(&mut visit);
    }
    for key in ["not", "if", "then", "else"] {
        view.get(key).into_iter().for_each(&mut visit);
    }
    for key in ["dependentSchemas", "dependencies"] {
        view.get(key).and_then(Value::as_object).into_iter().flat_map(Map::values).for_each(&mut visit);
    }
}

fn parts<'s>(view: &'s Map<String, Value>, value: &'s Value, mut visit: impl FnMut(&'s Value, &'s Value)) {
    match value {
        Value::Object(map) => {
            let named = view.get("properties").and_then(Value::as_object);
            let rest =
                ["additionalProperties", "unevaluatedProperties", "propertyNames"].map(|key| view.get(key));
            let patterns = view.get("patternProperties").and_then(Value::as_object);
            for (key, part) in map {
                named.and_then(|named| named.get(key)).into_iter().for_each(|schema| visit(schema, part));
                rest.into_iter().flatten().for_each(|schema| visit(schema, part));
                patterns.into_iter().flat_map(Map::values).for_each(|schema| visit(schema, part));
            }
        }
        Value::Array(items) => {
            let lists: Vec<&Value> =
                ["prefixItems", "items"].iter().flat_map(|key| list(view, key)).collect();
            let all = ["items", "additionalItems", "unevaluatedItems", "contains"].map(|key| view.get(key));
            for (at, item) in items.iter().enumerate() {
                lists.get(at).into_iter().for_each(|schema| visit(schema, item));
                all.into_iter().flatten().for_each(|schema| visit(schema, item));
            }
        }
        _ => {}
    }
}
