//! Messages as our own writer writes them, read without a parser.
//!
//! A line of a trace is mostly envelope: a dozen short members, in the same order each time. Reading them with a parser of JSON takes a fifth of
//! a scan. Whatever is not exactly as [`Record::write_line`](crate::Record) has it is left to the parser: a property test compares the two.

use serde::Deserialize;
use serde::de::IntoDeserializer as _;
use serde::de::value::{Error, StrDeserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::content::Content;
use crate::foreign::SourcePlace;
use crate::record::Message;

impl Message {
    /// Reads a line as our own writer writes most messages, in the room of another message. `false` where it takes
    /// [`Record::from_line`](crate::Record::from_line) to read it: then the message says nothing.
    ///
    /// ```
    /// use sortie_trace::{Message, Record};
    ///
    /// let line = |seq: u64| format!(
    ///     r#"{{"record":"message","seq":{seq},"time":"2026-11-17T10:00:01Z","actor":"a","mode":"mcp_server","phase":"p","protocol":"mcp","#
    /// ) + r#""surfaces":["tools/call"],"direction":"request","kind":"request","connection":"1","sender":"agent","content":{}}"#;
    /// let Record::Message(mut message) = Record::from_line(&line(1))? else { unreachable!() };
    /// assert!(message.read_own_line(&line(2)) && message.seq == 2);
    /// assert!(!message.read_own_line(&line(3).replace("\"seq\":3", "\"seq\": 3")));
    /// # Ok::<(), sortie_trace::line::LineError>(())
    /// ```
    pub fn read_own_line(&mut self, line: &str) -> bool {
        OwnLine { rest: line }.message(self).is_some()
    }
}

/// What is left of a line.
struct OwnLine<'l> {
    rest: &'l str,
}

impl<'l> OwnLine<'l> {
    fn message(&mut self, message: &mut Message) -> Option<()> {
        self.take("{\"record\":\"message\",\"seq\":")?;
        message.seq = self.number()?;
        for (name, text) in [
            (",\"time\":", &mut message.time),
            (",\"actor\":", &mut message.actor),
            (",\"mode\":", &mut message.mode),
            (",\"phase\":", &mut message.phase),
            (",\"protocol\":", &mut message.protocol),
        ] {
            self.take(name)?;
            self.text()?.clone_into(text);
        }
        self.take(",\"surfaces\":[")?;
        self.texts(&mut message.surfaces)?;
        self.take(",\"direction\":")?;
        message.direction = self.word()?;
        self.take(",\"kind\":")?;
        message.kind = self.word()?;
        message.id = if self.take(",\"id\":").is_some() { Some(self.id()?) } else { None };
        self.take(",\"connection\":")?;
        self.text()?.clone_into(&mut message.connection);
        self.take(",\"sender\":")?;
        message.sender = self.word()?;
        message.source = if self.take(",\"source\":").is_some() { Some(self.source()?) } else { None };
        (message.refused, message.wrapped) = (None, None);
        self.take(",\"content\":")?;
        let content = self.rest.strip_suffix('}')?;
        message.content = Content::Json(serde_json::from_str::<Box<RawValue>>(content).ok()?);
        Some(())
    }

    fn take(&mut self, expected: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }

    fn number(&mut self) -> Option<u64> {
        let length = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(length);
        // In JSON no number begins with zero but that itself, and what follows may be the rest of another one.
        let is_plain = (digits == "0" || !digits.starts_with('0')) && rest.starts_with(',');
        self.rest = rest;
        digits.parse().ok().filter(|_| is_plain)
    }

    /// A string in which nothing is escaped.
    fn text(&mut self) -> Option<&'l str> {
        self.take("\"")?;
        let end = self.rest.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < b' ')?;
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.take("\"")?;
        Some(text)
    }

    /// Strings, and the end of their list.
    fn texts(&mut self, texts: &mut Vec<String>) -> Option<()> {
        let mut count = 0;
        while self.take("]").is_none() {
            if count > 0 {
                self.take(",")?;
            }
            let text = self.text()?;
            match texts.get_mut(count) {
                Some(room) => text.clone_into(room),
                None => texts.push(text.to_owned()),
            }
            count += 1;
        }
        texts.truncate(count);
        Some(())
    }

    /// One of the words of an enum.
    fn word<T: Deserialize<'l>>(&mut self) -> Option<T> {
        let word: StrDeserializer<'l, Error> = self.text()?.into_deserializer();
        T::deserialize(word).ok()
    }

    fn id(&mut self) -> Option<Value> {
        if self.rest.starts_with('"') { self.text().map(Value::from) } else { self.number().map(Value::from) }
    }

    fn source(&mut self) -> Option<Box<SourcePlace>> {
        let mut sources = serde_json::Deserializer::from_str(self.rest).into_iter();
        let source = sources.next()?.ok()?;
        self.rest = self.rest.get(sources.byte_offset()..)?;
        Some(source)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use crate::{Message, Record};

    /// A message that other messages were read into.
    fn room() -> Message {
        let line = r#"{"record":"message","seq":9,"time":"t","actor":"a","mode":"m","phase":"p","protocol":"x","surfaces":["1","2","3"],"direction":"response","kind":"event","id":["old"],"connection":"c","sender":"actor","source":{"file":"f"},"refused":"no","bytes_b64":"/w=="}"#;
        let Ok(Record::Message(message)) = Record::from_line(line) else { panic!() };
        *message
    }

    /// Whether a line is read without a parser; what it says is what the parser says then.
    fn is_read(line: &str) -> bool {
        let mut message = room();
        let is_read = message.read_own_line(line);
        if is_read {
            let Ok(Record::Message(parsed)) = Record::from_line(line) else { panic!("{line}") };
            assert_eq!(format!("{message:?}"), format!("{parsed:?}"));
        }
        is_read
    }

    const LINE: &str = r#"{"record":"message","seq":7,"time":"2026-11-15T21:50:07Z","actor":"a","mode":"mcp_server","phase":"p","protocol":"mcp","surfaces":["tools/call","x"],"direction":"request","kind":"request","id":1,"connection":"c","sender":"agent","source":{"file":"f.jsonl","line":3},"content":{"a":[1,"}"]}}"#;

    #[test]
    fn what_our_writer_writes_is_read() {
        for (from, to) in [
            ("", ""),
            ("\"id\":1", "\"id\":\"an id\""),
            ("\"id\":1", "\"id\":0"),
            ("\"id\":1,", ""),
            (",\"source\":{\"file\":\"f.jsonl\",\"line\":3}", ""),
            ("[\"tools/call\",\"x\"]", "[]"),
            ("{\"a\":[1,\"}\"]}", "null"),
            ("mcp_server", "ag_ui_client \u{e9}"),
        ] {
            assert!(is_read(&LINE.replace(from, to)), "{from} {to}");
        }
    }

    #[test]
    fn anything_else_is_left_to_the_parser() {
        for (from, to) in [
            ("\"seq\":7", "\"seq\":07"),
            ("\"seq\":7", "\"seq\":7.0"),
            ("\"seq\":7", "\"seq\":18446744073709551616"),
            ("\"id\":1", "\"id\":1e2"),
            ("\"id\":1", "\"id\":-1"),
            ("\"id\":1", "\"id\":null"),
            ("\"actor\":\"a\"", "\"actor\":\"\\u0041\""),
            ("\"actor\":\"a\"", "\"actor\":\"\u{1}\""),
            ("\"kind\":\"request\"", "\"kind\":\"mood\""),
            ("\"x\"]", "\"x\",]"),
            ("\"content\"", "\"refused\":\"no\",\"content\""),
            ("\"}\"]}}", "\"}\"]},\"content\":1}"),
            ("\"}\"]}}", "\"}\"]},\"seq\":8}"),
            ("\"}\"]}}", "\"}\"]}"),
            ("{\"a\":[1,\"}\"]}", ""),
        ] {
            let line = LINE.replace(from, to);
            assert_ne!(line, LINE);
            assert!(!is_read(&line), "{line}");
        }
    }

    proptest! {
        /// Lines with bytes taken out, put in and doubled.
        #[test]
        fn a_damaged_line_is_read_as_a_parser_reads_it(
            edits in vec((0..LINE.len(), 0..4_usize, select(vec!["", " ", "\"", ",", "}", "0", "\\", "[", "e"])), 0..4),
        ) {
            let mut line = LINE.to_owned();
            for (at, length, text) in edits {
                let at = at.min(line.len());
                line.replace_range(at..(at + length).min(line.len()), text);
            }
            is_read(&line);
        }
    }
}
