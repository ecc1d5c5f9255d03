//! A case of an evaluator: what came of it, what shows it, and in which turn.

use sortie_detect::Standing;
use sortie_engine::cases::{CaseResult, DecidedBy};
use sortie_evaluators::Role;

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
    let turn = match &result.decided_by {
        Some(DecidedBy::Check { line: asked, path, text, turn, .. }) => {
            let path = if path.is_empty() { "the transcript" } else { path };
            let asked = asked.map(|at| format!(", asked for in line {at}")).unwrap_or_default();
            let Some(text) = text else {
                page.entry("evidence", style::ERROR, &format!("{path} is absent{asked}"));
                return finish(page, result, *turn);
            };
            let word = turn.map_or("evidence".to_owned(), |turn| format!("turn {turn}"));
            page.entry(&word, style::ERROR, &format!("{path}{asked}:"));
            page.below(&format!("  {}", line(text)));
            *turn
        }
        Some(DecidedBy::Judge { opinion }) => judged(&mut page, &Opinion::of(opinion)),
        None => None,
    };
    finish(page, result, turn)
}

/// Shows an opinion: the target's words first, since they and not the judge's are what carries a verdict.
fn judged(page: &mut Page, opinion: &Opinion) -> Option<usize> {
    let ruling = opinion.ruling.as_ref();
    if let Some(ruling) = ruling {
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
    ruling.map(|ruling| ruling.turn)
}

/// What it was told that made it do so, and where all of it is.
fn finish(mut page: Page, result: &CaseResult, turn: Option<usize>) -> String {
    if let Some((number, said)) = asked(result, turn) {
        page.entry("asked", style::STRONG, &format!("in turn {number}: {}", cut(&said)));
    }
    for (name, value) in &result.filled {
        page.entry("filled in", style::STRONG, &format!("`{{{{{name}}}}}` is {}", cut(value)));
    }
    for error in &result.check_errors {
        page.entry("warning", style::WARNING, error);
    }
    if let Some(trace) = &result.trace {
        page.entry("trace", style::STRONG, trace);
    }
    page.text
}

/// The last thing that was said to the target before a turn, and in which turn that was.
fn asked(result: &CaseResult, turn: Option<usize>) -> Option<(usize, String)> {
    let turns = result.transcript.as_ref()?.turns();
    let mut before = turns.iter().enumerate().take(turn.unwrap_or(usize::MAX));
    let (at, said) = before.rfind(|(_, turn)| turn.role == Role::Attacker)?;
    let text = match &said.call {
        Some(call) => format!("{} with {}", call.name, said.text),
        None => said.text.clone(),
    };
    Some((at + 1, text))
}

/// The beginning of a text that may be long.
fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
