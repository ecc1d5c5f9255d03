//! `sortie run`

mod arguments;
mod asked;
mod told;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use sortie_detect::Fault;
use sortie_engine::cases;
use sortie_engine::targets::Settings;
use sortie_run::Limits;
use sortie_trace::RedactRule;
use tokio_util::sync::CancellationToken;

use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::counted;
use crate::render::RunsFormat;
use crate::run::{
    Campaign, CampaignEnd, CaseArgs, Chosen, Config, Ended, Home, LimitArgs, ModelArgs, Resolved,
};
use arguments::{AgentArgs, EndArgs, OutputArgs, ServerArgs, TargetArgs};
use asked::all;

const EXAMPLES: &str = "\
Examples:
  What would be served, sent and watched, without a socket:
    $ sortie run --dry-run attack.yaml

  Serve an attack; whoever connects to the address that is printed is under test:
    $ sortie run --max-duration 1s attack.yaml  # ends with 3, since nobody connects

  Start the agent under test, tell it where the server is, and let CI show what became of it:
    $ sortie run --agent 'echo {mcp_url}' --format junit --out report.xml attacks/  # ends with 3

  Attack a program that reads a line and answers with a line with an evaluator, and see what it would be told:
    $ sortie run --target cmd=cat --dry-run system-prompt-leakage

  Attack it with all that a suite holds. What checks do not decide is left to a judge, and skipped without one:
    $ sortie run --target cmd=cat --suite eu-ai-act --jobs 8 --run-dir first  # ends with 3

  Repeat that run, to the byte and without the program:
    $ sortie run --target cmd=cat --suite eu-ai-act --replay first --format canonical  # ends with 3

Exit codes:
  0    every case resisted
  1    at least one case was exploited, wholly or in part
  2    wrong usage, or a document that is not valid; nothing was started
  3    nothing was exploited, but a case errored, was skipped or never happened, or none was decided
  130  interrupted";

/// Attack an agent or a server with documents and evaluators, and say with evidence whether it gave in.
///
/// Server actors of a document listen first, and say where on standard error. Then the agent is started, if there is one, and
/// client actors play. Evaluators attack one target, in cases of their own. Everything that is said is written to a
/// trace, and judged. A run in which the attack did not reach the agent never counts as resistance.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Run {
    /// Documents: files or folders, ids of the library, or `-` for standard input; and ids of evaluators, which attack the
    /// one `--target`
    #[arg(required_unless_present = "suite", value_name = "DOC")]
    documents: Vec<PathBuf>,

    /// Show what would be served, sent and watched, and start nothing
    #[arg(long = "dry-run")]
    dry: bool,

    /// How many documents or cases of evaluators are played at once, each for itself
    #[arg(long, value_name = "N", default_value = "1")]
    jobs: NonZeroUsize,

    /// Agents, targets and models that have a name; `sortie.toml`, if it is there
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
    models: ModelArgs,
    #[command(flatten)]
    end: EndArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

impl Run {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        self.can_be_meant()?;
        let config = Config::load(self.config.as_deref(), console)?;
        let chosen = Chosen::find(&self.documents, &self.cases, self.config.as_deref(), &config, console)?;
        let Chosen { documents, of_suites, evaluators } = match self.models.threshold() {
            Some(threshold) => chosen.with_semantic_threshold(threshold)?,
            None => chosen,
        };
        if self.servers.stdio && (documents.len() > 1 || evaluators.is_some()) {
            return Err(Failure::new("`--stdio` serves one document"));
        }
        let models = self.models.resolve(&config)?;
        let interrupt = CancellationToken::new();
        let attacks = evaluators.as_ref().is_some_and(|evaluators| !evaluators.is_empty());
        let mut resolved = self.resolve(&config, documents, of_suites, attacks, &interrupt)?;
        if attacks && resolved.target.is_none() {
            let named = evaluators.as_ref().is_some_and(|evaluators| evaluators.named);
            can_do_without_target(named, &resolved)?;
        }
        let redactor =
            resolved.redact(&all::<RedactRule>("--redact", &self.output.redact)?, models.secrets())?;
        let campaign = Campaign {
            documents: resolved.prepared,
            unfit: resolved.unfit,
            evaluators,
            target: resolved.target,
            options: cases::PlayOptions {
                settings: Settings {
                    limits: self.limits.of_peers(),
                    connect_timeout: self.targets.connect_timeout,
                    answer_timeout: self.cases.answer_timeout,
                },
                redactor,
                fresh_server: self.targets.fresh_server,
                end: interrupt,
                ..cases::PlayOptions::default()
            },
            models,
            home: Home {
                asked: self.output.run_dir.clone(),
                resume: self.output.resume.clone(),
                replay: self.models.replay().map(Path::to_owned),
            },
            limits: Limits { jobs: self.jobs.get(), rate: self.cases.rate },
            dry: self.dry,
            notes: console.notes(),
        };
        match campaign.play()? {
            CampaignEnd::Planned { documents, unfit, attacked } => {
                self.show(&documents, &unfit, attacked.as_deref(), console)?;
                Ok(Exit::Clean)
            }
            CampaignEnd::Ended(ended) => self.tell(&ended, console),
            CampaignEnd::Aborted(failure) => {
                console.failure(&failure);
                Ok(Exit::Interrupted)
            }
        }
    }

    /// Refuses what contradicts itself, before anything is read.
    fn can_be_meant(&self) -> Result<(), Failure> {
        if self.dry && !matches!(self.output.format, RunsFormat::Human | RunsFormat::Json) {
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
        Ok(())
    }

    /// Reports what was done.
    fn tell(&self, ended: &Ended, console: &mut Console) -> Result<Exit, Failure> {
        for failure in &ended.failures {
            console.failure(failure);
        }
        if ended.left_out > 0 {
            console.note(&format!("{} lines were not shown; the trace has them", ended.left_out));
        }
        let report = &ended.report;
        if ended.interrupted && !report.unfinished.is_empty() {
            console.note(&counted(
                report.unfinished.len(),
                "case was not played to its end",
                "cases were not played to their end",
            ));
        }
        for run in &report.runs {
            // What is wrong with us is said wherever the report goes.
            if let Some(failure) = run.document().and(run.failure.as_ref())
                && failure.fault == Fault::Harness
            {
                console.failure(&Failure::new(failure.message.clone()));
            }
        }
        self.write(report, console)?;
        console.note(&format!("kept in {}", ended.folder.display()));
        Ok(if ended.interrupted {
            Exit::Interrupted
        } else if ended.failures.is_empty() {
            report.standing(self.output.allow_skipped).into()
        } else {
            Exit::Invalid
        })
    }
}

/// Suites hold documents and evaluators: whoever plays their documents against an agent need not have a target too.
fn can_do_without_target(named: bool, resolved: &Resolved) -> Result<(), Failure> {
    if !named && !resolved.prepared.is_empty() {
        return Ok(());
    }
    Err(Failure::new("evaluators need a target")
        .help("name it with `--target KIND=SPEC`: KIND is `mcp`, `a2a`, `ag_ui`, `chat`, `http` or `cmd`"))
}
