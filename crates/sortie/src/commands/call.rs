//! `sortie call`

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value};
use sortie_engine::cases::{ControlCall, PlayOptions};
use sortie_engine::targets::Settings;
use sortie_run::environment::EnvSpec;
use sortie_run::{Config, RunRequest, TargetSpec};
use tokio_util::sync::CancellationToken;

use crate::options::{duration, parse_all};
use crate::signals::{SignalSender, block_on};
use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Call a tool of a server behind a URL:
    $ sortie call mcp=http://127.0.0.1:9/mcp read_file '{\"path\": \"notes.txt\"}' || [ $? -eq 2 ]

  Start a server and call it:
    $ sortie call 'mcp=stdio:no-such-server --stdio' list_files || [ $? -eq 2 ]

Exit codes:
    0  the tool answered
    1  the tool answered with an error
    2  the server cannot be reached, or the arguments are not a JSON object";

/// Call one tool of an MCP server and print the result as JSON.
///
/// Reports contain this command for each weakness of a server, to reproduce it.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Call {
    /// The server: `mcp=URL`, `mcp=stdio:COMMAND`, or `@NAME` from sortie.toml
    target: TargetSpec,

    /// The tool
    tool: String,

    /// Its arguments, as a JSON object
    #[arg(default_value = "{}")]
    arguments: String,

    /// Pass an environment variable to the server. Repeatable
    #[arg(long, value_name = "NAME")]
    target_env: Vec<EnvSpec>,

    /// Send a header whose value is in an environment variable: `NAME=env:VARIABLE`. Repeatable
    #[arg(long, value_name = "HEADER")]
    target_header: Vec<String>,

    /// Send a bearer token that is in an environment variable: `env:VARIABLE`
    #[arg(long, value_name = "TOKEN")]
    target_bearer: Vec<String>,

    /// Start the server in a sandbox, as `sortie run --sandbox` does
    #[arg(long)]
    sandbox: bool,

    /// Maximum time for the answer
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    answer_timeout: Duration,

    /// Configuration file with named targets. Default: `sortie.toml` in this folder
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Call {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let arguments: Map<String, Value> = serde_json::from_str(&self.arguments)
            .map_err(|error| Failure::new(format!("the arguments are no JSON object: {error}")))?;
        let config = Config::load(self.config.as_deref())?;
        let request = RunRequest {
            targets: vec![self.target],
            headers: parse_all("--target-header", &self.target_header)?,
            bearers: parse_all("--target-bearer", &self.target_bearer)?,
            target_env: self.target_env,
            sandbox: self.sandbox,
            cases: PlayOptions {
                settings: Settings { answer_timeout: self.answer_timeout, ..Settings::default() },
                ..PlayOptions::default()
            },
            ..RunRequest::default()
        };
        let call = ControlCall { tool: self.tool, arguments };
        let interrupt = CancellationToken::new();
        let sender = SignalSender::at(console.notes().terminal);
        let answer = block_on(None, &interrupt, sender, async |_| {
            interrupt.run_until_cancelled(request.call_tool(&config, &call)).await
        })?;
        let Some(answer) = answer else { return Ok(Exit::Interrupted) };
        let answer = answer?;
        let shown = answer.result.unwrap_or(Value::String(answer.text));
        writeln!(console.out, "{shown:#}")?;
        Ok(if answer.is_error { Exit::Findings } else { Exit::Clean })
    }
}
