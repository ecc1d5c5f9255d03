//! A trace for people. What is in it comes from agents and from files, so nothing of it reaches the terminal as it is.

use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::ops::RangeInclusive;
use std::time::SystemTime;

use serde_json::Value;
use serde_json::value::RawValue;
use sortie_detect::Detector;
use sortie_trace::time::parse_time;
use sortie_trace::{
    Deriver, Direction, Header, Kind, Message, Observed, Record, Sender, Trace, TraceError, TraceOrigin,
};

use crate::{line, style, visible};

/// How much of a message is shown where nobody knows how wide the text may be.
const WIDE: usize = 120;
/// How much of it is shown in any case.
const NARROW: usize = 40;
/// How much of a name is shown.
const NAME: usize = 48;
/// How much of a sentence of somebody else's is shown.
const SENTENCE: usize = 400;

/// Shows records, one after the other.
#[derive(Debug)]
pub struct TraceView {
    color: bool,
    width: Option<usize>,
    full: bool,
    meta: bool,
    start: Option<SystemTime>,
}

/// Which records of a trace are shown. What happened around the messages is never asked for, and always good to know.
#[derive(Clone, Debug, Default)]
pub struct TraceFilter {
    /// What one of these actors said and heard; of all, where there is none.
    pub actors: Vec<String>,
    /// Messages of these operations; of all, where there is none.
    pub surfaces: Vec<String>,
    /// One half of each exchange.
    pub direction: Option<Direction>,
    /// What one side sent.
    pub sender: Option<Sender>,
    /// Records with these numbers.
    pub numbers: Option<RangeInclusive<u64>>,
}

/// A text that names no records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumbersError {
    /// A part of it is not a number.
    #[error("`{0}` is not the number of a record")]
    NoNumber(String),
    /// It is not a range.
    #[error("write `FIRST..LAST`")]
    NoRange,
    /// It ends before it begins.
    #[error("the first number is greater than the last")]
    Backwards,
}

impl TraceFilter {
    /// Reads `12..16`, `12..`, `..16` or `12`.
    ///
    /// ```
    /// use sortie_report::TraceFilter;
    ///
    /// assert_eq!(TraceFilter::parse_numbers("12..16"), Ok(12..=16));
    /// assert!(TraceFilter::parse_numbers("5..4").is_err());
    /// ```
    pub fn parse_numbers(text: &str) -> Result<RangeInclusive<u64>, NumbersError> {
        let number = |text: &str, open: u64| match text {
            "" => Ok(open),
            text => text.parse().map_err(|_| NumbersError::NoNumber(text.to_owned())),
        };
        let (first, last) = match text.split_once("..") {
            Some((first, last)) => (number(first, 0)?, number(last, u64::MAX)?),
            None => text.parse().map(|only| (only, only)).map_err(|_| NumbersError::NoRange)?,
        };
        if first > last { Err(NumbersError::Backwards) } else { Ok(first..=last) }
    }

    fn wants(&self, record: &Record) -> bool {
        let of_actor = |actor: &str| self.actors.is_empty() || self.actors.iter().any(|asked| asked == actor);
        self.numbers.as_ref().is_none_or(|numbers| numbers.contains(&record.seq()))
            && record.actor().is_none_or(of_actor)
            && match record {
                Record::Message(message) => self.wants_message(message),
                _ => true,
            }
    }

    fn wants_message(&self, message: &Message) -> bool {
        self.direction.is_none_or(|asked| asked == message.direction)
            && self.sender.is_none_or(|asked| asked == message.sender)
            && (self.surfaces.is_empty() || message.surfaces.iter().any(|name| self.surfaces.contains(name)))
    }

    fn is_over(&self, record: &Record) -> bool {
        self.numbers.as_ref().is_some_and(|numbers| record.seq() > *numbers.end())
    }
}

/// Why a trace could not be shown to its end.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// It cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Nothing can be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What [`TraceView::show`] shows of a trace, and how.
#[derive(Clone, Copy, Debug)]
pub struct TraceLook<'l> {
    /// In colour.
    pub color: bool,
    /// The width of a line, where somebody knows it.
    pub width: Option<usize>,
    /// Whole messages.
    pub full: bool,
    /// `_meta` too.
    pub meta: bool,
    /// Which records.
    pub filter: &'l TraceFilter,
}

impl TraceView {
    /// Shows a trace, and below a message which indicators of a detector it is the first to match. Gives the number of records that
    /// were shown; `closed` says whether anybody still reads.
    pub fn show<W: Write>(
        input: impl BufRead,
        look: TraceLook<'_>,
        mut detector: Option<Detector>,
        out: &mut W,
        closed: impl Fn(&W) -> bool,
    ) -> Result<u64, ShowError> {
        let (header, mut records) = Trace::open(input)?;
        let view = Self::new(look.color, look.width, look.full, &header).with_meta(look.meta);
        view.header(&header, out)?;
        // It has to see every message, since later ones refer to earlier ones.
        let mut deriver = Deriver::new();
        let (mut shown, mut stopped) = (0, false);
        for record in &mut records {
            let record = record?;
            if look.filter.is_over(&record) || closed(out) {
                return Ok(shown);
            }
            stopped |= matches!(record, Record::Stopped(_));
            let observed = match &record {
                Record::Message(message) => Some(deriver.observe(message)),
                _ => None,
            };
            let matched = match (&mut detector, &observed) {
                (Some(detector), Some(observed)) => detector.observe(observed),
                _ => Vec::new(),
            };
            if look.filter.wants(&record) {
                shown += 1;
                view.record(&record, observed, out)?;
                for id in matched.iter().filter_map(|index| detector.as_ref()?.indicator_id(*index)) {
                    view.matched(id, out)?;
                }
            }
        }
        let unfinished = header.origin == TraceOrigin::Run && !stopped;
        view.end(unfinished, records.was_cut(), out)?;
        Ok(shown)
    }

    /// Shows a trace with this header; `full` shows whole messages.
    pub fn new(color: bool, width: Option<usize>, full: bool, header: &Header) -> Self {
        Self { color, width, full, meta: false, start: parse_time(&header.time) }
    }

    /// Shows `_meta` in the lines of messages too. It repeats who speaks which revision of a protocol, and hides the rest.
    #[must_use]
    pub fn with_meta(self, meta: bool) -> Self {
        Self { meta, ..self }
    }

    /// What was played, and by what.
    pub fn header(&self, header: &Header, out: &mut dyn Write) -> io::Result<()> {
        let mut title = String::new();
        if let Some(document) = &header.document {
            title.push_str(&short(&document.file, SENTENCE));
            for (between, part) in [(": ", &document.id), (", ", &document.name)] {
                if let Some(part) = part {
                    let _ = write!(title, "{between}{}", short(part, SENTENCE)); // writing to a string cannot fail
                }
            }
            title = format!("{}\n", style::paint(self.color, style::STRONG, &title));
        }
        let (written_by, time) = (short(&header.written_by, NAME), short(&header.time, NAME));
        writeln!(out, "{title}written by {written_by}, started {time}")
    }

    /// One record; `observed` is what indicators see of it, if it is a message.
    pub fn record(
        &self,
        record: &Record,
        observed: Option<Observed<'_>>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let start = format!("{:>5} {:>9}  ", record.seq(), self.offset(record.time()));
        match record {
            Record::Header(_) => Ok(()),
            Record::Message(message) => self.message(&start, message, observed, out),
            Record::Phase(phase) => {
                let because = phase
                    .because
                    .as_ref()
                    .map_or(String::new(), |why| format!(" ({})", short(why.as_str(), NAME)));
                let (actor, name) = (short(&phase.actor, NAME), short(&phase.phase, NAME));
                self.separator(&start, style::STRONG, &format!("{actor}: {name}{because}"), out)
            }
            Record::Listening(listening) => {
                let (actor, url) = (short(&listening.actor, NAME), short(&listening.url, SENTENCE));
                writeln!(out, "{start}{actor} listens at {url}")
            }
            Record::ActorFailed(failed) => {
                let failure = style::paint(self.color, style::ERROR, &short(failed.failure.as_str(), NAME));
                let (actor, message) = (short(&failed.actor, NAME), short(&failed.message, SENTENCE));
                writeln!(out, "{start}{actor} failed: {failure}: {message}")
            }
            Record::AgentExit(exit) => match (exit.code, exit.signal) {
                (Some(code), _) => writeln!(out, "{start}the agent ended with {code}"),
                (None, Some(signal)) => writeln!(out, "{start}the agent was ended by signal {signal}"),
                (None, None) => writeln!(out, "{start}the agent ended"),
            },
            Record::Stopped(stopped) => {
                let mut words = format!("stopped: {}", short(stopped.because.as_str(), NAME));
                if let Some(message) = &stopped.message {
                    let _ = write!(words, ": {}", short(message, SENTENCE)); // writing to a string cannot fail
                }
                self.separator(&start, style::STRONG, &words, out)
            }
        }
    }

    /// An indicator that matched the message before.
    pub fn matched(&self, indicator: &str, out: &mut dyn Write) -> io::Result<()> {
        let word = style::paint(self.color, style::ERROR, "matched");
        writeln!(out, "{:17}{word} {}", "", short(indicator, NAME))
    }

    /// The end of a trace that says nothing of its end.
    pub fn end(&self, unfinished: bool, cut: bool, out: &mut dyn Write) -> io::Result<()> {
        let words = match (unfinished, cut) {
            (false, false) => return Ok(()),
            (false, true) => "the last line is cut off",
            (true, false) => "cut short: nothing says how the run ended",
            (true, true) => "cut short, within a line: nothing says how the run ended",
        };
        self.separator(&" ".repeat(17), style::WARNING, words, out)
    }

    fn message(
        &self,
        start: &str,
        message: &Message,
        observed: Option<Observed<'_>>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let actor = format!("{} ({})", short(&message.actor, NAME), short(&message.phase, NAME));
        let who = match message.sender {
            Sender::Agent => format!("agent → {actor}"),
            Sender::Actor => format!("{actor} → agent"),
        };
        let surfaces = short(&message.surfaces.join(", "), NAME);
        let mut line = format!("{start}{who:<31} {:<8} {surfaces}", kind_word(message.kind));
        let mut notes = String::new();
        for note in observed.iter().flat_map(|seen| &seen.notes) {
            let _ = write!(notes, " ({note})"); // writing to a string cannot fail
        }
        if let Some(words) = &message.refused {
            let _ = write!(notes, " (refused by the client: {})", short(words, SENTENCE)); // writing to a string cannot fail
        }
        if self.full {
            writeln!(out, "{line}{notes}")?;
            for text in visible(&message.content.pretty()).lines() {
                writeln!(out, "        {text}")?;
            }
            return changes(message, out);
        }
        if let Some(mut seen) = observed {
            // What the actor itself said is on a line of its own.
            if let Value::Object(members) = &mut seen.message {
                members.shift_remove("_request");
                if !self.meta {
                    members.shift_remove("_meta");
                }
            }
            let room =
                self.width.map_or(WIDE, |width| width.saturating_sub(line.chars().count() + 2).max(NARROW));
            let _ = write!(line, "  {}", beginning(&seen.message, room)); // writing to a string cannot fail
        }
        writeln!(out, "{line}{notes}")?;
        changes(message, out)
    }

    fn separator(
        &self,
        start: &str,
        style: anstyle::Style,
        words: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        writeln!(out, "{start}── {} ──", style::paint(self.color, style, words))
    }

    /// Seconds since the start.
    fn offset(&self, time: &str) -> String {
        let (Some(start), Some(time)) = (self.start, parse_time(time)) else { return "?".into() };
        match time.duration_since(start) {
            Ok(after) => format!("+{:.3}s", after.as_secs_f64()),
            Err(before) => format!("-{:.3}s", before.duration().as_secs_f64()),
        }
    }
}

/// What an actor before a real server changed of a message, and what it did not keep.
fn changes(message: &Message, out: &mut dyn Write) -> io::Result<()> {
    let Some(wrapped) = &message.wrapped else { return Ok(()) };
    for change in &wrapped.changes {
        let place = format!("{}{}", change.path, change.inside.as_deref().unwrap_or_default());
        let place = if place.is_empty() { "the message".to_owned() } else { short(&place, NAME) };
        let text = |json: Option<&RawValue>| {
            json.map_or_else(|| "nothing".to_owned(), |json| short(json.get(), SENTENCE))
        };
        writeln!(
            out,
            "{:17}changed {place}: {} → {}",
            "",
            text(change.before.as_deref()),
            text(change.after.as_deref())
        )?;
    }
    if let Some(cut) = &wrapped.cut {
        writeln!(out, "{:17}cut: it had {} bytes, SHA-256 {}", "", cut.bytes, short(&cut.sha256, NAME))?;
    }
    Ok(())
}

/// What a message is on the wire, in a word.
pub(crate) fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Request => "request",
        Kind::Notification => "notification",
        Kind::Response => "response",
        Kind::Error => "error",
        Kind::Event => "event",
    }
}

/// The beginning of a value, as JSON in one line.
fn beginning(value: &Value, letters: usize) -> String {
    // A letter has four bytes at most; one letter more says that there is more. A message may have millions.
    let mut bytes = vec![0; (letters + 1) * 4];
    let mut room = bytes.as_mut_slice();
    let _ = serde_json::to_writer(&mut room, value); // fails when it is full, which is what it is for
    let left = room.len();
    short(&String::from_utf8_lossy(&bytes[..bytes.len() - left]), letters)
}

/// So many letters of a text, in one line, with nothing in it that a terminal would obey.
fn short(text: &str, letters: usize) -> String {
    let mut shown: String = text.chars().take(letters).collect();
    if shown.len() < text.len() {
        shown.pop();
        shown.push('…');
    }
    line(&shown)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_written_as_ranges() {
        let numbers = TraceFilter::parse_numbers;
        assert_eq!(numbers("12.."), Ok(12..=u64::MAX));
        assert_eq!(numbers("..16"), Ok(0..=16));
        assert_eq!(numbers("12"), Ok(12..=12));
        for wrong in ["", "a..b", "1...2", "-1..2", "5..4", "1-2"] {
            assert!(numbers(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_and_messages_are_cut_and_harmless() {
        assert_eq!(short("abc", 3), "abc");
        assert_eq!(short("abcd", 3), "ab…");
        assert_eq!(short("a\n\t\u{1b}[2J\u{202e}", 20), "a␊␉␛[2J\u{fffd}");
        assert_eq!(short("", 3), "");
    }

    #[test]
    fn the_beginning_of_a_message_ends_between_letters() {
        let text = beginning(&json!({"a": "é🦀".repeat(1_000_000)}), 10);
        assert_eq!(text, "{\"a\":\"é🦀é…");
        assert_eq!(beginning(&json!([1, 2]), 10), "[1,2]");
    }
}
