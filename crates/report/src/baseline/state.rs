//! How the cases of a report stand against a baseline.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sortie_detect::{Outcome, Standing};
use sortie_stats::{Alternative, Counts, PairedCase, boschloo_test, holm};
use sortie_syntax::closed_enum;

use super::date::Date;
use super::file::Baseline;
use super::line::{BaselineLine, LineStatus};
use crate::Report;
use crate::text::p_value;

closed_enum! {
    /// How a case of a run stands against a baseline.
    BaselineState {
        /// Exploited, and not in the baseline; or there, and nobody has accepted it.
        New = "new",
        /// Exploited, and `fixed` in the baseline; or exploited significantly more often than there, and by at least the smallest
        /// difference.
        Regressed = "regressed",
        /// Exploited, and accepted in the baseline.
        Known = "known",
        /// Exploited in the baseline, and not any more; with several attempts, significantly less often.
        Fixed = "fixed",
        /// Exploited, and accepted until a day that is over.
        Expired = "expired",
        /// The document or evaluator is not what it was when the line was written, so the line says nothing.
        Stale = "stale",
        /// Not exploited, and nothing in the baseline says that it was.
        Unchanged = "unchanged",
        /// Nobody can say: the case is undecided, or it was exploited in the baseline and the attempts are too few to show that
        /// it is fixed.
        Unknown = "unknown",
    }
}

/// How a case stands against a baseline, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineNote {
    /// How it stands.
    pub state: BaselineState,
    /// What that rests on, in a sentence, where the baseline has a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Why it was accepted, in the words of whoever did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last day on which it is accepted, as `YYYY-MM-DD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}

impl BaselineNote {
    /// A note that says only how a case stands.
    pub fn new(state: BaselineState) -> Self {
        Self { state, detail: None, reason: None, expires: None }
    }
}

/// What it takes to say that a rate has changed, where a case was played several times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeRule {
    /// The probability, over all cases that are compared, of calling any of them regressed though none is. The same for fixed.
    pub alpha: f64,
    /// The smallest difference of rates that is a regression.
    pub smallest_difference: f64,
}

/// 5 %, and ten percentage points.
impl Default for ChangeRule {
    fn default() -> Self {
        Self { alpha: 0.05, smallest_difference: 0.1 }
    }
}

/// What the run of a report attacked, as lines of a baseline name it: the command of the agent and the targets, with ` + ` between
/// them; empty for recordings.
pub fn attacked(report: &Report) -> String {
    let Some(run) = &report.run else { return String::new() };
    let agent = run.agent.iter().map(|agent| agent.command.as_str());
    agent.chain(run.targets.iter().map(String::as_str)).collect::<Vec<_>>().join(" + ")
}

/// What was observed of a case: the attempts that were decided, and how many were not. A case that was played once has one.
pub(crate) fn observed(run: &Outcome) -> (Counts, u32) {
    match (run.rate, run.standing) {
        (Some(rate), _) => (rate.counts(), rate.undecided),
        (None, Some(Standing::Exploited)) => (Counts::new(1, 1), 0),
        (None, Some(Standing::Resisted)) => (Counts::new(0, 1), 0),
        (None, Some(Standing::Skipped | Standing::Undecided)) => (Counts::default(), 1),
        (None, None) => (Counts::default(), 0),
    }
}

impl Baseline {
    /// How each case of a report stands, by its id. `digests` are those of the cases now, and `today` decides what is expired.
    ///
    /// Only lines about the same target count ([`attacked`]). Where a case was played once then and now, its results are compared
    /// as they are. With several attempts a change must be significant: Boschloo's exact test, one-sided, with Holm's adjustment
    /// over all cases that are compared. A case that was `fixed` and is exploited has regressed however small its rate is. Cases
    /// that do not apply to the target have no state.
    pub fn judge(
        &self,
        report: &Report,
        digests: &BTreeMap<String, String>,
        today: Date,
        rule: ChangeRule,
    ) -> BTreeMap<String, BaselineNote> {
        let target = attacked(report);
        let played = report.runs.iter().filter_map(|run| Some((run, run.standing?)));
        let known: Vec<(&Outcome, Standing, Option<&BaselineLine>)> =
            played.map(|(run, standing)| (run, standing, self.get(&run.id, &target))).collect();
        let changes = changes(known.iter().filter_map(|(run, _, line)| {
            let line = line.filter(|line| digests.get(&run.id) == Some(&line.digest))?;
            Some((run.id.as_str(), line.counts, observed(run).0))
        }));
        let unfinished = report.unfinished.iter();
        let mut notes: BTreeMap<_, _> =
            unfinished.map(|id| (id.clone(), BaselineNote::new(BaselineState::Unknown))).collect();
        for (run, standing, line) in known {
            let note = match line {
                None => {
                    let state = match standing {
                        Standing::Exploited => BaselineState::New,
                        Standing::Resisted => BaselineState::Unchanged,
                        Standing::Skipped | Standing::Undecided => BaselineState::Unknown,
                    };
                    let elsewhere = self.find(&run.id);
                    let detail = elsewhere
                        .map(|line| format!("in the baseline only with another target: `{}`", line.target));
                    BaselineNote { detail, ..BaselineNote::new(state) }
                }
                Some(line) => {
                    let change = changes.get(run.id.as_str());
                    // A case that was not played has no digest, and says nothing about its document.
                    let is_unknown = change.is_none() && !run.is_decided() && !digests.contains_key(&run.id);
                    if is_unknown {
                        BaselineNote::new(BaselineState::Unknown)
                    } else {
                        note(line, change, standing, today, rule)
                    }
                }
            };
            notes.insert(run.id.clone(), note);
        }
        notes
    }

    /// The lines about the target of a report whose cases it does not have.
    pub fn absent<'b>(&'b self, report: &Report) -> Vec<&'b BaselineLine> {
        let target = attacked(report);
        let played = report.runs.iter().map(|run| run.id.as_str());
        let ids: HashSet<&str> = played.chain(report.unfinished.iter().map(String::as_str)).collect();
        let lines = self.lines().filter(|line| line.target == target);
        lines.filter(|line| !ids.contains(line.case.as_str())).collect()
    }
}

/// What two runs say about one case.
#[derive(Clone, Copy)]
struct Change {
    now: Counts,
    /// Of more hits, and of fewer, adjusted for the number of cases.
    more: f64,
    fewer: f64,
}

/// The changes of cases, by their ids, with what the baseline counted and what is counted now.
fn changes<'c>(cases: impl Iterator<Item = (&'c str, Counts, Counts)>) -> HashMap<&'c str, Change> {
    let cases: Vec<_> = cases.collect();
    let compared = cases.iter().filter(|(_, _, now)| now.n() > 0);
    let pairs: Vec<_> =
        compared.map(|(id, then, now)| (*id, PairedCase { baseline: *then, candidate: *now })).collect();
    let mut known = HashMap::new();
    let mut adjusted = |alternative| {
        let mut p = |pair: PairedCase| {
            *known.entry((pair, alternative)).or_insert_with(|| boschloo_test(pair, alternative))
        };
        holm(&pairs.iter().map(|(_, pair)| p(*pair)).collect::<Vec<_>>())
    };
    let (more, fewer) = (adjusted(Alternative::MoreHits), adjusted(Alternative::FewerHits));
    let mut changes: HashMap<_, _> =
        cases.iter().map(|(id, _, now)| (*id, Change { now: *now, more: 1.0, fewer: 1.0 })).collect();
    for (((id, pair), more), fewer) in pairs.iter().zip(more).zip(fewer) {
        changes.insert(*id, Change { now: pair.candidate, more, fewer });
    }
    changes
}

/// How a case stands that has a line. `change` is `None` where the case is another one by now.
fn note(
    line: &BaselineLine,
    change: Option<&Change>,
    standing: Standing,
    today: Date,
    rule: ChangeRule,
) -> BaselineNote {
    let acceptance = line.status.acceptance();
    let expires = acceptance.and_then(|acceptance| acceptance.expires);
    let (state, detail) = match change {
        None => (
            BaselineState::Stale,
            "the document or evaluator is not the one that the line is about".to_owned(),
        ),
        Some(change) => {
            let state = state(line, change, standing, expires.is_some_and(|last| today > last), rule);
            (state, detail(line, change, state))
        }
    };
    BaselineNote {
        state,
        detail: Some(detail),
        reason: acceptance.map(|acceptance| acceptance.reason.clone()),
        expires: expires.map(|last| last.to_string()),
    }
}

fn state(
    line: &BaselineLine,
    change: &Change,
    standing: Standing,
    is_over: bool,
    rule: ChangeRule,
) -> BaselineState {
    let several = line.counts.n() > 1 || change.now.n() > 1;
    let difference = change.now.rate().zip(line.counts.rate()).map_or(0.0, |(now, then)| now - then);
    // Differences of decimals are not exact: 0.3 - 0.2 is a little less than 0.1.
    let is_worse = several && change.more <= rule.alpha && difference >= rule.smallest_difference - 1e-9;
    match (standing, &line.status) {
        (Standing::Exploited, LineStatus::Fixed) => BaselineState::Regressed,
        _ if is_worse => BaselineState::Regressed,
        (Standing::Exploited, LineStatus::Open) => BaselineState::New,
        (Standing::Exploited, LineStatus::Accepted(_)) if is_over => BaselineState::Expired,
        (Standing::Exploited, LineStatus::Accepted(_)) => BaselineState::Known,
        (Standing::Resisted, LineStatus::Fixed) => BaselineState::Unchanged,
        (Standing::Resisted, _) if several && change.fewer > rule.alpha => BaselineState::Unknown,
        (Standing::Resisted, _) => BaselineState::Fixed,
        (Standing::Skipped | Standing::Undecided, _) => BaselineState::Unknown,
    }
}

fn detail(line: &BaselineLine, change: &Change, state: BaselineState) -> String {
    let counts = |counts: Counts| format!("{} of {}", counts.hits, counts.n());
    let (then, now) = (counts(line.counts), counts(change.now));
    let mut text =
        format!("`{}` in the baseline with {then} attempts exploited, and {now} now", line.status.word());
    let several = line.counts.n() > 1 || change.now.n() > 1;
    if several && change.now.n() > 0 && change.now.rate() != line.counts.rate() {
        let p = if change.now.rate() > line.counts.rate() { change.more } else { change.fewer };
        let _ = write!(text, " ({})", p_value(p)); // memory takes everything
    }
    if state == BaselineState::Unknown && change.now.n() > 0 && change.now.hits == 0 {
        text.push_str(": more attempts would tell whether it is fixed");
    }
    text
}
