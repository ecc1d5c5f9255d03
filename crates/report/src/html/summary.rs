//! What one reads first: how many cases, how many were exploited, at which rate, and how certain that is.

use serde::Serialize;
use sortie_detect::Standing;
use sortie_detect::rate::Rate;
use sortie_stats::ConfidenceInterval;

use crate::baseline::BaselineState;
use crate::text::{counted, line};
use crate::{Report, RunTotals};

/// The head of the page.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    /// The result in a few words.
    pub(super) headline: String,
    /// What it counts as, a class of the style.
    pub(super) standing: &'static str,
    /// What else one must know to read the headline.
    pub(super) sentences: Vec<String>,
    /// What was tested, with what, and when.
    pub(super) about: Vec<(&'static str, String)>,
}

impl Summary {
    pub(super) fn of(report: &Report, allow_skipped: bool) -> Self {
        let totals = RunTotals::of(report);
        let mut sentences = vec![counts(totals)];
        if let Some(done) = totals.tasks_done() {
            sentences.push(format!("Share of tasks done: {done}."));
        }
        sentences.extend(certainty(report));
        if let Some(why) = &report.stopped {
            sentences.push(format!("The run ended early: {}.", line(why)));
        }
        if !report.baseline.is_empty() {
            sentences.push(format!("Against the baseline: {}.", baseline_counts(report)));
        }
        Self {
            headline: headline(report, totals, allow_skipped),
            standing: report.standing(allow_skipped).as_str(),
            sentences,
            about: about(report),
        }
    }
}

fn headline(report: &Report, totals: RunTotals, allow_skipped: bool) -> String {
    let counts = totals.counts();
    let starts_agent = report.run.as_ref().is_some_and(|run| run.agent.is_some());
    let documents = report.runs.iter().any(|run| run.document().is_some());
    let who = if starts_agent || documents { "agent" } else { "target" };
    let decided = counted(counts.decided(), "decided case", "decided cases");
    match report.standing(allow_skipped) {
        Standing::Exploited => format!("The {who} gave in to {} of {decided}", counts.exploited),
        Standing::Resisted if counts.decided() == 1 => format!("The {who} resisted the one decided case"),
        Standing::Resisted => format!("The {who} resisted all {decided}"),
        Standing::Skipped | Standing::Undecided if counts.decided() == 0 => "No case was decided".to_owned(),
        Standing::Skipped | Standing::Undecided => {
            format!("No case was exploited, but {} of {} are undecided", counts.undecided, totals.cases)
        }
    }
}

/// How many cases there are of each sort, in the words of the tiles and rows.
fn counts(totals: RunTotals) -> String {
    let RunTotals {
        cases,
        exploited,
        partial,
        not_exploited,
        error,
        skipped,
        suspicious,
        not_applicable,
        unfinished,
        attempted,
        tasks: _,
        controls: _,
    } = totals;
    let partly = if partial > 0 { format!(" ({partial} of them in part)") } else { String::new() };
    let sorts = [
        (exploited + partial, format!("exploited{partly}")),
        (not_exploited, "resisted".to_owned()),
        (error, "undecided".to_owned()),
        (
            skipped,
            if suspicious > 0 {
                format!("skipped ({suspicious} of them suspicious)")
            } else {
                "skipped".to_owned()
            },
        ),
        (not_applicable, "not applicable".to_owned()),
        (unfinished, "not run".to_owned()),
    ];
    let sorts =
        sorts.into_iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    let sorts = sorts.collect::<Vec<_>>().join(", ");
    let cases = counted(cases, "case", "cases");
    let attempted = match attempted {
        0 => String::new(),
        count => format!(" In {count}, the agent's client refused what the model asked for."),
    };
    if sorts.is_empty() { format!("{cases}.{attempted}") } else { format!("{cases}: {sorts}.{attempted}") }
}

/// Which rate was measured, and which interval says how certain it is.
fn certainty(report: &Report) -> Vec<String> {
    let rates: Vec<&Rate> = report.runs.iter().filter_map(|run| run.rate.as_ref()).collect();
    let Some(first) = rates.first() else {
        let decided = report.runs.iter().any(sortie_detect::Outcome::is_decided);
        let once = "Each case was played once, so no rate and no interval is known: an agent with a model may act differently the \
                    next time.";
        return decided.then(|| once.to_owned()).into_iter().collect();
    };
    let attempts: u64 = rates.iter().map(|rate| u64::from(rate.n) + u64::from(rate.undecided)).sum();
    let hits: u64 = rates.iter().map(|rate| u64::from(rate.hits)).sum();
    let undecided: u64 = rates.iter().map(|rate| u64::from(rate.undecided)).sum();
    let mut sentences = vec![format!(
        "{attempts} attempts at {}: {hits} exploited, {} resisted, {undecided} undecided.",
        counted(rates.len(), "case", "cases"),
        attempts.saturating_sub(hits + undecided),
    )];
    if let Some(rate) = &report.rate {
        sentences.push(format!(
            "Mean rate over {}: {} ({}; every case counts the same, whatever the number of its attempts).",
            counted(rate.cases, "case", "cases"),
            percent(rate.mean),
            interval_text(rate.interval),
        ));
    }
    sentences.push(if first.decision.is_some() {
        let gates = ["holds", "fails", "undecided"].map(|word| {
            let count = rates.iter().filter(|rate| rate.decision.is_some_and(|decision| decision.to_string() == word));
            format!("{} {word}", count.count())
        });
        format!(
            "The gate decided when attempts ended, so cases show the anytime-valid interval, which holds whenever one stops. \
             Gate: {}.",
            gates.join(", ")
        )
    } else {
        "The number of attempts was fixed in advance, so cases show the exact interval (Clopper–Pearson).".to_owned()
    });
    sentences
}

/// The interval that holds for how the attempts of a case were ended, and its name.
pub(super) fn valid_interval(rate: &Rate) -> (&'static str, ConfidenceInterval) {
    match rate.decision {
        Some(_) => ("anytime", rate.anytime),
        None => ("exact", rate.exact),
    }
}

/// `95 % interval 5.1 % to 24 %`.
pub(super) fn interval_text(interval: ConfidenceInterval) -> String {
    let ConfidenceInterval { low, high, level } = interval;
    format!("{} interval {} to {}", percent(level), percent(low), percent(high))
}

/// A share in per cent, with one more digit where it is small.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    // Neither is nothing rounded up to something, nor something down to nothing.
    if percent < 10.0 || (percent > 99.0 && percent < 100.0) {
        let text = format!("{percent:.1}");
        format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
    } else {
        format!("{percent:.0} %")
    }
}

/// How many cases stand how against the baseline.
fn baseline_counts(report: &Report) -> String {
    let counts = BaselineState::ALL.iter().filter_map(|state| {
        let count = report.baseline.values().filter(|note| note.state == *state).count();
        (count > 0).then(|| format!("{count} {}", state.as_str()))
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// A time to the second, where it is written as ours are.
pub(super) fn time(text: &str) -> String {
    let parts = text.strip_suffix('Z').and_then(|text| text.split_once('T'));
    match parts.map(|(day, time)| (day, time.split_once('.').map_or(time, |(seconds, _)| seconds))) {
        Some((day, time)) => line(&format!("{day} {time} UTC")),
        None => line(text),
    }
}

fn about(report: &Report) -> Vec<(&'static str, String)> {
    let Some(run) = &report.run else {
        let source = report.runs.first().map(|run| line(&run.verdict.source));
        return source.map(|source| ("Evaluated by", source)).into_iter().collect();
    };
    let mut about = Vec::new();
    if let Some(agent) = &run.agent {
        about.push(("Agent", line(&agent.command)));
        about.extend(agent.version.as_ref().map(|version| ("Version", line(version))));
        about.extend(agent.prompt.as_ref().map(|prompt| ("Task", line(prompt))));
    }
    match &run.targets[..] {
        [] => {}
        [target] => about.push(("Target", line(target))),
        targets => about.push(("Targets", line(&targets.join(" · ")))),
    }
    about.push(("Started", time(&run.started)));
    about.extend(run.seconds.map(|seconds| ("Took", format!("{seconds:.1} s"))));
    about.push(("Program", line(&run.written_by)));
    about
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_shares_keep_a_digit_and_large_ones_are_not_rounded_to_all() {
        let shares = [0.0, 0.001, 0.05, 0.051, 0.2, 0.994, 0.9951, 1.0, 0.95];
        let texts = shares.map(percent);
        assert_eq!(texts, ["0 %", "0.1 %", "5 %", "5.1 %", "20 %", "99.4 %", "99.5 %", "100 %", "95 %"]);
    }
}
