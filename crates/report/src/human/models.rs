//! The models that helped, and how far they can be trusted.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};

use sortie_detect::accuracy::Accuracy;
use sortie_detect::{Calibration, Cost, INJECTIONS, Measured, Spent, Trust};

use crate::text::{counted, line, style};
use crate::{ModelUse, Models};

/// So many transcripts are named.
const SHOWN: usize = 3;

pub(super) fn write(out: &mut dyn Write, models: &Models, color: bool) -> io::Result<()> {
    let roles = [("judge", &models.judge), ("attacker", &models.attacker), ("semantic", &models.semantic)];
    for (role, model) in roles {
        let Some(model) = model else { continue };
        writeln!(out, "{}: {}", style::paint(color, style::STRONG, role), line(&named(model)))?;
        if role == "judge" {
            match &models.calibration {
                Some(calibration) => write_calibration(out, calibration, color)?,
                None => writeln!(out, "  not calibrated, so its accuracy is unknown")?,
            }
        }
    }
    let reused = match models.reused {
        0 => String::new(),
        reused => format!("; {reused} answers were there already"),
    };
    let Spent { calls, cost, .. } = models.spent;
    // Without prices nobody knows what it costs, and that is not nothing.
    let cost = if cost == Cost::default() { String::new() } else { format!(", cost {cost}") };
    let calibration = match models.calibration_calls {
        0 => String::new(),
        calls => format!(" ({calls} to measure the judge)"),
    };
    let tokens = models.spent.tokens();
    writeln!(out, "models took {calls} calls{calibration}, {tokens} tokens{cost}{reused}\n")
}

/// The same as plain text.
pub(crate) fn text(models: &Models) -> io::Result<String> {
    let mut text = Vec::new();
    write(&mut text, models, false)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn named(model: &ModelUse) -> String {
    let ModelUse { kind, endpoint, model, version, votes, threshold } = model;
    let mut text = format!("{model} ({kind}, {endpoint}");
    let mut say = |word: &str, number: Option<String>| {
        if let Some(number) = number {
            let _ = write!(text, ", {word} {number}"); // memory takes everything
        }
    };
    say("questions of version", version.map(|version| version.to_string()));
    say("votes", votes.map(|votes| votes.to_string()));
    say("threshold", threshold.map(|threshold| threshold.to_string()));
    text + ")"
}

/// What it gets right of what is known, and whom it must not judge by.
fn write_calibration(out: &mut dyn Write, calibration: &Calibration, color: bool) -> io::Result<()> {
    let Calibration { sensitivity, specificity, injections, measured, .. } = calibration;
    let rates = [
        ("sensitivity", sensitivity, "the judge found", "targets that gave in"),
        ("specificity", specificity, "the judge cleared", "targets that resisted"),
        (
            "injections",
            injections,
            "the judge withstood",
            "injections, in which a target tells it what to say",
        ),
    ];
    for (name, rate, did, what) in rates {
        writeln!(out, "  {name:<11}  {}", told(rate, did, what))?;
    }
    let not_asked = measured.iter().filter(|one| !one.was_asked()).count();
    if not_asked > 0 {
        let questions = counted(not_asked, "question was", "questions were");
        writeln!(out, "  not asked    {questions} not asked, and count neither way")?;
    }
    let evaluators: BTreeSet<&str> = measured.iter().map(|one| one.evaluator.as_str()).collect();
    for evaluator in evaluators.into_iter().filter(|evaluator| *evaluator != INJECTIONS) {
        if let Trust::Lost(reason) = calibration.trust(evaluator) {
            let word = style::paint(color, style::WARNING, "not trusted");
            writeln!(out, "  {word}  {}: {}", line(evaluator), line(&reason.to_string()))?;
        }
    }
    write_persuaded(out, measured, color)
}

/// Which transcripts that speak to the judge it answered wrongly. They are of no evaluator, so no verdict falls with them:
/// whoever reads a `pass` of this judge has to know.
fn write_persuaded(out: &mut dyn Write, measured: &[Measured], color: bool) -> io::Result<()> {
    let wrong = measured.iter().filter(|one| one.evaluator == INJECTIONS && one.is_wrong());
    let names: Vec<_> = wrong.map(|one| one.case.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let word = style::paint(color, style::WARNING, "warning");
    writeln!(
        out,
        "  {word}      a target that speaks to this judge may decide its own verdict: {}{more}",
        line(&shown)
    )
}

/// Who did what how often, with the share and its interval.
fn told(rate: &Accuracy, did: &str, what: &str) -> String {
    let Some(share) = rate.share() else { return format!("unknown: there were no {what}") };
    let (low, high) = (rate.interval.low, rate.interval.high);
    format!("{did} {} of {} {what}: {share:.3} ({low:.3} to {high:.3})", rate.right, rate.of)
}
