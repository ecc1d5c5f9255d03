//! Traces of cases, as traces of the document that is made of one of them, and what a target says that refuses.

use std::ops::Range;

use serde_json::Value;
use sortie_trace::{Record, Redactor, Role, TracedDocument, Transcript, Writer};

use super::FreezeError;
use crate::steady;

/// The text of a trace that is one of a document.
pub(super) fn text(records: &[Record], document: &TracedDocument) -> Result<String, FreezeError> {
    let fail = |error: &dyn std::fmt::Display| FreezeError::UnwritableTrace(error.to_string());
    let mut records = records.iter().cloned();
    let Some(Record::Header(mut header)) = records.next() else {
        return Err(fail(&"it has no header"));
    };
    header.document = Some(document.clone());
    let mut writer = Writer::begin(Vec::new(), *header, Redactor::default()).map_err(|error| fail(&error))?;
    for mut record in records {
        writer.append(std::time::UNIX_EPOCH, &mut record).map_err(|error| fail(&error))?;
    }
    Ok(steady(writer.into_inner().as_slice(), &[])?)
}

/// So many words in a row are a quote, to whoever proves a document.
const WORDS: usize = 6;

/// So much of an attack is repeated at most, in bytes.
const LONGEST: usize = 600;

/// Refusals, those that repeat most first. A check may look for words of the attack itself: a refusal that leaves these out is a
/// refusal too.
pub(super) fn refusals(transcript: &Transcript) -> Vec<String> {
    let mut quotes: Vec<String> = Vec::new();
    for text in said(transcript).iter().take(3) {
        let words = words(text);
        if text.len() <= LONGEST {
            quotes.push(text.clone());
        }
        for length in [words.len() / 2, 2 * WORDS, WORDS] {
            let length = length.max(WORDS);
            let windows = words.windows(length).step_by((length / 2).max(1)).take(40);
            quotes.extend(windows.map(|words| text[words[0].start..words[length - 1].end].to_owned()));
        }
    }
    quotes.retain(|quote| quote.len() <= LONGEST);
    let quoted = quotes.iter().map(|quote| format!("I will not do that: «{quote}»"));
    quoted.chain(["That is refused.".to_owned()]).collect()
}

/// Whether an attack says so much that a refusal can repeat it.
pub(super) fn can_be_quoted(transcript: &Transcript) -> bool {
    said(transcript).iter().any(|text| words(text).len() >= WORDS)
}

/// What the attacker says, that with the most words first.
fn said(transcript: &Transcript) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for turn in transcript.turns().iter().filter(|turn| turn.role == Role::Attacker) {
        match &turn.call {
            Some(call) => call.arguments.values().for_each(|value| strings(value, &mut texts)),
            None => texts.push(turn.text.clone()),
        }
    }
    texts.sort_by_key(|text| std::cmp::Reverse((words(text).len(), text.len())));
    texts
}

/// Where the words of a text stand.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    for (at, letter) in text.char_indices().filter(|(_, letter)| letter.is_alphanumeric()) {
        let end = at + letter.len_utf8();
        match words.last_mut().filter(|last| last.end == at) {
            Some(last) => last.end = end,
            None => words.push(at..end),
        }
    }
    words
}

fn strings(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, texts)),
        Value::Object(fields) => fields.values().for_each(|value| strings(value, texts)),
        _ => {}
    }
}
