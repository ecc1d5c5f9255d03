//! The body of the target `trace`, without libFuzzer: `crates/trace/tests/it/fuzz_corpus.rs` includes this file.
//!
//! It stands apart from `lib.rs`, whose bodies run in the tests of `sortie-oatf`, which must not depend on traces.

use std::time::UNIX_EPOCH;

use serde_json::Value;
use sortie_trace::{Content, Deriver, Header, Record, RedactRule, Redactor, Trace, Writer};

/// Seeds say it in several ways; a fuzzer finds more.
const SECRET: &str = "hunter2-\"é";

/// Any bytes are a trace, a trace that was cut, or no trace. What is read can be written, and reads the same again; what
/// indicators see of it can be computed; and a secret that is to be taken out is gone.
pub fn trace(data: &[u8]) {
    let Ok((_, mut records)) = Trace::open_with(data, 1 << 20) else { return };
    let mut deriver = Deriver::new();
    let redactor = Redactor::new([RedactRule::Literal(SECRET.into()), RedactRule::Field("password".into())])
        .expect("rules");
    let mut plain =
        Writer::begin(Vec::new(), Header::run("fuzz", UNIX_EPOCH), Redactor::default()).expect("memory");
    let (mut last, mut written) = (0, 0);
    for record in &mut records {
        let Ok(mut record) = record else { break };
        assert!(record.seq() > last, "out of order");
        last = record.seq();
        if let Record::Message(message) = &record {
            let observed = deriver.observe(message);
            assert_eq!(observed.record.seq, message.seq);
            let _ = message.content.pretty();
            redacted(&redactor, &record);
        }
        let before = content(&record);
        // Numbers and times are given anew; the rest stays.
        plain.append(UNIX_EPOCH, &mut record).expect("memory");
        written += 1;
        assert_eq!(content(&record), before, "writing changed the content");
    }
    let lines = data.split(|byte| *byte == b'\n').count() as u64;
    assert!(records.line() <= lines);
    let (_, again) = Trace::open(&plain.into_inner()[..])
        .map(|(header, records)| (header, records.count()))
        .expect("ours");
    assert_eq!(again, written, "what was written is not what is read");
}

/// What is left after redaction is still what it was, and says the secret nowhere.
fn redacted(redactor: &Redactor, record: &Record) {
    let mut record = record.clone();
    redactor.redact(&mut record);
    let Record::Message(message) = &record else { unreachable!("a message stays one") };
    if let Content::Json(json) = &message.content {
        assert!(!json.get().contains(SECRET));
        if let Ok(value) = serde_json::from_str::<Value>(json.get()) {
            assert!(!says(&value), "{json}");
        }
    }
    let once = content(&record);
    redactor.redact(&mut record);
    assert_eq!(content(&record), once, "redacting twice changes more");
}

fn content(record: &Record) -> Option<String> {
    match record {
        Record::Message(message) => Some(message.content.text().into_owned()),
        _ => None,
    }
}

fn says(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(SECRET),
        Value::Array(items) => items.iter().any(says),
        Value::Object(members) => members.iter().any(|(key, value)| key.contains(SECRET) || says(value)),
        _ => false,
    }
}
