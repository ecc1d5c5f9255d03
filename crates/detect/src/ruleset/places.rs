//! The places that indicators look at, in one tree: a message is walked once for all of them.

use std::collections::HashMap;

use serde_json::Value;
use sortie_expr::json;
use sortie_expr::path::WildcardPath;

/// A tree of the names of fields, with the indicators that ask for a value there.
#[derive(Debug)]
pub(super) struct PlaceTree {
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    fields: HashMap<Box<str>, usize>,
    /// The node for each item of an array that stands here.
    items: Option<usize>,
    /// Indicators that are asked when there is something here.
    here: Vec<u32>,
    /// Indicators whose member is below this: where no object stands here, they fail, and have to say so.
    below: Vec<u32>,
}

impl PlaceTree {
    pub(super) fn new() -> Self {
        Self { nodes: vec![Node::default()] }
    }

    /// An indicator that is to be asked when there is a value at a path.
    pub(super) fn add_value(&mut self, indicator: u32, path: &WildcardPath) {
        let mut at = 0;
        for (name, fans_out) in path.segments() {
            at = self.field(at, name);
            if fans_out {
                at = self.items(at);
            }
        }
        self.nodes[at].here.push(indicator);
    }

    /// An indicator that is to be asked unless an object lacks the next of these names.
    pub(super) fn add_member(&mut self, indicator: u32, names: &[Box<str>]) {
        let mut at = 0;
        for name in names {
            self.nodes[at].below.push(indicator);
            at = self.field(at, name);
        }
        self.nodes[at].here.push(indicator);
    }

    fn field(&mut self, at: usize, name: &str) -> usize {
        let next = self.nodes.len();
        let field = *self.nodes[at].fields.entry(name.into()).or_insert(next);
        if field == next {
            self.nodes.push(Node::default());
        }
        field
    }

    fn items(&mut self, at: usize) -> usize {
        let next = self.nodes.len();
        let items = *self.nodes[at].items.get_or_insert(next);
        if items == next {
            self.nodes.push(Node::default());
        }
        items
    }

    /// Collects the indicators that are to be asked about a message, some of them more than once.
    pub(super) fn walk(&self, message: &Value, found: &mut Vec<u32>) {
        self.visit(&self.nodes[0], message, found);
    }

    // Recursion is bounded by the depth of paths.
    fn visit(&self, node: &Node, value: &Value, found: &mut Vec<u32>) {
        found.extend(&node.here);
        match value {
            Value::Object(object) if node.fields.len() > object.len() => {
                for (name, value) in object {
                    if let Some(field) = node.fields.get(name.as_str()) {
                        self.visit(&self.nodes[*field], value, found);
                    }
                }
            }
            Value::Object(object) => {
                for (name, field) in &node.fields {
                    if let Some(value) = json::field(object, name) {
                        self.visit(&self.nodes[*field], value, found);
                    }
                }
            }
            other => {
                found.extend(&node.below);
                if let (Some(items), Value::Array(values)) = (node.items, other) {
                    for value in values {
                        self.visit(&self.nodes[items], value, found);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_is_walked_once_for_all_places() {
        let mut tree = PlaceTree::new();
        for (indicator, path) in ["arguments.path", "tools[*].name", "arguments", "name"].iter().enumerate() {
            tree.add_value(u32::try_from(indicator).unwrap(), &WildcardPath::parse(path).unwrap());
        }
        tree.add_member(9, &["arguments".into(), "trace".into()]);
        let asked = |message: Value| {
            let mut found = Vec::new();
            tree.walk(&message, &mut found);
            found.sort_unstable();
            found.dedup();
            found
        };
        assert_eq!(asked(json!({"arguments": {"path": 1}})), [0, 2]);
        assert_eq!(asked(json!({"arguments": {"trace": 1}, "name": null})), [2, 3, 9]);
        assert_eq!(asked(json!({"tools": [{}, {"name": 1}, {"name": 2}]})), [1]);
        // What is not an object cannot be asked for a member, which is an error.
        assert_eq!(asked(json!({"arguments": "text"})), [2, 9]);
        assert_eq!(asked(json!([])), [9]);
        assert!(asked(json!({"tools": {"name": 1}})).is_empty());
    }
}
