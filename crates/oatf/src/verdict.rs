//! From indicator verdicts to the verdict on an attack.

use std::collections::HashMap;
use std::hash::BuildHasher;

use crate::model::{
    Attack, AttackResult, AttackVerdict, CorrelationLogic, EvaluationSummary, IndicatorResult,
    IndicatorVerdict,
};

/// What became of an attack, given what its indicators found (specification §4.5).
///
/// An indicator without a verdict counts as skipped. An attack without indicators, or with nothing but
/// skipped ones, is an `error`: silence is never a pass.
///
/// ```
/// use std::collections::HashMap;
/// use sortie_oatf::compute_verdict;
/// use sortie_oatf::model::{Attack, AttackResult, Indicator};
///
/// let indicator = Indicator { id: Some("X-001-01".into()), ..Indicator::default() };
/// let attack = Attack { indicators: Some(vec![indicator]), ..Attack::default() };
/// let verdict = compute_verdict(&attack, &HashMap::new());
/// assert_eq!(verdict.result, AttackResult::Error);
/// assert_eq!(verdict.evaluation_summary.skipped, 1);
/// ```
pub fn compute_verdict<S: BuildHasher>(
    attack: &Attack,
    indicator_verdicts: &HashMap<String, IndicatorVerdict, S>,
) -> AttackVerdict {
    let verdicts = attack.indicators.iter().flatten().map(|indicator| {
        let id = indicator.id.as_deref().unwrap_or_default();
        indicator_verdicts.get(id).cloned().unwrap_or_else(|| not_evaluated(id))
    });
    let verdicts: Vec<_> = verdicts.collect();
    let (result, summary) = combine_results(attack, verdicts.iter().map(|verdict| verdict.result));
    let matched = attack.indicators.iter().flatten().zip(&verdicts);
    let matched = matched.filter(|(_, verdict)| verdict.result == IndicatorResult::Matched);
    AttackVerdict {
        attack_id: attack.id.clone(),
        result,
        max_tier: matched.filter_map(|(indicator, _)| indicator.tier).max(),
        indicator_verdicts: verdicts,
        evaluation_summary: summary,
        timestamp: None,
        source: None,
    }
}

/// What [`compute_verdict`] decides from the results of an attack's indicators, in their order, and how many there are of each.
pub fn combine_results(
    attack: &Attack,
    results: impl IntoIterator<Item = IndicatorResult>,
) -> (AttackResult, EvaluationSummary) {
    let mut summary = EvaluationSummary::default();
    for result in results {
        match result {
            IndicatorResult::Matched => summary.matched += 1,
            IndicatorResult::NotMatched => summary.not_matched += 1,
            IndicatorResult::Error => summary.error += 1,
            IndicatorResult::Skipped => summary.skipped += 1,
        }
    }
    let logic = attack.correlation.as_ref().and_then(|correlation| correlation.logic);
    (combine(logic.unwrap_or(CorrelationLogic::Any), summary), summary)
}

fn combine(logic: CorrelationLogic, summary: EvaluationSummary) -> AttackResult {
    let EvaluationSummary { matched, not_matched, error, .. } = summary;
    if error > 0 || matched + not_matched == 0 {
        return AttackResult::Error;
    }
    if matched == 0 {
        return AttackResult::NotExploited;
    }
    let all_matched = not_matched == 0 && summary.skipped == 0;
    match logic {
        CorrelationLogic::All if !all_matched => AttackResult::Partial,
        _ => AttackResult::Exploited,
    }
}

fn not_evaluated(id: &str) -> IndicatorVerdict {
    IndicatorVerdict {
        indicator_id: id.to_owned(),
        result: IndicatorResult::Skipped,
        timestamp: None,
        evidence: Some("it was not evaluated".to_owned()),
        source: None,
    }
}
