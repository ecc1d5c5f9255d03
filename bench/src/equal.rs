//! Speed counts only where the answers are the same.

use std::collections::BTreeSet;

use crate::inputs::Message;
use crate::subject::{Outcome, Subject};

/// Pairs on which the rival is wrong. One that no longer differs must go, so that the list says what is.
struct Known {
    message: &'static str,
    indicators: &'static [&'static str],
    rival: Outcome,
    ours: Outcome,
    why: &'static str,
}

const RIVAL_IS_WRONG: &[Known] = &[Known {
    message: "mcp_digits_that_are_not_ascii",
    indicators: &[
        "OATF-004-02",
        "OATF-005-02",
        "OATF-006-03",
        "OATF-006-001-03",
        "OATF-014-03",
        "OATF-014-001-03",
        "OATF-014-002-03",
        "OATF-014-003-03",
        "OATF-014-004-03",
        "OATF-014-005-03",
        "OATF-014-006-03",
        "OATF-014-007-03",
        "OATF-014-008-03",
    ],
    rival: Outcome::Matched,
    ours: Outcome::NotMatched,
    why: r"RE2's `\d` is ASCII only, the rival's matches every decimal digit of Unicode",
}];

/// What a comparison of all pairs gave.
pub(crate) struct Comparison {
    pub(crate) pairs: usize,
    pub(crate) matched: usize,
    /// Pairs on which the rival is wrong.
    pub(crate) explained: usize,
    /// Why it is, each reason once with all its pairs, ready to print.
    pub(crate) reasons: Vec<String>,
    /// Differences without an explanation, and explanations without a difference.
    pub(crate) unexplained: Vec<String>,
}

/// Compares the verdicts on every pair of an indicator and a message. Both lists have the same indicators in the same
/// order.
pub(crate) fn compare<A: Subject, B: Subject>(
    rival: &[(String, A::Indicator)],
    ours: &[(String, B::Indicator)],
    messages: &[Message],
    official: bool,
) -> Comparison {
    let mut comparison =
        Comparison { pairs: 0, matched: 0, explained: 0, reasons: Vec::new(), unexplained: Vec::new() };
    let mut stale: BTreeSet<(&str, &str)> = BTreeSet::new();
    if official {
        stale.extend(
            RIVAL_IS_WRONG
                .iter()
                .flat_map(|known| known.indicators.iter().map(|indicator| (*indicator, known.message))),
        );
    }
    if rival.len() != ours.len() {
        comparison.unexplained.push(format!("{} indicators, and {} of ours", rival.len(), ours.len()));
    }
    let mut seen: Vec<Vec<String>> = RIVAL_IS_WRONG.iter().map(|_| Vec::new()).collect();
    for ((id, rival), (our_id, ours)) in rival.iter().zip(ours) {
        if id != our_id {
            comparison.unexplained.push(format!("`{id}` is called `{our_id}` by us"));
        }
        for message in messages {
            let (theirs, ours) = (A::indicator(rival, &message.value), B::indicator(ours, &message.value));
            comparison.pairs += 1;
            comparison.matched += usize::from(ours == Outcome::Matched);
            if theirs == ours {
                continue;
            }
            let known = RIVAL_IS_WRONG.iter().position(|known| {
                known.message == message.name
                    && known.indicators.contains(&id.as_str())
                    && (known.rival, known.ours) == (theirs, ours)
            });
            if let Some(known) = known {
                stale.remove(&(id.as_str(), RIVAL_IS_WRONG[known].message));
                seen[known].push(id.clone());
                comparison.explained += 1;
            } else {
                let difference = format!("{id} on {}: rival {theirs:?}, ours {ours:?}", message.name);
                comparison.unexplained.push(difference);
            }
        }
    }
    for (known, seen) in RIVAL_IS_WRONG.iter().zip(seen).filter(|(_, seen)| !seen.is_empty()) {
        let Known { message, rival, ours, why, .. } = known;
        comparison.reasons.push(format!("on `{message}` the rival says {rival:?}, we say {ours:?}: {why}"));
        comparison.reasons.push(format!("  ({})", seen.join(", ")));
    }
    for (indicator, message) in stale {
        comparison.unexplained.push(format!("{indicator} on {message}: listed as different, and is not"));
    }
    comparison
}
