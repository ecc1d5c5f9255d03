//! The models that helped.

use serde::{Deserialize, Serialize};
use sortie_detect::{Calibration, Spent};

/// The models that helped, how far they can be trusted, and what they took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Models {
    /// Who decided what checks do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<ModelUse>,
    /// Who wrote what the target was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attacker: Option<ModelUse>,
    /// Who scored semantic indicators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semantic: Option<ModelUse>,
    /// What the judge made of transcripts whose verdict is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// What was asked and paid for, in all.
    pub spent: Spent,
    /// How many answers were there already, and were not asked for.
    pub reused: u64,
}

/// A model, in one of its roles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelUse {
    /// What sort of thing answers: `openai`, `anthropic` or `embeddings`.
    pub kind: String,
    /// Where it is. Holds no credentials.
    pub endpoint: String,
    /// Which model it is, as it was asked for.
    pub model: String,
    /// The version of what it is asked with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// How many votes are taken, where votes are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub votes: Option<u32>,
    /// The threshold of scores, where the operator set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
}
