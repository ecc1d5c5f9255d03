//! What is said to a target is kept, and a run is repeated from that alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sortie_engine::cases::{Asked, CaseResult, Later, Options, Tape, discover};
use sortie_engine::modes::{self, Address, McpRevision};
use sortie_engine::targets::{Chat, Http, Offer, Settings, Target, TargetError};
use sortie_trace::{Record, Redactor, Rule, Trace};

use crate::cases::bench::{Bench, agent, saying, verdicts};
use crate::cases::running::Counting;
use crate::stage::{Connection, Peer, Request, at};

/// A tape in memory.
#[derive(Default)]
struct Memory {
    replays: bool,
    /// By target and request; what for, and what was said.
    kept: Mutex<HashMap<String, (String, Value)>>,
}

impl Memory {
    fn replaying(&self) -> Arc<Self> {
        Arc::new(Self { replays: true, kept: Mutex::new(self.kept.lock().unwrap().clone()) })
    }

    fn text(&self) -> String {
        format!("{:?}", self.kept.lock().unwrap())
    }

    fn len(&self) -> usize {
        self.kept.lock().unwrap().len()
    }
}

fn key(asked: &Asked) -> String {
    format!("{} {}", asked.target, asked.request)
}

impl Tape for Memory {
    fn replays(&self) -> bool {
        self.replays
    }

    fn recall<'t>(&'t self, asked: &'t Asked) -> Later<'t, Result<Value, String>> {
        assert!(self.replays, "a live run never takes an answer from a tape");
        let found = self.kept.lock().unwrap().get(&key(asked)).map(|(_, exchange)| exchange.clone());
        let found = found.ok_or_else(|| format!("not recorded: {}, asking {}", asked.purpose, asked.target));
        Box::pin(async move { found })
    }

    fn keep<'t>(&'t self, asked: &'t Asked, exchange: Value) -> Later<'t, Result<(), String>> {
        assert!(!self.replays, "a replay keeps nothing");
        self.kept.lock().unwrap().insert(key(asked), (asked.purpose.clone(), exchange));
        Box::pin(async { Ok(()) })
    }
}

/// Speaks whatever it is spoken to in.
async fn polyglot(request: Request, mut connection: Connection) {
    let body = request.json();
    let rpc = |result: Value| json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string();
    match (request.method.as_str(), body["method"].as_str().unwrap_or_default()) {
        ("GET", _) if request.path.ends_with("/models") => connection.json(r#"{"data":[{"id":"m"}]}"#).await,
        ("GET", _) if request.path.contains("well-known") => {
            connection.json(r#"{"name":"desk","url":"/rpc","skills":[]}"#).await;
        }
        ("POST", "initialize") => {
            let server = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}});
            connection.json(rpc(server)).await;
        }
        ("POST", "tools/list") => {
            connection.json(rpc(json!({"tools": [{"name": "note", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]}))).await;
        }
        ("POST", "tools/call") => {
            connection.json(rpc(json!({"content": [{"type": "text", "text": "noted  1.00"}]}))).await;
        }
        ("POST", "message/send") => {
            let text = &body["params"]["message"]["parts"][0]["text"];
            connection
                .json(rpc(
                    json!({"kind": "message", "contextId": "c1", "parts": [{"kind": "text", "text": text}]}),
                ))
                .await;
        }
        ("POST", "") if request.path.ends_with("completions") => {
            let count = body["messages"].as_array().unwrap().len();
            connection
                .json(json!({"choices": [{"message": {"content": format!("{count} messages")}}]}).to_string())
                .await;
        }
        ("POST", "") if body.get("threadId").is_some() => {
            connection.events().await;
            for event in [
                json!({"type": "RUN_STARTED", "threadId": body["threadId"], "runId": body["runId"]}),
                json!({"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "pay"}),
                json!({"type": "TOOL_CALL_END", "toolCallId": "c1"}),
                json!({"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"}),
                json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "paid"}),
                json!({"type": "TEXT_MESSAGE_END", "messageId": "m1"}),
                json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
            ] {
                connection.event(event).await;
            }
        }
        ("POST", "") => connection.json(json!({"out": body["q"]}).to_string()).await,
        _ => connection.answer("405 Method Not Allowed", "", "").await,
    }
}

fn http(url: &str) -> Target {
    let (method, answer) = ("POST".to_owned(), Some("$.out".to_owned()));
    Target::Http(Http { at: at(url), method, body: json!({"q": "{{message}}"}), answer })
}

/// The records of a trace, without when they were written.
fn records(bench: &Bench, result: &CaseResult) -> Vec<String> {
    let text = bench.read(result.trace.as_ref().unwrap());
    let (_, records) = Trace::open(text.as_bytes()).unwrap();
    let told = records.map(|record| match record.unwrap() {
        Record::Message(message) => {
            format!("{} {:?} {} {}", message.seq, message.sender, message.time, message.content.text())
        }
        other => format!("{} {}", other.seq(), other.name()),
    });
    told.collect()
}

#[tokio::test]
async fn every_kind_of_target_is_repeated_without_it() {
    let peer = Peer::start(polyglot).await;
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let echo = format!(r#"echo x >> {}; while read line; do echo "you said $line"; done"#, started.display());
    let chat =
        Chat { at: at(&peer.url), model: None, system: Some("Be kind.".to_owned()), tools: Vec::new() };
    for target in [
        Target::Mcp { at: at(&peer.url), wire: McpRevision::Auto },
        Target::A2a(at(&peer.url)),
        Target::AgUi(at(&peer.url)),
        Target::Chat(chat),
        http(&peer.url),
        agent(&echo),
    ] {
        let kind = target.kind().as_str();
        let class = if target.can_be_called() { "mcp" } else { "agent" };
        let evaluators = [(class, "talk", saying(&["hello", "again"]))];
        let evaluators = evaluators.each_ref().map(|(class, id, rest)| (*class, *id, rest.as_str()));
        let tape = Arc::new(Memory::default());
        let options = |tape: Arc<Memory>| Options {
            tape: Some(tape),
            attacker: Some(Arc::new(Counting)),
            turns: 2,
            ..Options::default()
        };
        let live = options(tape.clone());
        let offer = discover(&target, &live).await.unwrap();
        let first = Bench::with(&evaluators, target.clone(), offer.clone());
        let said = first.run(live).await;
        assert!(said.results.iter().all(|result| result.reason.contains("no judge")), "{:?}", said.results);
        let turns = if target.can_be_called() { 1 } else { 2 };
        assert_eq!(tape.len(), 1 + 2 * turns, "{kind}: an exchange for the offer, and one for each turn");

        let asked = (peer.got().len(), std::fs::read_to_string(&started).unwrap_or_default());
        let replay = options(tape.replaying());
        assert_eq!(discover(&target, &replay).await.unwrap(), offer, "{kind}");
        let second = Bench::with(&evaluators, target, offer);
        let said_again = second.run(replay).await;
        assert_eq!(said_again.results, said.results, "{kind}");
        for result in &said.results {
            assert_eq!(records(&second, result), records(&first, result), "{kind}");
        }
        let asked_again = (peer.got().len(), std::fs::read_to_string(&started).unwrap_or_default());
        assert_eq!(asked_again, asked, "{kind}: nobody was asked again");
    }
}

#[tokio::test]
async fn failures_are_repeated_and_whoever_was_not_reached_was_told_nothing() {
    let gone = || modes::Endpoint {
        address: Address::Url("http://127.0.0.1:9/".to_owned()),
        headers: Vec::new(),
        env: Vec::new(),
    };
    let quick = Settings { connect_timeout: Duration::from_millis(50), ..Settings::default() };
    let dies = agent("read line; echo sorry >&2; exit 3");
    for (target, turns) in [(dies, 1), (Target::AgUi(gone()), 0)] {
        let tape = Arc::new(Memory::default());
        let evaluators = [("agent", "talk", saying(&["hello"]))];
        let evaluators = evaluators.each_ref().map(|(class, id, rest)| (*class, *id, rest.as_str()));
        let options = |tape| Options { tape: Some(tape), settings: quick, ..Options::default() };
        let live = options(tape.clone());
        let said = Bench::new(&evaluators, target.clone()).run(live).await;
        assert_eq!(verdicts(&said), ["talk/hello: error"]);
        assert_eq!(said.results[0].transcript.as_ref().unwrap().turns().len(), turns);
        let said_again = Bench::new(&evaluators, target).run(options(tape.replaying())).await;
        assert_eq!(said_again.results, said.results);
    }
    // The same before any case.
    let tape = Arc::new(Memory::default());
    let options = |tape| Options { tape: Some(tape), settings: quick, ..Options::default() };
    let target = http("http://127.0.0.1:9/");
    let error = discover(&target, &options(tape.clone())).await.unwrap_err();
    assert!(matches!(error, TargetError::Refused(_)), "{error}");
    assert_eq!(discover(&target, &options(tape.replaying())).await.unwrap_err(), error);
}

#[tokio::test]
async fn what_was_not_said_is_named_and_an_error_of_its_case_alone() {
    let peer = Peer::start(polyglot).await;
    let tape = Arc::new(Memory::default());
    let options = |tape: Arc<Memory>| Options { tape: Some(tape), ..Options::default() };
    let checks = "checks:\n  - {name: Any, says: pass, pattern: {target: 'answers[*]', contains: 'hello'}}\n";
    let bench =
        |words| Bench::new(&[("agent", "talk", &format!("{checks}{}", saying(words)))], http(&peer.url));
    bench(&["hello"]).run(options(tape.clone())).await;

    let again = bench(&["hello", "more"]).run(options(tape.replaying())).await;
    assert_eq!(verdicts(&again), ["talk/hello: not_exploited", "talk/more: error"]);
    let reason = &again.results[1].reason;
    assert_eq!(reason, &format!("not recorded: talk/more, turn 1, asking http {}", peer.url));

    // Asked in another way it might have answered something else.
    let Target::Http(mut other) = http(&peer.url) else { panic!() };
    other.answer = None;
    let other = Bench::new(&[("agent", "talk", &saying(&["hello"]))], Target::Http(other));
    assert_eq!(verdicts(&other.run(options(tape.replaying())).await), ["talk/hello: error"]);
    let error = discover(&http(&peer.url), &options(tape.replaying())).await.unwrap_err();
    assert!(error.to_string().starts_with("not recorded: what the target offers, asking http "), "{error}");
}

#[tokio::test]
async fn no_secret_is_on_the_tape() {
    let peer = Peer::start(|request, mut connection| async move {
        let key = request.headers.get("x-key").cloned().unwrap_or_default();
        match request.json()["q"].as_str() {
            Some("status") => connection.answer("500 Oops", "", format!("your key is {key}")).await,
            _ => connection.json(json!({"out": format!("your key is {key}")}).to_string()).await,
        }
    })
    .await;
    let Target::Http(mut target) = http(&format!("{}planted-secret/", peer.url)) else { panic!() };
    target.at.headers.push(("x-key".to_owned(), "planted-secret".to_owned()));
    let redactor = Redactor::new([Rule::Literal("planted-secret".to_owned())]).unwrap();
    let words = saying(&["status", "hello", "planted-secret"]);
    let words = words.replace("name: planted-secret", "name: theirs");
    let tape = Arc::new(Memory::default());
    let options = |tape| Options { tape: Some(tape), redactor: redactor.clone(), ..Options::default() };
    let bench = || Bench::new(&[("agent", "talk", &words)], Target::Http(target.clone()));
    discover(bench().target(), &options(tape.clone())).await.unwrap();
    let said = bench().run(options(tape.clone())).await;
    assert_eq!(peer.got().len(), 3);
    assert!(tape.len() == 4 && !tape.text().contains("planted"), "{}", tape.text());
    assert_eq!(bench().run(options(tape.replaying())).await.results, said.results);
}

#[tokio::test]
async fn a_tape_that_was_changed_is_no_verdict_either() {
    let checks = "checks:\n  - {name: Any answer, says: pass, cel: 'size(transcript.answers) == 1'}\n";
    let rest = format!("{checks}{}", saying(&["hello"]));
    let bench = || Bench::new(&[("agent", "talk", &rest)], agent("read line; echo ok"));
    let tape = Arc::new(Memory::default());
    let options = |tape| Options { tape: Some(tape), ..Options::default() };
    assert_eq!(verdicts(&bench().run(options(tape.clone())).await), ["talk/hello: not_exploited"]);
    for wrong in [
        json!("nonsense"),
        json!({"records": [], "heard": {"turn": {"role": "somebody"}}}),
        json!({"records": ["{\"record\":\"message\"}"], "heard": {"turn": {"role": "target", "text": "ok"}}}),
        json!({"records": ["{\"record\":\"song\",\"x\":1}"], "heard": {"turn": {"role": "target", "text": "ok"}}}),
    ] {
        let changed = tape.replaying();
        changed.kept.lock().unwrap().values_mut().for_each(|(_, exchange)| *exchange = wrong.clone());
        let played = bench().run(options(changed)).await;
        assert_eq!(verdicts(&played), ["talk/hello: error"]);
        let reason = &played.results[0].reason;
        assert!(reason.starts_with("what is recorded for talk/hello, turn 1, asking cmd "), "{reason}");
    }
}

#[tokio::test]
async fn a_turn_that_is_too_long_for_a_tape_is_no_verdict() {
    let checks = "checks:\n  - {name: Any answer, says: pass, cel: 'size(transcript.answers) == 1'}\n";
    let rest = format!("{checks}{}", saying(&["hello"]));
    // Sixty events of half a megabyte each; what is made of them is within the limits.
    let peer = Peer::start(|request, mut connection| async move {
        let body = request.json();
        connection.events().await;
        let padding = "x".repeat(500_000);
        connection
            .event(json!({"type": "RUN_STARTED", "threadId": body["threadId"], "runId": body["runId"]}))
            .await;
        for _ in 0..60 {
            connection.event(json!({"type": "CUSTOM", "name": "padding", "value": padding})).await;
        }
        connection.event(json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})).await;
    })
    .await;
    let target = || Target::AgUi(at(&peer.url));
    let bench = || Bench::new(&[("agent", "talk", &rest)], target());
    let played = bench().run(Options::default()).await;
    assert_eq!(verdicts(&played), ["talk/hello: not_exploited"], "{:?}", played.results[0].reason);
    let tape = Arc::new(Memory::default());
    let played = bench().run(Options { tape: Some(tape.clone()), ..Options::default() }).await;
    assert_eq!(verdicts(&played), ["talk/hello: error"]);
    let reason = &played.results[0].reason;
    assert!(reason.starts_with("the exchange cannot be kept: a turn took more than "), "{reason}");
    assert_eq!(tape.len(), 0);
}

/// Keeps nothing, and says so.
struct Full;

impl Tape for Full {
    fn replays(&self) -> bool {
        false
    }

    fn recall<'t>(&'t self, _: &'t Asked) -> Later<'t, Result<Value, String>> {
        Box::pin(async { Err("never".to_owned()) })
    }

    fn keep<'t>(&'t self, _: &'t Asked, _: Value) -> Later<'t, Result<(), String>> {
        Box::pin(async { Err("the disk is full".to_owned()) })
    }
}

#[tokio::test]
async fn what_cannot_be_kept_is_no_verdict() {
    let checks = "checks:\n  - {name: Any answer, says: pass, cel: 'size(transcript.answers) == 1'}\n";
    let rest = format!("{checks}{}", saying(&["hello"]));
    let bench = Bench::with(&[("agent", "talk", &rest)], agent("read line; echo ok"), Offer::default());
    let played = bench.run(Options { tape: Some(Arc::new(Full)), ..Options::default() }).await;
    assert_eq!(verdicts(&played), ["talk/hello: error"]);
    assert_eq!(played.results[0].reason, "the exchange cannot be kept: the disk is full");
}
