//! The tests of rules as traces, through the engine that evaluates recordings: routes, prefilters and all.

use std::sync::Arc;

use serde_json::{Value, json};
use sortie_atr::{ImportedRule, RuleTest, TestMessage};
use sortie_detect::Ruleset;
use sortie_trace::{Header, Record, Trace, agent_answer};

/// Whether the documents of all rules together find something with the document of this one, for each of its tests.
pub(crate) fn found(rules: &[ImportedRule]) -> Vec<Vec<bool>> {
    let ruleset = Arc::new(Ruleset::new(rules.iter().map(|rule| Arc::clone(&rule.compiled))));
    let of_rule = |(number, rule): (usize, &ImportedRule)| {
        let found = rule.tests.iter().map(|test| {
            let (header, records) = trace(test);
            let mut session = ruleset.session();
            session.record(&Record::Header(Box::new(header)));
            // A match is reported once, so every record is shown before anything is concluded.
            let matches: Vec<_> = records.iter().flat_map(|record| session.record(record)).collect();
            matches.iter().any(|found| found.document == number)
        });
        found.collect()
    };
    rules.iter().enumerate().map(of_rule).collect()
}

/// A test as another program would have recorded it.
fn trace(test: &RuleTest) -> (Header, Vec<Record>) {
    let header = r#"{"record":"header","version":1,"origin":"foreign","written_by":"a test","time":"2026-11-18T10:00:00Z"}"#;
    let mut lines = vec![header.to_owned()];
    let messages = test.messages.iter().filter(|message| message.protocol != agent_answer::PROTOCOL);
    for (message, seq) in messages.zip(1..) {
        lines.push(record(message, seq).to_string());
    }
    let (header, records) = Trace::open(std::io::Cursor::new(lines.join("\n") + "\n")).unwrap();
    let mut records: Vec<Record> = records.map(Result::unwrap).collect();
    let answers = test.messages.iter().filter(|message| message.protocol == agent_answer::PROTOCOL);
    records.extend(answers.map(|answer| agent_answer::record(answer.message["text"].as_str().unwrap())));
    (header, records)
}

fn record(message: &TestMessage, seq: u64) -> Value {
    let is_request = message.direction.as_str() == "request";
    let (actor, mode, from_agent) = match message.protocol {
        "mcp" => ("server", "mcp_server", is_request),
        "a2a" => ("peer", "a2a_client", !is_request),
        "ag_ui" => ("user", "ag_ui_client", !is_request),
        other => panic!("no test is about `{other}`"),
    };
    let content = match (message.protocol, is_request) {
        ("ag_ui", _) => message.message.clone(),
        (_, true) => {
            json!({"jsonrpc": "2.0", "id": seq, "method": message.surface, "params": message.message})
        }
        (_, false) => json!({"jsonrpc": "2.0", "id": seq, "result": message.message}),
    };
    json!({
        "record": "message", "seq": seq, "time": "2026-11-18T10:00:01Z", "actor": actor, "mode": mode, "phase": "",
        "protocol": message.protocol, "surfaces": [message.surface], "direction": message.direction.as_str(),
        "kind": message.direction.as_str(), "connection": "1", "sender": if from_agent { "agent" } else { "actor" },
        "content": content,
    })
}

#[test]
fn a_ruleset_finds_in_traces_what_documents_find_in_messages() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/rules");
    let (rules, _) = sortie_atr::load(&folder).unwrap();
    let found = found(&rules);
    assert_eq!(found, [vec![true, true, false], vec![true, false, false]]);
    for (rule, found) in rules.iter().zip(found) {
        for (test, found) in rule.tests.iter().zip(found) {
            assert_eq!(!rule.matched(test).is_empty(), found, "{} {}", rule.id, test.number);
        }
    }
}
