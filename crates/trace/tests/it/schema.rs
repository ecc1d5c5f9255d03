//! What is written is what `docs/schema/trace-v1.json` says.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use sortie_trace::foreign::{Lack, MessageClass, RecordingInfo, SourcePlace};
use sortie_trace::wrapped::{CutMessage, MessageChange, WrappedInfo};
use sortie_trace::{
    ActorFailed, AgentExit, Content, Direction, Header, Kind, Listening, Message, PhaseEntered, Record,
    Redactor, Sender, Stopped, Trace, TracedDocument, Writer,
};

fn validator() -> jsonschema::Validator {
    let schema =
        serde_json::from_str(include_str!("../../../../docs/schema/trace-v1.json")).expect("it is JSON");
    jsonschema::validator_for(&schema).expect("it is a schema")
}

fn assert_valid(line: &str) {
    let value: Value = serde_json::from_str(line).unwrap();
    let problems: Vec<_> = validator().iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{line}: {problems:#?}");
}

fn message(id: Option<Value>, kind: Kind, content: &[u8]) -> Record {
    Record::Message(Box::new(Message {
        seq: 0,
        time: String::new(),
        actor: "default".into(),
        mode: "mcp_server".into(),
        phase: "earn_trust".into(),
        protocol: "mcp".into(),
        surfaces: vec!["tools/call".into()],
        direction: Direction::Response,
        kind,
        id,
        connection: "c1".into(),
        sender: Sender::Actor,
        source: Some(Box::new(SourcePlace {
            file: "session.jsonl".into(),
            line: Some(3),
            item: Some("span-1".into()),
        })),
        refused: Some("permission denied".into()),
        wrapped: Some(Box::new(WrappedInfo {
            changes: vec![MessageChange {
                operation: Some(1),
                path: "/result/content/0/text".into(),
                inside: Some("/body".into()),
                before: serde_json::from_str("1.00").ok(),
                after: None,
            }],
            cut: Some(CutMessage { bytes: 50, sha256: "ab".repeat(32) }),
        })),
        content: Content::from_wire(content),
    }))
}

/// One of every kind, with and without what is optional.
fn records() -> Vec<Record> {
    let (seq, time, actor) = (0, String::new(), "default".to_owned());
    let (mode, phase) = ("mcp_server".to_owned(), "earn_trust".to_owned());
    let entered =
        PhaseEntered { seq, time: time.clone(), actor: actor.clone(), mode, phase, index: 0, because: None };
    vec![
        Record::Listening(Listening {
            seq,
            time: time.clone(),
            actor: actor.clone(),
            url: "http://127.0.0.1:1/".into(),
        }),
        Record::Phase(PhaseEntered {
            because: Some(sortie_trace::PhaseEnd::EventMatched),
            index: 1,
            ..entered.clone()
        }),
        Record::Phase(entered),
        message(Some(json!(1)), Kind::Response, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        message(Some(json!(null)), Kind::Error, b"null"),
        message(None, Kind::Event, b"\xff\xfe garbage"),
        Record::ActorFailed(ActorFailed {
            seq,
            time: time.clone(),
            actor,
            failure: sortie_trace::ActorFailure::BindFailed,
            message: "the port is taken".into(),
        }),
        Record::AgentExit(AgentExit { seq, time: time.clone(), code: Some(-1), signal: None }),
        Record::AgentExit(AgentExit { seq, time: time.clone(), code: None, signal: Some(9) }),
        Record::Stopped(Stopped { seq, time, because: sortie_trace::StopReason::Idle, message: None }),
    ]
}

fn written() -> String {
    let start = UNIX_EPOCH + Duration::from_micros(1_795_000_000_000_001);
    let document =
        TracedDocument { file: "a.yaml".into(), id: Some("A-001".into()), name: Some("A name".into()) };
    let class =
        MessageClass { protocol: "mcp".into(), surface: "tools/call".into(), direction: Direction::Request };
    let lack = Lack {
        class: class.clone(),
        why: "no arguments were recorded".into(),
        setting: Some("CAPTURE=1".into()),
    };
    let recorded = RecordingInfo {
        format: "otlp".into(),
        session: "s1".into(),
        about: [("model".to_owned(), "tiny".into())].into_iter().collect(),
        shows: vec![class],
        lacks: vec![lack],
        cut: Some("the file ends in the middle of a line".into()),
        failed: Some("Overloaded".into()),
    };
    let header = Header {
        document: Some(document),
        recorded: Some(Box::new(recorded)),
        ..Header::run("sortie 0.1.0", start)
    };
    let mut writer = Writer::begin(Vec::new(), header, Redactor::default()).unwrap();
    for mut record in records() {
        writer.append(start + Duration::from_millis(5), &mut record).unwrap();
    }
    String::from_utf8(writer.into_inner()).unwrap()
}

#[test]
fn every_line_that_is_written_follows_the_schema_and_is_read_again() {
    let written = written();
    for line in written.lines() {
        assert_valid(line);
    }
    let (header, read) = Trace::open(written.as_bytes()).unwrap();
    let mut again = vec![serde_json::to_string(&header).unwrap()];
    again.extend(read.map(|record| serde_json::to_string(&record.unwrap()).unwrap()));
    assert_eq!(again, written.lines().collect::<Vec<_>>());
}

#[test]
fn the_example_in_the_docs_follows_the_schema() {
    let example = include_str!("../../../../docs/examples/rug-pull.jsonl");
    assert!(Trace::open(example.as_bytes()).unwrap().1.all(|record| record.is_ok()));
    for line in example.lines() {
        assert_valid(line);
    }
}

/// What the reader refuses in a single line, the schema refuses too.
#[test]
fn the_schema_is_as_strict_as_the_reader() {
    let validator = validator();
    for line in written().lines().skip(1) {
        let record: Value = serde_json::from_str(line).unwrap();
        for field in record.as_object().unwrap().keys() {
            let mut without = record.clone();
            without.as_object_mut().unwrap().shift_remove(field);
            let read = serde_json::from_value::<Value>(without.clone()).unwrap().to_string();
            let read = serde_json::from_str::<Record>(&read).is_ok();
            assert_eq!(validator.is_valid(&without), read, "{line} without {field}");
        }
    }
    for wrong in [
        json!({"record": "mood", "seq": 1}),
        json!({"record": "stopped", "seq": 0, "time": "2026-11-15T21:50:07Z", "because": "idle"}),
        json!({"record": "stopped", "seq": 1, "time": "yesterday", "because": "idle"}),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
    let later =
        json!({"record": "stopped", "seq": 1, "time": "2026-11-15T21:50:07Z", "because": "idle", "new": 1});
    assert!(validator.is_valid(&later));
}
