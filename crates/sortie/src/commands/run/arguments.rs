//! The arguments of `sortie run`, by what they are about.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sortie_engine::modes::McpRevision;
use sortie_engine::run::RunOptions;
use sortie_engine::targets::CmdProtocol;
use sortie_run::environment::EnvSpec;
use sortie_run::{ListenSpec, TargetSettings};
use sortie_wire::Limits;

use crate::options::{duration, words};
use crate::{Failure, RunsFormat};

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
    pub(super) listen: Vec<ListenSpec>,

    /// Serve the one `mcp_server` actor over standard input and output, for agents that start their servers
    #[arg(long, conflicts_with = "listen")]
    pub(super) stdio: bool,

    /// Give each MCP session phases of its own
    #[arg(long, value_name = "WHAT", value_parser = words([
        ("session", "Each MCP session begins with the first phase", ()),
    ]))]
    pub(super) isolate: Option<()>,

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
    pub(super) target_env: Vec<EnvSpec>,

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

fn wire(text: &str) -> Result<McpRevision, String> {
    match text {
        "auto" => Ok(McpRevision::Auto),
        version if McpRevision::all().any(|known| known == version) => {
            Ok(McpRevision::Version(version.to_owned()))
        }
        _ => Err(format!("it is `auto` or one of {}", McpRevision::all().collect::<Vec<_>>().join(", "))),
    }
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Suites and evaluators")]
pub(super) struct CaseArgs {
    /// Play the evaluators and the documents of a suite (`sortie suites list`); may be given more than once
    #[arg(long, value_name = "NAME")]
    pub(super) suite: Vec<String>,

    /// A folder of evaluators, besides those that come with Sortie; may be given more than once
    #[arg(long = "evaluators", value_name = "DIR")]
    pub(super) folders: Vec<PathBuf>,

    /// What a placeholder of templates stands for; may be given more than once
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) var: Vec<String>,

    /// What placeholders of templates stand for: `[profiles.NAME]` of sortie.toml, where `[values]` holds for all
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,

    /// How many cases begin in a second, at most
    #[arg(long, value_name = "N", value_parser = rate)]
    pub(super) rate: Option<f64>,

    /// How long one answer of the target may take
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(super) answer_timeout: Duration,

    #[command(flatten)]
    pub(super) talk: TalkArgs,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err("it is a number greater than 0".to_owned()),
    }
}

#[derive(Args, Debug)]
pub(super) struct TalkArgs {
    /// The model of a `chat` target; the first that it lists, if this is left out
    #[arg(long, value_name = "NAME")]
    chat_model: Option<String>,

    /// What a `chat` target is told as its system before anything else
    #[arg(long, value_name = "TEXT")]
    chat_system: Option<String>,

    /// The method by which an `http` target is asked; POST, if this is left out
    #[arg(long, value_name = "METHOD")]
    http_method: Option<String>,

    /// The body that an `http` target is sent, as JSON; `{{message}}` and `{{session}}` in its texts are filled in.
    /// `{"message": "{{message}}"}`, if this is left out
    #[arg(long, value_name = "JSON")]
    http_body: Option<String>,

    /// Where the answer of an `http` target is, as a path of RFC 9535; all of it, if this is left out
    #[arg(long, value_name = "PATH")]
    http_answer: Option<String>,

    /// How a `cmd` target is talked to; `plain`, if this is left out
    #[arg(long, value_name = "HOW", value_parser = words([
        ("plain", "A line of text in, a line of text out", CmdProtocol::Plain),
        ("json", "`{\"text\": …}` in, `{\"text\": …, \"calls\": […], \"error\": …}` out, a line each", CmdProtocol::Json),
    ]))]
    cmd_protocol: Option<CmdProtocol>,
}

impl TalkArgs {
    /// How the target of evaluators is talked to. It goes before what sortie.toml says.
    pub(super) fn settings(&self) -> Result<TargetSettings, Failure> {
        let body = self.http_body.as_deref().map(TargetSettings::parse_body).transpose();
        Ok(TargetSettings {
            model: self.chat_model.clone(),
            system: self.chat_system.clone(),
            method: self.http_method.clone(),
            body: body.map_err(|error| Failure::new(format!("`--http-body` {error}")))?,
            answer: self.http_answer.clone(),
            protocol: self.cmd_protocol,
        })
    }
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitArgs {
    /// Bytes of one message
    #[arg(long = "max-message-bytes", value_name = "BYTES", default_value_t = Limits::default().message_bytes)]
    message_bytes: usize,

    /// Arrays and objects inside one another in one message
    #[arg(long = "max-depth", value_name = "N", default_value_t = Limits::default().depth)]
    depth: usize,

    /// Open connections to one server actor
    #[arg(long = "max-connections", value_name = "N", default_value_t = Limits::default().connections)]
    connections: usize,

    /// Open streams of one server actor
    #[arg(long = "max-streams", value_name = "N", default_value_t = Limits::default().streams)]
    streams: usize,

    /// Messages that wait in one stream for its reader
    #[arg(long = "max-queued", value_name = "N", default_value_t = Limits::default().queued)]
    queued: usize,

    /// Bytes of a trace; when it is full, the run ends
    #[arg(long = "max-trace-bytes", value_name = "BYTES", default_value_t = RunOptions::default().max_trace_bytes)]
    pub(super) trace_bytes: u64,

    /// Bytes that are kept of each of the agent's two outputs
    #[arg(long = "max-output-bytes", value_name = "BYTES", default_value_t = RunOptions::default().max_output_bytes)]
    pub(super) output_bytes: u64,
}

impl LimitArgs {
    /// How much a peer may ask of an actor.
    pub(super) fn of_peers(&self) -> Limits {
        Limits {
            message_bytes: self.message_bytes,
            depth: self.depth,
            connections: self.connections,
            streams: self.streams,
            queued: self.queued,
            ..Limits::default()
        }
    }
}
