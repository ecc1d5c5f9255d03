//! One case, from its first message to what comes of it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use sortie_evaluators::{Values, Verdict};
use sortie_trace::{Header, MAX_TRACE_BYTES, Redactor, StopReason, Transcriber, Transcript};

use super::case::{Case, Play};
use super::decision::{Attacker, Decided, Judge, Undecided, decide};
use super::discovery::{DISCOVERY, Discovery, check_target};
use super::ids::case_folder;
use super::options::Options;
use super::recorded::{CaseTrace, filled_of, traced};
use super::result::{CaseResult, CaseVerdict, DecidedBy};
use super::shape::filled;
use crate::targets::{Channel, Session, Sessions, Target, TargetError};

/// Plays cases against one target. All that they share is here: connections, what the target offers, how it is approached.
pub struct Player {
    target: Target,
    sessions: Sessions,
    discovery: Discovery,
    folder: PathBuf,
    options: Options,
}

/// Why a case came to no end. It was not played, then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// The user does not want to wait.
    Interrupted,
    /// A budget is used up: no other is to begin.
    Stop(String),
}

impl Player {
    /// Cases are played against this target, and their traces are kept in this folder.
    pub fn new(target: &Target, discovery: &Discovery, folder: &Path, options: Options) -> Self {
        Self {
            target: target.clone(),
            sessions: Sessions::new(target, options.settings, options.fresh_server),
            discovery: discovery.clone(),
            folder: folder.to_owned(),
            options,
        }
    }

    /// Keeps what the target said about itself in the folder of the run.
    pub fn keep_discovery(&self) -> std::io::Result<()> {
        self.discovery.keep(&self.folder.join(DISCOVERY))
    }

    /// Ends the connections that no case uses any more.
    pub async fn close(&self) {
        self.sessions.close().await;
    }

    /// Plays a case and decides it. Interrupted by the token of the options.
    pub async fn play(&self, case: &Case) -> Result<CaseResult, Unfinished> {
        let attacker = self.options.attacker.as_deref();
        let redactor = &self.options.redactor;
        let (case, written) = match self.until(filled(case, &self.discovery.offer, attacker)).await? {
            Ok((case, written)) => (case, written),
            Err(Undecided::Stop(why)) => return Err(Unfinished::Stop(why)),
            Err(Undecided::Error(why)) => {
                let decided = failed(format!("the attacker: {why}"));
                return Ok(result(case, Values::new(), decided, None, None, redactor));
            }
        };
        let mut header = self.target.header();
        header.case = traced(&case, &written, redactor);
        let values = header.case.as_ref().map(|case| case.values.clone()).unwrap_or_default();
        let written = header.case.as_ref().map(filled_of).unwrap_or_default();
        // What is decided by is what the trace says.
        let case = Case { values, ..case };
        let trace = format!("{}/trace.jsonl", case_folder(&case.id));
        let played = match &self.options.replay {
            Some(run) => self.repeat(&header, &run.join(&trace), &trace),
            None => self.record(&case, header, &trace).await?,
        };
        let (told, failure) = match played {
            Ok(played) => played,
            Err(error) => return Ok(result(&case, written, failed(error), None, None, redactor)),
        };
        let judge = self.options.judge.as_deref();
        let (decided, transcript) = self.until(conclude(&case, &told, failure, judge)).await??;
        Ok(result(&case, written, decided, transcript, Some(trace), redactor))
    }

    async fn until<T>(&self, work: impl Future<Output = T>) -> Result<T, Unfinished> {
        self.options.end.run_until_cancelled(work).await.ok_or(Unfinished::Interrupted)
    }

    /// Plays a case. Gives what was said, and why it could not be played to its end; or why there is no trace.
    async fn record(
        &self,
        case: &Case,
        header: Header,
        trace: &str,
    ) -> Result<Result<Exchange, String>, Unfinished> {
        let broken = |error: &dyn std::fmt::Display| format!("the trace cannot be written: {error}");
        let channel = match self.channel(&self.folder.join(trace), header) {
            Ok(channel) => channel,
            Err(error) => return Ok(Err(broken(&error))),
        };
        let recorder = channel.recorder();
        let mut session = None;
        let played = self.until(self.converse(case, &channel, &mut session)).await;
        match (session, &played) {
            (Some(session), Ok(Ok(()))) => self.sessions.give_back(session).await,
            // Whatever is wrong with it, no other case is to meet it.
            (Some(session), _) => session.conversation.close().await,
            (None, _) => {}
        }
        let failure = match &played {
            Ok(Err(Failure::Target(error))) => {
                channel.failed(error);
                Some(error.to_string())
            }
            Ok(Err(Failure::Attacker(Undecided::Error(error)))) => Some(format!("the attacker: {error}")),
            _ => None,
        };
        match &played {
            Ok(Ok(())) => recorder.stopped(StopReason::Idle, None),
            Ok(Err(Failure::Target(_))) => recorder.stopped(StopReason::Failure, None),
            Ok(Err(Failure::Attacker(Undecided::Error(_)))) => {
                recorder.stopped(StopReason::Failure, failure.as_deref());
            }
            Ok(Err(Failure::Attacker(Undecided::Stop(_)))) | Err(_) => {
                recorder.stopped(StopReason::Interrupted, None);
            }
        }
        if let Err(Failure::Attacker(Undecided::Stop(why))) = played? {
            return Err(Unfinished::Stop(why));
        }
        if let Some(error) = &recorder.pulse().borrow().broken {
            return Ok(Err(broken(error)));
        }
        Ok(Ok((recorder.transcriber().unwrap_or_default(), failure)))
    }

    /// Takes what a run has recorded of the same case, and keeps a copy.
    fn repeat(&self, header: &Header, recorded: &Path, trace: &str) -> Result<Exchange, String> {
        let id = header.case.as_ref().map(|case| case.id.as_str()).unwrap_or_default();
        let shown = recorded.display();
        let file = File::open(recorded)
            .map_err(|error| format!("not recorded: there is no trace of `{id}` (`{shown}`: {error})"))?;
        let found = CaseTrace::read(BufReader::new(file)).map_err(|error| format!("`{shown}`: {error}"))?;
        check_target(found.header.target.as_ref(), &self.target, &self.options.redactor)
            .map_err(|error| error.to_string())?;
        if header.case.as_ref().is_none_or(|case| case.id != found.case.id || case.play != found.case.play) {
            let other = if found.case.id == id { "other words" } else { &found.case.id };
            return Err(format!("not recorded: `{id}`; the trace `{shown}` is of {other}"));
        }
        let broken = |error: sortie_trace::WriteError| format!("the trace cannot be written: {error}");
        let mut again = found.header.clone();
        again.case.clone_from(&header.case);
        let channel = self.channel(&self.folder.join(trace), again).map_err(broken)?;
        // Its phase is there already.
        for record in found.records.iter().skip(1) {
            channel.recorder().repeat(record.clone()).map_err(broken)?;
        }
        Ok((channel.recorder().transcriber().unwrap_or_default(), found.failure))
    }

    async fn converse(
        &self,
        case: &Case,
        channel: &Channel,
        session: &mut Option<Session>,
    ) -> Result<(), Failure> {
        if let Play::Review { .. } = &case.play {
            // Nothing is said but what this run has said when it looked at the target.
            for record in self.discovery.records() {
                let written = channel.recorder().repeat(record.clone());
                written.map_err(|error| TargetError::Trace(error.to_string()))?;
            }
            return Ok(());
        }
        let conversation = &mut session.insert(self.sessions.open(channel).await?).conversation;
        match &case.play {
            Play::Call { tool, arguments } => conversation.call(tool, arguments).await?,
            Play::Seeds(seeds) => {
                for seed in seeds {
                    conversation.say(seed).await?;
                }
                let Some(attacker) = self.options.attacker.as_deref() else { return Ok(()) };
                while let Some(text) = self.next(case, channel, attacker).await? {
                    conversation.say(&text).await?;
                }
            }
            // The first says nothing, and the second was filled.
            Play::Review { .. } | Play::Unfilled { .. } => {}
        }
        Ok(())
    }

    /// What the attacker says next, until there were as many turns as there may be or the target has given in.
    async fn next(
        &self,
        case: &Case,
        channel: &Channel,
        attacker: &dyn Attacker,
    ) -> Result<Option<String>, Failure> {
        let told = channel.recorder().transcriber().unwrap_or_default();
        if told.turns().len() / 2 >= self.options.turns {
            return Ok(None);
        }
        let so_far =
            told.transcript().map_err(|error| Failure::Attacker(Undecided::Error(error.to_string())))?;
        if case.rubric.checks.decide(&so_far, &case.values).verdict == Verdict::Fail {
            // Whatever follows takes nothing from that.
            return Ok(None);
        }
        attacker.next(case, &self.discovery.offer, &so_far).await.map_err(Failure::Attacker)
    }

    fn channel(&self, path: &Path, header: Header) -> Result<Channel, sortie_trace::WriteError> {
        let mut options = OpenOptions::new();
        // What is there is of an attempt that did not come to its end.
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        if let Some(folder) = path.parent() {
            let mut builder = DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.recursive(true).create(folder)?;
        }
        let file = Box::new(options.open(path)?);
        let (redactor, watcher) = (self.options.redactor.clone(), self.options.watcher.clone());
        Channel::begin(file, header, self.target.kind(), redactor, MAX_TRACE_BYTES, watcher)
    }
}

impl std::fmt::Debug for Player {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Player").field("target", &self.target).finish_non_exhaustive()
    }
}

/// What was said, and why the case could not be played to its end.
type Exchange = (Transcriber, Option<String>);

/// Why a case could not be played to its end.
#[derive(Debug)]
enum Failure {
    Target(TargetError),
    Attacker(Undecided),
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        Self::Target(error)
    }
}

/// Decides a case by what was said in it, live and recorded alike.
pub(super) async fn conclude(
    case: &Case,
    told: &Transcriber,
    failure: Option<String>,
    judge: Option<&dyn Judge>,
) -> Result<(Decided, Option<Transcript>), Unfinished> {
    let transcript = told.transcript();
    let decided = match (failure, &transcript) {
        (None, Ok(transcript)) => decide(case, transcript, judge).await.map_err(Unfinished::Stop)?,
        (Some(failure), _) => failed(failure),
        (None, Err(error)) => failed(error.to_string()),
    };
    let transcript = transcript.ok().map(|transcript| kept(case, transcript, decided.by.as_ref()));
    Ok((decided, transcript))
}

/// What comes of a case, without what is to be hidden.
pub(super) fn result(
    case: &Case,
    filled: Values,
    decided: Decided,
    transcript: Option<Transcript>,
    trace: Option<String>,
    redactor: &Redactor,
) -> CaseResult {
    let redacted = |text: &str| redactor.text(text).into_owned();
    CaseResult {
        id: case.id.clone(),
        evaluator: case.rubric.evaluator.id.clone(),
        pattern: Some(case.pattern.clone()),
        tool: case.tool().map(redacted),
        filled: filled.into_iter().map(|(name, value)| (name, redacted(&value))).collect(),
        severity: case.rubric.evaluator.severity.as_str().to_owned(),
        verdict: decided.verdict,
        reason: redacted(&decided.reason),
        decided_by: decided.by.map(|by| shown(by, redactor)),
        check_errors: decided.check_errors.iter().map(|error| redacted(error)).collect(),
        transcript,
        trace,
    }
}

/// What decided, without what is to be hidden. Checks see nothing of that; what a model says is its own.
fn shown(by: DecidedBy, redactor: &Redactor) -> DecidedBy {
    let DecidedBy::Judge { opinion } = by else { return by };
    let text = opinion.to_string();
    // Redacted JSON stays JSON; should it not, nothing of it is shown.
    let opinion = serde_json::from_str(&redactor.json(&text)).unwrap_or_default();
    DecidedBy::Judge { opinion }
}

/// What is kept of a transcript: the list of tools is in the trace, unless the case is about it.
fn kept(case: &Case, transcript: Transcript, by: Option<&DecidedBy>) -> Transcript {
    let about_tools = match by {
        Some(DecidedBy::Check { path, .. }) => path.starts_with("tools") || path.starts_with("server"),
        _ => false,
    };
    if about_tools || matches!(case.play, Play::Review { .. }) {
        return transcript;
    }
    // It is shorter than what was within the limits.
    Transcript::new(transcript.turns().to_vec()).unwrap_or(transcript)
}

pub(super) fn failed(reason: String) -> Decided {
    Decided { verdict: CaseVerdict::Error, reason, by: None, check_errors: Vec::new() }
}
