//! Which states fail a run.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use sortie_detect::{Outcome, Standing};

use super::state::BaselineState;
use crate::Report;

/// The states that fail a run: `new,regressed,expired` unless others are asked for, or `none`.
///
/// ```
/// use sortie_report::baseline::{BaselineState, FailOn};
///
/// assert_eq!(FailOn::default().to_string(), "new,regressed,expired");
/// assert!("stale, new".parse::<FailOn>().unwrap().contains(BaselineState::Stale));
/// assert!("newer".parse::<FailOn>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailOn(BTreeSet<BaselineState>);

/// A text that names no states that could fail a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FailOnError {
    /// It names nothing.
    #[error("no state is named: write some of `{}`, or `none`", words())]
    Empty,
    /// It names something that is no such state.
    #[error("`{0}` is not a state that fails a run: write some of `{words}`, or `none`", words = words())]
    NoState(String),
}

impl FailOn {
    /// The states that can be asked for. An `unchanged` case is no reason to fail, and an `unknown` one is undecided.
    pub const STATES: [BaselineState; 6] = [
        BaselineState::New,
        BaselineState::Regressed,
        BaselineState::Known,
        BaselineState::Fixed,
        BaselineState::Expired,
        BaselineState::Stale,
    ];

    /// Whether a case in this state fails the run.
    pub fn contains(&self, state: BaselineState) -> bool {
        self.0.contains(&state)
    }

    /// Whether this case of a report fails the run.
    fn fails(&self, report: &Report, run: &Outcome) -> bool {
        let is_exploited = run.standing == Some(Standing::Exploited);
        match report.baseline.get(&run.id).map(|note| note.state) {
            // The line says nothing, so the case is as new as one without a line.
            Some(BaselineState::Stale) => {
                self.contains(BaselineState::Stale) || is_exploited && self.contains(BaselineState::New)
            }
            Some(state) => self.contains(state),
            None => is_exploited && self.contains(BaselineState::New),
        }
    }
}

fn words() -> String {
    FailOn::STATES.map(BaselineState::as_str).join(",")
}

impl Default for FailOn {
    fn default() -> Self {
        Self(BTreeSet::from([BaselineState::New, BaselineState::Regressed, BaselineState::Expired]))
    }
}

impl FromStr for FailOn {
    type Err = FailOnError;

    fn from_str(text: &str) -> Result<Self, FailOnError> {
        match text.trim() {
            "" => return Err(FailOnError::Empty),
            "none" => return Ok(Self(BTreeSet::new())),
            _ => {}
        }
        let state = |word: &str| {
            let state = word.trim().parse().ok().filter(|state| Self::STATES.contains(state));
            state.ok_or_else(|| FailOnError::NoState(word.trim().to_owned()))
        };
        text.split(',').map(state).collect::<Result<_, _>>().map(Self)
    }
}

/// As it is asked for.
impl Display for FailOn {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return out.write_str("none");
        }
        let words: Vec<&str> = self.0.iter().map(|state| state.as_str()).collect();
        out.write_str(&words.join(","))
    }
}

impl Report {
    /// What all of it counts as in the light of the baseline, which [`Report::baseline`] holds.
    ///
    /// [`Standing::Exploited`] where a case is in one of the states. A case that is exploited and in none of them counts as
    /// resisted. Everything else is as [`Report::standing`] has it: a case that is undecided stays so, whatever a baseline says.
    /// A stale line says nothing about its case, so an exploited one also fails where `new` ones do.
    pub fn standing_against(&self, fail_on: &FailOn, allow_skipped: bool) -> Standing {
        if self.runs.iter().any(|run| fail_on.fails(self, run)) {
            return Standing::Exploited;
        }
        let tolerated = self.runs.iter().filter_map(|run| match run.standing? {
            Standing::Exploited => Some(Standing::Resisted),
            standing => Some(standing),
        });
        self.standing_of(tolerated.max(), allow_skipped)
    }
}
