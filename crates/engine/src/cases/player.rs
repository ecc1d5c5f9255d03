//! One case, from its first message to what comes of it.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use sortie_detect::{Failure, FailureKind, Fault, Outcome};
use sortie_evaluators::{LISTENER_NAMES, Values, Verdict};
use sortie_sandbox::{Sandbox, SandboxError};
use sortie_trace::{Header, MAX_TRACE_BYTES, Record, Redactor, StopReason};
use sortie_wire::http::ContactListener;
use tokio::sync::{OnceCell, RwLock};
use tokio_util::sync::CancellationToken;

use super::control::ControlCalls;
use super::decision::{AttackError, BudgetExhausted, CaseAttacker, CaseJudge, Exchange, failed, redact};
use super::discovery::{DISCOVERY, Discovery, check_target};
use super::recorded::{CaseTrace, attacker_failed, filled_of, traced};
use crate::recorder::Watcher;
use crate::run::{private_file, private_folder};
use crate::targets::{ACTOR, Channel, Conversation, Offer, Session, Sessions, Settings, Target, TargetError};
use sortie_evaluators::cases::{PatternCase, Play, Unplayable, attempt_folder};

/// Plays cases against one target. All that they share is here: connections, what the target offers, how it is approached.
pub struct Player {
    target: Target,
    sessions: Sessions,
    discovery: Discovery,
    folder: PathBuf,
    options: PlayOptions,
    /// Cases share it while they talk to the target; one whose times were disturbed has it alone while it measures again.
    quiet: RwLock<()>,
}

/// How often a series of calls is measured whose times say nothing.
const MOST_MEASUREMENTS: usize = 3;

/// How long a measurement waits for the other cases to be done.
const QUIET_WAIT: Duration = Duration::from_secs(10);

/// How cases are played.
#[derive(Clone)]
pub struct PlayOptions {
    /// How often the attacker speaks in a case, where there is one who can go on. 1.
    pub turns: usize,
    /// How the target is approached.
    pub settings: Settings,
    /// What is taken out of everything that is kept.
    pub redactor: Redactor,
    /// Decides what checks do not.
    pub judge: Option<Arc<dyn CaseJudge>>,
    /// Fills placeholders, and writes further turns.
    pub attacker: Option<Arc<dyn CaseAttacker>>,
    /// The folder of a run that is replayed: its traces are decided again, and the target is not asked.
    pub replay: Option<PathBuf>,
    /// Start a process that serves MCP anew for each case.
    pub fresh_server: bool,
    /// Where servers connect to that are made to; it listens from the first call that needs it.
    pub listener: Arc<OnceCell<ContactListener>>,
    /// Where the server is started, unless that is the host.
    pub sandbox: Option<Arc<Sandbox>>,
    /// Harmless calls of the tools that were made before. A server that was just started is prepared with those that made something.
    pub controls: Option<Arc<ControlCalls>>,
    /// Whether the target answered a control that was played before; `None` where none was.
    pub control: Option<bool>,
    /// Sees every record of every trace.
    pub watcher: Arc<dyn Watcher>,
    /// Cancelled when the user does not want to wait.
    pub end: CancellationToken,
}

impl Default for PlayOptions {
    fn default() -> Self {
        Self {
            turns: 1,
            settings: Settings::default(),
            redactor: Redactor::default(),
            judge: None,
            attacker: None,
            replay: None,
            fresh_server: false,
            listener: Arc::default(),
            sandbox: None,
            controls: None,
            control: None,
            watcher: Arc::new(()),
            end: CancellationToken::new(),
        }
    }
}

impl PlayOptions {
    /// Waits until the sandbox has reported what the server did. A server that is ended reports nothing more.
    pub(super) async fn settle(&self) -> Result<(), TargetError> {
        self.ask_sandbox(Sandbox::sync).await.map(Option::unwrap_or_default)
    }

    /// Asks the sandbox, where there is one. It waits on another thread.
    async fn ask_sandbox<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Sandbox) -> Result<T, SandboxError> + Send + 'static,
    ) -> Result<Option<T>, TargetError> {
        let Some(sandbox) = self.sandbox.clone() else { return Ok(None) };
        let failed = |error: &dyn std::fmt::Display| TargetError::Sandbox(error.to_string());
        let asked =
            tokio::task::spawn_blocking(move || ask(&sandbox)).await.map_err(|error| failed(&error))?;
        asked.map(Some).map_err(|error| failed(&error))
    }
}

/// Why a case came to no end. It was not played, then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlayError {
    /// The user does not want to wait.
    #[error("interrupted")]
    Interrupted,
    /// No other case is to begin.
    #[error(transparent)]
    Budget(#[from] BudgetExhausted),
}

impl Player {
    /// Cases are played against this target, and their traces are kept in this folder.
    pub fn new(target: &Target, discovery: &Discovery, folder: &Path, options: PlayOptions) -> Self {
        Self {
            target: target.clone(),
            sessions: Sessions::new(
                target,
                options.settings,
                options.fresh_server,
                options.controls.as_ref().map(|controls| controls.preparation.clone()).unwrap_or_default(),
            ),
            discovery: discovery.clone(),
            folder: folder.to_owned(),
            options,
            quiet: RwLock::default(),
        }
    }

    /// Keeps what the target said about itself in the folder of the run.
    pub fn keep_discovery(&self) -> std::io::Result<()> {
        self.discovery.keep(&self.folder.join(DISCOVERY))
    }

    /// Ends the connections that no case uses any more.
    pub async fn close(&self) {
        // The report of the run counts sandboxes that are late.
        let _ = self.options.settle().await;
        self.sessions.close().await;
    }

    /// Plays a case and decides it. Interrupted by the token of the options.
    pub async fn play(&self, case: &PatternCase) -> Result<Outcome, PlayError> {
        let redactor = &self.options.redactor;
        let unplayed = |case: &PatternCase, failure| {
            let mut outcome = failed(case, failure);
            redact(&mut outcome, redactor);
            outcome
        };
        let attacker = self.options.attacker.as_deref();
        let filling = async {
            let known = self.known(case).await?;
            filled(case, known, &self.discovery.offer, attacker).await
        };
        let mut case = match self.until(filling).await? {
            Ok(case) => case,
            Err(AttackError::Budget(exhausted)) => return Err(exhausted.into()),
            Err(error @ AttackError::Failed(_)) => {
                return Ok(unplayed(case, attacker_failed(error.to_string())));
            }
        };
        let mut header = self.target.header();
        header.case = traced(&case, redactor);
        header.control = self.options.control.filter(|_| case.control_failure.is_none());
        // What is decided by is what the trace says.
        case.values = header.case.as_ref().map(|case| case.values.clone()).unwrap_or_default();
        case.filled = header.case.as_ref().map(filled_of).unwrap_or_default();
        let trace = format!("{}/trace.jsonl", attempt_folder(&case.id, case.attempt));
        let played = match &self.options.replay {
            Some(run) => self.repeat(&header, &run.join(&trace), &trace),
            None => self.record(&case, header, &trace).await?,
        };
        let exchange = match played {
            Ok(exchange) => exchange,
            Err(failure) => return Ok(unplayed(&case, failure)),
        };
        let judge = self.options.judge.as_deref();
        let outcome = self.until(exchange.decide(&case, judge, redactor)).await??;
        let trace = Some(self.folder.join(trace).to_string_lossy().into_owned());
        Ok(Outcome { trace, ..outcome })
    }

    /// What is known for placeholders only now: where a listener of ours is, or was.
    async fn known(&self, case: &PatternCase) -> Result<Values, AttackError> {
        let mut known = Values::new();
        if let Play::Unfilled { missing, .. } = &case.play
            && missing.iter().any(|name| LISTENER_NAMES.contains(&name.as_str()))
        {
            let failed = |error: io::Error| AttackError::Failed(format!("there is no listener: {error}"));
            if let Some(run) = &self.options.replay {
                return recorded_listener(run, case).map_err(failed);
            }
            let listener =
                self.options.listener.get_or_try_init(ContactListener::start).await.map_err(failed)?;
            let address = listener.address();
            let values = [address.to_string(), address.port().to_string()];
            known.extend(LISTENER_NAMES.map(str::to_owned).into_iter().zip(values));
        }
        Ok(known)
    }

    async fn until<T>(&self, work: impl Future<Output = T>) -> Result<T, PlayError> {
        self.options.end.run_until_cancelled(work).await.ok_or(PlayError::Interrupted)
    }

    /// Plays a case. Gives what was said, or why there is no trace.
    async fn record(
        &self,
        case: &PatternCase,
        header: Header,
        trace: &str,
    ) -> Result<Result<Exchange, Failure>, PlayError> {
        let channel = match self.channel(&self.folder.join(trace), header) {
            Ok(channel) => channel,
            Err(error) => return Ok(Err(unwritten(&error))),
        };
        let recorder = channel.recorder();
        let mut session = None;
        let played = self.until(self.converse(case, &channel, &mut session)).await;
        match (session, &played) {
            (Some(session), Ok(Ok(()))) => self.sessions.give_back(session).await,
            // Whatever is wrong with it, no other case is to meet it.
            (Some(session), _) => {
                // What went wrong is told already.
                let _ = self.options.settle().await;
                session.conversation.close().await;
            }
            (None, _) => {}
        }
        let interrupted = |error: PlayError| {
            recorder.stopped(StopReason::Interrupted, None);
            Err(error)
        };
        let failure = match played {
            Ok(Ok(())) => {
                recorder.stopped(StopReason::Idle, None);
                None
            }
            Ok(Err(ConversationError::Target(error))) => {
                channel.failed(&error);
                recorder.stopped(StopReason::Failure, None);
                Some(Failure::of_actor(ACTOR, &error.failure(), error.to_string()))
            }
            Ok(Err(ConversationError::Attacker(AttackError::Budget(exhausted)))) => {
                return interrupted(exhausted.into());
            }
            Ok(Err(ConversationError::Attacker(error))) => {
                recorder.stopped(StopReason::Failure, Some(&error.to_string()));
                Some(attacker_failed(error.to_string()))
            }
            Err(error) => return interrupted(error),
        };
        if let Some(error) = &recorder.pulse().borrow().broken {
            return Ok(Err(unwritten(error)));
        }
        Ok(Ok(Exchange { told: recorder.transcriber().unwrap_or_default(), failure }))
    }

    /// Takes what a run has recorded of the same case, and keeps a copy.
    fn repeat(&self, header: &Header, recorded: &Path, trace: &str) -> Result<Exchange, Failure> {
        let missing = |message: String| Failure::new(FailureKind::NothingObserved, Fault::Harness, message);
        let id = header.case.as_ref().map(|case| case.id.as_str()).unwrap_or_default();
        let shown = recorded.display();
        let file = File::open(recorded).map_err(|error| {
            missing(format!("not recorded: there is no trace of `{id}` (`{shown}`: {error})"))
        })?;
        let found =
            CaseTrace::read(BufReader::new(file)).map_err(|error| missing(format!("`{shown}`: {error}")))?;
        check_target(found.header.target.as_ref(), &self.target, &self.options.redactor)
            .map_err(|error| missing(error.to_string()))?;
        if header.case.as_ref().is_none_or(|case| case.id != found.case.id || case.play != found.case.play) {
            let other = if found.case.id == id { "other words" } else { &found.case.id };
            return Err(missing(format!("not recorded: `{id}`; the trace `{shown}` is of {other}")));
        }
        let mut again = found.header.clone();
        again.case.clone_from(&header.case);
        let channel = self.channel(&self.folder.join(trace), again).map_err(|error| unwritten(&error))?;
        // Its phase is there already.
        for record in found.records.iter().skip(1) {
            channel.recorder().repeat(record.clone()).map_err(|error| unwritten(&error))?;
        }
        let told = channel.recorder().transcriber().unwrap_or_default();
        Ok(Exchange { told, ..found.exchange })
    }

    async fn converse(
        &self,
        case: &PatternCase,
        channel: &Channel,
        session: &mut Option<Session>,
    ) -> Result<(), ConversationError> {
        if let Play::Connection { headers } = &case.play {
            return Ok(self.connect(headers, channel).await?);
        }
        // Nothing is said but what this run has said when it looked at the target, or called a tool just like this.
        let controls = self.options.controls.as_ref();
        let said: Option<Vec<&Record>> = match &case.play {
            Play::Review { .. } => {
                let listings = controls.into_iter().flat_map(|controls| controls.listings());
                Some(listings.chain(&self.discovery.beside).collect())
            }
            Play::Call { tool, arguments } => {
                let exchange = controls.and_then(|controls| controls.exchange(tool, arguments));
                exchange.map(|records| records.iter().collect())
            }
            _ => None,
        };
        if let Some(exchange) = said {
            for record in self.discovery.records.iter().chain(exchange) {
                let written = channel.recorder().repeat(record.clone());
                written.map_err(|error| TargetError::Trace(error.to_string()))?;
            }
            return Ok(());
        }
        let shared = self.quiet.read().await;
        let conversation = &mut session.insert(self.sessions.open(channel).await?).conversation;
        self.attack(case, channel, conversation).await?;
        drop(shared);
        self.measure_again(case, channel, conversation).await?;
        match case.values.get("canary") {
            Some(canary) => self.record_effects(canary, channel).await,
            None => Ok(()),
        }
    }

    /// Records what the server did beside its answers, by the canary of the case: what it was made to do, it has done when it answers.
    async fn record_effects(&self, canary: &str, channel: &Channel) -> Result<(), ConversationError> {
        let contact = self.options.listener.get().and_then(|listener| listener.contact_with(canary));
        if let Some(head) = contact {
            channel.contacted(&head)?;
        }
        let canary = canary.to_owned();
        let seen = self.options.ask_sandbox(move |sandbox| sandbox.activity_mentioning(&canary)).await?;
        for activity in seen.unwrap_or_default() {
            channel.observed(&activity)?;
        }
        Ok(())
    }

    /// Opens a connection with these headers, and closes it. That the server refuses it is an answer.
    async fn connect(&self, headers: &Map<String, Value>, channel: &Channel) -> Result<(), TargetError> {
        match self.target.with_headers(headers).open(channel, &self.options.settings).await {
            Ok(conversation) => conversation.close().await,
            Err(TargetError::Status { status: 400..=499, .. } | TargetError::Refusal { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn attack(
        &self,
        case: &PatternCase,
        channel: &Channel,
        conversation: &mut Conversation,
    ) -> Result<(), ConversationError> {
        match &case.play {
            Play::Call { tool, arguments } => conversation.call(tool, arguments).await?,
            Play::Series { tool, calls } => conversation.call_each(tool, calls).await?,
            Play::Seeds(seeds) => {
                for seed in seeds {
                    conversation.say(seed).await?;
                }
                if let Some(attacker) = self.options.attacker.as_deref() {
                    while let Some(text) = self.next(case, channel, attacker).await? {
                        conversation.say(&text).await?;
                    }
                }
                conversation.finish().await?;
            }
            // Nothing is said in the first two, and the third was filled.
            Play::Review { .. } | Play::Connection { .. } | Play::Unfilled { .. } => {}
        }
        Ok(())
    }

    /// Makes the calls of a series again whose times say nothing, while no other case keeps the target busy.
    async fn measure_again(
        &self,
        case: &PatternCase,
        channel: &Channel,
        conversation: &mut Conversation,
    ) -> Result<(), ConversationError> {
        let Play::Series { tool, calls } = &case.play else { return Ok(()) };
        for _ in 1..MOST_MEASUREMENTS {
            let told = channel.recorder().transcriber().unwrap_or_default();
            // What is not a transcript is told when the case is decided.
            let Ok(so_far) = told.transcript() else { return Ok(()) };
            let decision = case.rubric.checks.decide(&so_far, &case.values);
            if decision.verdict == Verdict::Fail || decision.disturbed.is_none() {
                return Ok(());
            }
            // A case that hangs is not waited for.
            let _alone = tokio::time::timeout(QUIET_WAIT, self.quiet.write()).await;
            conversation.call_each(tool, calls).await?;
        }
        Ok(())
    }

    /// What the attacker says next, until there were as many turns as there may be or the target has given in.
    async fn next(
        &self,
        case: &PatternCase,
        channel: &Channel,
        attacker: &dyn CaseAttacker,
    ) -> Result<Option<String>, ConversationError> {
        let told = channel.recorder().transcriber().unwrap_or_default();
        if told.turns().len() / 2 >= self.options.turns {
            return Ok(None);
        }
        let so_far = told.transcript().map_err(|error| AttackError::Failed(error.to_string()))?;
        if case.rubric.checks.decide(&so_far, &case.values).verdict == Verdict::Fail {
            // Whatever follows takes nothing from that.
            return Ok(None);
        }
        Ok(attacker.next(case, &self.discovery.offer, &so_far).await?)
    }

    fn channel(&self, path: &Path, header: Header) -> Result<Channel, sortie_trace::WriteError> {
        if let Some(folder) = path.parent() {
            private_folder().recursive(true).create(folder)?;
        }
        // What is there is of an attempt that did not come to its end.
        let file = Box::new(private_file().create(true).truncate(true).open(path)?);
        let (redactor, watcher) = (self.options.redactor.clone(), self.options.watcher.clone());
        Channel::begin(file, header, self.target.kind(), redactor, MAX_TRACE_BYTES, watcher)
    }
}

fn unwritten(error: &dyn std::fmt::Display) -> Failure {
    let message = format!("the trace cannot be written: {error}");
    Failure::new(FailureKind::ActorFailed, Fault::Harness, message)
}

#[derive(Debug, thiserror::Error)]
enum ConversationError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Attacker(#[from] AttackError),
}

/// Where the listener of a case was, by its trace.
fn recorded_listener(run: &Path, case: &PatternCase) -> io::Result<Values> {
    let trace = run.join(attempt_folder(&case.id, case.attempt)).join("trace.jsonl");
    let read = CaseTrace::read(BufReader::new(File::open(trace)?)).map_err(io::Error::other)?;
    let is_listener = |(name, _): &(String, String)| LISTENER_NAMES.contains(&name.as_str());
    Ok(read.case.values.into_iter().filter(is_listener).collect())
}

/// The case with what is known and what the attacker fills in; the case as it is where nothing is missing.
async fn filled(
    case: &PatternCase,
    known: Values,
    offer: &Offer,
    attacker: Option<&dyn CaseAttacker>,
) -> Result<PatternCase, AttackError> {
    let Play::Unfilled { shape, missing } = &case.play else { return Ok(case.clone()) };
    let mut case = case.clone();
    case.values.extend(known.clone());
    let missing: Vec<String> = missing.iter().filter(|name| !known.contains_key(*name)).cloned().collect();
    let written = match attacker {
        _ if missing.is_empty() => Values::new(),
        Some(attacker) => attacker.fill(&case, offer, &missing).await?,
        None => return Err(AttackError::Failed("there is none to fill placeholders".to_owned())),
    };
    if let Some(name) = missing.iter().find(|name| !written.contains_key(*name)) {
        return Err(AttackError::Failed(format!("it does not fill `{{{{{name}}}}}`")));
    }
    // It has no say in what others have said.
    let filled: Values = written.into_iter().filter(|(name, _)| missing.contains(name)).collect();
    let mut values = case.values.clone();
    values.extend(filled.clone());
    let play = shape.play_against(&case.template, &values, offer).map_err(|why| {
        AttackError::Failed(match why {
            Unplayable::Unfilled(unfilled) => unfilled.to_string(),
            Unplayable::Invalid(why) => format!("what it wrote cannot be sent: {why}"),
        })
    })?;
    Ok(PatternCase { play, values, filled, ..case })
}
