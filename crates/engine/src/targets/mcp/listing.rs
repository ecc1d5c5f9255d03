//! The list of tools, page by page.

use std::collections::HashSet;

use serde_json::{Value, json};

use sortie_wire::mcp::client::{Answer, METHOD_NOT_FOUND};

use super::session::Session;
use crate::targets::error::TargetError;
use crate::targets::offer::{MAX_TOOLS, Tool};

const METHOD: &str = "tools/list";

impl Session {
    /// All tools. A server without tools has none.
    pub(super) async fn tools(&mut self) -> Result<Vec<Tool>, TargetError> {
        if !self.has_tools() {
            return Ok(Vec::new());
        }
        let mut tools = Vec::new();
        let mut cursors = HashSet::new();
        let mut cursor: Option<String> = None;
        loop {
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
            let page = match self.ask(METHOD, &params).await? {
                Answer::Result(page) => page,
                Answer::Error(error) if error["code"] == METHOD_NOT_FOUND => return Ok(tools),
                Answer::Error(error) => return Err(Session::refusal(METHOD, &error)),
            };
            let listed = page["tools"].as_array();
            let listed =
                listed.ok_or_else(|| TargetError::protocol(METHOD, "the answer has no list `tools`"))?;
            for raw in listed {
                let tool = Tool::read(raw)
                    .ok_or_else(|| TargetError::protocol(METHOD, "a tool of the list has no name"))?;
                if tools.len() == MAX_TOOLS {
                    let problem = format!("more than {MAX_TOOLS} tools are offered, which are the limit");
                    return Err(TargetError::protocol(METHOD, problem));
                }
                tools.push(tool);
            }
            cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            let Some(next) = &cursor else { return Ok(tools) };
            // Every page has a cursor of its own, and brings something, so that a list ends.
            if !cursors.insert(next.clone()) || listed.is_empty() {
                return Err(TargetError::protocol(METHOD, "the pages of the list do not end"));
            }
        }
    }
}
