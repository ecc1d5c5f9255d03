//! A document that was played: the verdict, what it rests on, and how far the attack reached.

use sortie_detect::outcome::{ActorSummary, Excerpt};
use sortie_detect::resistance::{Holds, Resistance};
use sortie_detect::{
    Delivered, DocumentInfo, Fault, IndicatorFinding, Match, Outcome, RefusedCall, Seen, Standing,
};
use sortie_oatf::model::IndicatorResult;
use sortie_trace::{Direction, Sender, StopReason};
use unicode_width::UnicodeWidthStr as _;

use super::Page;
use crate::summary::cut;
use crate::text::{line, style};

/// One run, as it is shown to people.
pub(crate) fn rendered(run: &Outcome, document: &DocumentInfo, color: bool, live: bool) -> String {
    let mut page = Page::new(color);
    headline(&mut page, run, document);
    super::rate::write(&mut page, run);
    for verdict in &run.verdict.indicator_verdicts {
        indicator(&mut page, run, verdict);
    }
    for call in &run.attempted {
        attempted(&mut page, call);
    }
    page.entry("reach", style::STRONG, &reach(run));
    if let Some(resistance) = run.resistance.as_ref().filter(|_| run.verdict.result.is_pass()) {
        page.entry("facts", style::STRONG, &facts(resistance));
    }
    if let Some(reason) = &run.verdict.reason {
        page.entry("because", style::STRONG, reason);
    }
    if let Some(failure) = &run.failure {
        let fault = match failure.fault {
            Fault::Harness => ", a fault of the harness",
            Fault::Agent => ", a fault of the agent",
            Fault::None => "",
        };
        let text = format!("{}{fault}: {}", failure.kind.as_str(), failure.message);
        page.entry("failure", style::ERROR, &text);
        for (name, lines) in [("stderr", &failure.stderr), ("stdout", &failure.stdout)] {
            if let [first, rest @ ..] = &**lines {
                page.entry(name, style::STRONG, first);
                for text in rest {
                    page.below(&line(text));
                }
            }
        }
        if !failure.files.is_empty() {
            page.entry("look at", style::STRONG, &failure.files.join(", "));
        }
    }
    for warning in &run.warnings {
        page.entry("warning", style::WARNING, warning);
    }
    if let Some(model) = &run.model {
        page.entry("model", style::STRONG, model);
    }
    if live {
        page.entry("ended", style::STRONG, run.stopped_by.as_ref().map_or("unknown", StopReason::as_str));
        page.entry("trace", style::STRONG, run.trace.as_deref().unwrap_or("none"));
    }
    page.text
}

/// One that was not played, as it is shown to people.
pub(super) fn unplayed(run: &Outcome, document: &DocumentInfo) -> String {
    let reason = run.verdict.reason.as_deref().unwrap_or_default();
    format!("{}: {}: {}\n", run.verdict.result, line(&title(document)), line(reason))
}

fn headline(page: &mut Page, run: &Outcome, document: &DocumentInfo) {
    page.headline(run.standing, &outcome(run), &title(document));
    page.from(&document.file);
}

fn indicator(page: &mut Page, run: &Outcome, verdict: &IndicatorFinding) {
    let style = match verdict.result {
        IndicatorResult::Matched => style::ERROR,
        IndicatorResult::NotMatched => style::NOTE,
        IndicatorResult::Error | IndicatorResult::Skipped => style::WARNING,
    };
    let tier = verdict.tier.map(|tier| format!(" ({tier})")).unwrap_or_default();
    let description = verdict.description.as_ref().map(|text| format!(": {}", text.trim_end()));
    let about = format!("{}{tier}{}", verdict.indicator_id, description.unwrap_or_default());
    page.entry(verdict.result.as_str(), style, &about);
    let Some(found) = &verdict.r#match else {
        // What a failure made skipped is said once, by the failure.
        let said = run.failure.is_some() && verdict.result == IndicatorResult::Skipped;
        if let Some(evidence) = verdict.evidence.as_ref().filter(|_| !said) {
            page.below(&line(evidence));
        }
        return;
    };
    for text in evidence(verdict.seen.as_ref(), found, verdict.excerpt.as_ref(), page.color) {
        page.below(&text);
    }
}

/// A call that a guard rail kept from its server.
fn attempted(page: &mut Page, call: &RefusedCall) {
    page.entry("attempted", style::WARNING, &refusal(call));
    for text in evidence(Some(&call.seen), &call.r#match, call.excerpt.as_ref(), page.color) {
        page.below(&text);
    }
}

/// That a call was refused, and in which words.
pub(crate) fn refusal(call: &RefusedCall) -> String {
    let words = cut(call.refusal.trim(), 400);
    format!("{}: the model asked for it, and the client refused: {words}", call.indicator_id)
}

/// Where an indicator matched, line by line: the message, the path, and the text. What matched of it is painted, or underlined
/// where there is no colour.
pub fn evidence(seen: Option<&Seen>, found: &Match, excerpt: Option<&Excerpt>, color: bool) -> Vec<String> {
    let mut lines: Vec<_> = seen.iter().map(|seen| line(&message(seen))).collect();
    let path = if found.path.is_empty() { "the whole message" } else { &found.path };
    let asked =
        found.document_line.map(|at| format!(", matched by the indicator at line {at}")).unwrap_or_default();
    let Some(excerpt) = excerpt else {
        lines.push(line(&format!("{path} is absent{asked}")));
        return lines;
    };
    lines.push(line(&format!("{path}{asked}:")));
    let Some(marked) = &excerpt.marked else {
        lines.push(format!("  {}", line(&excerpt.text)));
        return lines;
    };
    let part = |range: std::ops::Range<usize>| line(excerpt.text.get(range).unwrap_or_default());
    let (before, matched) = (part(0..marked.start), part(marked.clone()));
    let after = part(marked.end..excerpt.text.len());
    lines.push(format!("  {before}{}{after}", style::paint(color, style::ERROR, &matched)));
    if !color {
        lines.push(format!("  {}{}", " ".repeat(before.width()), "^".repeat(matched.width().max(1))));
    }
    lines
}

/// Which message it was.
pub(crate) fn message(seen: &Seen) -> String {
    let Seen { seq, actor, phase, surfaces, direction, sender, source } = seen;
    let direction = match direction {
        Direction::Request => "request",
        Direction::Response => "response",
    };
    let way = match sender {
        Sender::Agent => "from the agent to",
        Sender::Actor => "to the agent from",
    };
    let phase = if phase.is_empty() { String::new() } else { format!(" in phase `{phase}`") };
    let source = source.as_ref().map(|source| format!(", {source}")).unwrap_or_default();
    format!("message {seq}: {} {direction}, {way} `{actor}`{phase}{source}", surfaces.join(" and "))
}

/// Why silence counts, in one line.
pub(super) fn facts(resistance: &Resistance) -> String {
    let facts = resistance.facts().map(|(name, fact)| {
        let seq = fact.seq.map(|seq| format!(", message {seq}")).unwrap_or_default();
        let why = match (name, fact.holds) {
            ("alive", _) | (_, Holds::Assumed | Holds::No) => format!(", {}", fact.why),
            _ => String::new(),
        };
        format!("{name}: {}{seq}{why}", fact.holds)
    });
    facts.join("; ")
}

/// How far the attack got.
pub(crate) fn reach(run: &Outcome) -> String {
    let delivered = match run.reach.delivered {
        Delivered::Yes => "the payload was delivered",
        Delivered::No => "the payload was not delivered",
        Delivered::Assumed => "the payload was probably delivered: the last phase was served",
        Delivered::Unknown => return "unknown: another program recorded this trace".to_owned(),
    };
    let actors: Vec<_> = run.actors.iter().map(actor).collect();
    format!("{delivered}; {}", actors.join("; "))
}

fn actor(actor: &ActorSummary) -> String {
    let name = &actor.name;
    if !actor.connected {
        return format!("no agent connected to `{name}`");
    }
    let phases = actor.phases.iter().map(|phase| {
        let never = if phase.entered { "" } else { " (never entered)" };
        format!("{} in `{}`{never}", phase.served, phase.name)
    });
    format!("messages from `{name}`: {}", phases.collect::<Vec<_>>().join(", "))
}

/// The name of a document: its id and its name.
pub(crate) fn title(document: &DocumentInfo) -> String {
    match &document.id {
        Some(id) => format!("{id} {}", document.name),
        None => document.name.clone(),
    }
}

/// What it came to, in one word of the specification, and how far the attack got.
pub fn outcome(run: &Outcome) -> String {
    if is_simulated(run) {
        return "simulated".to_owned();
    }
    match run.verdict.max_tier {
        Some(tier) => format!("{} ({tier})", run.verdict.result),
        None => run.verdict.result.to_string(),
    }
}

/// Why nothing can be said, or not everything, in a stable word and in words for people.
pub fn why_undecided(run: &Outcome) -> Option<(&'static str, String)> {
    let standing = match run.standing {
        Some(Standing::Resisted | Standing::Exploited) => return None,
        standing => standing,
    };
    if let Some(reason) = &run.verdict.reason {
        return Some((run.verdict.result.as_str(), reason.clone()));
    }
    Some(match &run.failure {
        Some(failure) => (failure.kind.as_str(), failure.message.clone()),
        None if is_simulated(run) => ("simulated", "the document has no indicators".to_owned()),
        None if standing == Some(Standing::Skipped) => {
            ("skipped", "not every indicator can be evaluated here".to_owned())
        }
        None => ("error", "an indicator could not be evaluated".to_owned()),
    })
}

/// Whether a document was played that says nothing about an agent.
fn is_simulated(run: &Outcome) -> bool {
    run.document().is_some() && run.standing.is_some() && run.verdict.indicator_verdicts.is_empty()
}
