//! What came of one case, of a document or of an evaluator, as `docs/schema/run-v2.json` publishes it.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use sortie_evaluators::{Severity, Values};
use sortie_oatf::MatchEvidence;
use sortie_oatf::compile::FlowOrigin;
use sortie_oatf::model::{Attack, AttackResult, EvaluationSummary, IndicatorResult, Tier};
use sortie_syntax::closed_enum;
use sortie_trace::foreign::SourcePlace;
use sortie_trace::{Direction, Observed, Sender, StopReason, Transcript};

use crate::failure::{Failure, FailureKind, Fault};
use crate::judged::Judged;
use crate::rate::{Attempt, Rate};
use crate::resistance::{ControlResult, Resistance, TaskResult};

/// The program that says so, in every verdict.
pub const SOURCE: &str = concat!("sortie ", env!("CARGO_PKG_VERSION"));

/// What came of one case. One line of `results.jsonl`, and one entry of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What the case is called, once in its run: `evaluator/pattern` (and for calls `/tool`, maybe `/field`), or the id of the
    /// document, or its name where it has none.
    pub id: String,
    /// The case.
    #[serde(flatten)]
    pub case: CaseInfo,
    /// Which attempt at the case it is, from one, where the case is played several times; of all of them together, the one that is
    /// shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// How often the case was exploited, where it was played several times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The attempts, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// What became of the attack.
    pub verdict: Verdict,
    /// What the case counts as; `None` when it does not apply to the target, and counts as nothing.
    pub standing: Option<Standing>,
    /// What the verdict rests on: what matched, or what the target said.
    pub evidence: Vec<Evidence>,
    /// Calls that would have been evidence, which the model asked for and the agent's client refused: the first of each indicator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempted: Vec<RefusedCall>,
    /// What is suspicious and proves nothing: words of a shell or of a parser about the argument.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<Evidence>,
    /// Whether what the attack takes was served to the agent, or said to the target.
    pub reach: Reach,
    /// Why silence counts as resistance, or does not; `None` where nothing was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resistance: Option<Resistance>,
    /// Whether the agent did its task, where the document names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskResult>,
    /// What came of the control of this case, where one was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlResult>,
    /// The model that answered, where the agent says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How far each actor of a document got.
    pub actors: Vec<ActorSummary>,
    /// Why playing it ended; `None` when nobody recorded that, or it was not played.
    pub stopped_by: Option<StopReason>,
    /// What kept it from being played or decided as a whole.
    pub failure: Option<Failure>,
    /// The file that holds what was said.
    pub trace: Option<String>,
    /// What looks odd, and changes nothing.
    pub warnings: Vec<String>,
    /// What a judge said, where one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
    /// What was said, as checks and judges see it. The tools of a server are in the trace, unless the case is about them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Transcript>,
}

/// Which case an outcome is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CaseInfo {
    /// A document.
    Document {
        /// The document.
        document: DocumentInfo,
    },
    /// A case of an evaluator.
    Evaluator {
        /// The case.
        evaluator: EvaluatorCase,
    },
}

/// A document that was played.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentInfo {
    /// Where it was read from.
    pub file: String,
    /// `attack.id`.
    pub id: Option<String>,
    /// `attack.name`.
    pub name: String,
}

/// A case of an evaluator: one of its patterns, with one tool where the target is an MCP server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvaluatorCase {
    /// The evaluator.
    pub id: String,
    /// The name of the pattern; absent where it was not played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The tool that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The argument of the tool that the attack changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// What is wrong with a target that gives in; only where it did, or something is suspicious.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weakness: Option<Weakness>,
    /// What the attacker filled in for placeholders that nothing else was known for.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub filled: Values,
}

/// What an evaluator says about a target that gives in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weakness {
    /// What people call it.
    pub name: String,
    /// Its entry in the Common Weakness Enumeration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwe: Option<String>,
    /// What to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// What became of an attack, with times as text. For a document as the specification has it (§2.19).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// `attack.id` of a document.
    pub attack_id: Option<String>,
    /// What became of it.
    pub result: CaseResult,
    /// Why, in a sentence, where nothing else says it.
    pub reason: Option<String>,
    /// The worst tier among the indicators that matched.
    pub max_tier: Option<Tier>,
    /// How bad it is when a target gives in, as the document or the evaluator says.
    pub severity: Option<Severity>,
    /// Every indicator of a document, in its order.
    pub indicator_verdicts: Vec<IndicatorFinding>,
    /// How many indicators gave which result.
    pub evaluation_summary: EvaluationSummary,
    /// The time of the last record that was seen.
    pub timestamp: Option<String>,
    /// The program that says so.
    pub source: String,
}

closed_enum! {
    /// What came of a case.
    CaseResult {
        /// The agent gave in.
        Exploited = "exploited",
        /// It gave in, and not in every way that the document asks for.
        Partial = "partial",
        /// It resisted.
        NotExploited = "not_exploited",
        /// It could not be found out.
        Error = "error",
        /// It was not tried, or nobody could decide it, since something was missing.
        Skipped = "skipped",
        /// The target cannot be attacked with it.
        NotApplicable = "not_applicable",
    }
}

impl CaseResult {
    /// Whether it says that the agent resisted.
    pub fn is_pass(self) -> bool {
        self == Self::NotExploited
    }
}

impl From<AttackResult> for CaseResult {
    fn from(result: AttackResult) -> Self {
        match result {
            AttackResult::Exploited => Self::Exploited,
            AttackResult::Partial => Self::Partial,
            AttackResult::NotExploited => Self::NotExploited,
            AttackResult::Error => Self::Error,
        }
    }
}

/// A document's result, as the specification has it: what was not played is an error there.
impl From<CaseResult> for AttackResult {
    fn from(result: CaseResult) -> Self {
        result.as_str().parse().unwrap_or(Self::Error)
    }
}

impl PartialEq<AttackResult> for CaseResult {
    fn eq(&self, other: &AttackResult) -> bool {
        *self == Self::from(*other)
    }
}

/// Something that a verdict rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What looked.
    pub by: EvidenceSource,
    /// Its name: the id of an indicator, the name of a check, the model that judged.
    pub name: String,
    /// The record of the trace, where one holds it.
    pub seq: Option<u64>,
    /// Where: a path into the message (indicators) or into the transcript (checks, judges); empty for the whole of it.
    pub path: String,
    /// First byte that matched, of the text that was searched; `None` where nothing singles bytes out.
    pub start: Option<usize>,
    /// One past the last of them.
    pub end: Option<usize>,
    /// Line of the document or evaluator that asked, from one.
    pub line: Option<usize>,
    /// The turn of the transcript, from one.
    pub turn: Option<usize>,
    /// What stands there, cut around what matched; `None` where something is absent.
    pub text: Option<String>,
}

closed_enum! {
    /// What found a piece of evidence.
    EvidenceSource {
        /// An indicator of a document.
        Indicator = "indicator",
        /// A check of an evaluator.
        Check = "check",
        /// A judge.
        Judge = "judge",
    }
}

/// What one indicator found (specification, §2.19), and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndicatorFinding {
    /// The indicator.
    pub indicator_id: String,
    /// What it found.
    pub result: IndicatorResult,
    /// The time of the message that decided, else of the last record.
    pub timestamp: Option<String>,
    /// What matched, or why nothing can be said.
    pub evidence: Option<String>,
    /// The program that says so.
    pub source: String,
    /// Where it matched.
    pub r#match: Option<Match>,
    /// What it looks for, in the words of the document.
    pub description: Option<String>,
    /// How far the attack got when it matches.
    pub tier: Option<Tier>,
    /// The message that matched, or the first one that could not be evaluated.
    pub seen: Option<Seen>,
    /// What matched.
    pub excerpt: Option<Excerpt>,
}

/// Where an indicator matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Match {
    /// The message's position in the trace.
    pub seq: u64,
    /// Path into the message, with concrete positions; empty for the whole of it.
    pub path: String,
    /// First byte that matched, of the text that was searched; `None` where no operator singles bytes out.
    pub start: Option<usize>,
    /// One past the last of them.
    pub end: Option<usize>,
    /// Line of the document that asked.
    pub document_line: Option<usize>,
    /// Where it came in, for a flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<FlowOrigin>,
}

impl Match {
    pub(crate) fn new(seq: u64, evidence: &MatchEvidence) -> Self {
        Self {
            seq,
            path: evidence.path.clone(),
            start: evidence.range.as_ref().map(|range| range.start),
            end: evidence.range.as_ref().map(|range| range.end),
            document_line: evidence.line,
            origin: evidence.origin.clone(),
        }
    }
}

/// A call that an indicator looks for, which the model asked for and the agent's client refused, so that it never reached its server.
/// The agent gave in, and a guard rail held: the verdict does not count it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedCall {
    /// The indicator that would have matched.
    pub indicator_id: String,
    /// In which words the client refused.
    pub refusal: String,
    /// Where it would have matched.
    pub r#match: Match,
    /// The call.
    pub seen: Seen,
    /// What would have matched.
    pub excerpt: Option<Excerpt>,
}

/// A message, as far as a person wants to know which one it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Its position in the trace.
    pub seq: u64,
    /// The actor that said or heard it.
    pub actor: String,
    /// The phase that actor was in.
    pub phase: String,
    /// The operations it belongs to.
    pub surfaces: Vec<String>,
    /// Which half of an exchange it is.
    pub direction: Direction,
    /// Who sent it.
    pub sender: Sender,
    /// Where it comes from, when it was recorded by another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Box<SourcePlace>>,
}

impl Seen {
    pub(crate) fn new(observed: &Observed<'_>) -> Self {
        Self {
            seq: observed.record.seq,
            actor: observed.record.actor.clone(),
            phase: observed.record.phase.clone(),
            surfaces: observed.record.surfaces.clone(),
            direction: observed.record.direction,
            sender: observed.record.sender,
            source: observed.record.source.clone(),
        }
    }
}

/// A piece of what was said, cut around what matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// The piece.
    pub text: String,
    /// Its bytes that matched, as far as it shows them.
    pub marked: Option<Range<usize>>,
}

impl Excerpt {
    pub(crate) fn of(evidence: &MatchEvidence) -> Option<Self> {
        Some(Self { text: evidence.excerpt.clone()?, marked: evidence.marked.clone() })
    }
}

/// Whether what the document wants served was served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// Whether it was.
    pub delivered: Delivered,
    /// What was not. Where the document does not say what it wants, any one of these would have done.
    pub missing: Vec<Undelivered>,
}

/// Whether the agent was served what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivered {
    /// Everything that the document names (`x-sortie.delivered`).
    Yes,
    /// Not everything; or, where the document names nothing, nothing that could be it.
    No,
    /// The document names nothing, and its last phase was served.
    Assumed,
    /// Nobody recorded what was served.
    Unknown,
}

/// Something that was to be served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undelivered {
    /// By which actor.
    pub actor: String,
    /// In which phase; `None` for any.
    pub phase: Option<String>,
    /// By which operation; `None` for any that is more than a handshake.
    pub surface: Option<String>,
    /// With which words in it; `None` for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

/// How far an actor got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActorSummary {
    /// Its name.
    pub name: String,
    /// Its mode.
    pub mode: String,
    /// Whether the agent ever spoke to it.
    pub connected: bool,
    /// Its phases, in the order of the document.
    pub phases: Vec<PhaseSummary>,
}

/// How far a phase got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSummary {
    /// Its name.
    pub name: String,
    /// Whether the actor ever was in it.
    pub entered: bool,
    /// How many messages the actor sent while it was.
    pub served: u64,
}

/// Where the things that a run is about can be found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The document.
    pub document: String,
    /// The trace, when it is in a file.
    pub trace: Option<String>,
}

closed_enum! {
    /// What a case counts as. Ordered from best to worst.
    Standing {
        /// The agent was attacked, watched with everything the case has, and did not give in.
        Resisted = "resisted",
        /// Nothing was found, but not everything could be evaluated: something is missing.
        Skipped = "skipped",
        /// Nobody can say: an error, or a run that failed.
        Undecided = "undecided",
        /// The agent gave in, at least in part.
        Exploited = "exploited",
    }
}

impl DocumentInfo {
    /// A document that was read from a file.
    pub fn new(file: impl Into<String>, attack: &Attack) -> Self {
        let name = attack.name.clone().unwrap_or_default();
        Self { file: file.into(), id: attack.id.clone(), name }
    }

    /// What a case of it is called: its id, or its name where it has none.
    pub fn case_id(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.name)
    }
}

impl Verdict {
    /// A verdict of no indicators.
    pub fn new(result: CaseResult, reason: impl Into<String>) -> Self {
        Self {
            attack_id: None,
            result,
            reason: Some(reason.into()),
            max_tier: None,
            severity: None,
            indicator_verdicts: Vec::new(),
            evaluation_summary: EvaluationSummary::default(),
            timestamp: None,
            source: SOURCE.to_owned(),
        }
    }
}

/// What a verdict counts as. `failed` is whether something kept the case from being played as a whole.
pub(crate) fn counts_as(
    result: CaseResult,
    summary: EvaluationSummary,
    failed: bool,
    has_reason: bool,
) -> Option<Standing> {
    Some(match result {
        CaseResult::Exploited | CaseResult::Partial => Standing::Exploited,
        CaseResult::NotExploited if summary.skipped > 0 => Standing::Skipped,
        CaseResult::NotExploited => Standing::Resisted,
        // Indicators that nobody can evaluate here are a document's only error.
        CaseResult::Error if !failed && !has_reason && summary.error == 0 => Standing::Skipped,
        CaseResult::Error => Standing::Undecided,
        CaseResult::Skipped => Standing::Skipped,
        CaseResult::NotApplicable => return None,
    })
}

impl Outcome {
    /// What it says of the agent, when this is the outcome of a control. `None` when the agent lacks what the document needs of it:
    /// then it cannot do the task, and may work well.
    pub fn as_control(&self) -> Option<ControlResult> {
        if self.verdict.result == CaseResult::NotApplicable {
            return None;
        }
        let fired = self.verdict.indicator_verdicts.iter();
        let fired = fired.filter(|finding| finding.result == IndicatorResult::Matched);
        // A phase that only the attack leads to is not entered, and what indicators see says nothing about the task.
        let beside = [FailureKind::NotDelivered, FailureKind::Blind];
        let failure = self.failure.as_ref().filter(|failure| !beside.contains(&failure.kind));
        let failure = failure.map(|failure| match failure.last_words() {
            Some(words) => format!("{}; its last words are: {words}", failure.message),
            None => failure.message.clone(),
        });
        let done = self.task.is_some_and(|task| task.done) && failure.is_none();
        let why = failure.or_else(|| {
            let alive = self.resistance.as_ref().map(|resistance| resistance.alive.why.clone());
            alive.filter(|_| !done)
        });
        Some(ControlResult { done, fired: fired.map(|finding| finding.indicator_id.clone()).collect(), why })
    }

    /// Takes note of what came of the control of this case. An indicator that fires without an attack is a fault of the document;
    /// an agent that does its task without the attack, and not with it, was disturbed.
    #[must_use]
    pub fn with_control(mut self, control: ControlResult) -> Self {
        if let Some(id) = control.fired.first() {
            let message = format!("`{id}` fires without the attack too, so it says nothing about it");
            self.verdict.result = CaseResult::Error;
            self.verdict.reason = Some(message.clone());
            self.failure = Some(Failure::new(FailureKind::ControlFired, Fault::Harness, message));
            self.standing = Some(Standing::Undecided);
        } else if control.done && self.task.is_some_and(|task| !task.done) && self.verdict.result.is_pass() {
            let disturbed = "the agent did its task without the attack, and not with it: it was disturbed, and did not give in";
            self.warnings.push(disturbed.to_owned());
        }
        self.control = Some(control);
        self
    }

    /// The outcome of a case of which nothing is known but the verdict.
    pub fn new(id: impl Into<String>, case: CaseInfo, verdict: Verdict, failure: Option<Failure>) -> Self {
        Self {
            id: id.into(),
            standing: counts_as(
                verdict.result,
                verdict.evaluation_summary,
                failure.is_some(),
                verdict.reason.is_some(),
            ),
            case,
            attempt: None,
            rate: None,
            attempts: Vec::new(),
            verdict,
            evidence: Vec::new(),
            attempted: Vec::new(),
            hints: Vec::new(),
            reach: Reach { delivered: Delivered::No, missing: Vec::new() },
            resistance: None,
            task: None,
            control: None,
            model: None,
            actors: Vec::new(),
            stopped_by: None,
            failure,
            trace: None,
            warnings: Vec::new(),
            judged: None,
            transcript: None,
        }
    }

    /// The outcome of a case that the target cannot be attacked with.
    pub fn not_applicable(id: impl Into<String>, case: CaseInfo, reason: impl Into<String>) -> Self {
        Self::new(id, case, Verdict::new(CaseResult::NotApplicable, reason), None)
    }

    /// The document, where it is one that was played.
    pub fn document(&self) -> Option<&DocumentInfo> {
        match &self.case {
            CaseInfo::Document { document } => Some(document),
            CaseInfo::Evaluator { .. } => None,
        }
    }

    /// The case of an evaluator, where it is one.
    pub fn evaluator(&self) -> Option<&EvaluatorCase> {
        match &self.case {
            CaseInfo::Document { .. } => None,
            CaseInfo::Evaluator { evaluator } => Some(evaluator),
        }
    }

    /// Whether anything was evaluated to the end and says something about the agent.
    pub fn is_decided(&self) -> bool {
        matches!(self.verdict.result, CaseResult::Exploited | CaseResult::Partial | CaseResult::NotExploited)
    }
}
