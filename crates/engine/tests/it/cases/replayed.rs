//! A run is repeated from its traces alone.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sortie_engine::cases::{DISCOVERY, Discovery, Missing, PlayOptions, discover};
use sortie_engine::modes::{self, Address, McpRevision};
use sortie_engine::targets::{ChatTarget, HttpTarget, Settings, Target, TargetError};
use sortie_trace::{RedactRule, Redactor};

use crate::cases::bench::{Bench, agent, messages, reason, saying, verdicts};
use crate::cases::running::Counting;
use crate::stage::{Connection, Peer, Request, at};

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
    Target::Http(HttpTarget { at: at(url), method, body: json!({"q": "{{message}}"}), answer })
}

fn replaying(first: &Bench) -> PlayOptions {
    PlayOptions { replay: Some(first.folder.path().to_owned()), ..PlayOptions::default() }
}

#[tokio::test]
async fn every_kind_of_target_is_repeated_without_it() {
    let peer = Peer::start(polyglot).await;
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let echo = format!(r#"echo x >> {}; while read line; do echo "you said $line"; done"#, started.display());
    let chat =
        ChatTarget { at: at(&peer.url), model: None, system: Some("Be kind.".to_owned()), tools: Vec::new() };
    for target in [
        Target::Mcp { at: at(&peer.url), wire: McpRevision::Auto },
        Target::A2a(at(&peer.url)),
        Target::AgUi(at(&peer.url)),
        Target::Chat(chat),
        http(&peer.url),
        agent(&echo),
    ] {
        let kind = target.kind().as_str();
        let shelf = if target.can_be_called() { "mcp" } else { "agent" };
        let evaluators = [(shelf, "talk", saying(&["hello", "again"]))];
        let evaluators = evaluators.each_ref().map(|(shelf, id, rest)| (*shelf, *id, rest.as_str()));
        let options =
            || PlayOptions { attacker: Some(Arc::new(Counting)), turns: 2, ..PlayOptions::default() };
        let discovery = discover(&target, DISCOVERY, &options()).await.unwrap();
        let first = Bench::discovered(&evaluators, discovery.clone(), target.clone(), Missing::Skip);
        let said = first.run(options()).await;
        assert!(said.results.iter().all(|result| reason(result).contains("no judge")), "{:?}", said.results);
        let turns = if target.can_be_called() { 2 } else { 4 };
        for result in &said.results {
            assert_eq!(result.transcript.as_ref().unwrap().turns().len(), turns, "{kind}");
        }

        let asked = (peer.got().len(), std::fs::read_to_string(&started).unwrap_or_default());
        let replay = PlayOptions { replay: replaying(&first).replay, ..options() };
        let found = discover(&target, DISCOVERY, &replay).await.unwrap();
        assert_eq!(found.offer, discovery.offer, "{kind}");
        let second = Bench::discovered(&evaluators, found, target, Missing::Skip);
        let said_again = second.run(replay).await;
        assert_eq!(said_again.results, said.results, "{kind}");
        for result in &said.results {
            let trace = result.trace.as_ref().unwrap();
            assert_eq!(messages(&second.read(trace)), messages(&first.read(trace)), "{kind}");
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
        launch: None,
    };
    let quick = Settings { connect_timeout: Duration::from_millis(50), ..Settings::default() };
    let dies = agent("read line; echo sorry >&2; exit 3");
    for (target, turns) in [(dies, 1), (Target::AgUi(gone()), 0)] {
        let evaluators = [("agent", "talk", saying(&["hello"]))];
        let evaluators = evaluators.each_ref().map(|(shelf, id, rest)| (*shelf, *id, rest.as_str()));
        let first = Bench::new(&evaluators, target.clone());
        let said = first.run(PlayOptions { settings: quick, ..PlayOptions::default() }).await;
        assert_eq!(verdicts(&said), ["talk/hello: error"]);
        assert_eq!(said.results[0].transcript.as_ref().unwrap().turns().len(), turns);
        let said_again = Bench::new(&evaluators, target).run(replaying(&first)).await;
        assert_eq!(said_again.results, said.results);
    }
}

#[tokio::test]
async fn what_was_not_recorded_is_named_and_an_error_of_its_case_alone() {
    let peer = Peer::start(polyglot).await;
    let checks = "checks:\n  - {name: Any, says: pass, pattern: {target: 'answers[*]', contains: 'hello'}}\n";
    let bench =
        |words| Bench::new(&[("agent", "talk", &format!("{checks}{}", saying(words)))], http(&peer.url));
    let first = bench(&["hello"]);
    first.run(PlayOptions::default()).await;

    let again = bench(&["hello", "more"]).run(replaying(&first)).await;
    assert_eq!(verdicts(&again), ["talk/hello: not_exploited", "talk/more: error"]);
    let why = reason(&again.results[1]);
    assert!(why.starts_with("not recorded: there is no trace of `talk/more` "), "{why}");

    // Said in other words it might have answered something else.
    let other = saying(&["hello"]).replace("template: hello", "template: hullo");
    let other = Bench::new(&[("agent", "talk", &other)], http(&peer.url)).run(replaying(&first)).await;
    let why = reason(&other.results[0]);
    assert!(why.starts_with("not recorded: `talk/hello`; ") && why.ends_with(" is of other words"), "{why}");

    // Asked in another way too.
    let Target::Http(mut other) = http(&peer.url) else { panic!() };
    other.answer = None;
    let other = Bench::new(&[("agent", "talk", &saying(&["hello"]))], Target::Http(other));
    let other = other.run(replaying(&first)).await;
    let why = format!("not recorded: `http {}` was asked in another way", peer.url);
    assert_eq!(reason(&other.results[0]), why);
    let elsewhere = http("http://127.0.0.1:9/");
    let error = discover(&elsewhere, DISCOVERY, &replaying(&first)).await.unwrap_err().to_string();
    assert_eq!(
        error,
        format!("not recorded: `http http://127.0.0.1:9/`; the trace is of `http {}`", peer.url)
    );
    let error = discover(&elsewhere, "other.jsonl", &replaying(&first)).await.unwrap_err();
    assert!(matches!(error, TargetError::NotRecorded(_)), "{error}");
}

#[tokio::test]
async fn no_secret_is_in_a_trace() {
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
    let redactor = Redactor::new([RedactRule::Literal("planted-secret".to_owned())]).unwrap();
    let words = saying(&["status", "hello", "planted-secret"]);
    let words = words.replace("name: planted-secret", "name: theirs");
    let options = || PlayOptions { redactor: redactor.clone(), ..PlayOptions::default() };
    let target = Target::Http(target);
    let discovery = discover(&target, DISCOVERY, &options()).await.unwrap();
    let bench =
        || Bench::discovered(&[("agent", "talk", &words)], discovery.clone(), target.clone(), Missing::Skip);
    let first = bench();
    let said = first.run(options()).await;
    assert_eq!(peer.got().len(), 3);
    let traces = said.results.iter().map(|result| result.trace.clone().unwrap());
    for file in traces.chain([DISCOVERY.to_owned()]) {
        assert!(!first.read(&file).contains("planted"), "{}", first.read(&file));
    }
    let again = bench().run(PlayOptions { replay: replaying(&first).replay, ..options() }).await;
    assert_eq!(again.results, said.results);
}

#[tokio::test]
async fn a_trace_that_was_changed_or_cut_is_no_verdict() {
    let checks = "checks:\n  - {name: Any answer, says: pass, cel: 'size(transcript.answers) == 1'}\n";
    let rest = format!("{checks}{}", saying(&["hello"]));
    let bench = || Bench::new(&[("agent", "talk", &rest)], agent("read line; echo ok"));
    let first = bench();
    let said = first.run(PlayOptions::default()).await;
    assert_eq!(verdicts(&said), ["talk/hello: not_exploited"]);
    let path = first.folder.path().join(said.results[0].trace.as_ref().unwrap());
    let whole = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    for (wrong, says) in [
        ("nonsense".to_owned(), "this is not a trace"),
        (lines[1..].join("\n"), "header"),
        (lines[..lines.len() - 1].join("\n"), "cut short"),
        (whole.replace(r#""record":"message""#, r#""record":"song""#), "song"),
        (whole.replace(r#""case":{"#, r#""cose":{"#), "no `case`"),
        (whole.replace("talk/hello", "talk/other"), "is of talk/other"),
    ] {
        std::fs::write(&path, wrong).unwrap();
        let played = bench().run(replaying(&first)).await;
        assert_eq!(verdicts(&played), ["talk/hello: error"], "{says}");
        assert!(reason(&played.results[0]).contains(says), "{says}: {}", reason(&played.results[0]));
    }
}

#[tokio::test]
async fn a_look_at_a_target_is_kept_and_read_again() {
    let peer = Peer::start(polyglot).await;
    let target = Target::Mcp { at: at(&peer.url), wire: McpRevision::Auto };
    let discovery = discover(&target, DISCOVERY, &PlayOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(DISCOVERY);
    discovery.keep(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(messages(&text).iter().any(|line| line.contains(r#""method":"initialize""#)), "{text}");
    assert_eq!(Discovery::read(&path).unwrap().offer, discovery.offer);
    assert_eq!(discovery.offer.tools[0].name, "note");
}
