//! What is said about a run, as `docs/schema/run-v1.json` publishes it.

use std::ops::Range;

use serde::Serialize;
use sortie_oatf::{AttackResult, EvaluationSummary, IndicatorResult, Tier};
use sortie_trace::{Direction, Observed, Sender};

use crate::failure::Failure;

/// What became of one case.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// What sort of case.
    pub kind: RunKind,
    /// The document.
    pub document: Document,
    /// What became of the attack.
    pub verdict: AttackVerdict,
    /// Whether what the document wants served was served.
    pub reach: Reach,
    /// How far each actor of the document got.
    pub actors: Vec<Actor>,
    /// Why the run ended; `None` when nobody recorded that.
    pub stopped_by: Option<String>,
    /// What kept the run from being a whole one.
    pub failure: Option<Failure>,
    /// The file that holds what was said.
    pub trace: Option<String>,
    /// What looks odd, and changes nothing.
    pub warnings: Vec<String>,
}

/// What sort of case a run is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// A document that was played.
    Document,
}

/// The document of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Document {
    /// Where it was read from.
    pub file: String,
    /// `attack.id`.
    pub id: Option<String>,
    /// `attack.name`.
    pub name: String,
}

/// What became of an attack (specification, §2.19), with times as text.
#[derive(Clone, Debug, Serialize)]
pub struct AttackVerdict {
    /// `attack.id`.
    pub attack_id: Option<String>,
    /// What became of it.
    pub result: AttackResult,
    /// The worst tier among the indicators that matched.
    pub max_tier: Option<Tier>,
    /// Every indicator, in the order of the document.
    pub indicator_verdicts: Vec<IndicatorVerdict>,
    /// How many gave which result.
    pub evaluation_summary: EvaluationSummary,
    /// The time of the last record that was seen.
    pub timestamp: Option<String>,
    /// The program that says so.
    pub source: String,
}

/// What one indicator found (specification, §2.19), and where.
#[derive(Clone, Debug, Serialize)]
pub struct IndicatorVerdict {
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
    /// What it looks for, in the words of the document. For people; not in the JSON.
    #[serde(skip)]
    pub description: Option<String>,
    /// How far the attack got when it matches. For people; not in the JSON.
    #[serde(skip)]
    pub tier: Option<Tier>,
    /// The message that matched, or the first one that could not be evaluated. For people; not in the JSON.
    #[serde(skip)]
    pub seen: Option<Seen>,
    /// What matched. For people; not in the JSON.
    #[serde(skip)]
    pub excerpt: Option<Excerpt>,
}

/// Where an indicator matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
}

/// A message, as far as a person wants to know which one it was.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

impl Seen {
    pub(crate) fn new(observed: &Observed<'_>) -> Self {
        Self {
            seq: observed.seq,
            actor: observed.actor.to_owned(),
            phase: observed.phase.to_owned(),
            surfaces: observed.surfaces.to_vec(),
            direction: observed.direction,
            sender: observed.sender,
        }
    }
}

/// A piece of what was said, cut around what matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The piece.
    pub text: String,
    /// Its bytes that matched, as far as it shows them.
    pub marked: Option<Range<usize>>,
}

/// Whether what the document wants served was served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reach {
    /// Whether it was.
    pub delivered: Delivered,
    /// What was not. Where the document does not say what it wants, any one of these would have done.
    pub missing: Vec<Undelivered>,
}

/// Whether the agent was served what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Undelivered {
    /// By which actor; `None` when the document does not say it in a way that is understood.
    pub actor: Option<String>,
    /// In which phase; `None` for any.
    pub phase: Option<String>,
    /// By which operation; `None` for any that is more than a handshake.
    pub surface: Option<String>,
    /// With which words in it; `None` for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

/// How far an actor got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Actor {
    /// Its name.
    pub name: String,
    /// Its mode.
    pub mode: String,
    /// Whether the agent ever spoke to it.
    pub connected: bool,
    /// Its phases, in the order of the document.
    pub phases: Vec<Phase>,
}

/// How far a phase got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Whether the actor ever was in it.
    pub entered: bool,
    /// How many messages the actor sent while it was.
    pub served: u64,
}

/// What a case counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// The agent was attacked, watched with everything the document has, and did not give in.
    Resisted,
    /// Nothing matched, but not everything could be evaluated: an engine is missing.
    Skipped,
    /// Nobody can say: an error, or a run that failed.
    Undecided,
    /// The agent gave in, at least in part.
    Exploited,
}

impl Run {
    /// What the case counts as.
    pub fn standing(&self) -> Standing {
        let summary = self.verdict.evaluation_summary;
        match self.verdict.result {
            AttackResult::Exploited | AttackResult::Partial => Standing::Exploited,
            AttackResult::NotExploited if summary.skipped > 0 => Standing::Skipped,
            AttackResult::NotExploited => Standing::Resisted,
            AttackResult::Error if self.failure.is_none() && summary.error == 0 => Standing::Skipped,
            AttackResult::Error => Standing::Undecided,
        }
    }

    /// Whether anything was evaluated to the end and says something about the agent.
    pub fn is_decided(&self) -> bool {
        self.verdict.result != AttackResult::Error
    }
}
