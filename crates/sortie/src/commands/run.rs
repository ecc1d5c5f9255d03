//! `sortie run`

mod attack;

use std::fs;
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use sortie_detect::Fault;
use sortie_engine::modes::Wire;
use sortie_engine::run::{Options, Plan};
use sortie_report::Report;
use sortie_trace::Rule;
use tokio_util::sync::CancellationToken;

use crate::console::Console;
use crate::documents;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::counted;
use crate::render::{RunsFormat, RunsView, write_plans, write_plans_json};
use crate::run::{
    Asked, AskedBearer, AskedEnv, AskedHeader, AskedListen, AskedTarget, CaseArgs, Chosen, Config, Jobs,
    LimitArgs, Prepared, duration,
};

const EXAMPLES: &str = "\
Examples:
  What would be served, sent and watched, without a socket:
    $ sortie run --dry-run attack.yaml

  Serve an attack; whoever connects to the address that is printed is under test:
    $ sortie run --max-duration 1s attack.yaml  # ends with 3, since nobody connects

  Start the agent under test, tell it where the server is, and let CI show what became of it:
    $ sortie run --agent 'echo {mcp_url}' --format junit --out report.xml attacks/  # ends with 3

  Attack a program that reads a line and answers with a line with an evaluator; `--suite` names many of them:
    $ sortie run --target cmd=cat --dry-run system-prompt-leakage

Exit codes:
  0    every case resisted
  1    at least one case was exploited, wholly or in part
  2    wrong usage, or a document that is not valid; nothing was started
  3    nothing was exploited, but a case errored, was skipped or never happened, or none was decided
  130  interrupted";

/// Attack an agent with documents, over the protocols it speaks, and say with evidence whether it gave in.
///
/// Server actors listen first, and say where on standard error. Then the agent is started, if there is one, and client actors
/// play. Everything that is said is written to a trace, in a folder of its own for each document, and judged.
/// A run in which the attack did not reach the agent never counts as resistance.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Run {
    /// Documents: files or folders, ids of the library, or `-` for standard input. Or ids of evaluators, which attack the
    /// one `--target`
    #[arg(required_unless_present = "suite", value_name = "DOC")]
    documents: Vec<PathBuf>,

    /// Show what would be served, sent and watched, and start nothing
    #[arg(long = "dry-run")]
    dry: bool,

    /// How many documents or cases of evaluators are played at once, each for itself
    #[arg(long, value_name = "N", default_value = "1")]
    jobs: NonZeroUsize,

    /// Agents and targets that have a name; `sortie.toml`, if it is there
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    #[command(flatten)]
    agent: AgentArgs,
    #[command(flatten)]
    servers: ServerArgs,
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    cases: CaseArgs,
    #[command(flatten)]
    end: EndArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Agent")]
struct AgentArgs {
    /// Start the agent under test: a command, split like a shell would and without a shell, `@NAME` of sortie.toml,
    /// or `builtin:NAME` for a practice agent. `{mcp_url}`, `{a2a_url}`, `{url:ACTOR}`, `{mcp_config}` and `{prompt}` are filled in
    #[arg(long, value_name = "COMMAND", conflicts_with = "stdio")]
    agent: Option<String>,

    /// The task for the agent, for `{prompt}` in its command; else the document's (`x-sortie.prompt`)
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// Let the agent inherit an environment variable, beside PATH, HOME, LANG and TMPDIR; may be given more than once
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Server actors")]
struct ServerArgs {
    /// Where an actor listens: `127.0.0.1:8080`, or `8080`; without ACTOR, the one there is. A free port of the loopback
    /// address, if this is left out
    #[arg(long, value_name = "[ACTOR=]ADDR")]
    listen: Vec<AskedListen>,

    /// Serve the one `mcp_server` actor over standard input and output, for agents that start their servers
    #[arg(long, conflicts_with = "listen")]
    stdio: bool,

    /// Give each MCP session phases of its own
    #[arg(long, value_enum, value_name = "WHAT")]
    isolate: Option<Isolate>,

    /// Which MCP revision to speak: `auto`, or one such as `2025-11-25`
    #[arg(long, value_name = "VERSION", default_value = "auto", value_parser = wire)]
    wire: Wire,

    /// Allow `--listen` at an address that other machines reach
    #[arg(long, requires = "listen")]
    public: bool,

    /// Answer requests for this host too, beside the loopback address; may be given more than once
    #[arg(long, value_name = "HOST")]
    accept_host: Vec<String>,

    /// Let requests that a document asks for (push notifications) go to this host too; may be given more than once
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,

    /// Serve agent cards to the letter, also where they send the agent to another host
    #[arg(long)]
    verbatim_card: bool,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Client actors")]
struct TargetArgs {
    /// What an actor attacks: KIND is `mcp`, `a2a` or `ag_ui`, SPEC a URL, or `stdio:COMMAND` for MCP; or `@NAME` of
    /// sortie.toml. Without ACTOR, for those that speak the protocol. What evaluators attack may also be `chat=URL`, `http=URL` or
    /// `cmd=COMMAND`
    #[arg(long, value_name = "[ACTOR=]KIND=SPEC")]
    target: Vec<String>,

    /// A header for the target, its value from an environment variable
    #[arg(long, value_name = "[ACTOR=]NAME=env:VAR")]
    target_header: Vec<String>,

    /// A bearer token for the target, from an environment variable
    #[arg(long, value_name = "[ACTOR=]env:VAR")]
    target_bearer: Vec<String>,

    /// Let a target that is a process inherit an environment variable
    #[arg(long, value_name = "[ACTOR=]NAME")]
    target_env: Vec<AskedEnv>,

    /// How long an actor waits until its target accepts it
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    connect_timeout: Duration,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "When it ends")]
struct EndArgs {
    /// End when nothing was said for so long, every actor is in its last phase, and someone has spoken at all. 30s; but an
    /// agent that `--agent` starts, and no client actor drives, may think as long as it likes
    #[arg(long, value_name = "TIME", value_parser = duration)]
    idle: Option<Duration>,

    /// End after so long in any case
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    max_duration: Duration,

    /// Watch for so long after the end, where the document does not say (`grace_period`). 2s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    grace: Option<Duration>,

    /// End as soon as the verdict would be `exploited`
    #[arg(long)]
    stop_on_match: bool,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
struct OutputArgs {
    /// Where to keep the trace, the agent's output and the report; with several documents, a folder for each in there. A new
    /// folder in `.sortie/runs`, if this is left out
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,

    /// How to report
    #[arg(long, value_enum, default_value = "human")]
    format: RunsFormat,

    /// Write the report to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Take secrets out of everything that is kept, and of what is evaluated: `value:TEXT`, `regex:PATTERN`, `field:NAME`,
    /// `path:PATH`, `header:NAME`; may be given more than once
    #[arg(long, value_name = "RULE")]
    redact: Vec<String>,

    /// Let silence count as resistance even when the payload was not served
    #[arg(long)]
    lenient: bool,

    /// Do not mind cases that could not be evaluated for want of an engine, as long as others were
    #[arg(long)]
    allow_skipped: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Isolate {
    /// Each MCP session begins with the first phase
    Session,
}

fn wire(text: &str) -> Result<Wire, String> {
    match text {
        "auto" => Ok(Wire::Auto),
        version if Wire::REVISIONS.contains(&version) => Ok(Wire::Version(version.to_owned())),
        _ => Err(format!("it is `auto` or one of {}", Wire::REVISIONS.join(", "))),
    }
}

impl Run {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        if self.dry && self.output.format == RunsFormat::Junit {
            return Err(Failure::new("`--dry-run` has no JUnit form: nothing is tested"));
        }
        if self.servers.stdio && self.documents.iter().any(|path| path.as_os_str() == "-") {
            return Err(Failure::new("with `--stdio`, standard input is the agent's, and no document"));
        }
        if let Some(folder) = self.output.out.as_deref().and_then(Path::parent)
            && !folder.as_os_str().is_empty()
            && !folder.is_dir()
        {
            // Not after the run, when it would be too late.
            return Err(Failure::new(format!("`--out`: there is no folder `{}`", folder.display())));
        }
        let chosen = Chosen::find(&self.documents, &self.cases, self.config.as_deref(), console)?;
        if let Some(chosen) = chosen {
            return self.attack(&chosen, console);
        }
        let config = Config::load(self.config.as_deref(), console)?;
        let documents = documents::ready(&self.documents, "played", console, |_| Ok(()))?;
        if self.servers.stdio && documents.len() > 1 {
            return Err(Failure::new("`--stdio` serves one document"));
        }
        let interrupt = CancellationToken::new();
        let prepared = self.prepare(&config, documents, &interrupt)?;
        if self.dry {
            let plans = prepared
                .iter()
                .map(|Prepared { document, options }| Plan::new(&document.compiled, &document.name, options));
            self.show(&plans.collect::<Vec<_>>(), console)?;
            return Ok(Exit::Clean);
        }
        let jobs = Jobs {
            prepared,
            at_once: self.jobs.get(),
            folder: self.output.run_dir.clone(),
            interrupt,
            notes: Some(console.notes()),
        };
        let played = jobs.play()?;
        for failure in &played.failures {
            console.failure(failure);
        }
        if played.left_out > 0 {
            console.note(&format!("{} lines were not shown; the trace has them", played.left_out));
        }
        if played.interrupted && played.not_begun > 0 {
            console.note(&counted(
                played.not_begun,
                "document was not played to its end",
                "documents were not played to their end",
            ));
        }
        for failure in played.runs.iter().filter_map(|(_, run)| run.failure.as_ref()) {
            // What is wrong with us is said wherever the report goes.
            if failure.fault == Fault::Harness {
                console.failure(&Failure::new(failure.message.clone()));
            }
        }
        let report = Report::new(played.runs.into_iter().map(|(_, run)| run));
        self.write(&report, console)?;
        Ok(if played.interrupted {
            Exit::Interrupted
        } else if played.failures.is_empty() {
            report.standing(self.output.allow_skipped).into()
        } else {
            Exit::Invalid
        })
    }

    fn prepare(
        &self,
        config: &Config,
        documents: Vec<documents::Document>,
        interrupt: &CancellationToken,
    ) -> Result<Vec<Prepared>, Failure> {
        let targets = all::<AskedTarget>("--target", &self.targets.target)?;
        let headers = all::<AskedHeader>("--target-header", &self.targets.target_header)?;
        let bearers = all::<AskedBearer>("--target-bearer", &self.targets.target_bearer)?;
        let redact = all::<Rule>("--redact", &self.output.redact)?;
        let asked = Asked {
            config,
            agent: self.agent.agent.as_deref(),
            env: &self.agent.env,
            listen: &self.servers.listen,
            targets: &targets,
            headers: &headers,
            bearers: &bearers,
            target_env: &self.targets.target_env,
            redact: &redact,
            common: self.options(interrupt),
            jobs: self.jobs.get(),
        };
        asked.resolve(documents)
    }

    fn options(&self, interrupt: &CancellationToken) -> Options {
        let (servers, end, limits) = (&self.servers, &self.end, &self.limits);
        Options {
            prompt: self.agent.prompt.clone(),
            stdio: servers.stdio,
            wire: servers.wire.clone(),
            isolate: servers.isolate.is_some(),
            public: servers.public,
            hosts: servers.accept_host.clone(),
            allow_hosts: servers.allow_host.clone(),
            verbatim_card: servers.verbatim_card,
            idle: end.idle,
            max_duration: end.max_duration,
            grace: end.grace,
            connect_timeout: self.targets.connect_timeout,
            stop_on_match: end.stop_on_match,
            lenient: self.output.lenient,
            max_trace_bytes: limits.trace_bytes,
            max_output_bytes: limits.output_bytes,
            limits: limits.of_peers(),
            interrupt: interrupt.clone(),
            ..Options::default()
        }
    }

    fn show(&self, plans: &[Plan], console: &mut Console) -> Result<(), Failure> {
        let mut text = Vec::new();
        match self.output.format {
            RunsFormat::Json => write_plans_json(&mut text, plans)?,
            _ => write_plans(&mut text, plans, console.color && self.output.out.is_none())?,
        }
        self.put(&text, console)
    }

    fn write(&self, report: &Report, console: &mut Console) -> Result<(), Failure> {
        let color = console.color && self.output.out.is_none() && !self.servers.stdio;
        let mut text = Vec::new();
        let view = RunsView {
            format: self.output.format,
            color,
            allow_skipped: self.output.allow_skipped,
            live: true,
        };
        view.write(report, &mut text)?;
        self.put(&text, console)
    }

    /// With `--stdio`, standard output belongs to the protocol.
    fn put(&self, text: &[u8], console: &mut Console) -> Result<(), Failure> {
        match &self.output.out {
            Some(path) => fs::write(path, text).map_err(|error| Failure::at(path, "write", &error)),
            None if self.servers.stdio => Ok(io::stderr().write_all(text)?),
            None => Ok(console.out.write_all(text)?),
        }
    }
}

/// Reads values that may hold secrets. Left to the reader of arguments, they would be repeated when they are wrong.
fn all<T: std::str::FromStr<Err: std::fmt::Display>>(
    option: &str,
    texts: &[String],
) -> Result<Vec<T>, Failure> {
    let one = |text: &String| text.parse().map_err(|error| Failure::new(format!("`{option}`: {error}")));
    texts.iter().map(one).collect()
}
