//! Where a report comes from: which program, when, how long, with which agent and against what.

use serde::{Deserialize, Serialize};

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
}

/// An agent that is started for each document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedAgent {
    /// Its command with its placeholders, or `builtin:NAME`, without what is redacted.
    pub command: String,
    /// The task that the user gives it; `None` where documents do.
    pub prompt: Option<String>,
}
