//! What is known about a case, in blocks. The script knows how to show a block, and nothing about cases.

use serde::Serialize;
use sortie_detect::outcome::Excerpt;
use sortie_detect::{
    CaseInfo, Evidence, EvidenceSource, Fault, IndicatorFinding, Judged, Match, Outcome, QuoteSource, Seen,
    Vote,
};
use sortie_oatf::model::IndicatorResult;
use sortie_trace::{Role, StopReason, Transcript};

use super::story::{Story, cut};
use super::summary::{interval_text, percent};
use crate::baseline::BaselineNote;
use crate::grouping::quoted;
use crate::human::{message, reach, refusal};
use crate::text::{line, visible};
use crate::words;

/// So much of a text is shown.
const TEXT: usize = 4_000;
/// So many pieces of evidence, votes or attempts.
const ITEMS: usize = 200;

/// A part of the details of a case.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    title: &'static str,
    blocks: Vec<Block>,
}

/// Something to show.
#[derive(Debug, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(super) enum Block {
    /// A paragraph.
    Text { text: String },
    /// A label above a text whose lines and spaces matter.
    Code { label: String, text: String },
    /// The same, with a part that is marked.
    Quote { label: String, before: String, mark: String, after: String },
    /// Names and what they are.
    Pairs { pairs: Vec<(String, String)> },
    /// The attempts, each with its story.
    Attempts { rows: Vec<AttemptRow> },
    /// What was said, message by message.
    Story { story: usize, marks: Vec<StoryMark> },
}

/// An attempt.
#[derive(Debug, Serialize)]
pub(super) struct AttemptRow {
    number: u32,
    result: &'static str,
    failure: Option<String>,
    task: Option<bool>,
    story: Option<usize>,
    trace: Option<String>,
}

/// A message that something is known about.
#[derive(Debug, Serialize)]
pub(super) struct StoryMark {
    seq: u64,
    why: String,
    /// What to mark in it, as it stands in JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// What the details of a case are made of.
pub(super) struct Sources<'s> {
    pub(super) run: &'s Outcome,
    pub(super) baseline: Option<&'s BaselineNote>,
    /// The trace of the attempt that is shown, where it could be read.
    pub(super) story: Option<&'s Story>,
    /// The number of a story in the page, by the trace it is of.
    pub(super) number: &'s dyn Fn(&str) -> Option<usize>,
    /// The command that made the run.
    pub(super) command: Option<&'s str>,
    /// The folders of the user's evaluators.
    pub(super) evaluators: &'s [String],
}

/// The messages that the verdict of a case rests on.
pub(super) fn kept_messages(run: &Outcome) -> Vec<u64> {
    let facts = run.resistance.iter().flat_map(|resistance| resistance.facts().map(|(_, fact)| fact.seq));
    let seen =
        run.verdict.indicator_verdicts.iter().map(|finding| finding.seen.as_ref().map(|seen| seen.seq));
    let evidence = run.evidence.iter().map(|evidence| evidence.seq);
    facts.chain(seen).chain(evidence).flatten().take(ITEMS).collect()
}

/// All there is to say about a case.
pub(super) fn sections(sources: &Sources<'_>) -> Vec<Section> {
    let run = sources.run;
    let parts = [
        ("What the agent was told", told(run, sources.story)),
        ("What shows it", found(run)),
        ("Attempted, and refused by the agent's client", attempted(run)),
        ("Indicators that did not match", silent(run)),
        ("Judge", judged(run.judged.as_ref())),
        ("What went wrong", failed(run)),
        ("Verdict", verdict(run)),
        ("Facts behind the verdict", facts(run)),
        ("Rate", rate(run)),
        ("Baseline", baseline(sources.baseline)),
        ("Attempts", attempts(run, sources.number)),
        ("The whole story", story(run, sources)),
        ("Reproduce", reproduce(run, sources)),
    ];
    let parts = parts.into_iter().filter(|(_, blocks)| !blocks.is_empty());
    parts.map(|(title, blocks)| Section { title, blocks }).collect()
}

/// The message that completed the attack, from the trace; or the last thing that was said before the turn that decides.
fn told(run: &Outcome, story: Option<&Story>) -> Vec<Block> {
    if let Some(transcript) = &run.transcript {
        let turn = run.judged.as_ref().and_then(Judged::opinion).map(|opinion| opinion.ruling.turn);
        let turn = turn.or_else(|| run.evidence.first().and_then(|found| found.turn));
        return said(transcript, turn);
    }
    let seq = run.resistance.as_ref().and_then(|resistance| resistance.reached.seq);
    let line = seq.and_then(|seq| story?.at(seq));
    let block = line.and_then(|line| {
        let label = format!("message {}: {}", line.seq, line.head);
        Some(Block::Code { label, text: line.text.clone()? })
    });
    block.into_iter().collect()
}

fn said(transcript: &Transcript, turn: Option<usize>) -> Vec<Block> {
    let before = transcript.turns().iter().enumerate().take(turn.unwrap_or(usize::MAX));
    let said = before.rev().find(|(_, turn)| turn.role == Role::Attacker);
    let block = said.map(|(at, said)| {
        let label = match &said.call {
            Some(call) => format!("turn {}: call of {}", at + 1, line(&call.name)),
            None => format!("turn {}", at + 1),
        };
        Block::Code { label, text: shown(&said.text) }
    });
    block.into_iter().collect()
}

/// What matched, with the bytes that did.
fn found(run: &Outcome) -> Vec<Block> {
    let matched = run.verdict.indicator_verdicts.iter().filter(|one| one.result == IndicatorResult::Matched);
    let indicators = matched.flat_map(indicator);
    let others = run.evidence.iter().filter(|one| one.by != EvidenceSource::Indicator).map(evidence);
    indicators.chain(others).take(ITEMS).collect()
}

fn indicator(finding: &IndicatorFinding) -> Vec<Block> {
    let tier = finding.tier.map(|tier| format!(" ({tier})")).unwrap_or_default();
    let description = finding.description.as_ref().map(|text| format!(": {}", text.trim_end()));
    let text = format!("{}{tier}{}", finding.indicator_id, description.unwrap_or_default());
    let mut blocks = vec![Block::Text { text: shown(&text) }];
    if let Some(place) = &finding.r#match {
        blocks.push(matched(finding.seen.as_ref(), place, finding.excerpt.as_ref()));
    }
    blocks
}

/// Calls that a guard rail kept from their server.
fn attempted(run: &Outcome) -> Vec<Block> {
    let blocks = run.attempted.iter().flat_map(|call| {
        let text = Block::Text { text: shown(&refusal(call)) };
        [text, matched(Some(&call.seen), &call.r#match, call.excerpt.as_ref())]
    });
    blocks.take(ITEMS).collect()
}

/// Where something matched, and what.
fn matched(seen: Option<&Seen>, place: &Match, excerpt: Option<&Excerpt>) -> Block {
    let seen = seen.map(|seen| format!("{}; ", message(seen))).unwrap_or_default();
    let path = if place.path.is_empty() { "the whole message" } else { &place.path };
    let asked =
        place.document_line.map(|at| format!(", matched by the indicator at line {at}")).unwrap_or_default();
    let label = line(&format!("{seen}{path}{asked}"));
    match excerpt {
        None => Block::Text { text: format!("{label}: absent") },
        Some(excerpt) => {
            let marked = excerpt.marked.clone().unwrap_or(0..excerpt.text.len());
            let part = |range: std::ops::Range<usize>| shown(excerpt.text.get(range).unwrap_or_default());
            let (before, mark) = (part(0..marked.start), part(marked.clone()));
            Block::Quote { label, before, mark, after: part(marked.end..excerpt.text.len()) }
        }
    }
}

fn evidence(found: &Evidence) -> Block {
    let place = if found.path.is_empty() { "the transcript" } else { &found.path };
    let turn = found.turn.map(|turn| format!("turn {turn}, ")).unwrap_or_default();
    let asked = found.line.map(|at| format!(", matched by the check at line {at}")).unwrap_or_default();
    let label = line(&format!("{} {}: {turn}{place}{asked}", found.by, found.name));
    match &found.text {
        None => Block::Text { text: format!("{label}: absent") },
        Some(text) => Block::Quote { label, before: String::new(), mark: shown(text), after: String::new() },
    }
}

/// The other indicators, and why some could not be evaluated.
fn silent(run: &Outcome) -> Vec<Block> {
    let others = run.verdict.indicator_verdicts.iter().filter(|one| one.result != IndicatorResult::Matched);
    let pairs: Vec<_> = others
        .take(ITEMS)
        .map(|one| {
            let why = one.evidence.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            let what = one.description.as_deref().unwrap_or_default().trim_end();
            (line(&one.indicator_id), shown(&format!("{}{why}. {what}", one.result.as_str())))
        })
        .collect();
    if pairs.is_empty() { Vec::new() } else { vec![Block::Pairs { pairs }] }
}

fn judged(judged: Option<&Judged>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let votes = match judged {
        None => return blocks,
        Some(Judged::Pass(opinion) | Judged::Fail(opinion)) => {
            let ruling = &opinion.ruling;
            for quote in ruling.quotes.iter().take(ITEMS) {
                let place = match quote.source {
                    QuoteSource::Text => String::new(),
                    QuoteSource::Call(call) => format!(", call {}", call + 1),
                };
                blocks.push(Block::Quote {
                    label: format!("the target's words that the judge quotes: turn {}{place}", quote.turn),
                    before: String::new(),
                    mark: shown(&quote.text),
                    after: String::new(),
                });
            }
            let again = if ruling.asked_again { ", asked twice" } else { "" };
            let agree = format!("{} of {} votes agree", opinion.agree, opinion.votes.len());
            let text = format!(
                "{} says {}, {:.2} sure{again}; {agree}. Its reasons, which may repeat what the target said: {}",
                opinion.provenance, ruling.verdict, ruling.confidence, ruling.reasoning
            );
            blocks.push(Block::Text { text: shown(&text) });
            &opinion.votes
        }
        Some(Judged::Error { reason, votes }) => {
            blocks.push(Block::Text { text: shown(&reason.to_string()) });
            votes
        }
    };
    if votes.len() > 1 {
        let pairs = votes.iter().take(ITEMS).enumerate().map(|(at, vote)| {
            let text = match vote {
                Vote::Ruling(ruling) => {
                    format!("{}, {:.2} sure, by turn {}", ruling.verdict, ruling.confidence, ruling.turn)
                }
                Vote::Error { reason } => format!("no verdict: {reason}"),
            };
            (format!("vote {}", at + 1), shown(&text))
        });
        blocks.push(Block::Pairs { pairs: pairs.collect() });
    }
    blocks
}

fn failed(run: &Outcome) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(failure) = &run.failure {
        let fault = match failure.fault {
            Fault::Harness => ", a fault of the harness",
            Fault::Agent => ", a fault of the agent",
            Fault::None => "",
        };
        let word = failure.kind.as_str();
        blocks.push(Block::Text { text: shown(&format!("{word}{fault}: {}", failure.message)) });
        let meaning = words::find(word).into_iter().find(|known| known.kind == "a failure");
        blocks.extend(meaning.map(|known| Block::Text { text: known.text.to_owned() }));
        if !failure.stderr.is_empty() {
            let lines: Vec<_> = failure.stderr.iter().take(ITEMS).map(|one| line(one)).collect();
            let label = "the last lines of the agent's standard error".to_owned();
            blocks.push(Block::Code { label, text: cut(&lines.join("\n"), TEXT) });
        }
        if !failure.files.is_empty() {
            blocks.push(Block::Text { text: shown(&format!("Look at {}", failure.files.join(", "))) });
        }
    }
    if let Some(control) = run.control.as_ref().filter(|control| !control.done || !control.fired.is_empty()) {
        let why = control.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let done = if control.done { "did its task" } else { "did not do its task" };
        let fired = match control.fired.join(", ") {
            fired if fired.is_empty() => String::new(),
            fired => format!("; indicators that fired: {fired}"),
        };
        blocks.push(Block::Text {
            text: shown(&format!("In the control, without the attack, the agent {done}{why}{fired}")),
        });
    }
    blocks.extend(
        run.warnings.iter().take(ITEMS).map(|one| Block::Text { text: format!("Warning: {}", shown(one)) }),
    );
    blocks
}

fn verdict(run: &Outcome) -> Vec<Block> {
    let result = run.verdict.result.as_str();
    let mut pairs = Vec::new();
    let mut pair = |name: &str, text: &str| pairs.push((name.to_owned(), shown(text)));
    let meaning = words::find(result).into_iter().find(|known| known.kind == "a result");
    pair("Result", &format!("{result}. {}", meaning.map_or("", |known| known.text)));
    if let Some(standing) = run.standing {
        let meaning = words::find(standing.as_str()).into_iter().find(|known| known.kind == "a standing");
        pair("Counts as", &format!("{standing}. {}", meaning.map_or("", |known| known.text)));
    }
    if let Some(tier) = run.verdict.max_tier {
        let meaning = words::find(tier.as_str()).into_iter().find(|known| known.kind == "a tier");
        pair("Tier", &format!("{tier}. {}", meaning.map_or("", |known| known.text)));
    }
    if let Some(reason) = &run.verdict.reason {
        pair("Because", reason);
    }
    match &run.case {
        CaseInfo::Document { document } => {
            pair("Document", &document.file);
            if run.standing.is_some() {
                pair("Reach", &reach(run));
            }
        }
        CaseInfo::Evaluator { evaluator } => {
            pair("Evaluator", &evaluator.id);
            evaluator.pattern.iter().for_each(|pattern| pair("Pattern", pattern));
            evaluator.tool.iter().for_each(|tool| pair("Tool", tool));
            for (name, value) in &evaluator.filled {
                pair("Filled in by the attacker", &format!("{{{{{name}}}}} is {value}"));
            }
        }
    }
    if let Some(task) = run.task {
        pair("Task", if task.done { "done" } else { "not done" });
    }
    run.model.iter().for_each(|model| pair("Model", model));
    if let Some(ended) = &run.stopped_by {
        pair("Ended", StopReason::as_str(ended));
    }
    if let Some(time) = &run.verdict.timestamp {
        pair("Last message", time);
    }
    vec![Block::Pairs { pairs }]
}

fn facts(run: &Outcome) -> Vec<Block> {
    let Some(resistance) = &run.resistance else { return Vec::new() };
    let pairs = resistance.facts().map(|(name, fact)| {
        let seq = fact.seq.map(|seq| format!(" (message {seq})")).unwrap_or_default();
        (name.to_owned(), shown(&format!("{}{seq}: {}", fact.holds, fact.why)))
    });
    vec![Block::Pairs { pairs: pairs.into() }]
}

fn rate(run: &Outcome) -> Vec<Block> {
    let Some(rate) = &run.rate else { return Vec::new() };
    let share = rate.counts().rate().map_or("nothing was observed".to_owned(), percent);
    let mut pairs = vec![
        ("Observed".to_owned(), format!("{} of {} decided attempts: {share}", rate.hits, rate.n)),
        (
            "Exact".to_owned(),
            format!("{}, for a number of attempts fixed in advance", interval_text(rate.exact)),
        ),
        ("Anytime".to_owned(), format!("{}, whenever attempts end", interval_text(rate.anytime))),
    ];
    if rate.undecided > 0 {
        let text = format!(
            "{}; the exact interval if each were a hit: {}",
            rate.undecided,
            interval_text(rate.if_undecided_hit)
        );
        pairs.push(("Undecided".to_owned(), text));
    }
    if let Some(decision) = rate.decision {
        pairs.push(("Gate".to_owned(), decision.to_string()));
    }
    vec![Block::Pairs { pairs }]
}

fn baseline(note: Option<&BaselineNote>) -> Vec<Block> {
    let Some(note) = note else { return Vec::new() };
    let mut pairs = vec![("State".to_owned(), format!("{}. {}", note.state, words::of_state(note.state)))];
    pairs.extend(note.reason.as_ref().map(|reason| ("Accepted because".to_owned(), shown(reason))));
    pairs.extend(note.expires.as_ref().map(|day| ("Accepted until".to_owned(), shown(day))));
    vec![Block::Pairs { pairs }]
}

fn attempts(run: &Outcome, number: &dyn Fn(&str) -> Option<usize>) -> Vec<Block> {
    let rows: Vec<_> = run
        .attempts
        .iter()
        .take(ITEMS)
        .map(|attempt| AttemptRow {
            number: attempt.attempt,
            result: attempt.result.as_str(),
            failure: attempt.failure.as_deref().map(shown),
            task: attempt.task.map(|task| task.done),
            story: attempt.trace.as_deref().and_then(number),
            trace: attempt.trace.as_deref().map(shown),
        })
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Attempts { rows }];
    if run.attempts.len() > ITEMS {
        blocks.push(Block::Text {
            text: format!("{} attempts more are in the JSON report.", run.attempts.len() - ITEMS),
        });
    }
    blocks
}

fn story(run: &Outcome, sources: &Sources<'_>) -> Vec<Block> {
    let Some(trace) = &run.trace else { return Vec::new() };
    let which = run.attempt.map(|attempt| format!("Attempt {attempt}. ")).unwrap_or_default();
    let text = shown(&format!("{which}Trace: {trace}"));
    let Some(story) = (sources.number)(trace) else {
        let why = "It could not be read when this page was written, or is left out to keep the page small.";
        return vec![Block::Text { text: format!("{text}. {why}") }];
    };
    vec![Block::Text { text }, Block::Story { story, marks: marks(run) }]
}

/// The messages that something is known about, and what.
fn marks(run: &Outcome) -> Vec<StoryMark> {
    let matched = run.verdict.indicator_verdicts.iter().filter(|one| one.result == IndicatorResult::Matched);
    let matched = matched.filter_map(|finding| {
        let seq = finding.seen.as_ref()?.seq;
        let text = finding.excerpt.as_ref().and_then(|excerpt| excerpt.text.get(excerpt.marked.clone()?));
        Some(StoryMark {
            seq,
            why: line(&format!("matched by {}", finding.indicator_id)),
            text: text.and_then(in_json),
        })
    });
    let others = run.evidence.iter().filter(|one| one.by != EvidenceSource::Indicator).filter_map(|found| {
        let why = line(&format!("{} {}", found.by, found.name));
        Some(StoryMark { seq: found.seq?, why, text: found.text.as_deref().and_then(in_json) })
    });
    let facts = run.resistance.iter().flat_map(|resistance| {
        let named = [
            ("completes the attack", &resistance.reached),
            ("shows that the agent works", &resistance.alive),
        ];
        named.map(|(why, fact)| fact.seq.map(|seq| StoryMark { seq, why: why.to_owned(), text: None }))
    });
    matched.chain(others).chain(facts.flatten()).take(ITEMS).collect()
}

/// A text as it stands between the quotes of JSON.
fn in_json(text: &str) -> Option<String> {
    let json = serde_json::to_string(text).ok()?;
    let json = crate::text::escape_hidden(json.get(1..json.len() - 1)?).into_owned();
    (!json.is_empty() && json.len() <= TEXT).then_some(json)
}

fn reproduce(run: &Outcome, sources: &Sources<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    blocks.extend(
        sources
            .command
            .map(|command| Block::Code { label: "play the run again".to_owned(), text: command.to_owned() }),
    );
    if let Some(trace) = &run.trace {
        let name = match &run.case {
            // A bundled document is not a file; its id names it.
            CaseInfo::Document { document } if document.file.starts_with("library/") => document.case_id(),
            CaseInfo::Document { document } => &document.file,
            CaseInfo::Evaluator { evaluator } => &evaluator.id,
        };
        let folders = sources.evaluators.iter().filter(|_| run.evaluator().is_some());
        let folders = folders.flat_map(|folder| ["--evaluators", folder.as_str()]);
        let words = ["eval", "--trace", trace].into_iter().chain(folders).chain([name]);
        let words: Vec<_> = words.map(str::to_owned).collect();
        blocks.push(Block::Code {
            label: "decide this case again from its trace".to_owned(),
            text: command_line(&words),
        });
    }
    blocks
}

/// A command as a shell takes it. What a reader would not see is shown, so such a command must be written anew.
pub(super) fn command_line(words: &[String]) -> String {
    let quoted = words.iter().map(|word| quoted(word));
    let text: Vec<_> = std::iter::once("sortie".to_owned()).chain(quoted).collect();
    cut(&visible(&text.join(" ")), TEXT)
}

fn shown(text: &str) -> String {
    // Cut before the whole of a long text is looked at.
    let end = text.char_indices().nth(TEXT + 1).map_or(text.len(), |(end, _)| end);
    if end < text.len() {
        let kept = text.char_indices().nth(TEXT).map_or(end, |(end, _)| end);
        return format!("{} … [{} bytes more]", visible(&text[..kept]), text.len() - kept);
    }
    visible(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_quoted_as_a_shell_takes_it() {
        let words = ["run", "--target", "cmd=grep -o 'x'", "", "a\u{202e}b"].map(str::to_owned);
        assert_eq!(command_line(&words), "sortie run --target 'cmd=grep -o '\\''x'\\''' '' 'a\u{fffd}b'");
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(shown("short"), "short");
        let text = shown(&"é".repeat(TEXT + 10));
        assert!(text.ends_with(" … [20 bytes more]"), "{}", text.len());
    }
}
