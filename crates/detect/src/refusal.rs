//! Calls that the agent's client refused: what the model asked for, and what never reached a server.

use sortie_oatf::IndicatorOutcome;
use sortie_trace::Observed;

use crate::outcome::{Excerpt, Match, RefusedCall, Seen};

/// Refused calls that indicators look for: the first of each indicator, in the order of the trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals(Vec<RefusedCall>);

impl Refusals {
    /// Adds what an indicator says about a call that was refused in these words.
    pub(crate) fn add(
        &mut self,
        indicator: &str,
        outcome: &IndicatorOutcome,
        observed: &Observed<'_>,
        words: &str,
    ) {
        let IndicatorOutcome::Matched(evidence) = outcome else { return };
        if self.0.iter().any(|known| known.indicator_id == indicator) {
            return;
        }
        self.0.push(RefusedCall {
            indicator_id: indicator.to_owned(),
            refusal: words.to_owned(),
            r#match: Match::new(observed.record.seq, evidence),
            seen: Seen::new(observed),
            excerpt: Excerpt::of(evidence),
        });
    }

    pub(crate) fn calls(&self) -> &[RefusedCall] {
        &self.0
    }
}
