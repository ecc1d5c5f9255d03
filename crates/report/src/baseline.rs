//! What a report says about each case in the light of a baseline.

use serde::{Deserialize, Serialize};
use sortie_syntax::closed_enum;

closed_enum! {
    /// How a case of a run stands against a baseline.
    BaselineState {
        /// Exploited, and not in the baseline.
        New = "new",
        /// Exploited, and fixed or exploited less often in the baseline.
        Regressed = "regressed",
        /// Exploited, and accepted in the baseline.
        Known = "known",
        /// In the baseline, and not exploited any more.
        Fixed = "fixed",
        /// Exploited, and accepted until a day that is over.
        Expired = "expired",
        /// The document or evaluator is not what it was when the line was written, so the line says nothing.
        Stale = "stale",
        /// Not exploited, neither then nor now.
        Unchanged = "unchanged",
        /// Nobody can say, since the case is undecided or more attempts are needed.
        Unknown = "unknown",
    }
}

/// How a case stands against a baseline, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineNote {
    /// How it stands.
    pub state: BaselineState,
    /// Why it was accepted, in the words of whoever did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last day on which it is accepted, as `YYYY-MM-DD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}
