//! Speed counts only where the answers are the same.

use crate::inputs::Message;
use crate::subject::{Outcome, Subject};

/// Pairs on which the rival is wrong: the end of the indicator's id, the message, and why.
///
/// One that no longer differs must go, so that the list says what is.
const RIVAL_IS_WRONG: &[(&str, &str, &str)] = &[
    // RE2's `\d` is ASCII only; the rival's engine matches every decimal digit of Unicode.
    ("OATF-004-03", "mcp_digits_that_are_not_ascii", r"`CUST-\d` matches a digit that is not ASCII"),
    ("OATF-005-02", "mcp_digits_that_are_not_ascii", r"`CUST-\d` matches a digit that is not ASCII"),
];

/// What a comparison of all pairs gave.
pub(crate) struct Comparison {
    pub(crate) pairs: usize,
    pub(crate) matched: usize,
    /// Explained differences, ready to print.
    pub(crate) explained: Vec<String>,
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
    let mut comparison = Comparison { pairs: 0, matched: 0, explained: Vec::new(), unexplained: Vec::new() };
    let mut used = vec![!official; RIVAL_IS_WRONG.len()];
    if rival.len() != ours.len() {
        comparison.unexplained.push(format!("{} indicators, and {} of ours", rival.len(), ours.len()));
    }
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
            let known = RIVAL_IS_WRONG
                .iter()
                .position(|(indicator, name, _)| id == indicator && *name == message.name);
            let difference = format!("{id} on {}: rival {theirs:?}, ours {ours:?}", message.name);
            if let Some(at) = known {
                used[at] = true;
                comparison.explained.push(format!("{difference}: {}", RIVAL_IS_WRONG[at].2));
            } else {
                comparison.unexplained.push(difference);
            }
        }
    }
    for ((indicator, message, _), _) in RIVAL_IS_WRONG.iter().zip(used).filter(|(_, used)| !used) {
        comparison.unexplained.push(format!("{indicator} on {message}: listed as different, and is not"));
    }
    comparison
}
