//! A trace as a story: message by message, short enough for a page.

use std::time::SystemTime;

use serde::Serialize;
use sortie_trace::time::parse_time;
use sortie_trace::{Content, Message, Record, Sender, Trace};

use crate::text::{escape_hidden, line, visible};
use crate::trace::kind_word;

/// So many records of a trace are shown, besides those that the verdict rests on.
const RECORDS: usize = 300;
/// So many characters of a message.
const MESSAGE: usize = 8_000;
/// So many bytes of all messages together.
const STORY: usize = 240_000;
/// The longest line that is read.
const LINE: usize = 16 << 20;

/// What was said in one attempt, in order.
#[derive(Debug, Default, Serialize)]
pub(super) struct Story {
    /// The records.
    pub(super) lines: Vec<StoryLine>,
    /// What is not shown, or could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

/// A record.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StoryLine {
    /// Its position in the trace.
    pub(super) seq: u64,
    /// Seconds since the start.
    at: String,
    /// Who speaks.
    side: Side,
    /// Which message it is.
    pub(super) head: String,
    /// What was said, where something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Side {
    /// What is under test.
    Agent,
    /// Whoever attacks it.
    Actor,
    /// Nobody: something happened.
    Note,
}

impl Story {
    /// Reads a trace. Records at `kept` are shown in any case.
    pub(super) fn read(trace: &[u8], kept: &[u64]) -> Self {
        let mut story = Self::default();
        let (header, mut records) = match Trace::open_with(trace, LINE) {
            Ok(opened) => opened,
            Err(error) => {
                story.notes.push(line(&format!("The trace cannot be read: {error}")));
                return story;
            }
        };
        let start = parse_time(&header.time);
        let (mut bytes, mut left_out, mut ended) = (0, 0, false);
        for record in records.by_ref() {
            let record = match record {
                Ok(record) => record,
                Err(error) => {
                    story.notes.push(line(&format!("The rest of the trace cannot be read: {error}")));
                    break;
                }
            };
            ended |= matches!(record, Record::Stopped(_));
            let is_full = story.lines.len() >= RECORDS || bytes >= STORY;
            if is_full && !kept.contains(&record.seq()) {
                left_out += 1;
                continue;
            }
            let shown = StoryLine::of(&record, start);
            bytes += shown.text.as_ref().map_or(0, String::len);
            story.lines.push(shown);
        }
        if left_out > 0 {
            story.notes.push(format!(
                "{left_out} records are left out to keep this page small; the trace has them."
            ));
        }
        if !ended {
            story.notes.push(
                "Nothing says how the run ended: the trace was cut short, or comes from elsewhere."
                    .to_owned(),
            );
        }
        story
    }

    /// A record by its position.
    pub(super) fn at(&self, seq: u64) -> Option<&StoryLine> {
        self.lines.iter().find(|line| line.seq == seq)
    }
}

impl StoryLine {
    fn of(record: &Record, start: Option<SystemTime>) -> Self {
        let note = |head: String| (Side::Note, head, None);
        let (side, head, text) = match record {
            Record::Header(_) => note(String::new()),
            Record::Message(message) => {
                let (side, head) = described(message);
                (side, head, Some(said(&message.content)))
            }
            Record::Phase(phase) => {
                let because = phase.because.as_ref().map(|why| format!(" ({})", why.as_str()));
                note(format!("{}: phase {}{}", phase.actor, phase.phase, because.unwrap_or_default()))
            }
            Record::Listening(listening) => note(format!("{} listens at {}", listening.actor, listening.url)),
            Record::ActorFailed(failed) => {
                note(format!("{} failed: {}: {}", failed.actor, failed.failure.as_str(), failed.message))
            }
            Record::AgentExit(exit) => note(match (exit.code, exit.signal) {
                (Some(code), _) => format!("the agent ended with {code}"),
                (None, Some(signal)) => format!("the agent was ended by signal {signal}"),
                (None, None) => "the agent ended".to_owned(),
            }),
            Record::Stopped(stopped) => {
                let message = stopped.message.as_ref().map(|message| format!(": {message}"));
                note(format!("stopped: {}{}", stopped.because.as_str(), message.unwrap_or_default()))
            }
        };
        Self { seq: record.seq(), at: offset(start, record.time()), side, head: cut(&line(&head), 400), text }
    }
}

/// Who speaks, and which message it is.
fn described(message: &Message) -> (Side, String) {
    let Message { actor, phase, surfaces, kind, .. } = message;
    let actor = if phase.is_empty() { actor.clone() } else { format!("{actor} ({phase})") };
    let (side, who) = match message.sender {
        Sender::Agent => (Side::Agent, format!("agent → {actor}")),
        Sender::Actor => (Side::Actor, format!("{actor} → agent")),
    };
    (side, format!("{who}: {} {}", surfaces.join(" and "), kind_word(*kind)))
}

/// What was on the wire, laid out. In JSON, what a reader would not see is an escape.
fn said(content: &Content) -> String {
    // A message may have millions of characters, and only its beginning is shown.
    let text = content.text();
    if text.len() > MESSAGE * 8 {
        return cut(&visible(&text), MESSAGE);
    }
    match content {
        Content::Json(_) => cut(&escape_hidden(&content.pretty()), MESSAGE),
        Content::Bytes(_) => cut(&visible(&text), MESSAGE),
    }
}

fn offset(start: Option<SystemTime>, time: &str) -> String {
    match (start, parse_time(time)) {
        (Some(start), Some(time)) => match time.duration_since(start) {
            Ok(after) => format!("+{:.3} s", after.as_secs_f64()),
            Err(before) => format!("-{:.3} s", before.duration().as_secs_f64()),
        },
        _ => String::new(),
    }
}

/// The beginning of a text that may be long, with a note about the rest.
pub(super) fn cut(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((end, _)) => format!("{} … [{} bytes more]", &text[..end], text.len() - end),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"record":"header","version":1,"origin":"run","written_by":"me","time":"2026-11-15T22:00:00.000000Z"}"#;

    fn message(seq: usize, text: &str) -> String {
        format!(
            r#"{{"record":"message","seq":{seq},"time":"2026-11-15T22:00:01.500000Z","actor":"default","mode":"mcp_server","phase":"trust","protocol":"mcp","surfaces":["tools/call"],"direction":"request","kind":"request","id":1,"connection":"c1","sender":"agent","content":{{"text":"{text}"}}}}"#
        )
    }

    fn trace(lines: impl IntoIterator<Item = String>) -> Vec<u8> {
        let lines: Vec<_> = std::iter::once(HEADER.to_owned()).chain(lines).collect();
        format!("{}\n", lines.join("\n")).into_bytes()
    }

    #[test]
    fn a_long_trace_is_cut_and_keeps_what_the_verdict_rests_on() {
        let story = Story::read(&trace((1..=1000).map(|seq| message(seq, "hello"))), &[900]);
        assert_eq!(story.lines.len(), RECORDS + 1);
        assert_eq!(story.at(900).unwrap().at, "+1.500 s");
        assert!(story.notes[0].starts_with("699 records are left out"), "{:?}", story.notes);
        assert!(story.at(899).is_none());
    }

    #[test]
    fn a_long_message_is_cut_with_a_note() {
        let story =
            Story::read(&trace([message(1, &"é".repeat(40_000)), message(2, &"x".repeat(9_000))]), &[]);
        for line in &story.lines {
            let text = line.text.as_ref().unwrap();
            assert!(text.chars().count() < MESSAGE + 40 && text.ends_with(" bytes more]"), "{}", text.len());
        }
    }

    #[test]
    fn hidden_characters_are_escapes_in_json() {
        let story = Story::read(&trace([message(1, "a\u{202e}b\u{200b}")]), &[]);
        let text = story.at(1).unwrap().text.as_ref().unwrap();
        assert!(text.contains(r#""a\u202eb\u200b""#), "{text}");
    }

    #[test]
    fn what_is_no_trace_says_so_and_shows_nothing_of_it() {
        for wrong in ["", "root:x:0:0", "{\"record\":\"stopped\"}"] {
            let story = Story::read(wrong.as_bytes(), &[]);
            assert!(story.lines.is_empty() && story.notes[0].starts_with("The trace cannot be read"));
            assert!(!story.notes[0].contains("root"));
        }
    }
}
