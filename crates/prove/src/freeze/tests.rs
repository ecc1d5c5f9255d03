//! The fixtures of the bundled evaluators, frozen.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sortie_detect::{CaseInfo, CaseResult, EvaluatorCase, Evidence, EvidenceSource, Outcome};
use sortie_engine::cases::{canary, case_folder};
use sortie_evaluators::{Catalogue, CatalogueEntry, CompiledChecks, TargetClass, Values, Verdict};
use sortie_run::{PlannedCase, RunInfo, RunStore};
use sortie_trace::{
    Content, Direction, Header, Kind, Message, PhaseEntered, Record, Sender, StopReason, Stopped,
};
use sortie_trace::{Role, Transcript, Turn};

use super::FreezeRequest;

/// All of them take minutes: `SORTIE_FREEZE_ALL=1` asks for that.
const STEP: usize = 61;

struct Trace {
    mode: &'static str,
    protocol: &'static str,
    records: Vec<Record>,
}

impl Trace {
    fn said(&mut self, surface: &str, kind: Kind, sender: Sender, id: Option<u64>, content: &Value) {
        let direction = if kind == Kind::Request { Direction::Request } else { Direction::Response };
        self.records.push(Record::Message(Box::new(Message {
            seq: 0,
            time: String::new(),
            actor: "attacker".to_owned(),
            mode: self.mode.to_owned(),
            phase: "attack".to_owned(),
            protocol: self.protocol.to_owned(),
            surfaces: vec![surface.to_owned()],
            direction,
            kind,
            id: id.map(Value::from),
            connection: "session-1".to_owned(),
            sender,
            source: None,
            refused: None,
            wrapped: None,
            content: Content::from_wire(content.to_string().as_bytes()),
        })));
    }
}

/// What would have been recorded of a review: the exchange in which the tools were listed.
fn listed(trace: &mut Trace, transcript: &Transcript) {
    let server = Value::Object(transcript.server().clone());
    let mut initialized =
        json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server});
    if let Some(instructions) = server.get("instructions") {
        initialized["instructions"] = instructions.clone();
    }
    let answers = [("initialize", initialized), ("tools/list", json!({"tools": transcript.tools()}))];
    for (id, (method, result)) in (1..).zip(answers) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}});
        trace.said(method, Kind::Request, Sender::Actor, Some(id), &request);
        let response = json!({"jsonrpc": "2.0", "id": id, "result": result});
        trace.said(method, Kind::Response, Sender::Agent, Some(id), &response);
    }
}

/// What would have been recorded of a conversation.
fn conversed(trace: &mut Trace, class: TargetClass, turns: &[Turn]) {
    let mut id = 0;
    for turn in turns {
        match (turn.role, class) {
            (Role::Attacker, TargetClass::Mcp) => {
                id += 1;
                let call = turn
                    .call
                    .clone()
                    .map(|call| (call.name, Value::Object(call.arguments)))
                    .unwrap_or_default();
                let params = json!({"name": call.0, "arguments": call.1});
                let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
                trace.said("tools/call", Kind::Request, Sender::Actor, Some(id), &request);
            }
            (Role::Target, TargetClass::Mcp) => {
                let content = json!([{"type": "text", "text": turn.text}]);
                let result = turn
                    .result
                    .clone()
                    .unwrap_or_else(|| json!({"content": content, "isError": turn.is_error}));
                let response = json!({"jsonrpc": "2.0", "id": id, "result": result});
                trace.said("tools/call", Kind::Response, Sender::Agent, Some(id), &response);
            }
            (Role::Attacker, TargetClass::Agent) => {
                let messages = json!([{"id": "user-1", "role": "user", "content": turn.text}]);
                let input = json!({"threadId": "t", "runId": "r", "messages": messages});
                trace.said("run_agent_input", Kind::Request, Sender::Actor, None, &input);
            }
            (Role::Target, TargetClass::Agent) => {
                for (at, call) in turn.calls.iter().enumerate() {
                    let id = format!("call-{at}");
                    let arguments = Value::Object(call.arguments.clone()).to_string();
                    for (name, event) in [
                        (
                            "tool_call_start",
                            json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": call.name}),
                        ),
                        (
                            "tool_call_args",
                            json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": arguments}),
                        ),
                        ("tool_call_end", json!({"type": "TOOL_CALL_END", "toolCallId": id})),
                    ] {
                        trace.said(name, Kind::Event, Sender::Agent, None, &event);
                    }
                }
                for (name, event) in [
                    (
                        "text_message_start",
                        json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}),
                    ),
                    (
                        "text_message_content",
                        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": turn.text}),
                    ),
                    ("text_message_end", json!({"type": "TEXT_MESSAGE_END", "messageId": "m"})),
                    ("run_finished", json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})),
                ] {
                    trace.said(name, Kind::Event, Sender::Agent, None, &event);
                }
            }
        }
    }
}

/// What would have been recorded of a case.
fn recorded(class: TargetClass, transcript: &Transcript, is_review: bool) -> String {
    let (mode, protocol) = match class {
        TargetClass::Mcp => ("mcp_client", "mcp"),
        TargetClass::Agent => ("ag_ui_client", "ag_ui"),
    };
    let mut trace = Trace { mode, protocol, records: Vec::new() };
    if is_review {
        listed(&mut trace, transcript);
    } else {
        conversed(&mut trace, class, transcript.turns());
    }
    let mut writer = sortie_trace::Writer::begin(
        Vec::new(),
        Header::run("test", std::time::UNIX_EPOCH),
        sortie_trace::Redactor::default(),
    )
    .unwrap();
    let phase = Record::Phase(PhaseEntered {
        seq: 0,
        time: String::new(),
        actor: "attacker".to_owned(),
        mode: mode.to_owned(),
        phase: "attack".to_owned(),
        index: 0,
        because: None,
    });
    let stopped =
        Record::Stopped(Stopped { seq: 0, time: String::new(), because: StopReason::Idle, message: None });
    for mut record in std::iter::once(phase).chain(trace.records).chain([stopped]) {
        writer.append(std::time::UNIX_EPOCH, &mut record).unwrap();
    }
    String::from_utf8(writer.into_inner()).unwrap()
}

/// Writes the folder of a run in which a target says what a fixture says; what its values are.
fn kept(
    folder: &Path,
    entry: &CatalogueEntry,
    case: &sortie_evaluators::fixtures::FixtureCase,
) -> Option<(Values, String)> {
    let transcript = case.transcript(&entry.evaluator).ok()?;
    let decision = CompiledChecks::new(&entry.evaluator.checks).ok()?.decide(&transcript, &case.values());
    let because = decision.because.filter(|_| decision.verdict == Verdict::Fail)?;
    let about_tools =
        because.evidence.path.starts_with("tools") || because.evidence.path.starts_with("server");
    let id = "case/one";
    let canary = canary(id);
    // The run has a canary of its own.
    let text = serde_json::to_string(&transcript).unwrap();
    let text = text.replace(case.values().get("canary").map_or("\u{0}", String::as_str), &canary);
    let transcript: Transcript = serde_json::from_str(&text).ok()?;
    let trace = format!("{}/trace.jsonl", case_folder(id));
    let evaluator = EvaluatorCase {
        argument: None,
        weakness: None,
        id: entry.evaluator.id.clone(),
        pattern: Some("p".to_owned()),
        tool: None,
        filled: Values::new(),
    };
    let evidence = Evidence {
        by: EvidenceSource::Check,
        name: because.check.clone(),
        seq: None,
        path: String::new(),
        start: None,
        end: None,
        line: None,
        turn: None,
        text: None,
    };
    let verdict = sortie_detect::Verdict::new(CaseResult::Exploited, "a test");
    let outcome = Outcome {
        evidence: vec![evidence],
        transcript: Some(transcript.clone()),
        trace: Some(trace.clone()),
        ..Outcome::new(id, CaseInfo::Evaluator { evaluator }, verdict, None)
    };
    let mut store = RunStore::create(folder, RunInfo::new(vec![PlannedCase::new(id, "")])).unwrap();
    fs::create_dir_all(store.case_folder(id)).unwrap();
    fs::write(folder.join(trace), recorded(entry.class, &transcript, about_tools)).unwrap();
    store.add(&[outcome]).unwrap();
    Some((case.values(), because.check))
}

fn bundled() -> Catalogue {
    let (root, _) = sortie_library::bundled_evaluators(&[]);
    let loaded = sortie_evaluators::load(&[root], &sortie_library::suite_documents());
    assert!(loaded.is_sound());
    loaded.catalogue
}

#[test]
fn nearly_all_findings_of_bundled_checks_can_be_frozen_and_are_proved() {
    let used = bundled();
    let all = std::env::var_os("SORTIE_FREEZE_ALL").is_some();
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let mut unproved: Vec<String> = Vec::new();
    let (mut drafts, mut proved, mut killed, mut tried) = (0, 0, 0, 0);
    for entry in used.entries() {
        for case in entry.fixtures.iter().flat_map(|fixtures| &fixtures.cases) {
            let folder = tempfile::tempdir().unwrap();
            let Some((values, check)) = kept(folder.path(), entry, case) else { continue };
            let (folder, id) = (folder.path().to_owned(), &entry.evaluator.id);
            let request = FreezeRequest { folder, case: "case/one".to_owned(), file: None, id: None, values };
            let draft = match request.draft(&used) {
                Ok(draft) => draft,
                Err(failure) => {
                    *refused.entry(format!("{id}: {check}: {failure}")).or_default() += 1;
                    continue;
                }
            };
            drafts += 1;
            if all || drafts % STEP == 0 {
                let frozen = draft.proved().unwrap_or_else(|failure| panic!("{id}: {failure}"));
                if !frozen.proved.proved {
                    unproved.push(format!("{id}, {}: {:#?}", case.name, frozen.proved.findings));
                }
                let score = &frozen.proved.score;
                (proved, killed, tried) = (proved + 1, killed + score.killed, tried + score.tried);
            }
        }
    }
    assert!(unproved.is_empty(), "{} of {proved}: {unproved:#?}", unproved.len());
    let count: usize = refused.values().sum();
    println!(
        "{drafts} frozen, {count} refused: {refused:#?}\n{proved} proved, {killed} of {tried} mutants killed"
    );
    assert!(proved > 3 && count * 8 <= drafts, "{drafts} frozen, {count} refused: {refused:#?}");
    assert!(killed * 10 >= tried * 7, "{killed} of {tried}");
}
