//! What the JSON Schemas of the languages say about a place: its fields, its words, and what it is for.

use serde_json::{Map, Value};
use sortie_syntax::{NodePath, Segment};

/// References and alternatives are followed so far. The schemas are ours, and flatter.
const DEEPEST: usize = 16;

/// A schema that can be asked about paths.
#[derive(Debug)]
pub(crate) struct Schema(Value);

/// A field of an object.
pub(crate) struct SchemaField<'s> {
    pub(crate) name: &'s str,
    pub(crate) description: &'s str,
    pub(crate) is_required: bool,
    /// Whether its value goes on lines below it.
    pub(crate) is_block: bool,
    /// Whether it is a list and nothing else.
    pub(crate) is_list: bool,
}

impl Schema {
    /// A schema from its text. What is not JSON says nothing about any path.
    pub(crate) fn new(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap_or_default())
    }

    /// The fields of the object at a path, in the order of the schema; without those that only other tools use.
    pub(crate) fn fields(&self, path: &NodePath) -> Vec<SchemaField<'_>> {
        let mut fields: Vec<SchemaField<'_>> = Vec::new();
        for object in self.at(path) {
            for (name, schema) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let is_known = fields.iter().any(|field| field.name == name);
                if is_known || schema.get("deprecated").is_some() {
                    continue;
                }
                fields.push(SchemaField {
                    name,
                    description: self.describe(schema),
                    is_required: requires(object, name),
                    is_block: self.is_block(schema),
                    is_list: schema.get("type").is_some_and(|kind| kind == "array"),
                });
            }
        }
        fields
    }

    /// The words that may stand at a path.
    pub(crate) fn words(&self, path: &NodePath) -> Vec<&str> {
        let mut words = Vec::new();
        for schema in self.at(path) {
            let constant = schema.get("const").and_then(Value::as_str);
            for word in texts(schema.get("enum")).chain(constant) {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
            let kinds = schema.get("type");
            let is_boolean =
                kinds.is_some_and(|kind| kind == "boolean") || texts(kinds).any(|kind| kind == "boolean");
            if is_boolean {
                words.extend(["true", "false"]);
            }
        }
        words
    }

    /// What the value at a path is for.
    pub(crate) fn description(&self, path: &NodePath) -> Option<&str> {
        self.at(path).into_iter().find_map(|schema| schema.get("description")?.as_str())
    }

    /// Whether the field at a path must be given.
    pub(crate) fn is_required(&self, path: &NodePath) -> bool {
        let (Some(parent), Some(Segment::Key(key))) = (path.parent(), path.segments().last()) else {
            return false;
        };
        self.at(&parent).iter().any(|object| requires(object, key))
    }

    fn describe<'s>(&'s self, schema: &'s Value) -> &'s str {
        let mut all = Vec::new();
        self.expand(schema, 0, &mut all);
        all.iter().find_map(|schema| schema.get("description")?.as_str()).unwrap_or_default()
    }

    fn is_block(&self, schema: &Value) -> bool {
        let mut all = Vec::new();
        self.expand(schema, 0, &mut all);
        let holds =
            |schema: &&Map<String, Value>| schema.contains_key("properties") || schema.contains_key("items");
        // What may also be a word is most often written as one.
        all.iter().any(holds) && !all.iter().any(|schema| schema.contains_key("enum"))
    }

    /// The schemas that the value at a path may follow, outer ones first.
    fn at(&self, path: &NodePath) -> Vec<&Map<String, Value>> {
        let mut here = Vec::new();
        self.expand(&self.0, 0, &mut here);
        for segment in path.segments() {
            let mut below = Vec::new();
            for schema in here {
                let next = match segment {
                    Segment::Key(key) => schema
                        .get("properties")
                        .and_then(|properties| properties.get(key))
                        .or_else(|| schema.get("additionalProperties")),
                    Segment::Index(_) => schema.get("items"),
                };
                if let Some(next) = next {
                    self.expand(next, 0, &mut below);
                }
            }
            here = below;
        }
        here
    }

    /// A schema, what it refers to, and its alternatives.
    fn expand<'s>(&'s self, schema: &'s Value, depth: usize, found: &mut Vec<&'s Map<String, Value>>) {
        let Some(object) = schema.as_object().filter(|_| depth < DEEPEST) else { return };
        found.push(object);
        if let Some(target) =
            object.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'))
        {
            self.expand(self.0.pointer(target).unwrap_or(&Value::Null), depth + 1, found);
        }
        for alternatives in ["anyOf", "oneOf", "allOf"] {
            for schema in object.get(alternatives).and_then(Value::as_array).into_iter().flatten() {
                self.expand(schema, depth + 1, found);
            }
        }
        for condition in ["then", "else"] {
            if let Some(schema) = object.get(condition) {
                self.expand(schema, depth + 1, found);
            }
        }
    }
}

/// Whether an object always needs a field. A condition or an alternative may name one as well; what describes the field decides.
fn requires(object: &Map<String, Value>, field: &str) -> bool {
    let declared = object.get("properties").and_then(|properties| properties.get(field));
    let describes =
        |schema: &Value| ["description", "$ref", "const"].iter().any(|key| schema.get(key).is_some());
    declared.is_some_and(describes) && texts(object.get("required")).any(|required| required == field)
}

fn texts(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_alternatives_and_lists_are_followed() {
        let schema = Schema::new(sortie_oatf::schema());
        let path = NodePath::root().key("attack");
        let names: Vec<_> = schema.fields(&path).iter().map(|field| field.name).collect();
        assert!(names.starts_with(&["id", "name", "version"]), "{names:?}");
        assert!(schema.words(&path.clone().key("severity")).contains(&"critical"));
        let indicator = path.key("indicators").index(3);
        assert!(schema.is_required(&indicator.clone().key("target")));
        assert!(!schema.is_required(&indicator.clone().key("pattern")), "an alternative requires it");
        assert!(schema.description(&indicator.key("surface")).is_some());
        assert!(schema.fields(&NodePath::root().key("nothing")).is_empty());
    }
}
