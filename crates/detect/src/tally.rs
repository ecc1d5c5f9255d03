//! Many messages, one indicator.

use sortie_oatf::model::IndicatorResult;
use sortie_oatf::{IndicatorOutcome, MatchEvidence};
use sortie_trace::Observed;

use crate::outcome::Seen;

/// What an indicator has said so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    state: State,
}

#[derive(Clone, Debug, Default)]
enum State {
    /// Nothing, or that it does not match.
    #[default]
    NotMatched,
    /// It cannot be evaluated here, whatever is said.
    Skipped(&'static str),
    /// It failed, this often; this is the first time.
    Failed { first: At, reason: String, count: u64 },
    /// It matched; this is the first time.
    Matched { at: At, evidence: Box<MatchEvidence> },
}

/// The message something was said about.
#[derive(Clone, Debug)]
pub(crate) struct At {
    pub(crate) seen: Seen,
    pub(crate) time: String,
}

pub(crate) struct Sum<'t> {
    pub(crate) text: Option<String>,
    pub(crate) at: Option<&'t At>,
    pub(crate) evidence: Option<&'t MatchEvidence>,
}

impl Tally {
    /// For an indicator that cannot be evaluated. Without this, one that no message was selected for would look
    /// as if it had been.
    pub(crate) fn skipped(reason: &'static str) -> Self {
        Self { state: State::Skipped(reason) }
    }

    /// Whether nothing that is said from here on can change it.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.state, State::Matched { .. } | State::Skipped(_))
    }

    /// Whether it never said anything but that it does not match.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.state, State::NotMatched)
    }

    pub(crate) fn is_matched(&self) -> bool {
        matches!(self.state, State::Matched { .. })
    }

    pub(crate) fn why_skipped(&self) -> Option<&'static str> {
        match self.state {
            State::Skipped(why) => Some(why),
            _ => None,
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed { .. })
    }

    /// Adds what it says about one message; says whether it now matches.
    pub(crate) fn add(&mut self, outcome: IndicatorOutcome, observed: &Observed<'_>) -> bool {
        let at = || At { seen: Seen::new(observed), time: observed.record.time.clone() };
        match outcome {
            IndicatorOutcome::Matched(evidence) => {
                self.state = State::Matched { at: at(), evidence: Box::new(evidence) };
                return true;
            }
            IndicatorOutcome::Error(error) => match &mut self.state {
                State::Failed { count, .. } => *count += 1,
                state => *state = State::Failed { first: at(), reason: error.to_string(), count: 1 },
            },
            IndicatorOutcome::Skipped(reason) => self.state = State::Skipped(reason),
            IndicatorOutcome::NotMatched => {}
        }
        false
    }

    pub(crate) fn result(&self) -> IndicatorResult {
        match self.state {
            State::NotMatched => IndicatorResult::NotMatched,
            State::Skipped(_) => IndicatorResult::Skipped,
            State::Failed { .. } => IndicatorResult::Error,
            State::Matched { .. } => IndicatorResult::Matched,
        }
    }

    pub(crate) fn sum(&self) -> Sum<'_> {
        let (text, at) = match &self.state {
            State::NotMatched => (None, None),
            State::Skipped(reason) => (Some((*reason).to_owned()), None),
            State::Failed { first, reason, count } => {
                let more = match count {
                    1 => String::new(),
                    count => format!(", and of {} more", count - 1),
                };
                let text = format!("{reason} (of message {}{more})", first.seen.seq);
                (Some(text), Some(first))
            }
            State::Matched { at, evidence } => (Some(evidence.to_string()), Some(at)),
        };
        let evidence = match &self.state {
            State::Matched { evidence, .. } => Some(&**evidence),
            _ => None,
        };
        Sum { text, at, evidence }
    }
}
