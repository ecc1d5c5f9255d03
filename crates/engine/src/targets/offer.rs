//! What a target offers.

use serde_json::{Map, Value};
use sortie_trace::Transcriber;

/// A target may have so many tools. What comes beyond is refused with a word, never left out.
pub const MAX_TOOLS: usize = 1_000;

/// What was discovered of a target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offer {
    /// The tools of an MCP server, in its order.
    pub tools: Vec<Tool>,
    /// What it says about itself: `name`, `version`, `instructions`, as far as it does.
    pub server: Map<String, Value>,
    /// The card of an A2A agent.
    pub card: Option<Value>,
    /// The models of a chat endpoint, where it lists them.
    pub models: Vec<String>,
}

/// A tool of an MCP server.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it says about itself; empty when it says nothing.
    pub description: String,
    /// What it takes.
    pub input_schema: Value,
    /// All that was said about it.
    pub raw: Value,
}

impl Tool {
    /// A tool as `tools/list` has it. `None` for what has no name.
    pub fn read(raw: &Value) -> Option<Self> {
        let text = |key: &str| raw.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            name: text("name")?,
            description: text("description").unwrap_or_default(),
            input_schema: raw.get("inputSchema").cloned().unwrap_or_else(|| serde_json::json!({})),
            raw: raw.clone(),
        })
    }
}

impl Offer {
    /// What a target said of itself, by the records of a connection.
    pub fn of(told: &Transcriber) -> Self {
        Self {
            tools: told.tools().iter().filter_map(Tool::read).collect(),
            server: told.server().clone(),
            card: told.card().cloned(),
            models: told.models().to_vec(),
        }
    }

    /// The tools as the server told them, for `{{tool_list_json}}`.
    pub fn tool_list_json(&self) -> String {
        Value::Array(self.raw_tools()).to_string()
    }

    /// The tools as the server told them.
    pub fn raw_tools(&self) -> Vec<Value> {
        self.tools.iter().map(|tool| tool.raw.clone()).collect()
    }
}
