use super::{Diagnostic, Rule, Span, found, warning};
use crate::model::{Check, Says};

pub(crate) const E_110: Rule = warning("E-110", "a promised verdict can be either", include_str!("e110.md"));

/// What `judge_needs_llm: false` promises, checks must be able to keep, for either verdict.
pub(crate) fn check(checks: &[Check], at: Span) -> Option<Diagnostic> {
    let missing = Says::ALL.iter().find(|says| checks.iter().all(|check| check.says != **says))?;
    let otherwise = match missing {
        Says::Pass => "a target that resists stays undecided",
        Says::Fail => "a target that gives in stays undecided",
    };
    Some(
        found(&E_110, format!("no check says `{missing}`: {otherwise}")).at(at).help(format!(
            "add a check with `says: {missing}`; `cel: 'true'` holds whenever no other decides"
        )),
    )
}
