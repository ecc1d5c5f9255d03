//! One call of a tool of the target.

use std::collections::BTreeSet;

use sortie_engine::cases::{ControlCall, call_once};
use sortie_trace::Turn;

use super::Resolver;
use crate::sandbox::RunSandbox;
use crate::{Config, RunRequest, SetupError};

impl RunRequest {
    /// Calls a tool of the target that is named, once, and gives its answer.
    pub async fn call_tool(&self, config: &Config, call: &ControlCall) -> Result<Turn, SetupError> {
        let sandbox = RunSandbox::prepare(self, config)?;
        let sandbox = sandbox.live.as_deref();
        let resolver = Resolver { request: self, config, sandbox, evaluators: true, live: true };
        let target = resolver.target_of_evaluators(&mut BTreeSet::new())?;
        let target = target.filter(sortie_engine::targets::Target::can_be_called).ok_or_else(|| {
            SetupError::usage("a tool is called of an MCP server")
                .with_help("write `mcp=URL` or `mcp=stdio:COMMAND`")
        })?;
        let answer = call_once(&target, call, &self.cases).await;
        answer.map_err(|error| SetupError::NotDiscovered(error.to_string()))
    }
}
