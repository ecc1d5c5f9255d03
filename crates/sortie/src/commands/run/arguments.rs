//! The arguments of `sortie run`, by what they are about.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sortie_engine::modes::{A2aVersion, McpRevision};
use sortie_engine::run::RunOptions;
use sortie_engine::targets::CmdProtocol;
use sortie_run::controls::Controls;
use sortie_run::environment::EnvSpec;
use sortie_run::repeats::{self, RepeatRequest, RepeatRule, Shard};
use sortie_run::utility::Utility;
use sortie_run::{ListenSpec, SpecError, TargetSettings, command_words};
use sortie_stats::{Claim, ErrorRates, Gate};
use sortie_wire::Limits;

use crate::filters::FilterArgs;
use crate::options::{duration, words};
use crate::{Failure, RunsFormat, SarifArgs};
use sortie_run::display::Detail;

#[derive(Args, Debug)]
#[command(next_help_heading = "Library")]
pub(super) struct LibraryArgs {
    /// Run every bundled attack that applies to the agent or target. The options under "Library" select some of them
    #[arg(long, help_heading = None, conflicts_with = "stdio")]
    pub(super) library: bool,

    #[command(flatten)]
    pub(super) filter: FilterArgs,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Agent")]
pub(super) struct AgentArgs {
    /// The agent to start and attack: a preset (`claude-code`; `sortie agents list` shows all), a command, `@NAME` from
    /// sortie.toml, or `builtin:NAME` for a practice agent. In a command, `{mcp_url}`, `{a2a_url}`, `{url:ACTOR}`, `{mcp_config}`,
    /// `{server}`, `{prompt}` and `{prompt_file}` are replaced. No shell is used. To start a program that has the name of a
    /// preset, write its path
    #[arg(long, help_heading = None, value_name = "AGENT", conflicts_with = "stdio")]
    pub(super) agent: Option<String>,

    /// The model for an agent preset, as the agent's program names it
    #[arg(long, value_name = "NAME", requires = "agent")]
    pub(super) agent_model: Option<String>,

    /// The agent's task, for `{prompt}` and `{prompt_file}`. Default: the task in the document (`x-sortie.prompt`)
    #[arg(long, value_name = "TEXT")]
    pub(super) prompt: Option<String>,

    /// Write the task to the agent's standard input. Default: standard input is empty
    #[arg(long, requires = "agent")]
    pub(super) prompt_stdin: bool,

    /// Pass an environment variable to the agent, or set one. It always gets PATH, HOME, LANG and TMPDIR. Repeatable. Pass
    /// secrets by name: other users of this machine can read a program's arguments
    #[arg(long, help_heading = None, value_name = "NAME[=VALUE]")]
    pub(super) env: Vec<String>,

    /// Start the agent in a temporary folder (working directory and HOME) that contains fake keys, tokens, mail and notes.
    /// Sortie recognises these values when the agent sends them, also encoded
    #[arg(long, requires = "agent")]
    pub(super) workspace: bool,

    /// Seed for generated values (such as canaries) and for the order of attempts. Default: random
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Repeats")]
pub(super) struct RepeatArgs {
    /// Run each case N times, each with a new agent process, and report the rate of exploited attempts
    #[arg(long, help_heading = None, value_name = "N", conflicts_with_all = ["gate", "claim"])]
    repeat: Option<NonZeroU32>,

    /// Repeat each case until the rate is shown to be at most P0 (pass) or at least P1 (fail), such as `5%:20%`
    #[arg(long, help_heading = None, value_name = "P0:P1", conflicts_with = "claim")]
    gate: Option<Gate>,

    /// Repeat each case until enough clean attempts prove a claim such as `rate<5%`, or until the first exploited attempt
    #[arg(long, value_name = "CLAIM")]
    claim: Option<Claim>,

    /// Error rates of a gate: A is the probability that a case with a true rate of P0 fails, B that one with a true rate of P1 passes
    #[arg(long, value_name = "A,B", default_value = "5%,5%")]
    errors: ErrorRates,

    /// Maximum attempts per case with `--gate`. A case without a decision by then is undecided. Default: 60
    #[arg(long, value_name = "N", requires = "gate")]
    max_repeats: Option<NonZeroU32>,

    /// Maximum share of undecided attempts; above it the case is undecided
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = share)]
    max_undecided: f64,

    /// Run a command after each attempt to decide whether the agent did its task: exit code 0 means yes. It gets `SORTIE_CASE`,
    /// `SORTIE_ATTEMPT` and `SORTIE_TRACE` in its environment. No shell is used
    #[arg(long, value_name = "COMMAND", value_parser = utility)]
    pub(super) utility: Option<Utility>,

    /// Run one of N parts of the attempts, such as `1/4`, to use several machines. `sortie merge` joins the parts
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
}

impl RepeatArgs {
    /// How cases are repeated; `None` where each is played once. `seed` decides the order.
    pub(super) fn request(&self, seed: Option<u64>) -> Option<RepeatRequest> {
        let most = self.max_repeats.map_or(repeats::MAX_REPEATS, NonZeroU32::get);
        let rule = match (self.repeat, self.gate, self.claim) {
            (Some(times), ..) => RepeatRule::Times(times.get()),
            (None, Some(gate), _) => RepeatRule::Gate { gate, most },
            (None, None, Some(claim)) => RepeatRule::Claim(claim),
            (None, None, None) => RepeatRule::Times(self.shard.map(|_| 1)?),
        };
        let (errors, max_undecided, shard) = (self.errors, self.max_undecided, self.shard);
        Some(RepeatRequest { rule, errors, max_undecided, seed, shard })
    }
}

fn utility(text: &str) -> Result<Utility, SpecError> {
    command_words(text).map(Utility::new)
}

/// A share such as `10%` or `0.1`.
fn share(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    let share = share.ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("`{text}` is not a share: write a percentage such as `10%`"))
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Server actors")]
pub(super) struct ServerArgs {
    /// Address for a server actor: `127.0.0.1:8080` or `8080`. ACTOR may be omitted if there is one. Default: a free loopback port
    #[arg(long, value_name = "[ACTOR=]ADDR")]
    pub(super) listen: Vec<ListenSpec>,

    /// Serve the document's `mcp_server` actor over standard input and output, for agents that start their own servers
    #[arg(long, conflicts_with = "listen")]
    pub(super) stdio: bool,

    /// Put Sortie in front of a real MCP server, given as a command, a URL, or a `NAME` from sortie.toml. An actor with
    /// `x-sortie: {wrap: NAME}` changes its messages; without such an actor they are only recorded. Repeatable
    #[arg(long, value_name = "NAME=SERVER")]
    pub(super) wrap: Vec<String>,

    /// Wrap every server of an `mcp.json` or of a client's configuration file (`sortie agents find` lists them), as with `--wrap`.
    /// Pass variables that the file uses with `--target-env [NAME=]VARIABLE`. Repeatable
    #[arg(long, value_name = "FILE")]
    pub(super) with_servers: Vec<PathBuf>,

    /// Restart the attack's phases for every MCP session
    #[arg(long, value_name = "WHAT", value_parser = words([
        ("session", "Every MCP session starts in the first phase", ()),
    ]))]
    pub(super) isolate: Option<()>,

    /// MCP revision to use: `auto`, or a revision such as `2025-11-25`
    #[arg(long, value_name = "VERSION", default_value = "auto", value_parser = wire)]
    pub(super) wire: McpRevision,

    /// A2A version to use. Default: the one that the peer uses
    #[arg(long, value_name = "VERSION", value_parser = words([
        ("0.3", "Methods such as `message/send`", A2aVersion::V0_3),
        ("1.0", "Methods such as `SendMessage`", A2aVersion::V1_0),
    ]))]
    pub(super) a2a_version: Option<A2aVersion>,

    /// Allow `--listen` on an address that other machines can reach
    #[arg(long, requires = "listen")]
    pub(super) public: bool,

    /// Also accept requests whose `Host` header is this name. Repeatable
    #[arg(long, value_name = "HOST")]
    pub(super) accept_host: Vec<String>,

    /// Also allow outgoing push notifications to this host. Repeatable
    #[arg(long, value_name = "HOST")]
    pub(super) allow_host: Vec<String>,

    /// Do not rewrite agent cards that point to another host
    #[arg(long)]
    pub(super) verbatim_card: bool,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Targets")]
pub(super) struct TargetArgs {
    /// The target to attack. KIND is `mcp`, `a2a`, `ag_ui`, `chat`, `http` or `cmd`. SPEC is a URL, a command for `cmd`, or
    /// `stdio:COMMAND` for MCP. `@NAME` is a target from sortie.toml. Evaluators use the target without ACTOR
    #[arg(long, help_heading = None, value_name = "[ACTOR=]KIND=SPEC")]
    pub(super) target: Vec<String>,

    /// Send the target a header whose value is in an environment variable
    #[arg(long, value_name = "[ACTOR=]NAME=env:VAR")]
    pub(super) target_header: Vec<String>,

    /// Send the target a bearer token that is in an environment variable
    #[arg(long, value_name = "[ACTOR=]env:VAR")]
    pub(super) target_bearer: Vec<String>,

    /// Pass an environment variable to a target that Sortie starts
    #[arg(long, value_name = "[ACTOR=]NAME")]
    pub(super) target_env: Vec<EnvSpec>,

    /// Restart a `stdio:` MCP server for every case of an evaluator. Default: one process per worker
    #[arg(long)]
    pub(super) fresh_server: bool,

    /// Start each MCP server that is a process in a sandbox: a network with loopback only, a temporary home and folder with canary
    /// files, limits, and a report of what it did. Linux, without privileges; needs `bwrap` or `unshare`; fails if neither works
    #[arg(long)]
    pub(super) sandbox: bool,

    /// Maximum time to wait until a target accepts connections
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(super) connect_timeout: Duration,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "When it ends")]
pub(super) struct EndArgs {
    /// End the run after this long without a message, once every actor is in its last phase. Default: 30s; off for agents
    /// that `--agent` starts
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) idle: Option<Duration>,

    /// Maximum duration of a case
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(super) max_duration: Duration,

    /// How long to keep recording after the end of a case, unless the document sets `grace_period`. Default: 2s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) grace: Option<Duration>,

    /// End a case as soon as it is `exploited`
    #[arg(long)]
    pub(super) stop_on_match: bool,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArgs {
    /// Folder for traces, the agent's output and the report. Default: a new folder in `.sortie/runs`
    #[arg(long, value_name = "DIR")]
    pub(super) run_dir: Option<PathBuf>,

    /// Continue an interrupted run. Finished cases are not run again
    #[arg(long, value_name = "DIR", conflicts_with_all = ["run_dir", "replay"])]
    pub(super) resume: Option<PathBuf>,

    /// Report format
    #[arg(long, help_heading = None, value_enum, default_value = "human")]
    pub(super) format: RunsFormat,

    /// Write the report to a file instead of standard output
    #[arg(long, help_heading = None, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,

    #[command(flatten)]
    pub(super) sarif: SarifArgs,

    #[command(flatten)]
    progress: ProgressArgs,

    /// Remove secrets before anything is stored or evaluated: `value:TEXT`, `regex:PATTERN`, `field:NAME`, `path:PATH`,
    /// `header:NAME`. Repeatable
    #[arg(long, value_name = "RULE")]
    pub(super) redact: Vec<String>,

    /// Write run events to a file as JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(super) events: Option<PathBuf>,

    /// Count a case as passed even if the payload never reached the agent. This hides broken runs
    #[arg(long)]
    pub(super) lenient: bool,

    /// When to run controls. A control is an attack without its payload: it shows that the agent can do its task. Default: `first`
    /// with `--agent` and for evaluators, otherwise `off`
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(super) controls: Option<ControlsWhen>,

    /// The harmless question that an evaluator's target must answer before it is attacked
    #[arg(long, value_name = "TEXT")]
    pub(super) control: Option<String>,

    /// Exit with 0 even if some cases were skipped, for example because they need a judge. At least one case must be decided
    #[arg(long)]
    pub(super) allow_skipped: bool,
}

/// When controls are run.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum ControlsWhen {
    /// One control before the attacks. The run ends if the agent does not do its task
    First,
    /// One control with each case that has one
    All,
    /// No controls
    Off,
}

impl From<ControlsWhen> for Controls {
    fn from(when: ControlsWhen) -> Self {
        match when {
            ControlsWhen::First => Self::First,
            ControlsWhen::All => Self::All,
            ControlsWhen::Off => Self::Off,
        }
    }
}

/// How much is shown while the run goes on.
#[derive(Args, Debug)]
struct ProgressArgs {
    /// Print only the report and errors (and the address to connect to, if no agent is started)
    #[arg(long, short)]
    quiet: bool,

    /// Print every message during the run
    #[arg(long, short, conflicts_with = "quiet")]
    verbose: bool,
}

impl OutputArgs {
    pub(super) fn detail(&self) -> Detail {
        match (self.progress.quiet, self.progress.verbose) {
            (true, _) => Detail::Quiet,
            (_, true) => Detail::Verbose,
            _ => Detail::Normal,
        }
    }
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
    /// Run the evaluators and documents of a suite (`sortie suites list`). Repeatable
    #[arg(long, help_heading = None, value_name = "NAME")]
    pub(super) suite: Vec<String>,

    /// Also load the evaluators in this folder. Repeatable
    #[arg(long = "evaluators", value_name = "DIR")]
    pub(super) folders: Vec<PathBuf>,

    /// Do not load the bundled evaluators
    #[arg(long)]
    pub(super) without_bundled: bool,

    /// Value of a placeholder in evaluator templates. Repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) var: Vec<String>,

    /// Use the placeholder values in `[profiles.NAME]` of sortie.toml, before those in `[values]`
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,

    /// A working argument for tools of an MCP server. NAME is a property or `TOOL.PROPERTY`. Sortie calls each tool with such values
    /// before it attacks the tool. More values can be in `[fixtures]` of sortie.toml. Repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) fixture: Vec<String>,

    /// Try every pattern on every argument. By default, Sortie stops at the first proof, and tries unlikely
    /// patterns only if an answer hints at a weakness
    #[arg(long)]
    pub(super) exhaustive: bool,

    /// Also send payloads with addresses of other machines, such as a cloud's metadata service
    #[arg(long)]
    pub(super) allow_network_payloads: bool,

    /// Attack only the MCP tools whose definition changed since an earlier run
    #[arg(long, value_name = "RUN")]
    pub(super) changed_since: Option<PathBuf>,

    /// Compare the tools with those of another server that the same client uses, from a run against that server. Repeatable
    #[arg(long, value_name = "RUN")]
    pub(super) beside: Vec<PathBuf>,

    /// Maximum number of cases to start per second
    #[arg(long, value_name = "N", value_parser = rate)]
    pub(super) rate: Option<f64>,

    /// Maximum time for one answer of the target
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
    /// Model of a `chat` target. Default: the first one that it lists
    #[arg(long, value_name = "NAME")]
    chat_model: Option<String>,

    /// System message for a `chat` target
    #[arg(long, value_name = "TEXT")]
    chat_system: Option<String>,

    /// Request method for an `http` target. Default: POST
    #[arg(long, value_name = "METHOD")]
    http_method: Option<String>,

    /// JSON request body for an `http` target. `{{message}}` and `{{session}}` are replaced. Default: `{"message": "{{message}}"}`
    #[arg(long, value_name = "JSON")]
    http_body: Option<String>,

    /// Path (RFC 9535) of the answer in the response of an `http` target. Default: the whole body
    #[arg(long, value_name = "PATH")]
    http_answer: Option<String>,

    /// How messages are exchanged with a `cmd` target. Default: `once` if its command contains `{message}`, otherwise `text`
    #[arg(long, value_name = "HOW", value_parser = words([
        ("text", "One line in, any number of lines out; the answer ends after a pause (`--cmd-quiet`)", CmdProtocol::Text),
        ("lines", "One line in, one line out; a second line is an error", CmdProtocol::Lines),
        ("json", "`{\"text\": …}` in, `{\"text\": …, \"calls\": […], \"error\": …}` out, one line each; a second line is an error", CmdProtocol::Json),
        ("once", "Start the program for each message; the message replaces `{message}` or is its standard input; its output is the answer", CmdProtocol::Once),
    ]))]
    cmd_protocol: Option<CmdProtocol>,

    /// With the protocol `text`: length of the pause that ends an answer
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub(super) cmd_quiet: Duration,
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
    /// Maximum size of one message, in bytes
    #[arg(long = "max-message-bytes", value_name = "BYTES", default_value_t = Limits::default().message_bytes)]
    message_bytes: usize,

    /// Maximum nesting depth of one message
    #[arg(long = "max-depth", value_name = "N", default_value_t = Limits::default().depth)]
    depth: usize,

    /// Maximum open connections to one server actor
    #[arg(long = "max-connections", value_name = "N", default_value_t = Limits::default().connections)]
    connections: usize,

    /// Maximum open streams of one server actor
    #[arg(long = "max-streams", value_name = "N", default_value_t = Limits::default().streams)]
    streams: usize,

    /// Maximum queued messages per stream
    #[arg(long = "max-queued", value_name = "N", default_value_t = Limits::default().queued)]
    queued: usize,

    /// Maximum size of a trace, in bytes; the case ends when it is reached
    #[arg(long = "max-trace-bytes", value_name = "BYTES", default_value_t = RunOptions::default().max_trace_bytes)]
    pub(super) trace_bytes: u64,

    /// Maximum bytes to keep of the agent's standard output and standard error, each
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
