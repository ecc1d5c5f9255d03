//! A case of an evaluator: what came of it, what shows it, and in which turn.

use sortie_detect::Standing;
use sortie_engine::cases::{CaseResult, DecidedBy};
use sortie_trace::{Role, Transcript};

use super::opinion::Opinion;
use super::page::Page;
use crate::text::{line, style};

/// So much of what was said is shown.
const SHOWN: usize = 300;

/// One case, as it is shown to people.
pub(crate) fn rendered(result: &CaseResult, standing: Standing, color: bool) -> String {
    let mut page = Page::new(color);
    page.headline(standing, result.verdict.as_str(), &format!("{} ({})", result.id, result.severity));
    page.entry("because", style::STRONG, &result.reason);
    for (name, value) in &result.filled {
        page.entry("filled in", style::STRONG, &format!("`{{{{{name}}}}}` is {}", cut(value)));
    }
    match &result.decided_by {
        Some(DecidedBy::Check { line, path, text, turn, .. }) => {
            asked(&mut page, result, *turn);
            checked(&mut page, (*line, path, text.as_deref()), *turn);
        }
        Some(DecidedBy::Judge { opinion }) => {
            let opinion = Opinion::of(opinion);
            asked(&mut page, result, opinion.ruling.as_ref().map(|ruling| ruling.turn));
            judged(&mut page, &opinion);
        }
        None => asked(&mut page, result, None),
    }
    for error in &result.check_errors {
        page.entry("warning", style::WARNING, error);
    }
    if let Some(trace) = &result.trace {
        page.entry("trace", style::STRONG, trace);
    }
    page.text
}

/// What a check saw: where it was told to look, and what stands there.
fn checked(page: &mut Page, (at, path, text): (Option<usize>, &str, Option<&str>), turn: Option<usize>) {
    let path = if path.is_empty() { "the transcript" } else { path };
    let at = at.map(|at| format!(", asked for in line {at}")).unwrap_or_default();
    let word = turn.map_or("evidence".to_owned(), |turn| format!("turn {turn}"));
    match text {
        Some(text) => {
            page.entry(&word, style::ERROR, &format!("{path}{at}:"));
            page.below(&format!("  {}", line(text)));
        }
        None => page.entry(&word, style::ERROR, &format!("{path} is absent{at}")),
    }
}

/// Shows an opinion: the target's words first, since they and not the judge's are what carries a verdict.
fn judged(page: &mut Page, opinion: &Opinion) {
    if let Some(ruling) = &opinion.ruling {
        for quote in &ruling.quotes {
            let word = format!("turn {}", quote.turn);
            page.entry(&word, style::ERROR, &format!("{} {}", quote.place, cut(&quote.text)));
        }
        let model = opinion.model.as_deref().unwrap_or("the judge");
        let again = if ruling.asked_again { ", asked twice" } else { "" };
        let sure = format!("{model}, {:.2} sure{again}: {}", ruling.confidence, cut(&ruling.reasoning));
        page.entry("judge", style::STRONG, &sure);
    }
    // The reason says what a single one came to.
    if opinion.is_disputed() && opinion.votes.len() > 1 {
        page.entry("votes", style::WARNING, &opinion.votes.join("; "));
    }
}

/// The last thing that was said to the target before the turn that decided.
fn asked(page: &mut Page, result: &CaseResult, turn: Option<usize>) {
    let turns = result.transcript.iter().flat_map(Transcript::turns);
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
fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
