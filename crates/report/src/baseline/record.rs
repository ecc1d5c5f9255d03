//! What a run writes into a baseline.

use std::collections::BTreeMap;

use sortie_detect::Standing;

use super::date::Date;
use super::file::Baseline;
use super::line::{BaselineLine, LineProblem, LineStatus};
use super::state::{BaselineState, ChangeRule, attacked, observed};
use crate::Report;

/// What became of the cases of a run that was written into a baseline, by their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedRun {
    /// Exploited, and nobody has accepted it.
    pub open: Vec<String>,
    /// Exploited and accepted, or not shown to be fixed: the line is as it was.
    pub kept: Vec<String>,
    /// Resisted.
    pub fixed: Vec<String>,
    /// Undecided, so that there is nothing to write. A line that was there is as it was.
    pub undecided: Vec<String>,
}

impl Baseline {
    /// Writes the cases of a report into the baseline, `day` being that of the run.
    ///
    /// **Nothing is ever accepted here.** An exploited case becomes `open`, and one that was resisted `fixed`. A line that is
    /// `accepted` stays as it is, with what it was accepted for, as long as the case is no worse; where it has regressed, or where
    /// the document has changed, it becomes `open`. Lines of other cases and targets stay. The day on which a case was first seen
    /// stays too.
    pub fn record(
        &mut self,
        report: &Report,
        digests: &BTreeMap<String, String>,
        day: Date,
        rule: ChangeRule,
    ) -> Result<RecordedRun, LineProblem> {
        let target = attacked(report);
        let states = self.judge(report, digests, day, rule);
        let mut recorded = RecordedRun { undecided: report.unfinished.clone(), ..RecordedRun::default() };
        for run in &report.runs {
            // What does not apply to the target says nothing.
            let Some(standing) = run.standing else { continue };
            let id = run.id.clone();
            let before = self.get(&id, &target);
            let state = states.get(&id).map_or(BaselineState::Unknown, |note| note.state);
            let is_worse = state == BaselineState::Regressed;
            let is_decided = matches!(standing, Standing::Exploited | Standing::Resisted);
            let digest = digests.get(&id).filter(|_| is_decided || is_worse);
            let Some(digest) = digest else {
                recorded.undecided.push(id);
                continue;
            };
            if matches!(state, BaselineState::Known | BaselineState::Expired | BaselineState::Unknown) {
                recorded.kept.push(id);
                continue;
            }
            let is_open = is_worse || standing == Standing::Exploited;
            let (counts, undecided) = observed(run);
            let line = BaselineLine {
                case: id.clone(),
                digest: digest.clone(),
                target: target.clone(),
                counts,
                undecided,
                status: if is_open { LineStatus::Open } else { LineStatus::Fixed },
                first_seen: before.map_or(day, |line| line.first_seen),
            };
            self.insert(line)?;
            if is_open { recorded.open.push(id) } else { recorded.fixed.push(id) }
        }
        Ok(recorded)
    }
}
