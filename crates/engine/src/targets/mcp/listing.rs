//! The list of tools, page by page.

use std::collections::HashSet;

use serde_json::{Value, json};

use sortie_wire::mcp::client::{METHOD_NOT_FOUND, RpcAnswer};

use super::session::Session;
use crate::targets::error::TargetError;
use sortie_evaluators::cases::{MAX_TOOLS, Tool};

const METHOD: &str = "tools/list";

impl Session {
    /// Asks for all tools. A server without tools has none.
    pub(super) async fn list_tools(&mut self) -> Result<(), TargetError> {
        if !self.has_tools() {
            return Ok(());
        }
        let mut count = 0;
        let mut cursors = HashSet::new();
        let mut cursor: Option<String> = None;
        loop {
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
            let page = match self.ask(METHOD, &params).await? {
                RpcAnswer::Result(page) => page,
                RpcAnswer::Error(error) if error["code"] == METHOD_NOT_FOUND => return Ok(()),
                RpcAnswer::Error(error) => return Err(Session::refusal(METHOD, &error)),
            };
            let listed = page["tools"].as_array();
            let listed =
                listed.ok_or_else(|| TargetError::protocol(METHOD, "the answer has no list `tools`"))?;
            for raw in listed {
                if Tool::read(raw).is_none() {
                    return Err(TargetError::protocol(METHOD, "a tool of the list has no name"));
                }
                if count == MAX_TOOLS {
                    let problem = format!("more than {MAX_TOOLS} tools are offered, which are the limit");
                    return Err(TargetError::protocol(METHOD, problem));
                }
                count += 1;
            }
            cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            let Some(next) = &cursor else { return Ok(()) };
            // Every page has a cursor of its own, and brings something, so that a list ends.
            if !cursors.insert(next.clone()) || listed.is_empty() {
                return Err(TargetError::protocol(METHOD, "the pages of the list do not end"));
            }
        }
    }
}
