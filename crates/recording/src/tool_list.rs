//! Lists of tools as programs give them to a model, as servers would have given them.

use serde_json::Value;
use serde_json::value::RawValue;
use sortie_trace::Direction;

use crate::session::{CalledTool, SessionBuilder};

/// How many servers the tools of one list may come from.
const SERVERS: usize = 1000;

/// One list of tools, by the server they come from: `mcp__SERVER__TOOL`, or the program itself.
#[derive(Debug, Default)]
pub struct ToolList {
    lists: Vec<(Option<String>, Vec<String>)>,
}

impl ToolList {
    /// A tool with its description and its schema, as they were written. Tells whether there was room for it.
    pub fn add(&mut self, name: &str, description: Option<&RawValue>, schema: Option<&RawValue>) -> bool {
        let (server, name) = match CalledTool::named(name) {
            CalledTool::Mcp { server, name } => (Some(server), name),
            CalledTool::Local(name) | CalledTool::Agent { skill: name, .. } => (None, name),
        };
        let [description, schema] = [description, schema].map(|raw| raw.map_or("null", RawValue::get));
        let name = Value::from(name);
        let tool = format!(r#"{{"name":{name},"description":{description},"inputSchema":{schema}}}"#);
        match self.lists.iter().position(|(known, _)| *known == server) {
            Some(at) => self.lists[at].1.push(tool),
            None if self.lists.len() < SERVERS => self.lists.push((server, vec![tool])),
            None => return false,
        }
        true
    }

    /// Puts the lists into a session, which shows them from here on.
    pub fn put(self, session: &mut SessionBuilder) {
        for (server, tools) in self.lists {
            let protocol = if server.is_some() { "mcp" } else { "local" };
            session.shows(protocol, "tools/list", Direction::Response);
            for direction in [Direction::Request, Direction::Response] {
                session.shows(protocol, "tools/call", direction);
            }
            if let Ok(tools) = RawValue::from_string(format!("[{}]", tools.join(","))) {
                session.tools(server.as_deref(), &tools);
            }
        }
    }
}
