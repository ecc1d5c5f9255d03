//! Indicators: how one sees that an agent gave in.

use indexmap::IndexMap;

use super::{
    Condition, Direction, Extensions, IndicatorMethod, MatchCondition, Protocol, SemanticIntentClass,
    SeverityLevel, Surface, Tier,
};

/// One sign that the agent did what the attacker wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Indicator {
    /// Unique within the document; generated when absent.
    pub id: Option<String>,
    /// The protocol it looks at; that of `execution.mode` when absent.
    pub protocol: Option<Protocol>,
    /// The operation it looks at.
    pub surface: Option<Surface>,
    /// Wildcard dot-path to what it examines.
    pub target: String,
    /// The actor whose traffic it looks at.
    pub actor: Option<String>,
    /// The side of the exchange it looks at; both when absent.
    pub direction: Option<Direction>,
    /// How it decides; says the same as the key below.
    pub method: Option<IndicatorMethod>,
    /// What it evaluates.
    pub description: Option<String>,
    /// Decides by comparing values.
    pub pattern: Option<PatternMatch>,
    /// Decides by a CEL expression.
    pub expression: Option<ExpressionMatch>,
    /// Decides by meaning.
    pub semantic: Option<SemanticMatch>,
    /// Confidence from 0 to 100, instead of the attack's.
    pub confidence: Option<i64>,
    /// How far the attack got when this matches.
    pub tier: Option<Tier>,
    /// Severity, instead of the attack's.
    pub severity: Option<SeverityLevel>,
    /// Benign situations that would match.
    pub false_positives: Option<Vec<String>>,
    /// Its `x-` fields.
    pub extensions: Extensions,
}

impl Indicator {
    /// The variables of its expression, and the paths they stand for.
    pub fn variables(&self) -> impl Iterator<Item = (&String, &String)> {
        self.expression.iter().flat_map(|expression| &expression.variables).flatten()
    }

    /// The id that an indicator without one is given (N-003); `index` counts from zero.
    pub(crate) fn generated_id(attack_id: Option<&str>, index: usize) -> String {
        format!("{}-{:02}", attack_id.unwrap_or("indicator"), index + 1)
    }
}

/// Compares the values under a path with a condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PatternMatch {
    /// Path, instead of the indicator's.
    pub target: Option<String>,
    /// The condition; always present after normalisation.
    pub condition: Option<Condition>,
    /// The operator of the shorthand form (`pattern: {regex: …}`); moved into `condition` by
    /// normalisation.
    pub shorthand: Option<MatchCondition>,
}

/// Evaluates a CEL expression.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpressionMatch {
    /// The expression; it must give a boolean.
    pub cel: String,
    /// Variables and the simple dot-paths they stand for.
    pub variables: Option<IndexMap<String, String>>,
}

/// Asks an engine whether text has an intent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SemanticMatch {
    /// Path, instead of the indicator's.
    pub target: Option<String>,
    /// The intent to look for.
    pub intent: String,
    /// A hint for engines that classify.
    pub intent_class: Option<SemanticIntentClass>,
    /// The score from which it counts; 0.7 when absent.
    pub threshold: Option<f64>,
    /// Texts to calibrate with.
    pub examples: Option<SemanticExamples>,
}

/// Texts that must and must not match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SemanticExamples {
    /// Texts that should match.
    pub positive: Option<Vec<String>>,
    /// Texts that should not.
    pub negative: Option<Vec<String>>,
}
