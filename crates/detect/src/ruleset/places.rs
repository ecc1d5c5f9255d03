//! The places that indicators look at, in one tree: a message is walked once for all of them.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde_json::Value;
use sortie_expr::json;
use sortie_expr::path::WildcardPath;

/// A tree of the names of fields, with the indicators that ask for a value there. The first node is that of the message.
#[derive(Debug)]
pub(super) struct PlaceTree {
    nodes: Vec<PlaceNode>,
}

/// A place.
#[derive(Debug, Default)]
pub(super) struct PlaceNode {
    fields: HashMap<Box<str>, usize, RandomState>,
    /// The node for each item of an array that stands here.
    pub(super) items: Option<usize>,
    /// Indicators that are asked when there is something here.
    pub(super) here: Vec<u32>,
    /// Indicators whose member is below this: where no object stands here, they fail, and have to say so.
    below: Vec<u32>,
}

impl PlaceNode {
    /// The node of a member.
    pub(super) fn field(&self, name: &str) -> Option<usize> {
        self.fields.get(name).copied()
    }
}

impl Default for PlaceTree {
    fn default() -> Self {
        Self { nodes: vec![PlaceNode::default()] }
    }
}

impl PlaceTree {
    /// The node of a path.
    pub(super) fn node_of(&mut self, path: &WildcardPath) -> usize {
        let mut at = 0;
        for (name, fans_out) in path.segments() {
            at = self.field(at, name);
            if fans_out {
                at = self.items(at);
            }
        }
        at
    }

    /// The place of a node.
    pub(super) fn node(&self, at: usize) -> &PlaceNode {
        &self.nodes[at]
    }

    /// Whether no place was added.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.len() == 1 && self.nodes[0].here.is_empty()
    }

    /// An indicator that is to be asked when there is a value at a path.
    pub(super) fn add_value(&mut self, indicator: u32, path: &WildcardPath) {
        let at = self.node_of(path);
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

    /// An indicator that is to be asked when there is something under the last of these names.
    pub(super) fn add_field(&mut self, indicator: u32, names: &[Box<str>]) {
        let at = names.iter().fold(0, |at, name| self.field(at, name));
        self.nodes[at].here.push(indicator);
    }

    fn field(&mut self, at: usize, name: &str) -> usize {
        let next = self.nodes.len();
        let field = *self.nodes[at].fields.entry(name.into()).or_insert(next);
        if field == next {
            self.nodes.push(PlaceNode::default());
        }
        field
    }

    fn items(&mut self, at: usize) -> usize {
        let next = self.nodes.len();
        let items = *self.nodes[at].items.get_or_insert(next);
        if items == next {
            self.nodes.push(PlaceNode::default());
        }
        items
    }

    /// Collects the indicators that are to be asked about a message, some of them more than once.
    pub(super) fn walk(&self, message: &Value, found: &mut Vec<u32>) {
        self.visit(&self.nodes[0], message, found);
    }

    // Recursion is bounded by the depth of paths.
    fn visit(&self, node: &PlaceNode, value: &Value, found: &mut Vec<u32>) {
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
        let mut tree = PlaceTree::default();
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
