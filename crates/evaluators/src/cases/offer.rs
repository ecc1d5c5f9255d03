//! What a target is, and what it offers.

use std::collections::BTreeMap;

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
    /// What came of harmless calls of its tools, by their names; empty where none were made.
    pub controls: BTreeMap<String, ToolControl>,
    /// How it is reached over HTTP; `None` where it is not.
    pub http: Option<HttpAccess>,
}

/// How a target is reached over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpAccess {
    /// Whether it is on the loopback address.
    pub is_local: bool,
    /// Whether it is asked with headers of its own, which are credentials as a rule.
    pub has_credentials: bool,
}

/// What came of calling a tool with harmless arguments before it is attacked.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolControl {
    /// It worked with these arguments: an attack changes one of them.
    Works {
        /// The arguments.
        arguments: Map<String, Value>,
    },
    /// It never worked, so that whatever it refuses is not resistance.
    Failed {
        /// What was tried, what the server said, and what would help.
        why: String,
        /// The likeliest call: what is wrong may be a program that is not there, and no argument.
        closest: Option<Map<String, Value>>,
    },
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
            controls: BTreeMap::new(),
            http: None,
        }
    }

    /// The arguments with which a tool worked, or else the likeliest: those that an attack changes.
    pub fn control_arguments(&self, tool: &str) -> Option<&Map<String, Value>> {
        match self.controls.get(tool)? {
            ToolControl::Works { arguments } => Some(arguments),
            ToolControl::Failed { closest, .. } => closest.as_ref(),
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
