//! `sortie run`

mod arguments;
mod attack;

use std::fs;
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use sortie_detect::Fault;
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
    Asked, AskedBearer, AskedHeader, AskedTarget, CaseArgs, Chosen, Config, Jobs, LimitArgs, Prepared,
    Resolved,
};
use arguments::{AgentArgs, EndArgs, OutputArgs, ServerArgs, TargetArgs};

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
        let config = Config::load(self.config.as_deref(), console)?;
        let chosen = Chosen::find(&self.documents, &self.cases, self.config.as_deref(), &config, console)?;
        if let Some(chosen) = chosen {
            return self.attack(&chosen, &config, console);
        }
        let documents = documents::ready(&self.documents, "played", console, |_| Ok(()))?;
        if self.servers.stdio && documents.len() > 1 {
            return Err(Failure::new("`--stdio` serves one document"));
        }
        let interrupt = CancellationToken::new();
        let rules = all::<Rule>("--redact", &self.output.redact)?;
        let mut resolved = self.resolve(&config, documents, false, &interrupt)?;
        resolved.redact(&rules, Vec::new())?;
        let prepared = resolved.prepared;
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

    fn resolve(
        &self,
        config: &Config,
        named: Vec<documents::Document>,
        evaluators: bool,
        interrupt: &CancellationToken,
    ) -> Result<Resolved, Failure> {
        let targets = all::<AskedTarget>("--target", &self.targets.target)?;
        let headers = all::<AskedHeader>("--target-header", &self.targets.target_header)?;
        let bearers = all::<AskedBearer>("--target-bearer", &self.targets.target_bearer)?;
        let asked = Asked {
            config,
            agent: self.agent.agent.as_deref(),
            env: &self.agent.env,
            listen: &self.servers.listen,
            targets: &targets,
            headers: &headers,
            bearers: &bearers,
            target_env: &self.targets.target_env,
            common: self.options(interrupt),
            jobs: self.jobs.get(),
            evaluators,
            talk: &self.cases.talk,
        };
        asked.resolve(named, Vec::new())
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
