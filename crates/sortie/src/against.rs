//! `--against` and `--fail-on`: what a report counts as in the light of a baseline.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use sortie_detect::Standing;
use sortie_report::Report;
use sortie_report::baseline::{Baseline, ChangeRule, Date, FailOn};

use crate::Failure;

/// A baseline to judge a run by.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Baseline")]
pub(crate) struct Against {
    /// Compare the run with a baseline: fail on new findings, not on accepted ones
    #[arg(long = "against", value_name = "FILE")]
    file: Option<PathBuf>,

    /// Case states that fail the run: `new`, `regressed`, `known`, `fixed`, `expired`, `stale`, or `none`
    #[arg(long, value_name = "STATES", default_value = "new,regressed,expired", requires = "file")]
    fail_on: FailOn,
}

impl Against {
    /// Reads the baseline, where one was named. A run does so before it starts: a damaged file is no reason to play it twice.
    pub(crate) fn load(&self) -> Result<Option<Baseline>, Failure> {
        Ok(self.file.as_deref().map(Baseline::load).transpose()?)
    }

    /// Judges a report by the baseline that was loaded; gives what it counts as. The report is changed: it says how its cases stand.
    pub(crate) fn judge(
        &self,
        baseline: Option<&Baseline>,
        report: &mut Report,
        digests: &BTreeMap<String, String>,
        allow_skipped: bool,
    ) -> Standing {
        let Some(baseline) = baseline else { return report.standing(allow_skipped) };
        report.baseline = baseline.judge(report, digests, today(), ChangeRule::default());
        report.standing_against(&self.fail_on, allow_skipped)
    }
}

/// The day in UTC. With a clock before 1970 nothing is over.
pub(crate) fn today() -> Date {
    Date::of_unix_time(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}
