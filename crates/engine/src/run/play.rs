//! One run, from its first record to its last.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sortie_detect::{Detector, Outcome, Place, replay};
use sortie_oatf::canary::{self, CanaryValues};
use sortie_oatf::{Compiled, serialize};
use sortie_trace::{ActorFailure, Header, StopReason, TraceError, TracedDocument};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::actor_set::{ActorSet, Finished};
use super::agent::{Process, RunLog};
use super::command;
use super::folder::{DOCUMENT, Folder, PROMPT, TRACE};
use super::options::{AgentPlace, RunError, RunOptions, Semantic};
use super::workspace::{self, Workspace};
use crate::context::{Context, Extracted};
use crate::recorder::{Recorder, Watcher};
use crate::synthesis;

const WRITTEN_BY: &str = concat!("sortie ", env!("CARGO_PKG_VERSION"));

/// How long the agent may take to end by itself, and then when it is asked to.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long actors may take to say goodbye.
const CLOSING: Duration = Duration::from_secs(2);

/// How soon silence is looked at again when an actor is busy, or not yet where it could be the end.
const LOOK: Duration = Duration::from_millis(100);

/// A document that is to be played, and where.
#[derive(Clone, Debug)]
pub struct DocumentRun {
    /// The document.
    pub document: Arc<Compiled>,
    /// Where it was read from, for people.
    pub file: String,
    /// Where everything is written.
    pub folder: Folder,
}

/// Plays a document, and says what became of it. Once it has begun, whatever goes wrong is in what it gives: as a failure
/// of the run, or as a warning.
///
/// When the future is dropped, the agent is killed with its children, listeners close, and the trace ends where it is.
pub async fn run(
    mut case: DocumentRun,
    mut options: RunOptions,
    watcher: Arc<dyn Watcher>,
) -> Result<Outcome, RunError> {
    options.check(&case.document)?;
    options.wire = options.revision(&case.document);
    let end = CancellationToken::new();
    let _end_on_drop = end.clone().drop_guard();
    let canaries = workspace::canaries(&case.document, &options);
    case.document = Arc::new(canary::resolve(&case.document, &canaries));
    let recorder = Arc::new(begin(&case, &options, &canaries, watcher)?);
    let context = Context {
        recorder: recorder.clone(),
        extracted: Arc::new(Extracted::default()),
        end,
        generator: options.generator.clone(),
    };
    let actors = ActorSet::new(&case.document, &options, &context);
    let mut stage = RunState { case: &case, options: &options, canaries, context, actors, agent: None };
    let ending = stage.play().await;
    stage.close(ending).await;
    let trace = Some(case.folder.trace().to_string_lossy().into_owned());
    let place = Place { document: case.file.clone(), trace };
    let scored = scored(&case, &options, &recorder).await;
    let outcome = recorder.run(place, scored.as_ref());
    // `begin` gave it a detector.
    Ok(outcome.unwrap_or_else(|| unreachable!("the recorder of a document decides")))
}

/// Writes the first line of the trace, so that there is one whatever comes.
fn begin(
    case: &DocumentRun,
    options: &RunOptions,
    canaries: &CanaryValues,
    watcher: Arc<dyn Watcher>,
) -> Result<Recorder, RunError> {
    let attack = &case.document.document().attack;
    let mut header = Header::run(WRITTEN_BY, SystemTime::now());
    header.canaries.clone_from(canaries);
    header.document =
        Some(TracedDocument { file: case.file.clone(), id: attack.id.clone(), name: attack.name.clone() });
    header.control = options.control;
    let document = serialize(case.document.document());
    if options.redactor.text(&document) == document {
        // Whoever kills the run finds what the trace is to be evaluated with, whatever became of the file.
        case.folder.write(DOCUMENT, &document)?;
    }
    let trace = case.folder.file(TRACE)?;
    let log = case.folder.file("run.log")?;
    let watcher = Arc::new(RunLog::new(log, options.redactor.clone(), watcher));
    let detector = Detector::new(case.document.clone()).lenient(options.lenient);
    let recorder = Recorder::begin(
        Box::new(trace),
        header,
        options.redactor.clone(),
        options.max_trace_bytes,
        detector,
        watcher,
    )?;
    if case.document.indicators().is_empty() {
        recorder
            .warn("the document has no indicators: this run only simulates, and says nothing about an agent");
    }
    if options.generator.is_none() {
        for warning in synthesis::warnings(attack) {
            recorder.warn(warning);
        }
    }
    Ok(recorder)
}

/// Why a run ended; for a failure with what no record says.
struct Ending(StopReason, Option<String>);

fn failed(message: impl Into<String>) -> Ending {
    Ending(StopReason::Failure, Some(message.into()))
}

struct RunState<'r> {
    case: &'r DocumentRun,
    options: &'r RunOptions,
    canaries: CanaryValues,
    context: Context,
    actors: ActorSet,
    agent: Option<Process>,
}

impl RunState<'_> {
    /// Everything until it is time to close.
    async fn play(&mut self) -> Ending {
        if let Err(ending) = self.start().await {
            // Nothing has been said, so nothing can follow from it.
            return ending;
        }
        let ending = self.until_over().await;
        if self.is_graceful(&ending) {
            return self.grace(ending).await;
        }
        ending
    }

    /// Servers, then the agent, then clients.
    async fn start(&mut self) -> Result<(), Ending> {
        if self.actors.is_empty() {
            return Err(failed("no actor of the document has a supported mode, so there is nothing to run"));
        }
        let mut addresses = tokio::select! {
            biased;
            () = self.options.interrupt.cancelled() => return Err(Ending(StopReason::Interrupted, None)),
            addresses = self.actors.serve(self.options) => addresses.map_err(|()| Ending(StopReason::Failure, None))?,
        };
        addresses.mcp_config = absolute(&self.case.folder.mcp_config());
        if !self.options.stdio {
            let config = format!("{:#}\n", addresses.mcp_json());
            self.case.folder.write("mcp.json", &config).map_err(|error| failed(error.to_string()))?;
        }
        if let Some(agent) = &self.options.agent {
            let prompt = self.options.prompt(&self.case.document);
            if command::wants_prompt_file(&agent.command) {
                let file = self.case.folder.write(PROMPT, prompt.unwrap_or_default());
                file.map_err(|error| failed(error.to_string()))?;
                addresses.prompt_file = absolute(&self.case.folder.path().join(PROMPT));
            }
            let folder = PathBuf::from(absolute(&Folder::agent_in(self.case.folder.path())));
            addresses.agent_folder = agent.setup.as_ref().map(|_| folder.to_string_lossy().into_owned());
            let command = command::fill(&agent.command, &addresses, prompt);
            let command = command.map_err(|error| failed(error.to_string()))?;
            let input = prompt.filter(|_| agent.prompt_stdin);
            let mut env = agent.env.clone();
            let workspace = self.workspace().map_err(|error| failed(error.to_string()))?;
            if let Some(workspace) = &workspace {
                env = workspace::environment(&env, workspace.variables(&self.canaries));
            }
            if let Some(setup) = &agent.setup {
                let home = workspace.as_ref().map(Workspace::path);
                let place = AgentPlace { folder: &folder, home, servers: addresses.mcp_servers() };
                let variables = setup.prepare(&place);
                env.extend(
                    variables.map_err(|error| failed(format!("the agent cannot be configured: {error}")))?,
                );
            }
            env.extend(addresses.env());
            let attempt = self.options.attempt.map(|attempt| attempt.to_string());
            env.extend(attempt.map(|attempt| ("SORTIE_ATTEMPT".to_owned(), attempt)));
            let workspace = workspace.as_ref().map(Workspace::path);
            let started = Process::start(&command, &env, input, workspace, &self.case.folder, self.options);
            self.agent = Some(started.map_err(|error| failed(error.to_string()))?);
        }
        self.actors.play(self.options);
        Ok(())
    }

    /// Plants the workspace, where one is wanted.
    fn workspace(&self) -> Result<Option<Workspace>, RunError> {
        if !self.options.workspace {
            return Ok(None);
        }
        let path = Folder::workspace_in(self.case.folder.path());
        let planted = Workspace::plant(path.clone(), &self.canaries);
        planted.map(Some).map_err(|source| RunError::Folder { path, source })
    }

    /// Waits for the first reason to end.
    async fn until_over(&mut self) -> Ending {
        let limit = Instant::now() + self.options.max_duration;
        let idle = self.idle();
        let mut pulse = self.context.recorder.pulse();
        let mut look = Instant::now();
        loop {
            let now = pulse.borrow_and_update().clone();
            if let Some(broken) = now.broken {
                return failed(broken);
            }
            if now.failed {
                return Ending(StopReason::Failure, None);
            }
            if now.exploited && self.options.stop_on_match {
                return Ending(StopReason::Match, None);
            }
            if self.actors.is_through() {
                return Ending(StopReason::Idle, None);
            }
            // Silence before anyone has spoken is not the end of anything.
            let silent_until =
                idle.filter(|_| now.heard).map(|idle| Instant::from_std(now.last_message) + idle);
            if silent_until.is_some_and(|until| until <= Instant::now()) {
                if self.actors.could_be_over() {
                    return Ending(StopReason::Idle, None);
                }
                look = Instant::now() + LOOK;
            }
            let wake = silent_until.map_or(limit, |until| until.max(look).min(limit));
            tokio::select! {
                biased;
                () = self.options.interrupt.cancelled() => return Ending(self.signalled(), None),
                _ = pulse.changed() => {}
                status = exited(&mut self.agent) => {
                    self.agent_exited(status);
                    return Ending(StopReason::AgentExit, None);
                }
                finished = self.actors.finished() => match finished {
                    Finished::Server if self.options.stdio => return Ending(StopReason::AgentExit, None),
                    Finished::Server => {
                        return failed("a listener closed although the run goes on; this is a bug of Sortie");
                    }
                    Finished::Client | Finished::Panicked => {}
                },
                () = sleep_until(wake) => if Instant::now() >= limit {
                    return Ending(StopReason::MaxDuration, None);
                },
            }
        }
    }

    /// What it means that we were asked to end. Clients that start their servers end them so when they are done.
    fn signalled(&self) -> StopReason {
        if self.options.stdio { StopReason::AgentExit } else { StopReason::Interrupted }
    }

    /// How long silence may last; `None` when only the agent's exit says that it is done.
    fn idle(&self) -> Option<Duration> {
        let exits = self.options.agent.is_some() && !self.actors.has_clients();
        self.options.idle.or_else(|| (!exits).then_some(RunOptions::IDLE))
    }

    /// Delayed effects are waited for, where there could be any.
    fn is_graceful(&self, Ending(reason, message): &Ending) -> bool {
        match reason {
            StopReason::Idle | StopReason::MaxDuration => true,
            // The one connection that there can be is closed.
            StopReason::AgentExit => !self.options.stdio,
            // With a trace that nobody writes, nothing can be seen.
            StopReason::Failure => message.is_none(),
            _ => false,
        }
    }

    /// Servers serve on, and clients listen. A user who does not wait for that changes nothing about why the run ended.
    async fn grace(&mut self, ending: Ending) -> Ending {
        let until = Instant::now() + self.options.grace(&self.case.document);
        let mut pulse = self.context.recorder.pulse();
        loop {
            let now = pulse.borrow_and_update().clone();
            if let Some(broken) = now.broken {
                return failed(broken);
            }
            if now.exploited && self.options.stop_on_match {
                return ending;
            }
            tokio::select! {
                biased;
                () = self.options.interrupt.cancelled() => return ending,
                () = sleep_until(until) => return ending,
                _ = pulse.changed() => {}
                status = exited(&mut self.agent) => self.agent_exited(status),
                _ = self.actors.finished() => {}
            }
        }
    }

    /// The agent ended by itself. A client that it has never answered was refused, even if it ended well: otherwise
    /// its silence would look like resistance. When it ended badly, that is what is to be told.
    fn agent_exited(&mut self, status: std::io::Result<ExitStatus>) {
        let status = status.ok();
        #[cfg(unix)]
        let signal = status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status));
        #[cfg(not(unix))]
        let signal = None;
        self.context.recorder.agent_exit(status.and_then(|status| status.code()), signal);
        if status.is_some_and(|status| status.success()) {
            for actor in self.actors.unheard() {
                actor.failed(ActorFailure::TargetRefused, "the agent ended before it accepted a connection");
            }
        }
    }

    /// Closes everything, and only then writes the last record: nothing comes after it.
    async fn close(mut self, Ending(reason, message): Ending) {
        self.context.end.cancel();
        let agent = async {
            if let Some(agent) = &mut self.agent {
                agent.end(PATIENCE).await;
            }
        };
        let _ = tokio::join!(agent, timeout(CLOSING, self.actors.closed()));
        drop(self.actors);
        if let Some(answer) = self.agent.as_ref().and_then(Process::answer) {
            self.context.recorder.agent_answer(&answer);
        }
        self.context.recorder.stopped(reason, message.as_deref());
    }
}

/// Waits until the agent has ended. Never, when there is none.
async fn exited(agent: &mut Option<Process>) -> std::io::Result<ExitStatus> {
    match agent {
        Some(agent) => agent.exited().await,
        None => std::future::pending().await,
    }
}

/// The agent may change its folder, so a path that it is told starts at the root.
fn absolute(path: &std::path::Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}

/// Evaluates the trace of a run that is over once more, with an engine for semantic indicators; `None` where there is none, or
/// nothing for it to score.
///
/// Not while the run goes on: a model takes seconds for an answer, and a message that waits for a verdict about it is not the
/// wire of the specification. What the trace says is what was said, so the verdict is the one it would have been.
async fn scored(case: &DocumentRun, options: &RunOptions, recorder: &Recorder) -> Option<Detector> {
    let Semantic(engine) = options.semantic.clone()?;
    let mut indicators = case.document.document().attack.indicators.iter().flatten();
    if !indicators.any(|indicator| indicator.semantic.is_some()) {
        return None;
    }
    let detector = Detector::new(case.document.clone()).lenient(options.lenient).with_semantic(engine);
    let path = case.folder.trace();
    let scoring = tokio::task::spawn_blocking(move || {
        let mut detectors = [detector];
        let trace = File::open(path).map_err(|source| TraceError::Io { line: 1, source })?;
        replay(BufReader::new(trace), &mut detectors)?;
        let [detector] = detectors;
        Ok::<_, TraceError>(detector)
    });
    let why = tokio::select! {
        biased;
        () = options.interrupt.cancelled() => "the run was interrupted".to_owned(),
        scored = scoring => match scored {
            Ok(Ok(detector)) => return Some(detector),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        },
    };
    recorder.warn(format!("semantic indicators were not evaluated: {why}"));
    None
}
