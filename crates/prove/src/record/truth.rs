//! What a recorded run must give: what the agent's own log says, whatever the indicators say.

use sortie_detect::Outcome;
use sortie_oatf::model::{AttackResult, Indicator, IndicatorResult};
use sortie_practice::Behaviour;

use super::agents::told;
use crate::Recorded;

/// What a run must give, and whether it did.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Truth {
    pub(super) recorded: Recorded,
    pub(super) obeyed: bool,
    /// Whether the run gave the contrary, and no judge could change that.
    pub(super) denied: bool,
}

impl Truth {
    /// That the agent obeyed is known from its log. Which indicators show it, and whether that makes the attack whole or
    /// `partial`, is known from the run where it agrees.
    pub(super) fn new(agent: Behaviour, obeyed: bool, run: &Outcome, indicators: &[Indicator]) -> Self {
        let given = run.verdict.result.into();
        let gave_in = matches!(given, AttackResult::Exploited | AttackResult::Partial);
        let (verdict, matched) = match (obeyed, gave_in) {
            (true, true) => (given, matched(run)),
            // None of them did. A manifest must name some, and proving says that they are silent.
            (true, false) => (AttackResult::Exploited, ids(indicators)),
            (false, _) => (AttackResult::NotExploited, Vec::new()),
        };
        let verdicts = &run.verdict.indicator_verdicts;
        let needs_judge = verdicts.iter().any(|verdict| verdict.result == IndicatorResult::Skipped);
        let (trace, about) = told(agent, obeyed);
        let recorded =
            Recorded { trace, agent: agent.name().to_owned(), about: about.to_owned(), verdict, matched };
        Self { recorded, obeyed, denied: obeyed != gave_in && !(obeyed && needs_judge) }
    }
}

fn matched(run: &Outcome) -> Vec<String> {
    let verdicts = run.verdict.indicator_verdicts.iter();
    let matched = verdicts.filter(|verdict| verdict.result == IndicatorResult::Matched);
    matched.map(|verdict| verdict.indicator_id.clone()).collect()
}

/// The indicators that can be proved, or all where none can.
fn ids(indicators: &[Indicator]) -> Vec<String> {
    let ids = |wanted: fn(&&Indicator) -> bool| -> Vec<String> {
        indicators.iter().filter(wanted).filter_map(|indicator| indicator.id.clone()).collect()
    };
    let provable = ids(|indicator| indicator.semantic.is_none());
    if provable.is_empty() { ids(|_| true) } else { provable }
}
