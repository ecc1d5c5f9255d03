//! What is said about proofs, as `docs/schema/prove-v1.json` publishes it.

use serde::Serialize;
use sortie_detect::CaseResult;
use sortie_oatf::model::IndicatorMethod;
use sortie_syntax::closed_enum;

use crate::mutate::Operator;

/// The version of the shape. A change that could break a reader makes it 2.
pub const VERSION: u32 = 1;

/// Several documents, and how well they are proved together.
#[derive(Clone, Debug, Serialize)]
pub struct ProofsReport {
    /// [`VERSION`].
    pub version: u32,
    /// One for each document, in the order of the command line.
    pub documents: Vec<Proved>,
    /// All of them together.
    pub totals: ProofTotals,
}

/// How well a document is proved.
#[derive(Clone, Debug, Serialize)]
pub struct Proved {
    /// The document.
    pub document: ProvedDocument,
    /// Whether there is nothing to complain about.
    pub proved: bool,
    /// The manifest of its proofs; `None` when there is none.
    pub manifest: Option<String>,
    /// Its runs, in the order of the manifest.
    pub proofs: Vec<ProofReport>,
    /// Its indicators, in the order of the document.
    pub indicators: Vec<IndicatorReport>,
    /// Its mutants, indicator by indicator.
    pub mutants: Vec<MutantReport>,
    /// How many mutants were not tried because there are too many.
    pub left_out: usize,
    /// How the mutants fared.
    pub score: Score,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// The document of a proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProvedDocument {
    /// Where it was read from.
    pub file: String,
    /// `attack.id`.
    pub id: Option<String>,
    /// `attack.name`.
    pub name: String,
}

/// What a run gave.
#[derive(Clone, Debug, Serialize)]
pub struct ProofReport {
    /// The file of the recording, or its position in the manifest.
    pub name: String,
    /// Whether it is a recording, and not messages that were written into the manifest.
    pub recorded: bool,
    /// The agent that was attacked.
    pub agent: Option<String>,
    /// What happens in it.
    pub about: String,
    /// What it must give.
    pub expected: Given,
    /// What it gives.
    pub given: Given,
    /// Whether the two agree. An indicator that needs a judge may say either.
    pub agrees: bool,
}

/// A verdict, and the indicators that matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Given {
    /// What became of the attack.
    pub verdict: CaseResult,
    /// The indicators that matched, in the order of the document or of the manifest.
    pub matched: Vec<String>,
}

/// What the recordings show of an indicator.
#[derive(Clone, Debug, Serialize)]
pub struct IndicatorReport {
    /// Its id.
    pub id: String,
    /// How it decides.
    pub method: IndicatorMethod,
    /// Whether it can be proved here. One that needs a judge cannot, until there is one.
    pub provable: bool,
    /// Recordings in which it matches.
    pub fires: Vec<String>,
    /// Recordings in which it looks at something and does not match.
    pub silent: Vec<String>,
    /// Recordings in which there is nothing that it looks at.
    pub blind: Vec<String>,
    /// Recordings of which it cannot say anything.
    pub undecided: Vec<String>,
    /// How its mutants fared.
    pub score: Score,
}

/// What became of a mutant.
#[derive(Clone, Debug, Serialize)]
pub struct MutantReport {
    /// Its id, which stays the same as long as the change does.
    pub id: String,
    /// The indicator that is changed; `None` when it is how they are combined.
    pub indicator: Option<String>,
    /// In which way it is wrong.
    pub operator: Operator,
    /// What was changed.
    pub change: String,
    /// What became of it.
    pub fate: Fate,
    /// The first run that tells it from the document.
    pub killed_by: Option<String>,
    /// The trace that would tell it from the document.
    pub wanted: String,
    /// Why no trace has to, or none can.
    pub reason: Option<String>,
}

closed_enum! {
    /// What became of a mutant. The words are stable.
    Fate {
        /// A run gives another verdict for it, or other matches.
        Killed = "killed",
        /// No run does.
        Survived = "survived",
        /// No run does, and the manifest says why that is in order.
        Accepted = "accepted",
        /// No run that keeps to the protocol can.
        Equivalent = "equivalent",
    }
}

/// How mutants fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    /// How many were tried: killed, survived and accepted.
    pub tried: usize,
    /// A run tells them from the document.
    pub killed: usize,
    /// None does.
    pub survived: usize,
    /// None does, and that is in order.
    pub accepted: usize,
    /// None can; these are not among those tried.
    pub equivalent: usize,
    /// Killed of those tried, from 0 to 1; `None` when none was.
    pub rate: Option<f64>,
}

impl Score {
    /// The score of some mutants.
    pub fn of<'m>(mutants: impl IntoIterator<Item = &'m MutantReport>) -> Self {
        let mut score = Self::default();
        for mutant in mutants {
            match mutant.fate {
                Fate::Killed => score.killed += 1,
                Fate::Survived => score.survived += 1,
                Fate::Accepted => score.accepted += 1,
                Fate::Equivalent => score.equivalent += 1,
            }
        }
        score.tried = score.killed + score.survived + score.accepted;
        // A document has at most some thousand mutants.
        let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        score.rate = (score.tried > 0).then(|| count(score.killed) / count(score.tried));
        score
    }
}

/// Something that is wrong with a proof, or with what it proves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What sort of thing.
    pub kind: FindingKind,
    /// The indicator it is about.
    pub indicator: Option<String>,
    /// The run it is about.
    pub proof: Option<String>,
    /// The mutant it is about.
    pub mutant: Option<String>,
    /// The line of the manifest it is about.
    pub line: Option<usize>,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

closed_enum! {
    /// What may be wrong. The words are stable.
    FindingKind {
        /// The document has no indicators.
        NoIndicators = "no_indicators",
        /// The document has no proofs.
        NoProofs = "no_proofs",
        /// A recording stands in the folder, and the manifest does not name it.
        UnlistedTrace = "unlisted_trace",
        /// A run gives another verdict than declared.
        WrongVerdict = "wrong_verdict",
        /// A run gives the declared verdict, by other indicators.
        WrongMatches = "wrong_matches",
        /// An indicator matches in no recording.
        NeverFires = "never_fires",
        /// An indicator is never seen to look at something and stay silent.
        NeverSilent = "never_silent",
        /// An indicator matches what the attack itself sends.
        OwnPayload = "own_payload",
        /// An indicator looks at nothing but what the attack itself sends.
        NeverReadsAgent = "never_reads_agent",
        /// An indicator fires on an agent that refuses, and repeats the attack while doing so.
        FiresOnQuote = "fires_on_quote",
        /// An indicator looks at what the agent says, and no run shows a refusal that repeats the attack.
        QuoteNotShown = "quote_not_shown",
        /// No run tells a mutant from the document.
        Survivor = "survivor",
        /// The manifest accepts a mutant that does not exist, or does not survive.
        StaleAcceptance = "stale_acceptance",
    }
}

/// All documents together.
#[derive(Clone, Debug, Serialize)]
pub struct ProofTotals {
    /// How many documents there are.
    pub documents: usize,
    /// How many of them are proved.
    pub proved: usize,
    /// How many indicators there are.
    pub indicators: usize,
    /// How many of them fire and stay silent, each on a recording at least.
    pub shown: usize,
    /// How many of them need a judge, and are not proved until there is one.
    pub unproved: usize,
    /// How all mutants fared.
    pub score: Score,
    /// How they fared by operator, for those that were used.
    pub operators: Vec<OperatorScore>,
}

/// How the mutants of one operator fared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorScore {
    /// The operator.
    pub operator: Operator,
    /// How its mutants fared.
    pub score: Score,
}

impl ProofsReport {
    /// A report of these documents.
    pub fn new(documents: Vec<Proved>) -> Self {
        let mutants = || documents.iter().flat_map(|document| &document.mutants);
        let indicators = || documents.iter().flat_map(|document| &document.indicators);
        let operators = Operator::ALL.iter().filter_map(|operator| {
            let score = Score::of(mutants().filter(|mutant| mutant.operator == *operator));
            (score.tried + score.equivalent > 0).then_some(OperatorScore { operator: *operator, score })
        });
        let totals = ProofTotals {
            documents: documents.len(),
            proved: documents.iter().filter(|document| document.proved).count(),
            indicators: indicators().count(),
            shown: indicators().filter(|indicator| indicator.is_shown()).count(),
            unproved: indicators().filter(|indicator| !indicator.provable).count(),
            score: Score::of(mutants()),
            operators: operators.collect(),
        };
        Self { version: VERSION, documents, totals }
    }

    /// Whether every document is proved.
    pub fn is_proved(&self) -> bool {
        self.documents.iter().all(|document| document.proved)
    }
}

impl IndicatorReport {
    /// Whether it is seen to fire, and seen to stay silent.
    pub fn is_shown(&self) -> bool {
        !self.fires.is_empty() && !self.silent.is_empty()
    }
}
