//! The report of a run.

use std::collections::BTreeMap;

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use sortie_detect::{Calibration, Outcome, Spent, Standing};
use sortie_sandbox::SandboxReport;
use sortie_stats::ConfidenceInterval;

use crate::baseline::BaselineNote;
use crate::grouping::Grouping;
use crate::imports::Imports;
use crate::origin::RunOrigin;
use crate::{RunTotals, SuiteTable};

/// The version of the shape. A change that could break a reader makes it 3.
pub const VERSION: u32 = 2;

/// What came of a run. Written with its [`RunTotals`], which are counted anew and never read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// Which run it is about; `None` for recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunOrigin>,
    /// One for each case, in the order in which they were asked for.
    pub runs: Vec<Outcome>,
    /// The cases that were not played to their end.
    #[serde(default)]
    pub unfinished: Vec<String>,
    /// Why the run ended before all cases were played, where somebody ended it.
    #[serde(default)]
    pub stopped: Option<String>,
    /// The suites that were asked for.
    #[serde(default)]
    pub suites: Vec<SuiteTable>,
    /// The models that helped.
    #[serde(default)]
    pub models: Option<Models>,
    /// How cases stand against a baseline, by their ids; empty where there is none.
    #[serde(default)]
    pub baseline: BTreeMap<String, BaselineNote>,
    /// The rate over all cases that were played several times.
    #[serde(default)]
    pub rate: Option<SuiteRate>,
    /// What servers did in their sandboxes, where they were started in some.
    #[serde(default)]
    pub sandbox: Option<SandboxReport>,
    /// The recordings of other programs that it is about. It is not read again: a run has none.
    #[serde(skip_deserializing)]
    pub imports: Option<Imports>,
}

/// The mean of the rates of cases, each of which counts the same, whatever the number of its attempts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuiteRate {
    /// The mean.
    pub mean: f64,
    /// Its interval, with cases as clusters.
    pub interval: ConfidenceInterval,
    /// Over so many cases.
    pub cases: usize,
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            version,
            run,
            runs,
            unfinished,
            stopped,
            suites,
            models,
            baseline,
            rate,
            sandbox,
            imports,
        } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", version)?;
        if let Some(run) = run {
            map.serialize_entry("run", run)?;
        }
        map.serialize_entry("totals", &RunTotals::of(self))?;
        if let Some(rate) = rate {
            map.serialize_entry("rate", rate)?;
        }
        let grouping = Grouping::of(self);
        if !grouping.findings.is_empty() {
            map.serialize_entry("findings", &grouping.findings)?;
        }
        if !grouping.unusable.is_empty() {
            map.serialize_entry("unusable_tools", &grouping.unusable)?;
        }
        map.serialize_entry("runs", runs)?;
        // What there is none of is left out.
        if !unfinished.is_empty() {
            map.serialize_entry("unfinished", unfinished)?;
        }
        if let Some(stopped) = stopped {
            map.serialize_entry("stopped", stopped)?;
        }
        if !suites.is_empty() {
            map.serialize_entry("suites", suites)?;
        }
        if let Some(models) = models {
            map.serialize_entry("models", models)?;
        }
        if !baseline.is_empty() {
            map.serialize_entry("baseline", baseline)?;
        }
        if let Some(sandbox) = sandbox {
            map.serialize_entry("sandbox", sandbox)?;
        }
        if let Some(imports) = imports {
            map.serialize_entry("imports", imports)?;
        }
        map.end()
    }
}

impl Report {
    /// A report of these cases, all of them played, without suites and models.
    pub fn new(runs: impl IntoIterator<Item = Outcome>) -> Self {
        Self { version: VERSION, runs: runs.into_iter().collect(), ..Self::default() }
    }

    /// What all of it counts as.
    ///
    /// What does not apply to the target counts neither way, and when nothing at all was decided, nothing is. A case that was
    /// not run to its end may have been the one. With `allow_skipped`, cases that are only skipped do no harm.
    pub fn standing(&self, allow_skipped: bool) -> Standing {
        self.standing_of(self.runs.iter().filter_map(|run| run.standing).max(), allow_skipped)
    }

    /// The same, with the worst standing of a case given; `None` where no case has one.
    pub(crate) fn standing_of(&self, worst: Option<Standing>, allow_skipped: bool) -> Standing {
        let whole = self.unfinished.is_empty() && self.stopped.is_none();
        match worst.unwrap_or(Standing::Undecided) {
            Standing::Exploited => Standing::Exploited,
            _ if !whole => Standing::Undecided,
            Standing::Skipped if allow_skipped && self.runs.iter().any(Outcome::is_decided) => {
                Standing::Resisted
            }
            worst => worst,
        }
    }
}

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
    /// How many of the calls measured the judge. They are not counted against `--max-calls`.
    #[serde(default)]
    pub calibration_calls: u64,
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

/// How a report is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// Whether it may be painted.
    pub color: bool,
    /// What `JUnit`, which knows only passed and not passed, is told about skipped cases.
    pub allow_skipped: bool,
    /// Whether the runs were just made, so that people want to know how they ended and where they are.
    pub live: bool,
}
