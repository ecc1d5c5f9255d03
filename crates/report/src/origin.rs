//! Where a report comes from: which program, when, how long, with which agent and against what.

use serde::{Deserialize, Serialize};
use sortie_stats::{Claim, ErrorRates, Gate};

/// The run that a report is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// The program, with its version.
    pub written_by: String,
    /// When it began.
    pub started: String,
    /// How long it took, in seconds: since it began, or since it was taken up. `None` where it did not write its report.
    pub seconds: Option<f64>,
    /// The agent under test; `None` where nobody starts one.
    pub agent: Option<StartedAgent>,
    /// What is attacked, as `[ACTOR=]KIND=SPEC`, without what is redacted.
    pub targets: Vec<String>,
    /// The folders of the user's evaluators that were asked for with `--evaluators`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evaluators: Vec<String>,
    /// A digest of the program, the agent, the targets and the cases: runs with the same one can be joined and compared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// How cases are repeated; `None` where each is played once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<RepeatOrigin>,
}

/// How cases are repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatOrigin {
    /// The greatest number of attempts at a case.
    pub most: u32,
    /// The gate that decides each case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// The claim that decides each case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// How often a decision may be wrong.
    pub errors: ErrorRates,
    /// The share of attempts that may stay undecided.
    pub max_undecided: f64,
    /// The seed of their order.
    pub seed: u64,
    /// The part of the attempts that was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
}

/// An agent that is started for each document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedAgent {
    /// Its command with its placeholders, or the name of a preset or of a practice agent, without what is redacted.
    pub command: String,
    /// The task that the user gives it; `None` where documents do.
    pub prompt: Option<String>,
    /// Its version, as it says itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The model that was chosen for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}
