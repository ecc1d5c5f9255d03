//! One case, from its first message to what comes of it.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;

use sortie_evaluators::{Transcript, Turn};
use sortie_trace::{MAX_TRACE_BYTES, Redactor};

use super::case::{Case, Play};
use super::deciding::{Attacker, Decided, decide};
use super::naming::file_name;
use super::result::{CaseResult, CaseVerdict, DecidedBy};
use super::run::Options;
use crate::targets::{Conversation, Log, Offer, Target, TargetError};

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

impl Stage {
    /// Plays a case and decides it. `None` when the run was interrupted meanwhile: then it was not played.
    pub(super) async fn play(&self, case: &Case) -> Option<CaseResult> {
        let trace = match case.play {
            Play::Review { .. } => None,
            _ => Some(format!("{TRACES}/{}", file_name(&case.id))),
        };
        let mut turns = Vec::new();
        let played = self.turns(case, trace.as_deref(), &mut turns).await?;
        let transcript = self.transcript(turns);
        let decided = match (played, &transcript) {
            (Ok(()), Ok(transcript)) => {
                let judge = self.options.judge.as_deref();
                self.options.end.run_until_cancelled(decide(case, transcript, judge)).await?
            }
            (Err(error), _) => failed(error),
            (Ok(()), Err(error)) => failed(error.clone()),
        };
        let redactor = &self.options.redactor;
        let Decided { verdict, reason, by, check_errors } = decided;
        let transcript = transcript.ok().map(|transcript| kept(case, transcript, by.as_ref()));
        Some(CaseResult {
            id: case.id.clone(),
            evaluator: case.rubric.evaluator.id.clone(),
            pattern: Some(case.pattern.clone()),
            tool: case.tool().map(|tool| redactor.text(tool).into_owned()),
            severity: case.rubric.evaluator.severity.as_str().to_owned(),
            verdict,
            reason: redactor.text(&reason).into_owned(),
            decided_by: by,
            check_errors: check_errors.iter().map(|error| redactor.text(error).into_owned()).collect(),
            transcript,
            trace,
        })
    }

    /// Says what is to be said, and keeps every turn even when a later one fails. `None` when it was interrupted.
    async fn turns(
        &self,
        case: &Case,
        trace: Option<&str>,
        turns: &mut Vec<Turn>,
    ) -> Option<Result<(), String>> {
        let Some(trace) = trace else {
            if let Play::Review { text } = &case.play {
                turns.extend([Turn::attacker(text), Turn::target(self.offer.tool_list_json())]);
            }
            return Some(Ok(()));
        };
        let log = match self.log(&self.folder.join(trace)) {
            Ok(log) => Arc::new(log),
            Err(error) => return Some(Err(format!("the trace cannot be written: {error}"))),
        };
        let end = &self.options.end;
        let played = match end
            .run_until_cancelled(self.target.open_with(self.client.as_ref(), &log, &self.options.settings))
            .await
        {
            Some(Ok(mut conversation)) => {
                let played = end.run_until_cancelled(self.converse(case, &mut conversation, turns)).await;
                // Also when it was interrupted: what was started ends, and servers are told.
                conversation.close().await;
                played
            }
            Some(Err(error)) => Some(Err(Failure::Target(error))),
            None => None,
        };
        if let Some(Err(Failure::Target(error))) = &played {
            log.failed(error);
        }
        let ended = log.stopped(match &played {
            Some(Ok(())) => "idle",
            Some(Err(_)) => "failure",
            None => "interrupted",
        });
        Some(match played? {
            Ok(()) => ended.map_err(|error| error.to_string()),
            Err(failure) => Err(failure.to_string()),
        })
    }

    async fn converse(
        &self,
        case: &Case,
        conversation: &mut Conversation,
        turns: &mut Vec<Turn>,
    ) -> Result<(), Failure> {
        match &case.play {
            Play::Call { tool, arguments } => {
                turns.push(Turn::calling(tool, arguments.clone()));
                turns.push(conversation.call(tool, arguments).await?);
            }
            Play::Seeds(seeds) => {
                for seed in seeds {
                    turns.push(Turn::attacker(seed));
                    turns.push(conversation.say(seed).await?);
                }
                if let Some(attacker) = &self.options.attacker {
                    self.go_on(case, conversation, turns, attacker.as_ref()).await?;
                }
            }
            Play::Review { .. } => {}
        }
        Ok(())
    }

    /// Says what the attacker thinks of, until there were as many turns as there may be.
    async fn go_on(
        &self,
        case: &Case,
        conversation: &mut Conversation,
        turns: &mut Vec<Turn>,
        attacker: &dyn Attacker,
    ) -> Result<(), Failure> {
        while turns.len() / 2 < self.options.turns {
            let so_far = self.transcript(turns.clone()).map_err(Failure::Attacker)?;
            let next = attacker.next(case, &so_far).await.map_err(Failure::Attacker)?;
            let Some(text) = next else { return Ok(()) };
            turns.push(Turn::attacker(&text));
            turns.push(conversation.say(&text).await?);
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
        Log::begin(
            Box::new(file),
            self.target.kind(),
            self.options.redactor.clone(),
            MAX_TRACE_BYTES,
            watcher,
        )
    }
}

/// Why a case could not be played to its end.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("the attacker: {0}")]
    Attacker(String),
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
