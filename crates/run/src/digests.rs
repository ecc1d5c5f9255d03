//! What tells the cases of a run from others of the same name, for baselines and comparisons.

use std::collections::BTreeMap;

use crate::store::{PlannedCase, RunInfo};

impl RunInfo {
    /// The fingerprints of its cases, by their ids. A case that was planned and could not be played has none: nobody looked at what
    /// it does.
    pub fn digests(&self) -> BTreeMap<String, String> {
        let played = self.cases.iter().filter(|case| **case != PlannedCase::new(&case.id, ""));
        played.map(|case| (case.id.clone(), case.fingerprint.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cases_that_do_something_have_a_digest() {
        let info =
            RunInfo::new(vec![PlannedCase::new("played", "something"), PlannedCase::new("unplayed", "")]);
        assert_eq!(info.digests().into_keys().collect::<Vec<_>>(), ["played"]);
    }
}
