//! One case, from its first message to what comes of it.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;

use sortie_evaluators::{Values, Verdict};
use sortie_trace::{MAX_TRACE_BYTES, Redactor, StopReason};
use sortie_trace::{Transcript, Turn};

use super::case::{Case, Play};
use super::deciding::{Attacker, Decided, Undecided, decide};
use super::filling::filled;
use super::naming::file_name;
use super::result::{CaseResult, CaseVerdict, DecidedBy};
use super::run::Options;
use super::talk::Talk;
use super::tape::Said;
use crate::targets::{Log, Offer, Target, TargetError};

/// The folder of the traces, in that of the run.
pub(super) const TRACES: &str = "traces";

/// What all cases of a run share.
pub(super) struct Stage {
    pub(super) target: Target,
    /// What conversations share, where the target is at a URL.
    pub(super) client: Option<sortie_wire::http::Client>,
    pub(super) offer: Arc<Offer>,
    pub(super) folder: std::path::PathBuf,
    pub(super) options: Options,
}

/// Why a case came to no end. It was not played, then.
#[derive(Debug)]
pub(super) enum Cut {
    /// The user does not want to wait.
    Interrupted,
    /// A budget is used up: no other is to begin.
    Stop(String),
}

impl Stage {
    /// Plays a case and decides it.
    pub(super) async fn play(&self, case: &Case) -> Result<CaseResult, Cut> {
        let attacker = self.options.attacker.as_deref();
        let (case, written) = match self.until(filled(case, &self.offer, attacker)).await? {
            Ok((case, written)) => (case, written),
            Err(Undecided::Stop(why)) => return Err(Cut::Stop(why)),
            Err(Undecided::Error(why)) => {
                let decided = failed(format!("the attacker: {why}"));
                return Ok(self.result(case, Values::new(), decided, None, None));
            }
        };
        let trace = match case.play {
            Play::Review { .. } => None,
            _ => Some(format!("{TRACES}/{}", file_name(&case.id))),
        };
        let mut turns = Vec::new();
        let played = self.turns(&case, trace.as_deref(), &mut turns).await?;
        let transcript = self.transcript(turns);
        let decided = match (played, &transcript) {
            (Ok(()), Ok(transcript)) => {
                let judge = self.options.judge.as_deref();
                self.until(decide(&case, transcript, judge)).await?.map_err(Cut::Stop)?
            }
            (Err(error), _) => failed(error),
            (Ok(()), Err(error)) => failed(error.clone()),
        };
        let transcript = transcript.ok().map(|transcript| kept(&case, transcript, decided.by.as_ref()));
        Ok(self.result(&case, written, decided, transcript, trace))
    }

    fn result(
        &self,
        case: &Case,
        filled: Values,
        decided: Decided,
        transcript: Option<Transcript>,
        trace: Option<String>,
    ) -> CaseResult {
        let redacted = |text: &str| self.options.redactor.text(text).into_owned();
        CaseResult {
            id: case.id.clone(),
            evaluator: case.rubric.evaluator.id.clone(),
            pattern: Some(case.pattern.clone()),
            tool: case.tool().map(redacted),
            filled: filled.into_iter().map(|(name, value)| (name, redacted(&value))).collect(),
            severity: case.rubric.evaluator.severity.as_str().to_owned(),
            verdict: decided.verdict,
            reason: redacted(&decided.reason),
            decided_by: decided.by.map(|by| self.shown(by)),
            check_errors: decided.check_errors.iter().map(|error| redacted(error)).collect(),
            transcript,
            trace,
        }
    }

    /// What decided, without what is to be hidden. Checks see nothing of that; what a model says is its own.
    fn shown(&self, by: DecidedBy) -> DecidedBy {
        let DecidedBy::Judge { opinion } = by else { return by };
        let text = opinion.to_string();
        // Redacted JSON stays JSON; should it not, nothing of it is shown.
        let opinion = serde_json::from_str(&self.options.redactor.json(&text)).unwrap_or_default();
        DecidedBy::Judge { opinion }
    }

    async fn until<T>(&self, work: impl Future<Output = T>) -> Result<T, Cut> {
        self.options.end.run_until_cancelled(work).await.ok_or(Cut::Interrupted)
    }

    /// Says what is to be said, and keeps every turn even when a later one fails.
    async fn turns(
        &self,
        case: &Case,
        trace: Option<&str>,
        turns: &mut Vec<Turn>,
    ) -> Result<Result<(), String>, Cut> {
        let Some(trace) = trace else {
            if let Play::Review { text } = &case.play {
                turns.extend([Turn::attacker(text), Turn::target(self.offer.tool_list_json())]);
            }
            return Ok(Ok(()));
        };
        let log = match self.log(&self.folder.join(trace)) {
            Ok(log) => Arc::new(log),
            Err(error) => return Ok(Err(format!("the trace cannot be written: {error}"))),
        };
        let mut talk = Talk::new(self, &case.id, log.clone());
        let played = self.until(self.converse(case, &mut talk, turns)).await;
        // Also when it was interrupted.
        talk.close().await;
        if let Ok(Err(Failure::Target(error))) = &played {
            log.failed(error);
        }
        let ended = log.stopped(match &played {
            Ok(Ok(())) => StopReason::Idle,
            Ok(Err(Failure::Attacker(Undecided::Stop(_)))) | Err(_) => StopReason::Interrupted,
            Ok(Err(_)) => StopReason::Failure,
        });
        match played? {
            Ok(()) => Ok(ended.map_err(|error| error.to_string())),
            Err(Failure::Target(error)) => Ok(Err(error.to_string())),
            Err(Failure::Attacker(Undecided::Error(error))) => Ok(Err(format!("the attacker: {error}"))),
            Err(Failure::Attacker(Undecided::Stop(why))) => Err(Cut::Stop(why)),
        }
    }

    async fn converse(&self, case: &Case, talk: &mut Talk<'_>, turns: &mut Vec<Turn>) -> Result<(), Failure> {
        match &case.play {
            Play::Call { tool, arguments } => {
                talk.exchange(Said::Call { tool, arguments }, turns).await?;
            }
            Play::Seeds(seeds) => {
                for seed in seeds {
                    talk.exchange(Said::Text(seed), turns).await?;
                }
                if let Some(attacker) = &self.options.attacker {
                    self.go_on(case, talk, turns, attacker.as_ref()).await?;
                }
            }
            // The first says nothing, and the second was filled.
            Play::Review { .. } | Play::Unfilled { .. } => {}
        }
        Ok(())
    }

    /// Says what the attacker thinks of, until there were as many turns as there may be.
    async fn go_on(
        &self,
        case: &Case,
        talk: &mut Talk<'_>,
        turns: &mut Vec<Turn>,
        attacker: &dyn Attacker,
    ) -> Result<(), Failure> {
        while turns.len() / 2 < self.options.turns {
            let so_far = self.transcript(turns.clone());
            let so_far = so_far.map_err(|error| Failure::Attacker(Undecided::Error(error)))?;
            if case.rubric.checks.decide(&so_far, &case.values).verdict == Verdict::Fail {
                // It has given in: whatever follows takes nothing from that.
                return Ok(());
            }
            let next = attacker.next(case, &self.offer, &so_far).await.map_err(Failure::Attacker)?;
            let Some(text) = next else { return Ok(()) };
            talk.exchange(Said::Text(&text), turns).await?;
        }
        Ok(())
    }

    /// What checks and judges see: nothing that is to be hidden.
    fn transcript(&self, turns: Vec<Turn>) -> Result<Transcript, String> {
        let transcript = Transcript::new(turns)
            .and_then(|transcript| {
                transcript.with_discovered(self.offer.raw_tools(), self.offer.server.clone())
            })
            .map_err(|error| error.to_string())?;
        redacted(&self.options.redactor, transcript)
    }

    fn log(&self, path: &Path) -> Result<Log, sortie_trace::WriteError> {
        let mut options = OpenOptions::new();
        // What is there is of an attempt that did not come to its end.
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        let watcher = self.options.watcher.clone();
        let redactor = self.options.redactor.clone();
        let log = Log::begin(Box::new(file), self.target.kind(), redactor, MAX_TRACE_BYTES, watcher)?;
        let taped = self.options.tape.as_ref().is_some_and(|tape| !tape.replays());
        Ok(if taped { log.taped() } else { log })
    }
}

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

/// What is kept of a transcript: the list of tools once for all cases, unless this one is about it.
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

fn redacted(redactor: &Redactor, transcript: Transcript) -> Result<Transcript, String> {
    if redactor.is_empty() {
        return Ok(transcript);
    }
    let text = serde_json::to_string(&transcript).map_err(|error| error.to_string())?;
    serde_json::from_str(&redactor.json(&text))
        .map_err(|error| format!("what is left of the transcript after redaction is none: {error}"))
}
