//! What decides a case: its checks, and where they say nothing, a judge.

use std::pin::Pin;

use serde_json::{Map, Value};
use sortie_detect::outcome::Weakness;
use sortie_detect::resistance::{Fact, Resistance};
use sortie_detect::{
    CaseInfo, CaseResult, Delivered, EvaluatorCase, Evidence, EvidenceSource, Failure, FailureKind, Fault,
    Judged, Opinion, Outcome, QuoteSource, Reach,
};
use sortie_evaluators::{Because, Evaluator, Values, Verdict};
use sortie_oatf::MatchEvidence;
use sortie_probe::UnsolvedTool;
use sortie_trace::{Redactor, Role, Transcriber, Transcript};

use sortie_evaluators::cases::{CompiledEvaluator, Offer, PatternCase, Planned, Play};

/// A future on the heap.
pub type BoxFuture<'f, T> = Pin<Box<dyn Future<Output = T> + Send + 'f>>;

/// Decides what checks do not.
pub trait CaseJudge: Send + Sync {
    /// Judges what was said in a case by the rubric of its evaluator.
    fn judge<'j>(
        &'j self,
        case: &'j PatternCase,
        transcript: &'j Transcript,
    ) -> BoxFuture<'j, Result<Judged, BudgetExhausted>>;
}

/// A budget is used up: the case stays unfinished, none begins after it, and the run ends with this reason, to be resumed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BudgetExhausted(pub String);

/// Why an attacker did not say what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttackError {
    /// It could not. This is the error of the case, and of no other.
    #[error("the attacker: {0}")]
    Failed(String),
    /// It may not any more.
    #[error(transparent)]
    Budget(#[from] BudgetExhausted),
}

/// Writes what is said where a pattern leaves it open.
pub trait CaseAttacker: Send + Sync {
    /// Values for the placeholders of these names, which nothing else is known for.
    fn fill<'a>(
        &'a self,
        case: &'a PatternCase,
        offer: &'a Offer,
        names: &'a [String],
    ) -> BoxFuture<'a, Result<Values, AttackError>>;

    /// Arguments with which a tool may work that never did: a harmless call, and no attack.
    fn suggest_call<'a>(
        &'a self,
        _: &'a UnsolvedTool,
    ) -> BoxFuture<'a, Result<Map<String, Value>, AttackError>> {
        Box::pin(async { Err(AttackError::Failed("it suggests no calls".to_owned())) })
    }

    /// The next message of a conversation, or `None` when there is nothing more to try.
    fn next<'a>(
        &'a self,
        case: &'a PatternCase,
        offer: &'a Offer,
        so_far: &'a Transcript,
    ) -> BoxFuture<'a, Result<Option<String>, AttackError>>;
}

/// What was said in a case, and why it could not be played to its end.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) told: Transcriber,
    pub(super) failure: Option<Failure>,
}

impl Exchange {
    /// Decides a case by what was said in it, live and recorded alike.
    pub(super) async fn decide(
        &self,
        case: &PatternCase,
        judge: Option<&dyn CaseJudge>,
        redactor: &Redactor,
    ) -> Result<Outcome, BudgetExhausted> {
        let transcript = self.told.transcript();
        let mut outcome = match (&self.failure, &transcript) {
            (None, Ok(transcript)) => without_control(case, self.judged(case, transcript, judge).await?),
            (Some(failure), _) => failed(case, failure.clone()),
            (None, Err(error)) => {
                failed(case, Failure::new(FailureKind::ProtocolError, Fault::Agent, error.to_string()))
            }
        };
        if let CaseInfo::Evaluator { evaluator } = &mut outcome.case {
            let is_told = outcome.verdict.result == CaseResult::Exploited || !outcome.hints.is_empty();
            evaluator.weakness = is_told.then(|| weakness(&case.rubric));
        }
        redact(&mut outcome, redactor);
        if let Some(opinion) = outcome.judged.as_ref().and_then(Judged::opinion) {
            outcome.evidence = self.quoted(opinion);
        }
        if let Ok(transcript) = transcript {
            let answered = transcript.turns().iter().any(|turn| turn.role == Role::Target);
            let delivered = if answered { Delivered::Yes } else { Delivered::No };
            outcome.reach = Reach { delivered, missing: Vec::new() };
            outcome.resistance = Some(self.resistance(case, &transcript, &outcome));
            outcome.transcript = Some(without_tools(case, transcript, &outcome.evidence));
        }
        Ok(outcome)
    }

    /// Asks the checks, and then the judge if there is one.
    async fn judged(
        &self,
        case: &PatternCase,
        transcript: &Transcript,
        judge: Option<&dyn CaseJudge>,
    ) -> Result<Outcome, BudgetExhausted> {
        let decision = case.rubric.checks.decide(transcript, &case.values);
        let warnings: Vec<String> = decision.errors.iter().map(ToString::to_string).collect();
        let (result, what) = match decision.verdict {
            Verdict::Fail => (CaseResult::Exploited, "gave in"),
            Verdict::Pass | Verdict::Undecided => (CaseResult::NotExploited, "resisted"),
        };
        // A target that does not work gives nothing away: that is not resistance.
        let fault = self.fault(case, transcript).filter(|_| decision.verdict != Verdict::Fail);
        let hints: Vec<_> =
            decision.hints.into_iter().map(|because| self.checked(transcript, because)).collect();
        if let Some(because) = decision.because.filter(|_| fault.is_none()) {
            let evidence = self.checked(transcript, because);
            let reason = format!("a check says that the target {what}: {}", evidence.name);
            return Ok(Outcome { evidence: vec![evidence], warnings, ..outcome(case, result, reason) });
        }
        if let Some(words) = fault {
            let message = format!("the target does not show that it works: {words}");
            let failure = Failure::new(FailureKind::AgentFailed, Fault::Agent, message);
            return Ok(Outcome { warnings, ..failed(case, failure) });
        }
        // No judge knows more about the times than the clock.
        if let Some(disturbed) = decision.disturbed {
            let failure = Failure::new(FailureKind::Disturbed, Fault::None, disturbed);
            return Ok(Outcome { warnings, hints, ..failed(case, failure) });
        }
        let Some(judge) = judge else {
            let reason = match (case.rubric.checks.is_empty(), warnings.first()) {
                (false, None) if !hints.is_empty() => {
                    format!("suspicious, and no proof: {}", hints[0].name)
                }
                (true, _) => "it has no checks, and no judge is configured".to_owned(),
                (false, None) => {
                    "its checks do not decide this answer, and no judge is configured".to_owned()
                }
                (false, Some(error)) => format!("{error}; and no judge is configured"),
            };
            return Ok(Outcome { warnings, hints, ..outcome(case, CaseResult::Skipped, reason) });
        };
        let judged = judge.judge(case, transcript).await?;
        let says = |what: &str, opinion: &Opinion| match opinion.votes.len() {
            ..=1 => format!("the judge says that the target {what}"),
            votes => {
                format!("the judge says that the target {what}, with {} of {votes} votes", opinion.agree)
            }
        };
        let outcome = match &judged {
            Judged::Fail(opinion) => outcome(case, CaseResult::Exploited, says("gave in", opinion)),
            Judged::Pass(opinion) => outcome(case, CaseResult::NotExploited, says("resisted", opinion)),
            Judged::Error { reason, .. } => {
                let message = format!("the judge: {reason}");
                failed(case, Failure::new(FailureKind::JudgeFailed, Fault::Harness, message))
            }
        };
        Ok(Outcome { judged: Some(judged), warnings, hints, ..outcome })
    }

    /// What a check found, and where the trace has it.
    fn checked(&self, transcript: &Transcript, because: Because) -> Evidence {
        let MatchEvidence { path, excerpt, line, .. } = because.evidence;
        Evidence {
            by: EvidenceSource::Check,
            seq: self.told.record_at(transcript, &path),
            start: None,
            end: None,
            line,
            turn: transcript.turn_at(&path).map(|turn| turn + 1),
            path,
            text: excerpt,
            name: because.check,
        }
    }

    /// Why its silence counts, or does not.
    fn resistance(&self, case: &PatternCase, transcript: &Transcript, outcome: &Outcome) -> Resistance {
        let last = transcript.turns().iter().rposition(|turn| turn.role == Role::Target);
        let seq = last.and_then(|turn| self.told.record_of(turn));
        let (reached, alive) = match (last, self.fault(case, transcript)) {
            (Some(_), Some(words)) => {
                let why = format!("its last word is that it does not work: {words}");
                (Fact::yes(seq, "it answered the messages"), Fact::no(seq, why))
            }
            (Some(_), None) => {
                let reached = Fact::yes(seq, "it answered the messages");
                (reached, Fact::yes(seq, "its last answer is one of a working target"))
            }
            // Nothing is said in a review: what it says about itself is looked at.
            (None, _) if matches!(case.play, Play::Review { .. }) => {
                (Fact::yes(None, "it said what it offers"), Fact::yes(None, "it said what it offers"))
            }
            (None, _) if matches!(case.play, Play::Connection { .. }) => {
                let said = "it took the connection, or refused it";
                (Fact::yes(None, said), Fact::yes(None, said))
            }
            (None, _) => (Fact::no(None, "it answered nothing"), Fact::no(None, "it answered nothing")),
        };
        let watched = match (&outcome.verdict.result, &outcome.verdict.reason) {
            (CaseResult::Skipped, Some(reason)) => Fact::no(None, reason.clone()),
            (CaseResult::Error, Some(reason)) => Fact::unknown(reason.clone()),
            _ => Fact::yes(None, "every check saw the answers"),
        };
        let able = Fact::yes(None, "it has what the case needs of it");
        Resistance { reached, alive, able, watched }
    }

    /// What a target says whose last word is that it does not work.
    fn fault(&self, case: &PatternCase, transcript: &Transcript) -> Option<String> {
        if let Some(fault) = self.told.fault() {
            return Some(fault.words.clone());
        }
        if self.told.only_declines() {
            return Some("all it did is decline, as a target does that declines everything; a control would tell (`--controls first`)".to_owned());
        }
        let last = transcript.turns().iter().rfind(|turn| turn.role == Role::Target)?;
        let is_empty = last.text.trim().is_empty() && last.calls.is_empty();
        // A tool may well have nothing to say.
        (is_empty && matches!(case.play, Play::Seeds(_))).then(|| "its answer is empty".to_owned())
    }

    /// The target's words that a judge quotes, as evidence.
    fn quoted(&self, opinion: &Opinion) -> Vec<Evidence> {
        let quotes = opinion.ruling.quotes.iter().map(|quote| {
            let turn = quote.turn.saturating_sub(1);
            Evidence {
                by: EvidenceSource::Judge,
                name: opinion.provenance.model.clone(),
                seq: self.told.record_of(turn),
                path: match quote.source {
                    QuoteSource::Text => format!("turns[{turn}].text"),
                    QuoteSource::Call(call) => format!("turns[{turn}].calls[{call}]"),
                },
                start: None,
                end: None,
                line: None,
                turn: Some(quote.turn),
                text: Some(quote.text.clone()),
            }
        });
        quotes.collect()
    }
}

/// Takes out what is to be hidden. Checks see nothing of that; what a model says is its own.
pub(super) fn redact(outcome: &mut Outcome, redactor: &Redactor) {
    if redactor.is_empty() {
        return;
    }
    let hide = |text: &mut String| *text = redactor.text(text).into_owned();
    if let CaseInfo::Evaluator { evaluator } = &mut outcome.case {
        evaluator.tool.iter_mut().chain(evaluator.filled.values_mut()).for_each(hide);
    }
    let failure = outcome.failure.iter_mut().map(|failure| &mut failure.message);
    let hints = outcome.hints.iter_mut().filter_map(|hint| hint.text.as_mut());
    failure.chain(&mut outcome.verdict.reason).chain(&mut outcome.warnings).chain(hints).for_each(hide);
    let judged = outcome.judged.take().and_then(|judged| serde_json::to_string(&judged).ok());
    // Redacted JSON stays JSON; should it not, nothing of it is shown.
    outcome.judged = judged.and_then(|text| serde_json::from_str(&redactor.json(&text)).ok());
}

/// What is kept of a transcript: the list of tools is in the trace, unless the case is about it.
fn without_tools(case: &PatternCase, transcript: Transcript, evidence: &[Evidence]) -> Transcript {
    let about_tools = |found: &Evidence| found.path.starts_with("tools") || found.path.starts_with("server");
    let about_server = matches!(case.play, Play::Review { .. } | Play::Connection { .. });
    if evidence.iter().any(about_tools) || about_server {
        return transcript;
    }
    // It is shorter than what was within the limits.
    Transcript::new(transcript.turns().to_vec()).unwrap_or(transcript)
}

/// Which case it is, for its outcome.
pub fn case_info(case: &PatternCase) -> EvaluatorCase {
    EvaluatorCase {
        id: case.rubric.evaluator.id.clone(),
        pattern: Some(case.pattern.clone()),
        tool: case.tool().map(str::to_owned),
        argument: case.argument.clone(),
        weakness: None,
        filled: case.filled.clone(),
    }
}

/// A tool that never worked resists nothing: only a proof counts.
fn without_control(case: &PatternCase, outcome: Outcome) -> Outcome {
    match &case.control_failure {
        Some(why) if outcome.verdict.result != CaseResult::Exploited => {
            let message = format!("its control failed: {why}");
            let failure = Failure::new(FailureKind::ControlFailed, Fault::Agent, message);
            Outcome { warnings: outcome.warnings, ..failed(case, failure) }
        }
        _ => outcome,
    }
}

fn weakness(rubric: &CompiledEvaluator) -> Weakness {
    let Evaluator { name, cwe, remedy, .. } = &rubric.evaluator;
    Weakness { name: name.clone(), cwe: cwe.clone(), remedy: remedy.clone() }
}

/// The outcome of what is not played; `None` for what is to be.
pub fn unplayed(planned: &Planned) -> Option<Outcome> {
    let (result, reason) = match planned {
        Planned::Ready(_) => return None,
        Planned::Skipped { missing, .. } => {
            let names: Vec<_> = missing.iter().map(|name| format!("`{{{{{name}}}}}`")).collect();
            (CaseResult::Skipped, format!("nothing is known for {}", names.join(", ")))
        }
        Planned::NotApplicable { reason, .. } => (CaseResult::NotApplicable, reason.clone()),
    };
    let id = planned.rubric().evaluator.id.clone();
    let case = EvaluatorCase { id, ..EvaluatorCase::default() };
    Some(of_evaluator(planned.rubric(), planned.id(), case, result, reason))
}

/// The outcome of a case that could not be played to its end, or not decided.
pub(super) fn failed(case: &PatternCase, failure: Failure) -> Outcome {
    Outcome { failure: Some(failure.clone()), ..outcome(case, CaseResult::Error, failure.message) }
}

fn outcome(case: &PatternCase, result: CaseResult, reason: impl Into<String>) -> Outcome {
    of_evaluator(&case.rubric, &case.id, case_info(case), result, reason)
}

/// An outcome of which nothing is known but the verdict.
fn of_evaluator(
    rubric: &CompiledEvaluator,
    id: &str,
    case: EvaluatorCase,
    result: CaseResult,
    reason: impl Into<String>,
) -> Outcome {
    let severity = Some(rubric.evaluator.severity);
    let verdict = sortie_detect::Verdict { severity, ..sortie_detect::Verdict::new(result, reason) };
    Outcome::new(id, CaseInfo::Evaluator { evaluator: case }, verdict, None)
}
