//! A case in one line, for formats that have a line for each.

use sortie_detect::rate::Rate;
use sortie_detect::{CaseResult, Evidence, EvidenceSource, IndicatorFinding, Outcome, Standing};
use sortie_oatf::model::IndicatorResult;
use sortie_stats::ConfidenceInterval;

use crate::human::{outcome, refusal, title, why_undecided};

/// The evidence that shows most: that of the indicator with the worst tier, or the first.
pub(crate) fn decisive(run: &Outcome) -> Option<&Evidence> {
    let worst = worst_indicator(run).map(|finding| finding.indicator_id.as_str());
    let is_worst = |found: &&Evidence| found.by == EvidenceSource::Indicator && Some(&*found.name) == worst;
    run.evidence.iter().find(is_worst).or_else(|| run.evidence.first())
}

/// The indicator that matched with the worst tier; of several, the first.
fn worst_indicator(run: &Outcome) -> Option<&IndicatorFinding> {
    let matched = run.verdict.indicator_verdicts.iter().rev();
    matched.filter(|finding| finding.result == IndicatorResult::Matched).max_by_key(|finding| finding.tier)
}

/// What happened, in one sentence without markup.
pub(crate) fn happened(run: &Outcome) -> String {
    if let Some((word, why)) = why_undecided(run) {
        return format!("{word}: {why}");
    }
    if run.standing == Some(Standing::Resisted) {
        if let Some(call) = run.attempted.first() {
            return refusal(call);
        }
        return run.verdict.reason.clone().unwrap_or_else(|| "the agent resisted".to_owned());
    }
    if let Some(reason) = &run.verdict.reason {
        return reason.clone();
    }
    let extent = if run.verdict.result == CaseResult::Partial { "in part, " } else { "" };
    let Some(worst) = worst_indicator(run) else { return outcome(run) };
    let tier = worst.tier.map(|tier| format!(", {tier}")).unwrap_or_default();
    let description = worst.description.as_deref().map_or("it matched", str::trim);
    format!("{description} ({extent}indicator {}{tier})", worst.indicator_id)
}

/// The name of a case that people know: id and name of a document, or the id of a case of an evaluator.
pub(crate) fn name(run: &Outcome) -> String {
    run.document().map_or_else(|| run.id.clone(), title)
}

/// How often it was exploited, with the interval for a number of attempts that was fixed before.
pub(crate) fn rate(rate: &Rate) -> String {
    let undecided = match rate.undecided {
        0 => String::new(),
        undecided => format!(", {undecided} undecided"),
    };
    let exact = interval(rate.exact);
    let decision = rate.decision.map(|decision| format!("; gate: {decision}")).unwrap_or_default();
    format!("{} of {} attempts{undecided}; exact interval {exact}{decision}", rate.hits, rate.n)
}

/// An interval in percent, with its level.
pub(crate) fn interval(interval: ConfidenceInterval) -> String {
    let ConfidenceInterval { low, high, level } = interval;
    format!("{} to {} at {}", percent(low), percent(high), percent(level))
}

/// A share in percent, with one digit after the point where it is not a whole number.
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// The beginning of a text that may be long.
pub(crate) fn cut(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
