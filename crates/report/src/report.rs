//! The report of a run.

use serde::{Deserialize, Serialize};
use sortie_detect::{Outcome, Standing};

use crate::{Models, SuiteTable};

/// The version of the shape. A change that could break a reader makes it 3.
pub const VERSION: u32 = 2;

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// One for each case, in the order in which they were asked for.
    pub runs: Vec<Outcome>,
    /// The cases that were not played to their end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<String>,
    /// Why the run ended before all cases were played, where somebody ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The suites that were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suites: Vec<SuiteTable>,
    /// The models that helped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Models>,
}

impl Report {
    /// A report of these cases, all of them played, without suites and models.
    pub fn new(runs: impl IntoIterator<Item = Outcome>) -> Self {
        Self {
            version: VERSION,
            runs: runs.into_iter().collect(),
            unfinished: Vec::new(),
            stopped: None,
            suites: Vec::new(),
            models: None,
        }
    }

    /// What all of it counts as.
    ///
    /// What does not apply to the target counts neither way, and when nothing at all was decided, nothing is. A case that was
    /// not played to its end may have been the one. With `allow_skipped`, cases that are only skipped do no harm.
    pub fn standing(&self, allow_skipped: bool) -> Standing {
        let worst = self.runs.iter().filter_map(|run| run.standing).max().unwrap_or(Standing::Undecided);
        let whole = self.unfinished.is_empty() && self.stopped.is_none();
        match worst {
            Standing::Exploited => Standing::Exploited,
            _ if !whole => Standing::Undecided,
            Standing::Skipped if allow_skipped && self.runs.iter().any(Outcome::is_decided) => {
                Standing::Resisted
            }
            worst => worst,
        }
    }
}
