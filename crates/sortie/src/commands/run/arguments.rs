//! The arguments of `sortie run`, by what they are about.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use sortie_engine::modes::McpRevision;

use crate::render::RunsFormat;
use crate::run::{AskedEnv, AskedListen, duration};

#[derive(Args, Debug)]
#[command(next_help_heading = "Agent")]
pub(super) struct AgentArgs {
    /// Start the agent under test: a command, split like a shell would and without a shell, `@NAME` of sortie.toml,
    /// or `builtin:NAME` for a practice agent. `{mcp_url}`, `{a2a_url}`, `{url:ACTOR}`, `{mcp_config}` and `{prompt}` are filled in
    #[arg(long, value_name = "COMMAND", conflicts_with = "stdio")]
    pub(super) agent: Option<String>,

    /// The task for the agent, for `{prompt}` in its command; else the document's (`x-sortie.prompt`)
    #[arg(long, value_name = "TEXT")]
    pub(super) prompt: Option<String>,

    /// Let the agent inherit an environment variable, beside PATH, HOME, LANG and TMPDIR; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub(super) env: Vec<String>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Server actors")]
pub(super) struct ServerArgs {
    /// Where an actor listens: `127.0.0.1:8080`, or `8080`; without ACTOR, the one there is. A free port of the loopback
    /// address, if this is left out
    #[arg(long, value_name = "[ACTOR=]ADDR")]
    pub(super) listen: Vec<AskedListen>,

    /// Serve the one `mcp_server` actor over standard input and output, for agents that start their servers
    #[arg(long, conflicts_with = "listen")]
    pub(super) stdio: bool,

    /// Give each MCP session phases of its own
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(super) isolate: Option<Isolate>,

    /// Which MCP revision to speak: `auto`, or one such as `2025-11-25`
    #[arg(long, value_name = "VERSION", default_value = "auto", value_parser = wire)]
    pub(super) wire: McpRevision,

    /// Allow `--listen` at an address that other machines reach
    #[arg(long, requires = "listen")]
    pub(super) public: bool,

    /// Answer requests for this host too, beside the loopback address; may be given more than once
    #[arg(long, value_name = "HOST")]
    pub(super) accept_host: Vec<String>,

    /// Let requests that a document asks for (push notifications) go to this host too; may be given more than once
    #[arg(long, value_name = "HOST")]
    pub(super) allow_host: Vec<String>,

    /// Serve agent cards to the letter, also where they send the agent to another host
    #[arg(long)]
    pub(super) verbatim_card: bool,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Targets")]
pub(super) struct TargetArgs {
    /// What is attacked: KIND is `mcp`, `a2a`, `ag_ui`, `chat`, `http` or `cmd`, SPEC a URL, a command for `cmd`, or
    /// `stdio:COMMAND` for MCP; or `@NAME` of sortie.toml. Without ACTOR, by evaluators, and by client actors that speak the protocol
    #[arg(long, value_name = "[ACTOR=]KIND=SPEC")]
    pub(super) target: Vec<String>,

    /// A header for the target, its value from an environment variable
    #[arg(long, value_name = "[ACTOR=]NAME=env:VAR")]
    pub(super) target_header: Vec<String>,

    /// A bearer token for the target, from an environment variable
    #[arg(long, value_name = "[ACTOR=]env:VAR")]
    pub(super) target_bearer: Vec<String>,

    /// Let a target that is a process inherit an environment variable
    #[arg(long, value_name = "[ACTOR=]NAME")]
    pub(super) target_env: Vec<AskedEnv>,

    /// Start an MCP server that is a process anew for each case of an evaluator, instead of once for each worker
    #[arg(long)]
    pub(super) fresh_server: bool,

    /// How long an actor waits until its target accepts it
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(super) connect_timeout: Duration,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "When it ends")]
pub(super) struct EndArgs {
    /// End when nothing was said for so long, every actor is in its last phase, and someone has spoken at all. 30s; but an
    /// agent that `--agent` starts, and no client actor drives, may think as long as it likes
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) idle: Option<Duration>,

    /// End after so long in any case
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(super) max_duration: Duration,

    /// Watch for so long after the end, where the document does not say (`grace_period`). 2s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) grace: Option<Duration>,

    /// End as soon as the verdict would be `exploited`
    #[arg(long)]
    pub(super) stop_on_match: bool,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArgs {
    /// Where to keep traces, the agent's output and the report; with several documents, a folder for each in there. A new
    /// folder in `.sortie/runs`, if this is left out
    #[arg(long, value_name = "DIR")]
    pub(super) run_dir: Option<PathBuf>,

    /// Go on with a run that was ended before it was over: its folder. What is over is not played again
    #[arg(long, value_name = "DIR", conflicts_with_all = ["run_dir", "replay"])]
    pub(super) resume: Option<PathBuf>,

    /// How to report
    #[arg(long, value_enum, default_value = "human")]
    pub(super) format: RunsFormat,

    /// Write the report to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,

    /// Take secrets out of everything that is kept, and of what is evaluated: `value:TEXT`, `regex:PATTERN`, `field:NAME`,
    /// `path:PATH`, `header:NAME`; may be given more than once
    #[arg(long, value_name = "RULE")]
    pub(super) redact: Vec<String>,

    /// Let silence count as resistance even when the payload was not served
    #[arg(long)]
    pub(super) lenient: bool,

    /// Do not mind cases that could not be evaluated for want of an engine, as long as others were
    #[arg(long)]
    pub(super) allow_skipped: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Isolate {
    /// Each MCP session begins with the first phase
    Session,
}

fn wire(text: &str) -> Result<McpRevision, String> {
    match text {
        "auto" => Ok(McpRevision::Auto),
        version if McpRevision::all().any(|known| known == version) => {
            Ok(McpRevision::Version(version.to_owned()))
        }
        _ => Err(format!("it is `auto` or one of {}", McpRevision::all().collect::<Vec<_>>().join(", "))),
    }
}
