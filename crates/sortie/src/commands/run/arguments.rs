//! The arguments of `sortie run`, by what they are about.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sortie_engine::modes::McpRevision;
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
use crate::progress::Detail;
use crate::{Failure, RunsFormat, SarifArgs};

#[derive(Args, Debug)]
#[command(next_help_heading = "Library")]
pub(super) struct LibraryArgs {
    /// Play the documents that come with Sortie, as far as they fit the agent and the targets that are named. The others are
    /// listed with the reason. The options below choose among them, as in `sortie library list`
    #[arg(long, conflicts_with = "stdio")]
    pub(super) library: bool,

    #[command(flatten)]
    pub(super) filter: FilterArgs,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Agent")]
pub(super) struct AgentArgs {
    /// Start the agent under test: a command, split like a shell would and without a shell, `@NAME` of sortie.toml,
    /// or `builtin:NAME` for a practice agent. `{mcp_url}`, `{a2a_url}`, `{url:ACTOR}`, `{mcp_config}`,
    /// `{prompt}` and `{prompt_file}` are filled in
    #[arg(long, value_name = "COMMAND", conflicts_with = "stdio")]
    pub(super) agent: Option<String>,

    /// The task for the agent, for `{prompt}` and `{prompt_file}` in its command; else the document's (`x-sortie.prompt`)
    #[arg(long, value_name = "TEXT")]
    pub(super) prompt: Option<String>,

    /// Write the task to the agent's standard input, which is empty otherwise
    #[arg(long, requires = "agent")]
    pub(super) prompt_stdin: bool,

    /// Let the agent inherit an environment variable, beside PATH, HOME, LANG and TMPDIR, or set one for it; may be given more
    /// than once. Secrets are better inherited: others see the arguments of a program
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(super) env: Vec<String>,

    /// Start the agent in a disposable folder, as its working directory and HOME, with made-up keys, tokens, mail and notes where
    /// agents look: what comes back of them is recognised, encoded too
    #[arg(long, requires = "agent")]
    pub(super) workspace: bool,

    /// Derive made-up values such as canaries, and the order of attempts, from a number: the same each time. Others each time, if
    /// this is left out
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Repeats")]
pub(super) struct RepeatArgs {
    /// Play each case so often, each time with an agent process and a trace of its own, and report how often it was exploited
    #[arg(long, value_name = "N", conflicts_with_all = ["gate", "claim"])]
    repeat: Option<NonZeroU32>,

    /// Play each case until it is clear that it is exploited in at most P0 of the attempts, or in at least P1, such as `5%:20%`
    #[arg(long, value_name = "P0:P1", conflicts_with = "claim")]
    gate: Option<Gate>,

    /// Play each case until so many attempts were clean that a claim such as `rate<5%` is shown, or until the first hit
    #[arg(long, value_name = "CLAIM")]
    claim: Option<Claim>,

    /// How often a gate may be wrong: the chance that a case at P0 fails, and that a case at P1 holds
    #[arg(long, value_name = "A,B", default_value = "5%,5%")]
    errors: ErrorRates,

    /// The most attempts that a gate takes for a case (60 unless told otherwise). A case that is not decided then is undecided
    #[arg(long, value_name = "N", requires = "gate")]
    max_repeats: Option<NonZeroU32>,

    /// The share of attempts at a case that may stay undecided; beyond it the case is undecided
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = share)]
    max_undecided: f64,

    /// Ask a command after each attempt whether the agent did its task: it ends with 0 then. It finds the attempt in `SORTIE_CASE`,
    /// `SORTIE_ATTEMPT` and `SORTIE_TRACE`, and is started without a shell
    #[arg(long, value_name = "COMMAND", value_parser = utility)]
    pub(super) utility: Option<Utility>,

    /// Play one of N parts of the attempts, on one of N machines: `1/4`. `sortie merge` joins them
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
    share.ok_or_else(|| format!("`{text}` is no share: write a percentage such as `10%`"))
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

    #[command(flatten)]
    pub(super) sarif: SarifArgs,

    #[command(flatten)]
    progress: ProgressArgs,

    /// Take secrets out of everything that is kept, and of what is evaluated: `value:TEXT`, `regex:PATTERN`, `field:NAME`,
    /// `path:PATH`, `header:NAME`; may be given more than once
    #[arg(long, value_name = "RULE")]
    pub(super) redact: Vec<String>,

    /// Write what happens to a file as it happens, a line of JSON for each event
    #[arg(long, value_name = "FILE")]
    pub(super) events: Option<PathBuf>,

    /// Let silence count as resistance even when the payload was not served
    #[arg(long)]
    pub(super) lenient: bool,

    /// When to play controls, the same world without the payload, in which a working agent does its task: one before the attacks
    /// (default with `--agent`, and for evaluators), one with each of them, or none
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(super) controls: Option<ControlsWhen>,

    /// The harmless question that the target of evaluators has to answer before it is attacked
    #[arg(long, value_name = "TEXT")]
    pub(super) control: Option<String>,

    /// Do not mind cases that could not be evaluated for want of an engine, as long as others were
    #[arg(long)]
    pub(super) allow_skipped: bool,
}

/// When controls are played.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum ControlsWhen {
    /// One, before the attacks: an agent that does not do its task there ends the run
    First,
    /// One with each case that has one
    All,
    /// None
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
    /// Show no progress and no notes, only the report and errors; and where to connect, when nothing else tells the agent
    #[arg(long, short)]
    quiet: bool,

    /// Show every message while the run goes on
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
    /// Play the evaluators and the documents of a suite (`sortie suites list`); may be given more than once
    #[arg(long, value_name = "NAME")]
    pub(super) suite: Vec<String>,

    /// A folder of evaluators, besides those that come with Sortie; may be given more than once
    #[arg(long = "evaluators", value_name = "DIR")]
    pub(super) folders: Vec<PathBuf>,

    /// Leave out the evaluators that come with Sortie
    #[arg(long)]
    pub(super) without_bundled: bool,

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

    /// How a `cmd` target is told a message and answers. Default: `once` if its command has `{message}`, else `text`
    #[arg(long, value_name = "HOW", value_parser = words([
        ("text", "A line in, any number of lines out; an answer ends when the program is silent (`--cmd-quiet`)", CmdProtocol::Text),
        ("lines", "A line in, a line out; a second line is an error", CmdProtocol::Lines),
        ("json", "`{\"text\": …}` in, `{\"text\": …, \"calls\": […], \"error\": …}` out, a line each; a second line is an error", CmdProtocol::Json),
        ("once", "Start the program for each message, which is `{message}` in the command, or else its standard input; its output is the answer", CmdProtocol::Once),
    ]))]
    cmd_protocol: Option<CmdProtocol>,

    /// With the protocol `text`: how long the program must be silent after a line until its answer counts as whole
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
