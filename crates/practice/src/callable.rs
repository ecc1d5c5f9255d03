//! What an agent can call: tools of servers, tools of a front end, other agents.

use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Callable {
    /// Its name, as it is called.
    pub(crate) name: String,
    pub(crate) description: String,
    /// What it takes, in the order of its schema.
    pub(crate) properties: Vec<Property>,
    pub(crate) place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Server(usize),
    Agent(usize),
    /// Whoever asked for the run.
    FrontEnd,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Property {
    pub(crate) name: String,
    /// Its description and whatever else its schema says in words.
    pub(crate) words: String,
    /// `type`, the first when there are several.
    pub(crate) kind: String,
    /// Whether a call without it is refused.
    pub(crate) required: bool,
    /// What it may be, when it is one of a few.
    pub(crate) choices: Vec<Value>,
    /// What it is when nobody says.
    pub(crate) default: Option<Value>,
    /// The schema of its items, for an array.
    pub(crate) items: Option<Box<Property>>,
}

const MAX_PROPERTIES: usize = 64;

impl Callable {
    /// A tool as a list of tools describes it; the schema is `inputSchema` of MCP or `parameters` of AG-UI.
    pub(crate) fn from_tool(tool: &Value, place: Place) -> Option<Self> {
        let name = tool.get("name")?.as_str()?.to_owned();
        let schema = tool.get("inputSchema").or_else(|| tool.get("parameters"));
        let description = text(tool, "description");
        Some(Self { name, description, properties: schema.map(properties).unwrap_or_default(), place })
    }

    /// Another agent, which takes words.
    pub(crate) fn from_card(card: &Value, index: usize) -> Option<Self> {
        let name = card.get("name")?.as_str()?.to_owned();
        let mut description = text(card, "description");
        for skill in card["skills"].as_array().into_iter().flatten() {
            for key in ["name", "description"] {
                description.push('\n');
                description.push_str(&text(skill, key));
            }
        }
        let message =
            Property { name: "message".into(), kind: "string".into(), required: true, ..Property::default() };
        Some(Self { name, description, properties: vec![message], place: Place::Agent(index) })
    }

    pub(crate) fn property(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|property| property.name.eq_ignore_ascii_case(name))
    }

    pub(crate) fn is_agent(&self) -> bool {
        matches!(self.place, Place::Agent(_))
    }
}

/// The arguments that a schema of an object describes.
pub(crate) fn properties(schema: &Value) -> Vec<Property> {
    let required = schema["required"].as_array().into_iter().flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    let members = schema["properties"].as_object();
    members
        .into_iter()
        .flat_map(Map::iter)
        .take(MAX_PROPERTIES)
        .map(|(name, schema)| property(name, schema, required.contains(&name.as_str())))
        .collect()
}

fn property(name: &str, schema: &Value, required: bool) -> Property {
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("string").to_owned()
        }
        _ if schema.get("properties").is_some() => "object".to_owned(),
        _ => "string".to_owned(),
    };
    let words = ["title", "description"].map(|key| text(schema, key));
    let words: Vec<_> = words.into_iter().filter(|words| !words.is_empty()).collect();
    let choices = schema["enum"].as_array().cloned().unwrap_or_default();
    Property {
        name: name.to_owned(),
        words: words.join("\n"),
        kind,
        required,
        choices: schema.get("const").map_or(choices, |only| vec![only.clone()]),
        default: schema.get("default").cloned(),
        items: schema.get("items").map(|items| Box::new(property(name, items, true))),
    }
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_read_as_far_as_it_makes_sense() {
        let tool = json!({"name": "pay", "inputSchema": {"required": ["sum"], "properties": {
            "sum": {"type": ["null", "number"], "title": "Sum", "description": "In euros"},
            "to": {"enum": ["a", "b"], "default": "a"}, "odd": 5, "list": {"type": "array", "items": {"type": "integer"}}}}});
        let pay = Callable::from_tool(&tool, Place::Server(0)).unwrap();
        let sum = pay.property("SUM").unwrap();
        assert_eq!((sum.kind.as_str(), sum.words.as_str(), sum.required), ("number", "Sum\nIn euros", true));
        assert_eq!(pay.property("to").unwrap().choices.len(), 2);
        assert_eq!(pay.property("list").unwrap().items.as_ref().unwrap().kind, "integer");
        assert_eq!(Callable::from_tool(&json!({"name": 5}), Place::FrontEnd), None);
    }
}
