//! The trace of a case of an evaluator: all that its verdict rests on.

use std::io::BufRead;
use std::sync::Arc;

use sortie_detect::{Failure, FailureKind, Fault, Outcome};
use sortie_evaluators::{Template, Values};
use sortie_trace::{
    Header, Record, Redactor, StopReason, Trace, TraceError, TracedCase, TracedPlay, Transcriber,
};

use super::decision::{BudgetExhausted, CaseJudge, Exchange};
use super::discovery::redacted;
use sortie_evaluators::cases::{CompiledEvaluator, PatternCase, Play};

/// A trace that is none of a case of an evaluator.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaseTraceError {
    /// It cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Its header names no case.
    #[error("the trace is of no case of an evaluator: its header has no `case`")]
    NoCase,
}

/// The trace of a case.
#[derive(Clone, Debug)]
pub struct CaseTrace {
    /// Which case, and how it was played.
    pub case: TracedCase,
    pub(super) header: Header,
    pub(super) records: Vec<Record>,
    pub(super) exchange: Exchange,
}

impl CaseTrace {
    /// Reads a trace.
    pub fn read(trace: impl BufRead) -> Result<Self, CaseTraceError> {
        let (header, records) = Trace::open(trace)?;
        let case = header.case.clone().ok_or(CaseTraceError::NoCase)?;
        let records = records.collect::<Result<Vec<_>, _>>()?;
        let mut told = Transcriber::new(&header);
        let cut_short = |message| Failure::new(FailureKind::CutShort, Fault::Harness, message);
        let mut failure = Some(cut_short("the trace was cut short: nothing says how the case ended"));
        let mut failed = None;
        for record in &records {
            match record {
                Record::Message(message) => told.observe(message),
                Record::ActorFailed(record) => {
                    failed = Some(Failure::of_actor(&record.actor, &record.failure, &record.message));
                }
                Record::Stopped(stopped) => {
                    failure = match (&stopped.because, &stopped.message) {
                        // No record says what happened to the attacker.
                        (StopReason::Failure, Some(message)) => Some(attacker_failed(message)),
                        (StopReason::Failure, None) => {
                            Some(Failure::new(FailureKind::ActorFailed, Fault::Harness, "the case failed"))
                        }
                        (StopReason::Interrupted, _) => Some(cut_short("the case was interrupted")),
                        _ => None,
                    };
                }
                _ => {}
            }
        }
        Ok(Self { case, header, records, exchange: Exchange { told, failure: failed.or(failure) } })
    }

    /// Gives the verdict again, by the checks of the evaluator and by what the judge says.
    ///
    /// `trace` is where it was read from.
    pub async fn decide(
        &self,
        rubric: Arc<CompiledEvaluator>,
        judge: Option<&dyn CaseJudge>,
        redactor: &Redactor,
        trace: Option<String>,
    ) -> Result<Outcome, BudgetExhausted> {
        let outcome = self.exchange.decide(&case_of(&self.case, rubric), judge, redactor).await?;
        Ok(Outcome { trace, ..outcome })
    }
}

pub(super) fn attacker_failed(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::AttackerFailed, Fault::Harness, message)
}

fn case_of(traced: &TracedCase, rubric: Arc<CompiledEvaluator>) -> PatternCase {
    let pattern = rubric.evaluator.patterns.iter().find(|pattern| pattern.name == traced.pattern);
    PatternCase {
        id: traced.id.clone(),
        pattern: traced.pattern.clone(),
        template: pattern.map_or_else(|| Template::new(""), |pattern| pattern.template.clone()),
        judge_hint: pattern.and_then(|pattern| pattern.judge_hint.clone()),
        first: pattern.is_some_and(|pattern| pattern.first),
        play: match traced.play.clone() {
            TracedPlay::Seeds(seeds) => Play::Seeds(seeds),
            TracedPlay::Call { tool, arguments } => Play::Call { tool, arguments },
            TracedPlay::Series { tool, calls } => Play::Series { tool, calls },
            TracedPlay::Review { text } => Play::Review { text },
            TracedPlay::Connection { headers } => Play::Connection { headers },
        },
        rubric,
        values: traced.values.clone(),
        filled: filled_of(traced),
        argument: traced.argument.clone(),
        control_failure: traced.control_failure.clone(),
        attempt: None,
    }
}

pub(super) fn filled_of(traced: &TracedCase) -> Values {
    let filled = traced.values.iter().filter(|(name, _)| traced.filled.contains(name));
    filled.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// What the header of a trace says about a case: as it is redacted, and only values that redaction leaves alone, since checks
/// cannot find the others. `None` where nothing is to be said yet.
pub(super) fn traced(case: &PatternCase, redactor: &Redactor) -> Option<TracedCase> {
    let play = match case.play.clone() {
        Play::Seeds(seeds) => TracedPlay::Seeds(seeds),
        Play::Call { tool, arguments } => TracedPlay::Call { tool, arguments },
        Play::Series { tool, calls } => TracedPlay::Series { tool, calls },
        Play::Review { text } => TracedPlay::Review { text },
        Play::Connection { headers } => TracedPlay::Connection { headers },
        Play::Unfilled { .. } => return None,
    };
    let of_checks = case.rubric.checks.placeholders();
    let is_used = |name: &String| {
        of_checks.contains(name)
            || case.filled.contains_key(name)
            // The list is in the trace.
            || (name != "tool_list_json" && case.template.mentions(name))
    };
    let values = case.values.iter().filter(|(name, value)| is_used(name) && redactor.text(value) == **value);
    let traced = TracedCase {
        id: case.id.clone(),
        evaluator: case.rubric.evaluator.id.clone(),
        pattern: case.pattern.clone(),
        play,
        values: values.map(|(name, value)| (name.clone(), value.clone())).collect(),
        filled: case.filled.keys().cloned().collect(),
        argument: case.argument.clone(),
        control_failure: case.control_failure.clone(),
    };
    let mut header = Header::run("", std::time::UNIX_EPOCH);
    header.case = Some(traced);
    redacted(header, redactor).case
}
