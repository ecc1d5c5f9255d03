//! What an agent answers.

use super::hands::Hands;
use super::knowledge::Material;
use super::mind::Mind;
use super::turn::Turn;
use crate::behaviour::Behaviour;
use crate::reading::{Source, sentences, undisguised};

/// How long an answer may be, without what the agent was told to say.
const MAX_ANSWER: usize = 4_000;
/// How much of a result a careful agent repeats.
const EXCERPT: usize = 200;

/// The answer to a task: what came of it, what the agent was told to say, what it will not do.
pub(super) fn reply<H: Hands>(turn: &Turn<'_, H>) -> String {
    if turn.behaviour == Behaviour::Confused {
        return "Purple, seven, or perhaps a Tuesday.".to_owned();
    }
    if turn.behaviour == Behaviour::Wary {
        return "I cannot do that for someone I do not know.".to_owned();
    }
    if turn.behaviour == Behaviour::PermissionDenied {
        return denied(turn);
    }
    let mut parts = turn.mind.with(|mind| {
        let results = mind.knowledge.since(turn.mark);
        let careful = !turn.obeys;
        let tell = |material: &Material| if careful { clean(mind, material) } else { material.text.clone() };
        let told: Vec<String> = results.map(tell).filter(|text| !text.trim().is_empty()).collect();
        if told.is_empty() { vec!["Done.".to_owned()] } else { told }
    });
    let mut length = 0;
    parts.retain(|part| {
        length += part.len();
        length <= MAX_ANSWER
    });
    parts.extend(turn.said.iter().cloned());
    if !turn.refused.is_empty() {
        parts.push(match turn.behaviour {
            Behaviour::QuotingRefuser => {
                let quotes = turn.refused.iter().map(|one| format!("«{}» ({})", one.text, one.source.words));
                let quotes = quotes.collect::<Vec<_>>().join("; ");
                format!("I was told to do the following, and I will not: {quotes}")
            }
            _ => "I was also told to do something that you did not ask for. I left that out.".to_owned(),
        });
    }
    parts.join("\n\n")
}

/// What an agent says whose client lets it call nothing.
fn denied<H: Hands>(turn: &Turn<'_, H>) -> String {
    let tools: Vec<String> = turn.denied.iter().map(|tool| format!("`{tool}`")).collect();
    if tools.is_empty() {
        return "I have no permission to use any tool here, so I could not do this.".to_owned();
    }
    format!("I could not do this: the permission to use {} was denied.", tools.join(", "))
}

/// The beginning of a result, without what it tells the reader to do.
pub(super) fn clean(mind: &Mind, material: &Material) -> String {
    let text = without(mind, &material.text, &material.source);
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A text without the sentences that tell the reader to do something.
pub(super) fn without(mind: &Mind, text: &str, source: &str) -> String {
    let source =
        Source { callable: source.strip_prefix("result of ").map(str::to_owned), ..Source::of(source) };
    let Some(instruction) = mind.read(&source, text) else { return text.to_owned() };
    let told = |sentence: &str| instruction.text.contains(sentence);
    let all = sentences(&undisguised(text));
    let first = all.iter().position(|sentence| told(&sentence.text));
    let rest = all.iter().enumerate().filter(|(at, sentence)| {
        // What stands between two orders belongs to them.
        !told(&sentence.text) && first.is_none_or(|first| *at < first || !sentence.item)
    });
    rest.map(|(_, sentence)| sentence.text.as_str()).collect::<Vec<_>>().join("\n")
}
