//! The report of a run.

use serde::Serialize;
use sortie_detect::Standing;

use crate::{Entry, Models, SuiteTable};

/// The version of the shape. A change that could break a reader makes it 2.
pub const VERSION: u32 = 1;

/// What came of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// One for each case, in the order in which they were asked for.
    pub runs: Vec<Entry>,
    /// The cases that were not played to their end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<String>,
    /// Why the run ended before all cases were played, where somebody ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The suites that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suites: Vec<SuiteTable>,
    /// The models that helped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Models>,
}

impl Report {
    /// A report of these cases, all of them played, without suites and models.
    pub fn new(runs: impl IntoIterator<Item: Into<Entry>>) -> Self {
        let runs = runs.into_iter().map(Into::into).collect();
        Self {
            version: VERSION,
            runs,
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
        let worst = self.runs.iter().filter_map(Entry::standing).max().unwrap_or(Standing::Undecided);
        let whole = self.unfinished.is_empty() && self.stopped.is_none();
        match worst {
            Standing::Exploited => Standing::Exploited,
            _ if !whole => Standing::Undecided,
            Standing::Skipped if allow_skipped && self.runs.iter().any(Entry::is_decided) => {
                Standing::Resisted
            }
            worst => worst,
        }
    }
}
