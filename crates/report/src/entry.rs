//! What came of one case.

use serde::{Serialize, Serializer};
use sortie_detect::{Delivered, Document, Reach, Run, RunKind, Standing};
use sortie_engine::cases::{CaseResult, CaseVerdict};
use sortie_oatf::EvaluationSummary;

/// What came of one case.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A document that was played, or whose recording was evaluated.
    Document(Box<Run>),
    /// A document that the target cannot be attacked with.
    Unplayed(UnplayedDocument),
    /// A case of an evaluator.
    Evaluator(Box<CaseResult>),
}

/// A document of a suite that the target cannot be attacked with. In the JSON it has the shape of every document, with
/// `not_applicable` as its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnplayedDocument {
    /// The document.
    pub document: Document,
    /// Why not.
    pub reason: String,
}

impl From<Run> for Entry {
    fn from(run: Run) -> Self {
        Self::Document(Box::new(run))
    }
}

impl From<CaseResult> for Entry {
    fn from(result: CaseResult) -> Self {
        Self::Evaluator(Box::new(result))
    }
}

impl From<UnplayedDocument> for Entry {
    fn from(unplayed: UnplayedDocument) -> Self {
        Self::Unplayed(unplayed)
    }
}

impl Entry {
    /// What the case counts as; `None` when it does not apply to the target, and counts as nothing.
    pub fn standing(&self) -> Option<Standing> {
        match self {
            Self::Document(run) => Some(run.standing()),
            Self::Unplayed(_) => None,
            Self::Evaluator(result) => match result.verdict {
                CaseVerdict::Exploited => Some(Standing::Exploited),
                CaseVerdict::NotExploited => Some(Standing::Resisted),
                CaseVerdict::Error => Some(Standing::Undecided),
                CaseVerdict::Skipped => Some(Standing::Skipped),
                CaseVerdict::NotApplicable => None,
            },
        }
    }

    /// Whether anything was evaluated to the end and says something about the target.
    pub fn is_decided(&self) -> bool {
        match self {
            Self::Document(run) => run.is_decided(),
            Self::Unplayed(_) => false,
            Self::Evaluator(result) => {
                matches!(result.verdict, CaseVerdict::Exploited | CaseVerdict::NotExploited)
            }
        }
    }

    /// What the case is called: the id of the case of an evaluator, the id of a document, or its name where it has none.
    pub fn id(&self) -> &str {
        match self {
            Self::Document(run) => document_id(&run.document),
            Self::Unplayed(unplayed) => document_id(&unplayed.document),
            Self::Evaluator(result) => &result.id,
        }
    }
}

fn document_id(document: &Document) -> &str {
    document.id.as_deref().unwrap_or(&document.name)
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Document(run) => run.serialize(serializer),
            Self::Unplayed(unplayed) => Untouched::of(unplayed).serialize(serializer),
            Self::Evaluator(result) => Kinds::Evaluator(result).serialize(serializer),
        }
    }
}

/// Says what sort of case it is, as a document's run does by itself.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Kinds<'r> {
    Evaluator(&'r CaseResult),
}

/// A run in which nothing happened.
#[derive(Serialize)]
struct Untouched<'d> {
    kind: RunKind,
    document: &'d Document,
    verdict: NoVerdict<'d>,
    reason: &'d str,
    reach: Reach,
    actors: [(); 0],
    stopped_by: Option<()>,
    failure: Option<()>,
    trace: Option<()>,
    warnings: [(); 0],
}

#[derive(Serialize)]
struct NoVerdict<'d> {
    attack_id: Option<&'d str>,
    result: &'static str,
    max_tier: Option<()>,
    indicator_verdicts: [(); 0],
    evaluation_summary: EvaluationSummary,
    timestamp: Option<()>,
    source: &'static str,
}

impl<'d> Untouched<'d> {
    fn of(UnplayedDocument { document, reason }: &'d UnplayedDocument) -> Self {
        Self {
            kind: RunKind::Document,
            document,
            verdict: NoVerdict {
                attack_id: document.id.as_deref(),
                result: CaseVerdict::NotApplicable.as_str(),
                max_tier: None,
                indicator_verdicts: [],
                evaluation_summary: EvaluationSummary::default(),
                timestamp: None,
                source: sortie_detect::SOURCE,
            },
            reason,
            reach: Reach { delivered: Delivered::No, missing: Vec::new() },
            actors: [],
            stopped_by: None,
            failure: None,
            trace: None,
            warnings: [],
        }
    }
}
