//! What conditions and templates see of an exchange.

use serde_json::{Map, Value};
use sortie_oatf::extension::flow::matches_name;
use sortie_oatf::extension::wrap::{WrapOperation, WrappedMethod};

use crate::blocks::text_blocks;
use crate::node::Node;
use crate::outcome::{MAX_MESSAGE_BYTES, Unreadable};

/// An exchange, read: the params of the request, and the response of the server where it is known.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) method: WrappedMethod,
    pub(crate) params: Value,
    pub(crate) result: Option<Value>,
    /// What `when` looks at.
    conditions: Value,
}

impl Subject {
    /// Reads a request. `real_name` gives the server's name of what the agent knows by another.
    pub(crate) fn of_request(
        method: WrappedMethod,
        request: &str,
        real_name: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Unreadable> {
        let mut params = match node(request)?.get("params") {
            Some(params) => params.value().ok_or(Unreadable::NotJsonRpc)?,
            None => Value::Object(Map::new()),
        };
        if let Some(name) = params.get_mut("name")
            && let Some(real) = name.as_str().and_then(real_name)
        {
            *name = Value::from(real);
        }
        Ok(Self { method, conditions: params.clone(), params, result: None })
    }

    /// Adds the response of the server.
    pub(crate) fn with_response(mut self, response: &str) -> Result<Self, Unreadable> {
        let response = node(response)?;
        let result = response.get("result");
        self.result = result.map(|result| result.value().ok_or(Unreadable::NotJsonRpc)).transpose()?;
        let Value::Object(fields) = &mut self.conditions else { return Ok(self) };
        if let Some(error) = response.get("error").and_then(Node::value) {
            fields.insert("error".to_owned(), error);
        }
        if let (Some(node), Some(value)) = (result, &self.result) {
            let texts: Vec<String> =
                text_blocks(self.method, node).iter().filter_map(|block| block.literal.string()).collect();
            let json = texts.iter().find_map(|text| as_json(text));
            fields.extend(json.map(|json| ("json".to_owned(), json)));
            fields.insert("text".to_owned(), texts.join("\n").into());
            fields.insert("result".to_owned(), value.clone());
        }
        Ok(self)
    }

    /// Whether an operation is for this exchange. In lists the name selects items, and not exchanges.
    pub(crate) fn fits(&self, operation: &WrapOperation) -> bool {
        let named = operation.name.as_deref().is_none_or(|pattern| match self.method {
            WrappedMethod::ToolsCall | WrappedMethod::PromptsGet => self.param_matches("name", pattern),
            WrappedMethod::ResourcesRead => self.param_matches("uri", pattern),
            _ => true,
        });
        named && operation.when.as_ref().is_none_or(|when| when.matches(&self.conditions))
    }

    fn param_matches(&self, param: &str, pattern: &str) -> bool {
        self.params.get(param).and_then(Value::as_str).is_some_and(|value| matches_name(pattern, value))
    }
}

/// A text that is a JSON object or list. Other JSON is a text like any other.
pub(crate) fn as_json(text: &str) -> Option<Value> {
    text.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str(text).ok())?
}

/// A message, which is an object.
pub(crate) fn node(message: &str) -> Result<Node<'_>, Unreadable> {
    if message.len() > MAX_MESSAGE_BYTES {
        return Err(Unreadable::TooLarge);
    }
    let node = Node::read(message).filter(|node| node.text().starts_with('{'));
    node.ok_or(Unreadable::NotJsonRpc)
}
