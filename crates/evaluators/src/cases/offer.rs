//! What a target is, and what it offers.

use serde_json::{Map, Value};
use sortie_syntax::closed_enum;
use sortie_trace::Transcriber;

/// A target may have so many tools. What comes beyond is refused with a word, never left out.
pub const MAX_TOOLS: usize = 1_000;

closed_enum! {
    /// The kinds of targets, by the word that stands for each in `--target KIND=SPEC`, and for its protocol in a trace.
    TargetKind {
        /// An MCP server.
        Mcp = "mcp",
        /// An A2A agent.
        A2a = "a2a",
        /// An AG-UI agent.
        AgUi = "ag_ui",
        /// An endpoint that speaks as that of `OpenAI` does.
        Chat = "chat",
        /// Anything that answers an HTTP request.
        Http = "http",
        /// A program.
        Cmd = "cmd",
    }
}

impl TargetKind {
    /// The mode and the protocol that stand for it in a trace.
    pub const fn mode_and_protocol(self) -> (&'static str, &'static str) {
        let mode = match self {
            Self::Mcp => "mcp_client",
            Self::A2a => "a2a_client",
            Self::AgUi => "ag_ui_client",
            Self::Chat => "chat_client",
            Self::Http => "http_client",
            Self::Cmd => "cmd_client",
        };
        (mode, self.as_str())
    }

    /// Whether it has tools that we call.
    pub const fn can_be_called(self) -> bool {
        matches!(self, Self::Mcp)
    }
}

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
