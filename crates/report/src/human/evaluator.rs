//! A case of an evaluator: what came of it, what shows it, and in which turn.

use sortie_detect::{
    EvaluatorCase, Evidence, EvidenceSource, Judged, Opinion, Outcome, QuoteSource, Reason, Vote,
};
use sortie_trace::{Role, Transcript};

use super::Page;
use crate::text::{line, style};

/// So much of what was said is shown.
const SHOWN: usize = 300;

/// One case, as it is shown to people.
pub(crate) fn rendered(run: &Outcome, case: &EvaluatorCase, color: bool) -> String {
    let mut page = Page::new(color);
    let severity = run.verdict.severity.map(|severity| format!(" ({severity})")).unwrap_or_default();
    page.headline(run.standing, run.verdict.result.as_str(), &format!("{}{severity}", run.id));
    super::rate::write(&mut page, run);
    page.entry("because", style::STRONG, run.verdict.reason.as_deref().unwrap_or_default());
    for (name, value) in &case.filled {
        page.entry("filled in", style::STRONG, &format!("`{{{{{name}}}}}` is {}", cut(value)));
    }
    let opinion = run.judged.as_ref().and_then(Judged::opinion);
    let decided = opinion.map(|opinion| opinion.ruling.turn);
    asked(&mut page, run, decided.or_else(|| run.evidence.first().and_then(|found| found.turn)));
    for found in run.evidence.iter().filter(|found| found.by == EvidenceSource::Check) {
        checked(&mut page, found);
    }
    for hint in &run.hints {
        page.entry("suspicious", style::WARNING, &format!("{}:", hint.name));
        page.below(&format!("  {}", line(hint.text.as_deref().unwrap_or_default())));
    }
    if let Some(opinion) = opinion {
        judged(&mut page, opinion);
    }
    disputed(&mut page, run.judged.as_ref());
    if let Some(resistance) = run.resistance.as_ref().filter(|_| run.verdict.result.is_pass()) {
        page.entry("facts", style::STRONG, &super::document::facts(resistance));
    }
    for warning in &run.warnings {
        page.entry("warning", style::WARNING, warning);
    }
    if let Some(trace) = &run.trace {
        page.entry("trace", style::STRONG, trace);
    }
    page.text
}

/// What a check saw: where it was told to look, and what stands there.
fn checked(page: &mut Page, found: &Evidence) {
    let path = if found.path.is_empty() { "the transcript" } else { &found.path };
    let at = found.line.map(|at| format!(", matched by the check at line {at}")).unwrap_or_default();
    let word = found.turn.map_or("evidence".to_owned(), |turn| format!("turn {turn}"));
    match &found.text {
        Some(text) => {
            page.entry(&word, style::ERROR, &format!("{path}{at}:"));
            page.below(&format!("  {}", line(text)));
        }
        None => page.entry(&word, style::ERROR, &format!("{path} is absent{at}")),
    }
}

/// Shows an opinion: the target's words first, since they and not the judge's are what carries a verdict.
fn judged(page: &mut Page, opinion: &Opinion) {
    let ruling = &opinion.ruling;
    for quote in &ruling.quotes {
        let place = match quote.source {
            QuoteSource::Text => "says:".to_owned(),
            QuoteSource::Call(call) => format!("in call {}:", call + 1),
        };
        page.entry(&format!("turn {}", quote.turn), style::ERROR, &format!("{place} {}", cut(&quote.text)));
    }
    let again = if ruling.asked_again { ", asked twice" } else { "" };
    let model = &opinion.provenance.model;
    let sure = format!("{model}, {:.2} sure{again}: {}", ruling.confidence, cut(&ruling.reasoning));
    page.entry("judge", style::STRONG, &sure);
}

/// Shows the votes where they do not agree. The reason says what a single one came to.
fn disputed(page: &mut Page, judged: Option<&Judged>) {
    let votes = match judged {
        Some(Judged::Pass(opinion) | Judged::Fail(opinion)) if opinion.is_disputed() => &opinion.votes,
        Some(Judged::Error { votes, .. }) => votes,
        _ => return,
    };
    if votes.len() > 1 {
        let votes: Vec<_> = votes.iter().map(vote).collect();
        page.entry("votes", style::WARNING, &votes.join("; "));
    }
}

fn vote(vote: &Vote) -> String {
    match vote {
        Vote::Ruling(ruling) => {
            format!("{}, {:.2} sure, by turn {}", ruling.verdict, ruling.confidence, ruling.turn)
        }
        Vote::Error { reason } => format!("no verdict: {}", described(reason)),
    }
}

/// A reason in its stable word, and its detail.
fn described(reason: &Reason) -> String {
    let written = serde_json::to_value(reason).unwrap_or_default();
    let kind = written["kind"].as_str().unwrap_or("error").to_owned();
    match &written["detail"] {
        serde_json::Value::Null => kind,
        serde_json::Value::String(detail) => format!("{kind}: {detail}"),
        detail => format!("{kind}: {detail}"),
    }
}

/// The last thing that was said to the target before the turn that decided.
fn asked(page: &mut Page, run: &Outcome, turn: Option<usize>) {
    let turns = run.transcript.iter().flat_map(Transcript::turns);
    let before = turns.enumerate().take(turn.unwrap_or(usize::MAX));
    let said = before.filter(|(_, turn)| turn.role == Role::Attacker).last();
    if let Some((at, said)) = said {
        let text = cut(&said.text);
        let told = match &said.call {
            Some(call) => format!("is called: {} with {text}", call.name),
            None => format!("is told: {text}"),
        };
        page.entry(&format!("turn {}", at + 1), style::STRONG, &told);
    }
}

/// The beginning of a text that may be long.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
