//! `sortie run`

mod arguments;

use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use sortie_detect::{Fault, Standing};
use sortie_engine::targets::Settings;
use sortie_engine::{cases, run};
use sortie_report::baseline::Baseline;
use sortie_report::{View, counted, write_human};
use sortie_run::events::EventLog;
use sortie_run::models::ModelSetup;
use sortie_run::wrap::UserServers;
use sortie_run::{
    Campaign, CampaignEnd, Config, Observer, Preview, Probing, RunLimits, RunPlace, RunRequest, Selected,
    SetupError, load_info, may_name_evaluators,
};
use tokio_util::sync::CancellationToken;

use crate::models::ModelArgs;
use crate::options::{parse_all, variable};
use crate::{Against, Console, Exit, Failure, ReportOutput, RunsFormat, SignalSender, Sources, block_on};
use arguments::{
    AgentArgs, CaseArgs, EndArgs, LibraryArgs, LimitArgs, OutputArgs, RepeatArgs, ServerArgs, TargetArgs,
};
use sortie_run::display::{Connecting, Detail, RunDisplay};

const EXAMPLES: &str = "\
Examples:
  Attack a practice agent that obeys everything, with one attack from the library:
    $ sortie run SRT-001 --agent builtin:gullible  # ends with 1: it gave in

  Attack your own agent. Sortie starts it and passes the server's address and the task:
    $ sortie run calculator.yaml --agent 'bash agent.sh {mcp_url} {prompt}' --prompt 'Add 40 and 2'

  Attack your coding agent with every attack that applies (`sortie agents list` shows the presets):
    sortie run --library --agent claude-code --env ANTHROPIC_API_KEY

  Look for path traversal in an MCP server:
    $ sortie run path-escape --target 'mcp=stdio:sh server.sh'";

const EXIT_CODES: &str = "\
Exit codes:
  0    every case resisted
  1    at least one case was exploited, wholly or in part
  2    wrong usage, or an invalid document; nothing was started
  3    nothing was exploited, but a case failed, was skipped or did not run, or none was decided
  130  interrupted

More: docs/run.md (agents, sortie.toml), docs/targets.md (servers and endpoints), docs/campaigns.md (repeats and gates)";

/// The examples come before the options: they are what most readers look for.
const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";

/// Attack an agent or a server, and report with evidence whether it gave in.
///
/// Sortie starts the hostile servers of a document, then your agent, and records every message. Evaluators attack one target, case by
/// case. If the attack never reached the agent, the case is an error, never a pass.
#[derive(Args, Debug)]
#[command(before_long_help = EXAMPLES, after_long_help = EXIT_CODES, help_template = TEMPLATE)]
pub(crate) struct Run {
    /// Documents (files, folders, library ids, or `-` for standard input) and ids of evaluators
    #[arg(required_unless_present_any = ["suite", "library"], value_name = "DOC")]
    documents: Vec<PathBuf>,

    #[command(flatten)]
    agent: AgentArgs,
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    library: LibraryArgs,
    #[command(flatten)]
    cases: CaseArgs,
    #[command(flatten)]
    repeats: RepeatArgs,

    /// Number of cases to run in parallel
    #[arg(long, help_heading = None, value_name = "N", default_value = "1")]
    jobs: NonZeroUsize,

    #[command(flatten)]
    output: OutputArgs,

    /// Show what would be served, sent and watched, and start nothing
    #[arg(long = "dry-run")]
    dry: bool,

    #[command(flatten)]
    servers: ServerArgs,
    #[command(flatten)]
    models: ModelArgs,
    #[command(flatten)]
    end: EndArgs,
    #[command(flatten)]
    against: Against,
    #[command(flatten)]
    limits: LimitArgs,

    /// Configuration file with named agents, targets and models. Default: `sortie.toml` in this folder
    #[arg(long, help_heading = "Configuration", value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Run {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        self.validate_flags()?;
        let config = Config::load(self.config.as_deref())?;
        let mut selected = self.select(&config, console)?;
        let models = self.models.request();
        if let Some(threshold) = models.threshold {
            selected = selected.with_semantic_threshold(threshold)?;
        }
        if self.servers.stdio && (selected.documents.len() > 1 || selected.evaluators.is_some()) {
            return Err(Failure::new("`--stdio` serves one document"));
        }
        let interrupt = CancellationToken::new();
        let (with_servers, notes) = UserServers::load(&self.servers.with_servers)?;
        console.note_all(&notes);
        let request = self.request(models.resolve(&config)?, with_servers, &interrupt)?;
        let campaign = request.resolve(&config, selected)?;
        let baseline = self.against.load()?;
        self.play(campaign, baseline.as_ref(), &interrupt, console)
    }

    /// Refuses what contradicts itself, before anything is read.
    fn validate_flags(&self) -> Result<(), Failure> {
        if self.dry && !matches!(self.output.format, RunsFormat::Human | RunsFormat::Json) {
            return Err(Failure::new("`--dry-run` is shown to people or as JSON: nothing is tested"));
        }
        self.output.sarif.validate(self.output.format)?;
        if let Some(option) = self.library.filter.first().filter(|_| !self.library.library) {
            return Err(Failure::new(format!("`{option}` chooses among the documents of the library"))
                .help("add `--library`, which runs them"));
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

    fn select(&self, config: &Config, console: &mut Console) -> Result<Selected, Failure> {
        let (mut evaluators, mut values) = (None, sortie_evaluators::Values::new());
        if !self.cases.suite.is_empty() || may_name_evaluators(&self.documents) {
            let CaseArgs { folders, without_bundled, .. } = &self.cases;
            let sources = Sources::of(folders.clone(), *without_bundled, self.config.as_deref());
            evaluators = Some(sources.load(console)?);
            values = config.values(self.cases.profile.as_deref())?;
            for text in &self.cases.var {
                values.extend([variable(text)?]);
            }
        }
        let (selected, notes) = Selected::find(&self.documents, &self.cases.suite, evaluators, values)?;
        console.note_all(&notes);
        if !self.library.library {
            return Ok(selected);
        }
        Ok(selected.with_library(&self.library.filter.filter())?)
    }

    fn request(
        &self,
        models: ModelSetup,
        with_servers: UserServers,
        interrupt: &CancellationToken,
    ) -> Result<RunRequest, Failure> {
        let (servers, end, limits) = (&self.servers, &self.end, &self.limits);
        Ok(RunRequest {
            words: std::env::args().skip(1).collect(),
            agent: self.agent.agent.clone(),
            agent_model: self.agent.agent_model.clone(),
            env: self.agent.env.clone(),
            prompt_stdin: self.agent.prompt_stdin,
            listen: servers.listen.clone(),
            targets: parse_all("--target", &self.targets.target)?,
            headers: parse_all("--target-header", &self.targets.target_header)?,
            bearers: parse_all("--target-bearer", &self.targets.target_bearer)?,
            target_env: self.targets.target_env.clone(),
            wrap: parse_all("--wrap", &servers.wrap)?,
            with_servers,
            settings: self.cases.talk.settings()?,
            redact: parse_all("--redact", &self.output.redact)?,
            documents: run::RunOptions {
                prompt: self.agent.prompt.clone(),
                stdio: servers.stdio,
                wire: servers.wire.clone(),
                a2a_version: servers.a2a_version,
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
                workspace: self.agent.workspace,
                seed: self.agent.seed,
                max_trace_bytes: limits.trace_bytes,
                max_output_bytes: limits.output_bytes,
                limits: limits.of_peers(),
                interrupt: interrupt.clone(),
                ..run::RunOptions::default()
            },
            cases: cases::PlayOptions {
                settings: Settings {
                    limits: limits.of_peers(),
                    connect_timeout: self.targets.connect_timeout,
                    answer_timeout: self.cases.answer_timeout,
                    quiet: self.cases.talk.cmd_quiet,
                    a2a_version: servers.a2a_version,
                },
                fresh_server: self.targets.fresh_server,
                end: interrupt.clone(),
                ..cases::PlayOptions::default()
            },
            place: RunPlace {
                folder: self.output.run_dir.clone(),
                resume: self.output.resume.clone(),
                replay: models.request.replay.clone(),
            },
            limits: RunLimits { jobs: self.jobs.get(), rate: self.cases.rate },
            controls: self.output.controls.map(Into::into),
            control: self.output.control.clone(),
            probing: Probing {
                fixtures: self.cases.fixture.iter().map(|text| variable(text)).collect::<Result<_, _>>()?,
                exhaustive: self.cases.exhaustive,
                network_payloads: self.cases.allow_network_payloads,
                changed_since: self.cases.changed_since.clone(),
                beside: self.cases.beside.clone(),
            },
            sandbox: self.targets.sandbox,
            repeats: self.repeats.request(self.agent.seed),
            utility: self.repeats.utility.clone(),
            models,
        })
    }

    fn play(
        &self,
        campaign: Campaign,
        baseline: Option<&Baseline>,
        interrupt: &CancellationToken,
        console: &mut Console,
    ) -> Result<Exit, Failure> {
        let notes = console.notes();
        let stdio = self.servers.stdio;
        let sender = if stdio { SignalSender::StdioClient } else { SignalSender::at(notes.terminal) };
        if self.dry {
            let preview =
                block_on(None, interrupt, sender, async |abort| Box::pin(campaign.preview(abort)).await)?;
            return match preview {
                Ok(preview) => self.show(&preview, console),
                Err(error) => ended_early(error, console),
            };
        }
        let agent = match (&self.agent.agent, self.repeats.request(None)) {
            (None, _) => Connecting::ByItself,
            (Some(_), None) => Connecting::Started,
            (Some(_), Some(_)) => Connecting::StartedOften,
        };
        let display = RunDisplay::new(notes, self.output.detail(), agent);
        let events = self.output.events.as_deref().map(|path| {
            EventLog::create(path, display.clone()).map_err(|error| Failure::at(path, "write", &error))
        });
        let events = events.transpose()?;
        let observer: Arc<dyn Observer> = match &events {
            Some(events) => events.clone(),
            None => display.clone(),
        };
        let ended = block_on(None, interrupt, sender, async |abort| {
            Box::pin(campaign.play(observer.clone(), abort)).await
        })?;
        let left_out = display.finish();
        if let Some(error) = events.and_then(|events| events.lost()) {
            console.failure(&Failure::new(format!("`--events`: lines are missing: {error}")));
        }
        match ended {
            Ok(mut ended) => {
                let standing = self.judge(baseline, &mut ended);
                self.report(&ended, standing, left_out, console)
            }
            Err(error) => ended_early(error, console),
        }
    }

    fn show(&self, preview: &Preview, console: &mut Console) -> Result<Exit, Failure> {
        let mut text = Vec::new();
        match self.output.format {
            RunsFormat::Json => preview.write_json(&mut text)?,
            _ => preview.write_human(&mut text, console.color && self.output.out.is_none())?,
        }
        self.put(&text, console)?;
        Ok(Exit::Clean)
    }

    /// What the run counts as, in the light of a baseline where there is one.
    fn judge(&self, baseline: Option<&Baseline>, ended: &mut CampaignEnd) -> Standing {
        // A run that could not be kept has no digests, and says nothing about lines of a baseline.
        let digests = load_info(&ended.folder).map(|info| info.digests()).unwrap_or_default();
        self.against.judge(baseline, &mut ended.report, &digests, self.output.allow_skipped)
    }

    fn report(
        &self,
        ended: &CampaignEnd,
        standing: Standing,
        left_out: u64,
        console: &mut Console,
    ) -> Result<Exit, Failure> {
        for (id, why) in &ended.failures {
            console.failure(&Failure::new(format!("{id}: {why}")));
        }
        if left_out > 0 {
            console.note(&format!("{left_out} lines were not shown; the trace has them"));
        }
        let report = &ended.report;
        if ended.interrupted && !report.unfinished.is_empty() {
            console.note(&counted(
                report.unfinished.len(),
                "case was not run to its end",
                "cases were not run to their end",
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
        let color = console.color && self.output.out.is_none() && !self.servers.stdio;
        let view = View { color, allow_skipped: self.output.allow_skipped, live: true };
        let exit = if ended.interrupted {
            Exit::Interrupted
        } else if ended.failures.is_empty() {
            standing.into()
        } else {
            Exit::Invalid
        };
        let told = self.written(ended, view, exit, console);
        for loss in &ended.losses {
            console.failure(&Failure::new(format!("not kept: {loss}")));
        }
        let kept = if ended.losses.is_empty() { "kept in" } else { "what could be kept is in" };
        if self.output.detail() != Detail::Quiet {
            if let Some(note) = self.models.calibration_note(report.models.as_ref()) {
                console.note(&note);
            }
            console.note(&format!("{kept} {}", ended.folder.display()));
        }
        match told {
            Err(failure) if self.output.out.is_some() => {
                // The verdict is not to be lost with the file.
                console.failure(&failure);
                write_human(&mut io::stderr(), report, View { color: false, ..view })?;
                Ok(exit.max(Exit::Undecided))
            }
            told => told.map(|()| exit),
        }
    }

    /// Writes the report in its format.
    fn written(
        &self,
        ended: &CampaignEnd,
        view: View,
        exit: Exit,
        console: &mut Console,
    ) -> Result<(), Failure> {
        let CaseArgs { folders, without_bundled, .. } = &self.cases;
        let sources = Sources::of(folders.clone(), *without_bundled, self.config.as_deref());
        let output = ReportOutput {
            format: self.output.format,
            out: self.output.out.as_deref(),
            sarif: &self.output.sarif,
            evaluators: sources.asked()?,
            run: Some(&ended.folder),
            traces: &[],
            beside: &[],
        };
        self.put(&output.text(&ended.report, view, exit, console)?, console)
    }

    /// With `--stdio`, standard output belongs to the protocol.
    fn put(&self, text: &[u8], console: &mut Console) -> Result<(), Failure> {
        if self.servers.stdio && self.output.out.is_none() {
            return Ok(io::stderr().write_all(text)?);
        }
        console.put(text, self.output.out.as_deref())
    }
}

/// The user did not even want to wait for a report; anything else is a failure.
pub(super) fn ended_early(error: SetupError, console: &mut Console) -> Result<Exit, Failure> {
    if !matches!(error, SetupError::Aborted | SetupError::CasesAborted(_)) {
        return Err(error.into());
    }
    console.failure(&error.into());
    Ok(Exit::Interrupted)
}
