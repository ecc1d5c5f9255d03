//! The body of the target `import`, without libFuzzer: `crates/import/tests/it/fuzz_corpus.rs` includes this file.
//!
//! One body for all formats, so that a new one needs nothing here: the first line of an input names the format, the rest is the
//! file. With `SORTIE_FUZZ_FORMAT` in the environment the whole input is a file of that format.

use std::sync::OnceLock;

use sortie_import::{Format, Formats, ImportError, Input, InputLimits, RecordedSession};
use sortie_trace::time::parse_time;
use sortie_trace::{Message, Record, Redactor, Trace, Writer};

/// Small, so that short inputs reach them.
const LIMITS: InputLimits =
    InputLimits { line: 64 << 10, whole: 256 << 10, file: 1 << 20, session: 32 << 10, sessions: 64 << 10 };

/// Any bytes are a recording, a recording with a loss, or an error. Messages are counted from one, have a source, and take no
/// more than they may; what is written of them reads the same again; and reading twice gives the same.
pub fn import(data: &[u8]) {
    let Some((format, bytes)) = chosen(data) else { return };
    let mut sessions = Vec::new();
    let once = read(format, bytes, |session| {
        check(&session);
        sessions.push(told(session));
    });
    let mut again = Vec::new();
    let twice = read(format, bytes, |session| again.push(told(session)));
    assert_eq!(sessions, again, "reading twice gives something else");
    assert_eq!(once.map_err(|error| error.to_string()), twice.map_err(|error| error.to_string()));
}

fn chosen(data: &[u8]) -> Option<(&'static Format, &[u8])> {
    static ONE: OnceLock<Option<&'static Format>> = OnceLock::new();
    let one =
        ONE.get_or_init(|| std::env::var("SORTIE_FUZZ_FORMAT").ok().and_then(|name| Formats::named(&name)));
    if let Some(format) = one {
        return Some((format, data));
    }
    let end = data.iter().position(|byte| *byte == b'\n')?;
    let format = Formats::named(std::str::from_utf8(&data[..end]).ok()?)?;
    Some((format, &data[end + 1..]))
}

fn read(format: &Format, bytes: &[u8], mut take: impl FnMut(RecordedSession)) -> Result<(), ImportError> {
    let mut input = Input::stream(bytes, "fuzz", LIMITS)?;
    let head = input.head()?;
    let _ = Formats::recognize(&input.as_head(&head));
    format.read(input, &mut |session| {
        take(session);
        Ok(())
    })
}

fn check(session: &RecordedSession) {
    let mut size = 0;
    for (message, seq) in session.messages().iter().zip(1..) {
        assert_eq!(message.seq, seq, "messages are not counted");
        assert!(message.source.is_some(), "a message comes from nowhere");
        size += message.content.text().len();
    }
    assert!(size <= LIMITS.session, "messages take {size} bytes");
}

/// The session as a trace, which reads the same again; and what was lost.
fn told(session: RecordedSession) -> (Vec<u8>, String) {
    let loss = serde_json::to_string(&session.loss).expect("a loss is JSON");
    let header = session.header("fuzz");
    let count = session.messages().len();
    let records: Vec<Record> = session.into_records().collect();
    let lines = written(header, records);
    let (header, read) = Trace::open(&lines[..]).expect("what was written is a trace");
    let read: Vec<Record> = read.map(|record| record.expect("what was written is a record")).collect();
    assert_eq!(read.len(), count, "messages are lost when they are written");
    assert_eq!(written(header, read), lines, "what is read is not what was written");
    (lines, loss)
}

fn written(header: sortie_trace::Header, records: Vec<Record>) -> Vec<u8> {
    let mut writer = Writer::begin(Vec::new(), header, Redactor::default()).expect("memory");
    for mut record in records {
        let Record::Message(message) = &record else { panic!("a record that is not a message") };
        let time = time_of(message);
        writer.append(time, &mut record).expect("memory");
    }
    writer.into_inner()
}

fn time_of(message: &Message) -> std::time::SystemTime {
    parse_time(&message.time).expect("a message has a time")
}
